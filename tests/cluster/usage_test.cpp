#include "cluster/usage.hpp"

#include <catch2/catch.hpp>

#include "cluster/cluster_state.hpp"
#include "cluster/node_set.hpp"
#include "cluster/transaction.hpp"
#include "tests/support/builders.hpp"

namespace muster::cluster {
namespace {

using testing::MakeNode;
using testing::MakePod;

Placement OneGpu(const ClusterState& state, const std::string& pod, uint16_t gpu) {
  const Pod& known = *state.FindPod(ObjectKey{"default", pod});
  return {known.uid, state.IndexOf("n0"), known.spec->requests, {{GpuIndex{gpu}, kWholeGpu}}};
}

struct World {
  World() {
    state.Upsert(MakeNode("n0").Gpus(8).Build());
    for (const char* name : {"a0", "a1", "b0"}) {
      state.Upsert(MakePod(name).Gpus(1).Queue(std::string(1, name[0])).Build());
    }
  }
  int64_t Gpus(const std::string& queue) const { return state.usage().of(queue).gpu_milli; }

  ClusterState state;
};

TEST_CASE("what pods hold is charged to their queue, reserved or bound", "[cluster][usage]") {
  World world;
  CHECK(world.state.usage().queues().empty());
  REQUIRE(world.state.Reserve({OneGpu(world.state, "a0", 0), OneGpu(world.state, "b0", 1)}).ok());
  REQUIRE(world.state.Reserve({OneGpu(world.state, "a1", 2)}).ok());
  CHECK(world.Gpus("a") == 2'000);
  CHECK(world.Gpus("b") == 1'000);
  CHECK(world.state.TakeSnapshot()->usage() == world.state.usage());
  SECTION("a reservation is given back") {
    world.state.Release(world.state.FindPod(ObjectKey{"default", "a0"})->uid);
    CHECK(world.Gpus("a") == 1'000);
  }
  SECTION("the pod is bound, and ends") {
    world.state.Upsert(MakePod("b0").Gpus(1).Queue("b").BoundTo("n0", {1}).Build());
    CHECK(world.Gpus("b") == 1'000);
    world.state.Upsert(
        MakePod("b0").Gpus(1).Queue("b").BoundTo("n0", {1}).Phase(PodPhase::kSucceeded).Build());
    CHECK(world.Gpus("b") == 0);
    CHECK(world.state.usage().queues().size() == 1);
  }
  SECTION("the pod moves to another queue") {
    world.state.Upsert(MakePod("b0").Gpus(1).Queue("a").BoundTo("n0", {1}).Build());
    CHECK(world.Gpus("a") == 3'000);
    CHECK(world.Gpus("b") == 0);
  }
  SECTION("the node goes") {
    world.state.Remove(NodeUid(world.state.FindNode("n0")->uid));
    CHECK(world.state.usage().queues().empty());
  }
}

TEST_CASE("a transaction shows what queues would hold", "[cluster][usage]") {
  World world;
  REQUIRE(world.state.Reserve({OneGpu(world.state, "a0", 0)}).ok());
  Transaction tx(world.state.TakeSnapshot());
  const size_t before = tx.checkpoint();
  tx.Place(OneGpu(world.state, "b0", 1), "b");
  tx.Evict(OneGpu(world.state, "a0", 0), "a");
  CHECK(tx.usage().of("b").gpu_milli == 1'000);
  CHECK(tx.usage().of("a") == Usage{});
  tx.RollbackTo(before);
  CHECK(tx.usage() == world.state.usage());
}

TEST_CASE("a set of nodes knows its nodes, and which chunks it covers", "[cluster][nodes]") {
  NodeSet set;
  for (uint32_t i = 0; i < 64; ++i) set.Add(NodeIndex{i});
  set.Add(NodeIndex{65});
  CHECK(set.count() == 65);
  CHECK(set.Contains(NodeIndex{63}));
  CHECK_FALSE(set.Contains(NodeIndex{64}));
  CHECK_FALSE(set.Contains(NodeIndex{1'000}));
  CHECK(set.Covers(0, 100));
  CHECK_FALSE(set.Covers(1, 66));
  set.Add(NodeIndex{64});
  CHECK(set.Covers(1, 66));
  CHECK_FALSE(set.Covers(1, 67));
  CHECK(set.Word(2) == 0);
}

}  // namespace
}  // namespace muster::cluster
