// growth() and generation(): when something that did not fit might fit now, and when anything
// changed at all.
#include <catch2/catch.hpp>
#include <functional>

#include "cluster/holdings/cluster_state.hpp"
#include "tests/support/builders.hpp"

namespace muster::cluster {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::MakePodGroup;
using testing::NodeBuilder;
using testing::PlaceOn;

// One node with a bound pod "b" and a pending pod "p" that is reserved.
ClusterState Start() {
  ClusterState state;
  const Node node = MakeNode("n0").Gpus(4);
  state.Upsert(node);
  state.Upsert(MakePod("b").Gpus(1).BoundTo("n0", {0}));
  state.Upsert(MakePod("p").Gpus(1));
  state.Upsert(MakePod("q").Gpus(1));
  const Pod pod = MakePod("p").Gpus(1);
  const Status reserved = state.Reserve({PlaceOn(pod, node, state.IndexOf("n0"), {1})});
  REQUIRE(reserved.ok());
  return state;
}

struct Step {
  const char* name;
  std::function<void(ClusterState&)> act;
};

TEST_CASE("growth changes when room may have become free", "[cluster][growth]") {
  const NodeBuilder node = NodeBuilder(MakeNode("n0")).Gpus(4);
  const Step step = GENERATE_COPY(values<Step>({
      {"a pod is removed", [](ClusterState& s) { s.Remove(PodUid("pod-b")); }},
      {"a pod has ended",
       [](ClusterState& s) {
         s.Upsert(MakePod("b").Gpus(1).BoundTo("n0", {0}).Phase(PodPhase::kSucceeded));
       }},
      {"a pod is replaced", [](ClusterState& s) { s.Upsert(MakePod("b").Uid("again")); }},
      {"a pod asks for less",
       [](ClusterState& s) { s.Upsert(MakePod("b").Gpus(1).MilliCpu(1).BoundTo("n0", {0})); }},
      {"a reservation is released", [](ClusterState& s) { s.Release(PodUid("pod-p")); }},
      {"a reserved pod is removed", [](ClusterState& s) { s.Remove(PodUid("pod-p")); }},
      {"a reserved pod has ended",
       [](ClusterState& s) { s.Upsert(MakePod("p").Gpus(1).Phase(PodPhase::kFailed)); }},
      {"a node is added", [](ClusterState& s) { s.Upsert(MakeNode("n1")); }},
      {"a node is replaced", [](ClusterState& s) { s.Upsert(MakeNode("n0").Uid("again")); }},
      {"CPU is added", [node](ClusterState& s) { s.Upsert(NodeBuilder(node).Cpu(65)); }},
      {"CPU is taken away", [node](ClusterState& s) { s.Upsert(NodeBuilder(node).Cpu(63)); }},
      {"a device is added", [node](ClusterState& s) { s.Upsert(NodeBuilder(node).Gpus(5)); }},
      {"a device breaks", [node](ClusterState& s) { s.Upsert(NodeBuilder(node).Unhealthy(3)); }},
      {"a node is not ready", [node](ClusterState& s) { s.Upsert(NodeBuilder(node).NotReady()); }},
      {"a node is cordoned", [node](ClusterState& s) { s.Upsert(NodeBuilder(node).Cordoned()); }},
      {"a label", [node](ClusterState& s) { s.Upsert(NodeBuilder(node).Label("zone", "a")); }},
      {"a taint",
       [node](ClusterState& s) {
         s.Upsert(NodeBuilder(node).Taint("k", "v", TaintEffect::kNoSchedule));
       }},
  }));
  DYNAMIC_SECTION(step.name) {
    ClusterState state = Start();
    const uint64_t growth = state.growth();
    const uint64_t generation = state.generation();
    step.act(state);
    CHECK(state.growth() != growth);
    CHECK(state.generation() != generation);
  }
}

TEST_CASE("growth stays when room is only taken or nothing changed", "[cluster][growth]") {
  struct Quiet {
    const char* name;
    std::function<void(ClusterState&)> act;
    bool snapshot_changes;
  };
  const Quiet step = GENERATE(values<Quiet>({
      {"the same node", [](ClusterState& s) { s.Upsert(MakeNode("n0").Gpus(4)); }, false},
      {"the same pod", [](ClusterState& s) { s.Upsert(MakePod("b").Gpus(1).BoundTo("n0", {0})); },
       false},
      {"a pending pod", [](ClusterState& s) { s.Upsert(MakePod("x").Gpus(1)); }, false},
      {"a pending pod goes", [](ClusterState& s) { s.Remove(PodUid("pod-q")); }, false},
      {"a PodGroup", [](ClusterState& s) { s.Upsert(MakePodGroup("g")); }, false},
      {"a phase",
       [](ClusterState& s) {
         s.Upsert(MakePod("b").Gpus(1).BoundTo("n0", {0}).Phase(PodPhase::kRunning));
       },
       false},
      {"a pod is to be deleted",
       [](ClusterState& s) { s.Upsert(MakePod("b").Gpus(1).BoundTo("n0", {0}).Deleting()); },
       false},
      {"a pod is bound", [](ClusterState& s) { s.Upsert(MakePod("q").Gpus(1).BoundTo("n0")); },
       true},
      {"a reserved pod is bound",
       [](ClusterState& s) { s.Upsert(MakePod("p").Gpus(1).BoundTo("n0", {1})); }, true},
      {"a pod is reserved",
       [](ClusterState& s) {
         const Placement plan =
             PlaceOn(*s.FindPod(PodUid("pod-q")), *s.FindNode("n0"), s.IndexOf("n0"), {2});
         CHECK(s.Reserve({plan}).ok());
       },
       true},
      {"a pod asks for more",
       [](ClusterState& s) { s.Upsert(MakePod("b").Gpus(1).MilliCpu(2000).BoundTo("n0", {0})); },
       true},
      {"a pod is bound to an unknown node",
       [](ClusterState& s) { s.Upsert(MakePod("q").Gpus(1).BoundTo("n9")); }, true},
      {"a reservation that there is not", [](ClusterState& s) { s.Release(PodUid("pod-q")); },
       false},
  }));
  DYNAMIC_SECTION(step.name) {
    ClusterState state = Start();
    const uint64_t growth = state.growth();
    const uint64_t generation = state.generation();
    step.act(state);
    CHECK(state.growth() == growth);
    CHECK((state.generation() != generation) == step.snapshot_changes);
  }
}

}  // namespace
}  // namespace muster::cluster
