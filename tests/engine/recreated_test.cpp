// A PodGroup is recreated under its name (kubectl replace --force, a chart that is installed again)
// while its gang is under way. Its pods stay.
#include <catch2/catch.hpp>

#include "tests/engine/preemption_world.hpp"

namespace muster::testing {
namespace {

using cluster::Seconds;
using engine::GangState;

// Whether Muster hears of the removal before it hears of the next one.
enum class Gap { kNone, kSome };

void Recreate(Harness& world, const std::string& name, int64_t min, Gap gap) {
  if (gap == Gap::kSome) {
    world.RemoveGroup(name);
    world.Settle();
  }
  world.Add(MakePodGroup(name).Uid(name + "-again").MinMember(min));
  world.Settle();
}

TEST_CASE("a PodGroup that is recreated while Bind calls are held has its gang bound whole",
          "[engine][recreated]") {
  const Gap gap = GENERATE(Gap::kNone, Gap::kSome);
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.AddGang("train", 4, 2, 4);
  world.Settle();
  REQUIRE(world.Gang("train").state == GangState::kReserved);
  const uint64_t first = world.Bind("train-0");
  const uint64_t second = world.Bind("train-1");
  world.Settle();
  REQUIRE(world.bind_answers.empty());
  Recreate(world, "train", 4, gap);
  // kube-scheduler hears of it and comes again.
  CHECK(world.bind_answers.contains(first));
  CHECK(world.bind_answers.contains(second));
  CHECK_FALSE(world.bind_answers[first].empty());
  CHECK(world.BoundIn("train") == 0);
  world.Pass(Seconds(1));
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.BoundIn("train") == 4);
  CHECK(world.Evictions() == 0);
}

TEST_CASE("a PodGroup that is recreated while its victims leave starts on the room that they leave",
          "[engine][recreated][preemption]") {
  const Gap gap = GENERATE(Gap::kNone, Gap::kSome);
  FullWorld world;
  world.Submit("urgent", 2, 4, 100);
  world.Settle();
  REQUIRE(world.Evicted() == kAllOld);
  Recreate(world, "urgent", 2, gap);
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.Settle();
  world.Pass(Seconds(60));
  world.ScheduleAll("urgent");
  CHECK(world.Gang("urgent").state == GangState::kRunning);
  CHECK(world.Evicted() == kAllOld);
}

TEST_CASE("a PodGroup that is recreated before the first eviction evicts nobody twice",
          "[engine][recreated][preemption]") {
  const Gap gap = GENERATE(Gap::kNone, Gap::kSome);
  FullWorld world;
  bool held = true;
  world.fault = HoldNominations(held, "urgent-1");
  world.Submit("urgent", 2, 4, 100);
  world.Settle();
  REQUIRE(world.Gang("urgent").state == GangState::kPreempting);
  REQUIRE(world.Evicted().empty());
  Recreate(world, "urgent", 2, gap);
  held = false;
  world.Pass(Seconds(60));
  CHECK(world.Evicted() == kAllOld);
  for (const std::string& name : kAllOld) world.RemovePod(name);
  world.Settle();
  world.Pass(Seconds(60));
  world.ScheduleAll("urgent");
  CHECK(world.Gang("urgent").state == GangState::kRunning);
}

TEST_CASE("a PodGroup that is recreated in the middle of a repair leaves no part of its gang",
          "[engine][recreated]") {
  const Gap gap = GENERATE(Gap::kNone, Gap::kSome);
  Harness world;
  for (const char* name : {"n0", "n1"}) world.Add(MakeNode(name).Gpus(4));
  world.AddGang("train", 2, 4, 2);
  world.Settle();
  world.ScheduleAll("train");
  REQUIRE(world.Gang("train").state == GangState::kRunning);
  // A member is lost with its node, and nothing replaces it.
  world.RemovePod("train-0");
  world.RemoveNode("n0");
  int asked = 0;
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    if (!std::holds_alternative<engine::EvictPod>(action) || ++asked > 1) return std::nullopt;
    return engine::Outcome{{}, engine::OutcomeKind::kRetry, "429"};
  };
  world.Pass(Seconds(61));
  Recreate(world, "train", 2, gap);
  world.Pass(Seconds(600));
  CHECK(asked > 1);
  CHECK(world.Pod("train-1").deleting);
  world.RemovePod("train-1");
  world.Pass(Seconds(600));
  CHECK(world.BoundIn("train") == 0);
  CHECK(world.engine().Count().reservations == 0);
}

}  // namespace
}  // namespace muster::testing
