// Gangs that stayed partial, whose pods cannot be evicted or do not go.
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using engine::GangState;
using engine::OutcomeKind;
using engine::ReasonCode;

// Gang `train` of four runs on n0 to n3 and loses train-1; n4 has room for another member. The API
// server refuses every eviction as `refusal` says, train-2's for a budget.
struct RefusingWorld : Harness {
  RefusingWorld() {
    for (int i = 0; i < 5; ++i) Add(MakeNode("n" + std::to_string(i)).Gpus(8));
    AddGang("train", 4, 8, 4);
    ScheduleAll("train");
    fault = [this](const engine::Action& action) -> std::optional<engine::Outcome> {
      const auto* evict = std::get_if<engine::EvictPod>(&action);
      if (evict == nullptr || !refusing) return std::nullopt;
      asked[now().milliseconds()].insert(evict->pod.key.name);
      const bool it = budget && evict->pod.key.name == "train-2";
      return engine::Outcome{{}, it ? OutcomeKind::kConflict : OutcomeKind::kRetry, "a budget"};
    };
    RemovePod("train-1");
    Pass(cluster::Seconds(61));
  }
  void Replace(const std::string& name) {
    Add(MakePod(name).Uid(name + "-again").Gpus(8).InGroup("train").Gated());
  }
  int Deleting() const {
    int count = 0;
    for (const std::string name : {"train-0", "train-2", "train-3"})
      count += Pod(name).deleting ? 1 : 0;
    return count;
  }

  bool refusing = true;
  bool budget = true;
  std::map<int64_t, std::set<std::string>> asked;  // by time
};

