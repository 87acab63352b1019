// Which machine a node is: by its devices and by labels.
#include "topology/links/node_match.hpp"

#include <catch2/catch.hpp>
#include <initializer_list>

#include "tests/support/builders.hpp"
#include "topology/links/node_topology.hpp"

namespace muster::topology::testing {
namespace {

using muster::testing::MakeNode;
using Places = std::vector<size_t>;

constexpr const char* kH100 = "NVIDIA-H100-80GB-HBM3";

cluster::Node WithIndices(std::initializer_list<uint16_t> indices) {
  cluster::Node node = MakeNode("n").Gpus(static_cast<int>(indices.size()), kH100);
  size_t place = 0;
  for (const uint16_t index : indices) node.gpus[place++].index.value = index;
  return node;
}

Machine WithGpus(std::initializer_list<uint16_t> indices) {
  Machine machine = FlatMachine(indices.size());
  size_t place = 0;
  for (const uint16_t index : indices) machine.gpus[place++].index = index;
  return machine;
}

}  // namespace

TEST_CASE("devices are found by their index on the node", "[topology][match]") {
  const Machine machine = WithGpus({1, 2});
  CHECK(PlacesIn(machine, WithIndices({1, 2})) == Places{0, 1});
  CHECK_FALSE(PlacesIn(machine, WithIndices({0, 2})));
  CHECK_FALSE(PlacesIn(machine, WithIndices({1, 2, 3})));
  CHECK_FALSE(PlacesIn(machine, WithIndices({1})));
}

TEST_CASE("a GPU that is not offered is missing where gpu.count says that the machine has it",
          "[topology][match]") {
  cluster::Node node = WithIndices({0, 1, 3});
  const Machine machine = FlatMachine(4);
  CHECK_FALSE(PlacesIn(machine, node));
  node.labels["nvidia.com/gpu.count"] = "4";
  CHECK(PlacesIn(machine, node) == Places{0, 1, kNotOffered, 2});
  // The label is of another machine, or is no number: then nothing is missing.
  for (const char* label : {"3", "5", "", "4x", "-4", "99999999999999999999"}) {
    node.labels["nvidia.com/gpu.count"] = label;
    CHECK_FALSE(PlacesIn(machine, node));
  }
  // A device too many is another machine, whatever the label says.
  node.labels["nvidia.com/gpu.count"] = "2";
  CHECK_FALSE(PlacesIn(FlatMachine(2), node));
  CHECK(GpusOf(node) == 3);
}

TEST_CASE("partitions are no GPUs of the machine, and their device may be missing",
          "[topology][match]") {
  cluster::Node node = WithIndices({1, 2, 3, 10, 11});
  for (const size_t place : {size_t{3}, size_t{4}}) node.gpus[place].parent.value = 0;
  CHECK(GpusOf(node) == 3);
  node.labels["nvidia.com/gpu.count"] = "4";
  CHECK(PlacesIn(FlatMachine(4), node) == Places{kNotOffered, 0, 1, 2});
  CHECK(ProductOf(node) == kH100);
}

TEST_CASE("a product is what all devices of the node are", "[topology][match]") {
  cluster::Node node = WithIndices({0, 1});
  CHECK(ProductOf(node) == kH100);
  SECTION("two models") { node.gpus[1].model = "NVIDIA-L4"; }
  SECTION("nobody told it") {
    node.gpus[0].model.clear();
    node.gpus[1].model.clear();
  }
  SECTION("one is not told") { node.gpus[1].model.clear(); }
  SECTION("MIG devices in place of GPUs") {
    for (cluster::Gpu& gpu : node.gpus) gpu.sharing = cluster::GpuSharing::Mig();
  }
  SECTION("no devices") { node.gpus.clear(); }
  CHECK(ProductOf(node).empty());
}

}  // namespace muster::topology::testing
