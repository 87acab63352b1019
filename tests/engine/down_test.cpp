// What is down where a gang could be: the gang waits for it, and its reason names it.
#include "engine/reasons/down.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "cluster/holdings/cluster_state.hpp"
#include "tests/engine/fabric_options.hpp"
#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using engine::GangState;
using engine::ReasonCode;

NodeBuilder Eight(const std::string& name) {
  return MakeNode(name).Gpus(8).Label("block", "a").Label("rack", name.substr(0, 2));
}

// Rack a0 of three nodes of eight GPUs; a gang "train" of three pods that take a node each.
struct OneRack : Harness {
  explicit OneRack(engine::Options options = WithFabric()) : Harness(std::move(options)) {
    for (const std::string name : {"a0x", "a0y", "a0z"}) Add(Eight(name));
  }
  void AddTrain(const std::string& level = "rack") {
    Harness::Add(MakePodGroup("train").MinMember(3).Within(level));
    for (const std::string name : {"train-0", "train-1", "train-2"})
      Harness::Add(MakePod(name).Gpus(8).InGroup("train").Gated());
    Settle();
  }
  std::string Why(const std::string& gang = "train") { return engine::Describe(Gang(gang).reason); }
};

TEST_CASE("a gang waits for what is down in the only domain, which is named",
          "[engine][fabric][down]") {
  struct Case {
    std::string name;
    NodeBuilder node;
    std::string want;
  };
  const Case c = GENERATE(values<Case>({
      {"not ready", Eight("a0z").NotReady(), "a0z (not ready)"},
      {"cordoned", Eight("a0z").Cordoned(), "a0z (cordoned)"},
      {"both", Eight("a0z").Cordoned().NotReady(), "a0z (not ready, cordoned)"},
      {"one GPU", Eight("a0z").Unhealthy(3), "a0z (1 GPU unhealthy)"},
      {"two GPUs", Eight("a0z").Unhealthy(3).Unhealthy(5), "a0z (2 GPUs unhealthy)"},
      {"a cordoned GPU", Eight("a0z").Unhealthy(3).CordonedGpu(5),
       "a0z (1 GPU unhealthy, 1 GPU cordoned)"},
  }));
  CAPTURE(c.name);
  OneRack world;
  world.Add(c.node);
  world.AddTrain();
  CHECK(world.Gang("train").state == GangState::kQueued);
  CHECK_THAT(world.Why(), Catch::EndsWith("it could fit the only one, a/a0, when what is down "
                                          "there is back: " +
                                          c.want));
  world.Add(Eight("a0z"));
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("where others have to leave as well, the reason says so", "[engine][fabric][down]") {
  OneRack world;
  world.AddGang("one", 1, 1, 1);
  world.ScheduleAll("one");
  world.Add(Eight("a0z").NotReady());
  world.AddTrain();
  CHECK_THAT(world.Why(), Catch::EndsWith("when others leave it and what is down there is back: "
                                          "a0z (not ready)"));
  world.Add(Eight("a0z"));
  world.Settle();
  CHECK_THAT(world.Why(), Catch::EndsWith("a/a0, when others leave it"));
}

TEST_CASE("a domain that would be too small when all is well is not told as the nearest",
          "[engine][fabric][down]") {
  Harness world(WithFabric());
  for (const std::string name : {"a0x", "a0y", "a1x", "a1y", "a1z"}) world.Add(Eight(name));
  world.Add(Eight("a1z").Unhealthy(0));
  world.Add(MakePodGroup("train").MinMember(3).Within("rack"));
  for (const std::string name : {"train-0", "train-1", "train-2"})
    world.Add(MakePod(name).Gpus(8).InGroup("train").Gated());
  world.Settle();
  for (int i = 0; i < 2; ++i) {  // at first, and when it was asked before
    CHECK_THAT(engine::Describe(world.Gang("train").reason),
               Catch::EndsWith("the nearest of 2, a/a1, when what is down there is back: a1z (1 "
                               "GPU unhealthy)"));
    world.AddGang("one", 1, 1, 1);
    world.ScheduleAll("one");
    world.RemovePod("one-0");
    world.Settle();
  }
}

TEST_CASE("what would not fit a domain that is whole never fits, whatever is down",
          "[engine][fabric][down]") {
  OneRack world;
  world.Add(Eight("a0z").Unhealthy(0));
  world.AddGang("large", 4, 8, 4);
  world.Add(MakePodGroup("wide").MinMember(4).Within("rack"));
  for (const std::string name : {"wide-0", "wide-1", "wide-2", "wide-3"})
    world.Add(MakePod(name).Gpus(8).InGroup("wide").Gated());
  world.Settle();
  CHECK(world.Gang("large").reason.code == ReasonCode::kNeverFits);
  CHECK(world.Gang("wide").reason.code == ReasonCode::kNeverFits);
  CHECK_THAT(world.Why("wide"), Catch::Contains("no domain of level rack can ever hold it"));
}

TEST_CASE("without a fabric, what is down is named where it would be enough", "[engine][down]") {
  OneRack world{engine::Options()};
  world.Add(Eight("a0z").Unhealthy(0));
  world.AddTrain("");
  CHECK(world.Gang("train").reason.code == ReasonCode::kNotEnoughGpus);
  CHECK_THAT(world.Why(),
             Catch::EndsWith("it could fit when what is down is back: a0z (1 GPU unhealthy)"));
  world.AddGang("four", 4, 8, 4);
  world.Settle();
  CHECK(world.Gang("four").reason.code == ReasonCode::kNeverFits);
}

TEST_CASE("of many nodes some are named, by name", "[engine][down]") {
  cluster::ClusterState state;
  for (int i = 0; i < 7; ++i)
    state.Upsert(MakeNode("n" + std::to_string(6 - i)).Gpus(2).NotReady());
  state.Upsert(MakeNode("cpu").NotReady());
  state.Upsert(MakeNode("other").Gpus(2).Label("pool", "b").NotReady());
  cluster::Pod pod = MakePod("p").Gpus(1);
  engine::Down down = engine::DownAmong(*state.TakeSnapshot(), nullptr, *pod.spec);
  CHECK(down.what ==
        "n0 (not ready), n1 (not ready), n2 (not ready), n3 (not ready) and 4 more nodes");
  CHECK(down.pods_more == 16);
  CHECK_FALSE(down.others);
  CHECK(engine::DownAmong(*state.TakeSnapshot(), nullptr, *pod.spec, 16).what == down.what);
  CHECK(engine::DownAmong(*state.TakeSnapshot(), nullptr, *pod.spec, 17).what.empty());
  pod = MakePod("p").Gpus(1).Select("pool", "b");
  down = engine::DownAmong(*state.TakeSnapshot(), nullptr, *pod.spec);
  CHECK(down.what == "other (not ready)");
}

TEST_CASE("a cordoned GPU takes no new pod, and keeps the one that it has", "[engine][down]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(2));
  world.AddGang("one", 1, 1, 1);
  world.ScheduleAll("one");
  REQUIRE(world.Gang("one").members.at(0).gpus == std::vector<cluster::GpuIndex>{{0}});
  world.Add(MakeNode("n0").Gpus(2).CordonedGpu(0));
  world.AddGang("two", 1, 1, 1);
  world.ScheduleAll("two");
  CHECK(world.Gang("one").state == GangState::kRunning);
  CHECK(world.Gang("two").members.at(0).gpus == std::vector<cluster::GpuIndex>{{1}});
  world.RemovePod("one-0");
  world.AddGang("three", 1, 1, 1);
  world.Settle();
  CHECK(world.Gang("three").state == GangState::kQueued);
  CHECK(world.engine().Audit(world.now()).empty());
  world.Add(MakeNode("n0").Gpus(2));
  world.ScheduleAll("three");
  CHECK(world.Gang("three").state == GangState::kRunning);
}

}  // namespace
}  // namespace muster::testing