TEST_CASE("the evictions of a gang are requested together, however often they are refused",
          "[engine][repair]") {
  RefusingWorld world;
  world.Pass(cluster::Seconds(3'600));
  CHECK(world.asked.size() > 5);
  CHECK(world.asked.size() < 30);
  for (const auto& [time, names] : world.asked) {
    CAPTURE(time);
    CHECK(names == std::set<std::string>{"train-0", "train-2", "train-3"});
  }
  world.refusing = false;
  world.Pass(cluster::Seconds(600));
  CHECK(world.Deleting() == 3);
}

TEST_CASE("a gang that may not be taken back says why, and takes a replacement",
          "[engine][repair]") {
  RefusingWorld world;
  CHECK(world.Gang("train").state == GangState::kDegraded);
  CHECK(world.Gang("train").reason == engine::Because(ReasonCode::kMembersLost, 3, 4, "a budget"));
  world.Add(MakeNode("n4").Gpus(7));
  world.Add(MakeNode("n1").Gpus(7));
  world.Replace("train-1");
  world.Settle();
  CHECK(world.Gang("train").reason.code == ReasonCode::kFragmented);
  CHECK(world.Gang("train").reason.detail == "a budget");
  world.Add(MakeNode("n4").Gpus(8));
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  world.refusing = false;
  world.Pass(cluster::Seconds(3'600));
  CHECK(world.Deleting() == 0);
}

// Gang `train` of four has lost a member, and two more by the repair; train-2's eviction fails.
struct BegunRepair : Harness {
  explicit BegunRepair(OutcomeKind kind) {
    for (int i = 0; i < 4; ++i) Add(MakeNode("n" + std::to_string(i)).Gpus(8));
    AddGang("train", 4, 8, 4);
    ScheduleAll("train");
    fault = [this, kind](const engine::Action& action) -> std::optional<engine::Outcome> {
      const auto* evict = std::get_if<engine::EvictPod>(&action);
      if (evict == nullptr || !failing || evict->pod.key.name != "train-2") return std::nullopt;
      return engine::Outcome{{}, kind, "it failed"};
    };
    RemovePod("train-1");
    Pass(cluster::Seconds(61));
    RemovePod("train-0");
    RemovePod("train-3");
    Pass(cluster::Seconds(20));
    CHECK_FALSE(Pod("train-2").deleting);
  }
  bool failing = true;
};

TEST_CASE("a repair that has begun goes on soon after evictions that failed", "[engine][repair]") {
  BegunRepair world(OutcomeKind::kRetry);
  world.failing = false;
  world.Pass(cluster::Seconds(20));
  CHECK(world.Pod("train-2").deleting);
}

TEST_CASE("a repair that a budget stops on its way ends, and the gang takes replacements",
          "[engine][repair]") {
  BegunRepair world(OutcomeKind::kConflict);
  for (const char* pod : {"train-0", "train-1", "train-3"})
    world.Add(MakePod(pod).Uid(std::string(pod) + "-again").Gpus(8).InGroup("train").Gated());
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK_FALSE(world.Pod("train-2").deleting);
}

TEST_CASE("nobody of a gang is evicted any more when it has what it needs", "[engine][repair]") {
  RefusingWorld world;
  world.budget = false;
  world.Pass(cluster::Seconds(3'600));
  CHECK(world.Gang("train").state == GangState::kDegraded);  // its evictions fail, again and again
  SECTION("because it needs fewer") {
    world.Add(MakePodGroup("train").MinMember(3));
    world.refusing = false;
    world.Pass(cluster::Seconds(3'600));
    CHECK(world.Gang("train").state == GangState::kRunning);
  }
  SECTION("or when the policy lets partial gangs be") {
    engine::Options options;
    options.partial_gang = engine::PartialGang::kHold;
    world.engine().SetOptions(options);
    world.refusing = false;
    world.Pass(cluster::Seconds(3'600));
    CHECK(world.Gang("train").state == GangState::kDegraded);
  }
  SECTION("or when its PodGroup is gone") {
    world.RemoveGroup("train");
    world.refusing = false;
    world.Pass(cluster::Seconds(3'600));
    CHECK(world.Gang("train").state == GangState::kRunning);
  }
  SECTION("or when nobody knows what it needs") {
    world.Add(MakePodGroup("train").MinMember(0));
    world.refusing = false;
    world.Pass(cluster::Seconds(3'600));
    CHECK(world.Gang("train").state == GangState::kInvalid);
  }
  CHECK(world.Deleting() == 0);
}

TEST_CASE("a gang that is taken back has not finished, although one of its pods has",
          "[engine][repair]") {
  Harness world;
  for (int i = 0; i < 2; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("train", 2, 8, 2);
  world.ScheduleAll("train");
  world.Change("train-1", [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
  world.Pass(cluster::Seconds(61));
  CHECK(world.Pod("train-0").deleting);
  CHECK(world.Gang("train").state == GangState::kBackoff);
  world.RemovePod("train-0");
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kFinished);
}

TEST_CASE("a gang that was taken back starts again although an old pod never ends",
          "[engine][repair]") {
  Harness world;
  for (int i = 0; i < 5; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("train", 4, 8, 4);
  world.ScheduleAll("train");
  // Its node is dead: nobody is there to say that it has ended.
  world.Change("train-1", [](cluster::Pod& pod) { pod.deleting = true; });
  world.Add(MakeNode(world.Pod("train-1").node_name).Gpus(8).NotReady());
  world.Pass(cluster::Seconds(61));
  CHECK(world.Gang("train").reason.code == ReasonCode::kRepairing);
  for (const std::string name : {"train-0", "train-2", "train-3"}) world.RemovePod(name);
  world.Settle();
  CHECK(world.Gang("train").reason.code == ReasonCode::kRepairing);
  for (int i = 4; i < 8; ++i)
    world.Add(MakePod("train-" + std::to_string(i)).Gpus(8).InGroup("train").Gated());
  world.Pass(cluster::Seconds(10));
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Pod("train-1").deleting);
  world.Pass(cluster::Seconds(3'600));
  for (int i = 4; i < 8; ++i) CHECK_FALSE(world.Pod("train-" + std::to_string(i)).deleting);
}

TEST_CASE("a pod that lingers does not keep a gang from what a budget leaves it",
          "[engine][repair]") {
  engine::Options options;
  options.queues = queues::OneQueue(queues::Order::kFifo, queues::WithinQueue::kLowerPriority);
  Harness world(options);
  for (int i = 0; i < 5; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("train", 5, 8, 4);
  world.ScheduleAll("train");
  world.Add(MakePod("urgent").Gpus(8).Priority(100).Gated());
  world.Settle();
  REQUIRE(world.Pod("train-0").deleting);  // for ever
  world.fault = KeptByBudget("train-2");
  world.RemovePod("train-1");
  world.Pass(cluster::Seconds(61));
  world.Add(MakePod("train-5").Gpus(8).InGroup("train").Gated());
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
}

}  // namespace
}  // namespace muster::testing
