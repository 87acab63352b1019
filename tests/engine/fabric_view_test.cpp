// What people are told about the domains of the fabric.
#include "engine/contract/fabric_view.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "cluster/holdings/cluster_state.hpp"
#include "tests/support/builders.hpp"
#include "tests/support/fabrics.hpp"

namespace muster::engine {
namespace {

using testing::BlocksAndRacks;

// Rack a0 of two nodes of four GPUs, a1 and b0 of one each; a node in no rack.
cluster::ClusterState SomeRacks() {
  cluster::ClusterState state;
  for (const std::string name : {"a0x", "a0y", "a1x", "b0x"}) {
    state.Upsert(testing::MakeNode(name)
                     .Gpus(4)
                     .Label("block", name.substr(0, 1))
                     .Label("rack", name.substr(0, 2))
                     .Build());
  }
  state.Upsert(testing::MakeNode("outside").Gpus(4).Build());
  return state;
}

std::string Lines(const FabricView& view) {
  std::string text;
  for (const DomainView& one : view.domains) {
    text += std::string(static_cast<size_t>(one.depth), ' ') + one.tree + "/" + one.level + " " +
            one.name + ": nodes " + std::to_string(one.free_nodes) + "/" +
            std::to_string(one.nodes) + ", GPUs " + std::to_string(one.free_gpus) + "/" +
            std::to_string(one.gpus) + ", slots " + std::to_string(one.slots) + "\n";
  }
  return text;
}

TEST_CASE("each domain is followed by those below it, with what is free there",
          "[engine][fabric]") {
  cluster::ClusterState state = SomeRacks();
  state.Upsert(testing::MakePod("one").Gpus(1).BoundTo("a0y").Build());
  state.Upsert(
      testing::MakeNode("a1x").Gpus(4).Label("block", "a").Label("rack", "a1").Cordoned().Build());
  CHECK(Lines(ViewFabric(*state.TakeSnapshot(), BlocksAndRacks(), 3)) ==
        "dc/block a: nodes 1/3, GPUs 7/12, slots 2\n"
        " dc/rack a/a0: nodes 1/2, GPUs 7/8, slots 2\n"
        " dc/rack a/a1: nodes 0/1, GPUs 0/4, slots 0\n"
        "dc/block b: nodes 1/1, GPUs 4/4, slots 1\n"
        " dc/rack b/b0: nodes 1/1, GPUs 4/4, slots 1\n");
}

TEST_CASE("each node's innermost domain is shown", "[engine][fabric]") {
  std::string text;
  for (const NodePlace& place :
       ViewFabric(*SomeRacks().TakeSnapshot(), BlocksAndRacks(), 0).places) {
    text += place.tree + " " + place.node + " " + place.domain + "\n";
  }
  CHECK(text == "dc a0x a/a0\ndc a0y a/a0\ndc a1x a/a1\ndc b0x b/b0\ndc outside \n");
}

TEST_CASE("slots of more GPUs than a node has are counted on whole nodes", "[engine][fabric]") {
  cluster::ClusterState state = SomeRacks();
  state.Upsert(testing::MakePod("one").Gpus(1).BoundTo("a0y").Build());
  const FabricView view = ViewFabric(*state.TakeSnapshot(), BlocksAndRacks(), 8);
  REQUIRE(view.domains.size() == 5);
  CHECK(view.domains[0].slots == 1);  // a0x and a1x
  CHECK(view.domains[1].slots == 0);
  CHECK(ViewFabric(*state.TakeSnapshot(), BlocksAndRacks(), 0).domains[0].slots == 0);
}

TEST_CASE("faults in the labels of nodes are reported", "[engine][fabric]") {
  cluster::ClusterState state = SomeRacks();
  state.Upsert(testing::MakeNode("half").Gpus(4).Label("rack", "a0").Build());
  const FabricView view = ViewFabric(*state.TakeSnapshot(), BlocksAndRacks(), 0);
  REQUIRE(view.findings.size() == 1);
  CHECK_THAT(view.findings.front(), Catch::Contains("node half has rack=a0 but no block"));
  CHECK(ViewFabric(*state.TakeSnapshot(), {}, 0).domains.empty());
}

}  // namespace
}  // namespace muster::engine
