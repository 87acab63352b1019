#include "engine/machines/ever_fits.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/builders.hpp"

namespace muster::testing {
namespace {

using cluster::ClusterState;
using cluster::Seconds;
using cluster::Time;
using engine::EverFits;
using engine::ReasonCode;

const policy::RequestKey kShape = {
    .roles = {{1, 1}}, .queue = "", .wish = "", .beside = {}, .rules = ""};

struct World {
  explicit World(int nodes) {
    for (int i = 0; i < nodes; ++i) {
      const std::string name = "n" + std::to_string(i);
      state.Upsert(MakeNode(name).Cpu(8).Gpus(1));
      fits.TouchRecord(state.IndexOf(name));
    }
  }
  void Add(const cluster::Pod& pod) {
    state.Upsert(pod);
    fits.TouchPods(state.IndexOf(pod.node_name));
  }
  bool Follow(int64_t second) { return fits.Follow(state, {"muster"}, Time(second * 1000)); }
  cluster::NodeFree Left(const std::string& node) {
    const auto room = fits.Room(*state.TakeSnapshot());
    REQUIRE(room != nullptr);
    return room->free().at(state.IndexOf(node));
  }
  ClusterState state;
  EverFits fits;
};

TEST_CASE("many nodes are followed in slices, and nobody is asked meanwhile", "[engine][stays]") {
  World world(static_cast<int>(EverFits::kSlice) + 1);
  CHECK_FALSE(world.Follow(0));
  CHECK(world.fits.Behind());
  CHECK(world.fits.Room(*world.state.TakeSnapshot()) == nullptr);
  CHECK(world.Follow(0));
  CHECK_FALSE(world.fits.Behind());
  CHECK(world.Left("n0").gpu_whole == 1);
}

TEST_CASE("only what stays is taken from a node", "[engine][stays]") {
  World world(1);
  world.Add(MakePod("agent").Daemon().Gpus(1).BoundTo("n0"));
  world.Add(MakePod("web").Scheduler("other").MilliCpu(2000).BoundTo("n0"));
  world.Add(MakePod("ours").MilliCpu(2000).BoundTo("n0"));
  world.Follow(0);
  CHECK(world.Left("n0").resources.cpu == cluster::MilliCpu(7000));
  CHECK(world.Left("n0").gpu_whole == 0);
  CHECK_FALSE(EverFits::PermanentlyBound(MakePod("agent").Daemon(), {}));
  CHECK_FALSE(EverFits::PermanentlyBound(
      MakePod("agent").Daemon().BoundTo("n0").Phase(cluster::PodPhase::kFailed), {}));
}

TEST_CASE("verdicts are forgotten at once for a node, seldom for pods, never for nothing",
          "[engine][stays]") {
  World world(1);
  const cluster::Pod agent = MakePod("agent").Daemon().BoundTo("n0");
  REQUIRE(world.Follow(0));
  const auto learn = [&] {
    world.fits.Learn(kShape, world.fits.basis(), {engine::Because(ReasonCode::kNeverFits), ""});
    return world.fits.Never(kShape) != nullptr;
  };
  REQUIRE(learn());
  world.Add(agent);
  CHECK_FALSE(world.Follow(9));
  CHECK(world.fits.Never(kShape) != nullptr);
  CHECK(world.fits.due() == Time(10'000));
  CHECK(world.Follow(10));
  CHECK_FALSE(world.fits.Asked(kShape));
  CHECK(world.fits.due() == Time::Never());
  REQUIRE(learn());
  world.Add(agent);  // the same again
  CHECK_FALSE(world.Follow(30));
  world.state.Upsert(MakeNode("n0").Cpu(16));
  world.fits.TouchRecord(world.state.IndexOf("n0"));
  CHECK(world.Follow(31));
  CHECK_FALSE(world.fits.Asked(kShape));
}

TEST_CASE("a verdict found on another basis is not learnt", "[engine][stays]") {
  World world(1);
  world.Follow(0);
  const uint64_t then = world.fits.basis();
  world.fits.Forget();
  world.fits.Learn(kShape, then, {engine::Because(ReasonCode::kNeverFits), ""});
  CHECK_FALSE(world.fits.Asked(kShape));
  world.fits.Learn(kShape, world.fits.basis(), {{}, "r1"});
  CHECK(world.fits.Asked(kShape));
  CHECK(world.fits.FitsIn(kShape) == "r1");
  CHECK(world.fits.Never(kShape) == nullptr);
}

TEST_CASE("devices that are left out, cordoned or broken are hoped for", "[engine][stays]") {
  World world(2);
  cluster::Node node = MakeNode("n0").Gpus(3).Unhealthy(1);
  node.gpus[0].left_out = true;
  node.gpus[2].cordoned = true;
  world.state.Upsert(node);
  world.fits.TouchRecord(world.state.IndexOf("n0"));
  world.Follow(0);
  CHECK(world.Left("n0").gpu_whole == 3);
  const auto room = world.fits.Room(*world.state.TakeSnapshot());
  for (const cluster::Gpu& gpu : room->node(world.state.IndexOf("n0"))->gpus) CHECK(gpu.usable());
}

}  // namespace
}  // namespace muster::testing
