#include "engine/ever_fits.hpp"

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

const policy::RequestKey kShape = {{{1, 1}}, "", "", {}};

struct Ground {
  explicit Ground(int nodes) {
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
  Ground ground(static_cast<int>(EverFits::kSlice) + 1);
  CHECK_FALSE(ground.Follow(0));
  CHECK(ground.fits.Behind());
  CHECK(ground.fits.Room(*ground.state.TakeSnapshot()) == nullptr);
  CHECK(ground.Follow(0));
  CHECK_FALSE(ground.fits.Behind());
  CHECK(ground.Left("n0").gpu_whole == 1);
}

TEST_CASE("only what stays is taken from a node", "[engine][stays]") {
  Ground ground(1);
  ground.Add(MakePod("agent").Daemon().Gpus(1).BoundTo("n0"));
  ground.Add(MakePod("web").Scheduler("other").MilliCpu(2000).BoundTo("n0"));
  ground.Add(MakePod("ours").MilliCpu(2000).BoundTo("n0"));
  ground.Follow(0);
  CHECK(ground.Left("n0").resources.cpu == cluster::MilliCpu(7000));
  CHECK(ground.Left("n0").gpu_whole == 0);
  CHECK_FALSE(EverFits::Stays(MakePod("agent").Daemon(), {}));
  CHECK_FALSE(EverFits::Stays(
      MakePod("agent").Daemon().BoundTo("n0").Phase(cluster::PodPhase::kFailed), {}));
}

TEST_CASE("verdicts are forgotten at once for a node, seldom for pods, never for nothing",
          "[engine][stays]") {
  Ground ground(1);
  const cluster::Pod agent = MakePod("agent").Daemon().BoundTo("n0");
  REQUIRE(ground.Follow(0));
  const auto learn = [&] {
    ground.fits.Learn(kShape, ground.fits.ground(), engine::Because(ReasonCode::kNeverFits));
    return ground.fits.Never(kShape) != nullptr;
  };
  REQUIRE(learn());
  ground.Add(agent);
  CHECK_FALSE(ground.Follow(9));
  CHECK(ground.fits.Never(kShape) != nullptr);
  CHECK(ground.fits.due() == Time(10'000));
  CHECK(ground.Follow(10));
  CHECK_FALSE(ground.fits.Asked(kShape));
  CHECK(ground.fits.due() == Time::Never());
  REQUIRE(learn());
  ground.Add(agent);  // the same again
  CHECK_FALSE(ground.Follow(30));
  ground.state.Upsert(MakeNode("n0").Cpu(16));
  ground.fits.TouchRecord(ground.state.IndexOf("n0"));
  CHECK(ground.Follow(31));
  CHECK_FALSE(ground.fits.Asked(kShape));
}

TEST_CASE("a verdict found on other ground is not learnt", "[engine][stays]") {
  Ground ground(1);
  ground.Follow(0);
  const uint64_t then = ground.fits.ground();
  ground.fits.Forget();
  ground.fits.Learn(kShape, then, engine::Because(ReasonCode::kNeverFits));
  CHECK_FALSE(ground.fits.Asked(kShape));
  ground.fits.Learn(kShape, ground.fits.ground(), {});
  CHECK(ground.fits.Asked(kShape));
  CHECK(ground.fits.Never(kShape) == nullptr);
}

TEST_CASE("a device that is left out is hoped for, one that is broken is not", "[engine][stays]") {
  Ground ground(2);
  cluster::Node node = MakeNode("n0").Gpus(2).Unhealthy(1);
  node.gpus[0].left_out = true;
  ground.state.Upsert(node);
  ground.fits.TouchRecord(ground.state.IndexOf("n0"));
  ground.Follow(0);
  CHECK(ground.Left("n0").gpu_whole == 1);
  const auto room = ground.fits.Room(*ground.state.TakeSnapshot());
  CHECK(room->node(ground.state.IndexOf("n0"))->gpus[0].usable());
}

}  // namespace
}  // namespace muster::testing
