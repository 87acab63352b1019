#include "cluster/holdings/usage.hpp"

#include <catch2/catch.hpp>

#include "cluster/holdings/cluster_state.hpp"
#include "cluster/holdings/node_set.hpp"
#include "cluster/holdings/transaction.hpp"
#include "tests/support/builders.hpp"

namespace muster::cluster {
namespace {

using testing::MakeNode;
using testing::MakePod;

Placement OneGpu(const ClusterState& state, const std::string& pod, uint16_t gpu) {
  const Pod& known = *state.FindPod(ObjectKey{"default", pod});
  return {known.uid, state.IndexOf("n0"), known.spec->requests, {{GpuIndex{gpu}, kWholeGpu}}};
}

struct UsageWorld {
  UsageWorld() {
    state.Upsert(MakeNode("n0").Gpus(8).Build());
    for (const char* name : {"a0", "a1", "b0"}) {
      state.Upsert(MakePod(name).Gpus(1).Queue(std::string(1, name[0])).Build());
    }
  }
  int64_t Gpus(const std::string& queue) const { return state.usage().of(queue).gpu_milli; }

  ClusterState state;
};

TEST_CASE("what pods hold is charged to their queue, reserved or bound", "[cluster][usage]") {
  UsageWorld world;
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

TEST_CASE("usage counts devices by model, and their memory", "[cluster][usage]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(8).Build());
  state.Upsert(MakeNode("t0").Gpus(4, "Tesla-T4", 16'384).Build());
  state.Upsert(MakePod("a0").Gpus(2).Queue("a").BoundTo("n0", {0, 1}).Build());
  state.Upsert(MakePod("a1").Gpus(1).Queue("a").BoundTo("t0", {3}).Build());
  const int64_t h100 = state.FindNode("n0")->gpus[0].memory.value();
  Usage usage = state.usage().of("a");
  CHECK(usage.gpu_memory == MiB(2 * h100 + 16'384));
  CHECK(usage.gpu_milli_by_model ==
        std::map<std::string, int64_t>{{"NVIDIA-H100-80GB-HBM3", 2'000}, {"Tesla-T4", 1'000}});
  state.Remove(PodUid("pod-a1"));
  CHECK(state.usage().of("a").gpu_milli_by_model.size() == 1);
}

TEST_CASE("an earmark is charged from the moment that it is made", "[cluster][usage]") {
  UsageWorld world;
  world.state.Upsert(MakePod("a0").Gpus(8).Queue("a").BoundTo("n0", {}).Build());
  REQUIRE(world.state.Earmark({OneGpu(world.state, "b0", 0)}, {PodUid("pod-a0")}).ok());
  CHECK(world.Gpus("a") == 8'000);
  CHECK(world.Gpus("b") == 1'000);
  world.state.Remove(PodUid("pod-a0"));
  CHECK(world.Gpus("b") == 1'000);
  REQUIRE(world.state.Redeem({PodUid("pod-b0")}).ok());
  CHECK(world.Gpus("b") == 1'000);
  world.state.Release(PodUid("pod-b0"));
  CHECK(world.state.usage().queues().empty());
}

TEST_CASE("an earmark that is given up, or whose node goes, is charged no more",
          "[cluster][usage]") {
  UsageWorld world;
  world.state.Upsert(MakePod("a0").Gpus(8).Queue("a").BoundTo("n0", {}).Build());
  REQUIRE(world.state.Earmark({OneGpu(world.state, "b0", 0)}, {PodUid("pod-a0")}).ok());
  SECTION("given up") { world.state.Release(PodUid("pod-b0")); }
  SECTION("the node goes") { world.state.Remove(NodeUid(world.state.FindNode("n0")->uid)); }
  CHECK(world.Gpus("b") == 0);
}

TEST_CASE("what a pod holds can be charged to another queue", "[cluster][usage]") {
  UsageWorld world;
  REQUIRE(world.state.Reserve({OneGpu(world.state, "a0", 0)}).ok());
  const uint64_t growth = world.state.growth();
  world.state.ChargeTo(PodUid("pod-a0"), "b");
  CHECK(world.Gpus("a") == 0);
  CHECK(world.Gpus("b") == 1'000);
  CHECK(world.state.FindPod(PodUid("pod-a0"))->queue == "b");
  CHECK(world.state.growth() > growth);         // a may take more
  world.state.ChargeTo(PodUid("pod-b0"), "c");  // it holds nothing
  CHECK(world.Gpus("c") == 0);
  world.state.ChargeTo(PodUid("nobody"), "c");
}

TEST_CASE("a transaction shows what queues would hold", "[cluster][usage]") {
  UsageWorld world;
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
