// Filter calls for pods that the watch has not shown, or shows otherwise.
#include <catch2/catch.hpp>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using engine::GangState;

TEST_CASE("a Filter call never replaces a pod that the watch has shown", "[engine][filter]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePod("real").Gpus(8).BoundTo("n0", {0, 1, 2, 3, 4, 5, 6, 7}));
  world.Settle();
  const std::string before = world.engine().Dump();
  const cluster::Pod other = MakePod("real").Uid("bogus").Gpus(1);
  const engine::FilterAnswer answer = world.engine().Filter({other, {"n0"}}, world.now());
  CHECK_THAT(answer.error, Catch::Contains("is known under another UID than bogus"));
  world.Settle();
  CHECK(world.engine().Dump() == before);
  CHECK(world.engine().Count().gpu_free_milli == 0);
}

TEST_CASE("a question about a known pod does not change its record", "[engine][filter]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePod("solo").Gpus(2).Scheduler("other"));
  world.Settle();
  cluster::Pod asked = MakePod("solo").Gpus(8).Scheduler("other");
  world.engine().Filter({asked, {"n0"}}, world.now());
  world.Settle();
  CHECK(world.engine().Count().gpu_free_milli == 6000);
}

TEST_CASE("a pod that the API server does not have is forgotten with the first write to it",
          "[engine][filter]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  const cluster::Pod phantom = MakePod("phantom").Gpus(8);
  world.engine().Filter({phantom, {"n0"}}, world.now());
  world.Settle();
  CHECK(world.engine().Count().reservations == 0);
  CHECK(world.engine().Count().gpu_free_milli == 8000);
  const int writes = world.writes;
  world.Pass(cluster::Seconds(600));
  CHECK(world.writes == writes);
  CHECK_FALSE(world.engine().FindGang({"default", "phantom"}).has_value());
}

TEST_CASE("a pod that only Filter has shown is forgotten in time", "[engine][filter]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  const cluster::Pod never = MakePod("never").Gpus(64);  // fits nowhere: nothing is written
  world.engine().Filter({never, {"n0"}}, world.now());
  world.Pass(cluster::Seconds(601));
  const cluster::Pod next = MakePod("next").Gpus(64);
  world.engine().Filter({next, {"n0"}}, world.now());
  world.Settle();
  CHECK_FALSE(world.engine().FindGang({"default", "never"}).has_value());
  CHECK(world.engine().FindGang({"default", "next"}).has_value());
}

TEST_CASE("a pod that a policy takes from Muster loses its nomination", "[engine][policy]") {
  engine::Options both;
  both.scheduler_names = {"muster", "late"};
  Harness world(both);
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePod("solo").Gpus(2).Scheduler("late"));
  world.Settle();
  CHECK(world.Pod("solo").nominated_node == "n0");
  world.engine().SetOptions(engine::Options{});
  world.Settle();
  CHECK(world.Pod("solo").nominated_node.empty());
  CHECK(world.engine().Count().reservations == 0);
}

TEST_CASE("a pod without GPUs that another schedulerName brought is still Muster's after a restart",
          "[engine][unknown]") {
  Harness world;
  world.Add(MakeNode("n0"));
  world.Add(MakePodGroup("cpu").MinMember(2));
  for (const char* name : {"cpu-0", "cpu-1"})
    world.Add(MakePod(name).InGroup("cpu").Scheduler("default-scheduler"));
  world.Settle();
  for (const char* name : {"cpu-0", "cpu-1"}) world.Filter(name);
  world.Settle();
  world.ScheduleAll("cpu");
  REQUIRE(world.Gang("cpu").state == GangState::kRunning);
  world.Restart();
  world.Settle();
  CHECK(world.Gang("cpu").state == GangState::kRunning);
  world.RemovePod("cpu-1");
  world.Pass(cluster::Seconds(60));
  CHECK(world.Pod("cpu-0").deleting);
}

TEST_CASE(
    "what a binding in doubt holds is given to nobody when the pod is another gang's, or none",
    "[engine][gang]") {
  engine::Options options;
  options.scheduler_names = {"muster", "other"};
  Harness world(options);
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePodGroup("train").MinMember(1));
  world.Add(MakePod("train-0").Gpus(8).InGroup("train").Scheduler("other").Gated());
  bool lost = true;
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    if (!lost || !std::holds_alternative<engine::BindPod>(action)) return std::nullopt;
    return engine::Outcome{{}, engine::OutcomeKind::kRetry, "no answer"};
  };
  world.Settle();
  const uint64_t ticket = world.Bind("train-0");
  world.Settle();
  REQUIRE_FALSE(world.Pod("train-0").bound());
  bool other_gang = false;
  SECTION("its PodGroup was changed") {
    world.Add(MakePodGroup("else").MinMember(1));
    world.Change("train-0", [](cluster::Pod& pod) { pod.pod_group = "else"; });
    other_gang = true;
  }
  SECTION("its schedulerName is Muster's no more") {
    options.scheduler_names = {"muster"};
    world.engine().SetOptions(options);
  }
  world.Settle();
  world.Add(MakePod("rival").Gpus(8));
  world.Settle();
  CHECK(world.Gang("rival").state == engine::GangState::kQueued);
  lost = false;
  world.Pass(cluster::Seconds(5));
  CHECK(world.Pod("train-0").node_name == "n0");
  CHECK(world.Gang("rival").state == engine::GangState::kQueued);
  CHECK(world.engine().Count().gpu_free_milli == 0);
  if (other_gang) CHECK(world.Gang("else").state == engine::GangState::kRunning);
  CHECK(world.bind_answers.at(ticket).empty());
}

}  // namespace
}  // namespace muster::testing
