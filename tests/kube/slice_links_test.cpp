// Links of ResourceSlices: the GPUs of whole pools, matched with a node's, and joined to nodes.
#include "kube/watch/slice_links.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/watch/node_parts.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::kube {
namespace {

using cluster::TopologySource;

cluster::Node NodeWith(int gpus, bool uuids = false) {
  cluster::Node node;
  node.name = "n";
  node.uid = cluster::NodeUid("n-uid");
  for (int i = 0; i < gpus; ++i) {
    cluster::Gpu gpu;
    gpu.index = cluster::GpuIndex{static_cast<uint16_t>(i)};
    if (uuids) gpu.uuid = "GPU-" + std::to_string(i);
    node.gpus.push_back(gpu);
  }
  return node;
}

SliceGpu GpuAt(int number, const std::string& root, std::optional<int> numa) {
  return {"GPU-" + std::to_string(number), root, 0x1000U + static_cast<uint64_t>(number) * 8, numa};
}

// GPUs 0 and 1 under one root, 2 beside them, 3 at the other socket.
std::vector<SliceGpu> FourGpus() {
  return {GpuAt(0, "pci0000:10", 0), GpuAt(1, "pci0000:10", 0), GpuAt(2, "pci0000:20", 0),
          GpuAt(3, "pci0000:90", 1)};
}

ResourceSlice SliceOf(const std::string& uid, std::vector<SliceGpu> gpus, int64_t generation = 1,
                      int64_t slices = 1) {
  return {uid, "n", "n", generation, slices, std::move(gpus)};
}

// "PHB NODE SYS | …": the upper half of the matrix, row by row.
std::string LinksIn(const std::string& topology) {
  if (topology.empty()) return "";
  const auto machine = topology::ParseMachine(topology, "test");
  REQUIRE(machine.ok());
  std::string text;
  for (size_t a = 0; a < machine->gpus.size(); ++a) {
    text += a > 0 ? "|" : "";
    for (size_t b = a + 1; b < machine->gpus.size(); ++b) text += " " + machine->At(a, b).text;
  }
  return text;
}

const std::string kFour = " PHB NODE SYS| NODE SYS| SYS|";

std::string LinksOf(std::vector<SliceGpu> gpus, const cluster::Node& node) {
  SliceLinks links;
  links.Observe(SliceOf("s", std::move(gpus)));
  const SliceLinks::Answer answer = links.Of(node);
  CHECK(answer.warning.empty());
  return LinksIn(answer.topology);
}

std::string WarningOf(std::vector<SliceGpu> gpus, const cluster::Node& node) {
  SliceLinks links;
  links.Observe(SliceOf("s", std::move(gpus)));
  const SliceLinks::Answer answer = links.Of(node);
  CHECK(answer.topology.empty());
  return answer.warning;
}

TEST_CASE("GPUs of one root complex have PHB, of one NUMA node NODE, all others SYS",
          "[kube][slices]") {
  CHECK(LinksOf(FourGpus(), NodeWith(4)) == kFour);
  SliceLinks links;
  links.Observe(SliceOf("s", FourGpus()));
  const auto machine = topology::ParseMachine(links.Of(NodeWith(4)).topology, "test");
  CHECK(machine->gpus[2].numa == std::vector<int>{0});
  CHECK(machine->gpus[3].numa == std::vector<int>{1});
  // What is not known of one GPU is not alike.
  auto gpus = FourGpus();
  gpus[0].pcie_root.clear();
  gpus[1].pcie_root.clear();
  CHECK(LinksOf(gpus, NodeWith(4)) == " NODE NODE SYS| NODE SYS| SYS|");
  for (SliceGpu& gpu : gpus) gpu.numa.reset();
  CHECK(LinksOf(gpus, NodeWith(4)) == " SYS SYS SYS| SYS SYS| SYS|");
  for (SliceGpu& gpu : gpus) gpu.pcie_root.clear();
  CHECK(LinksOf(gpus, NodeWith(4)).empty());
  CHECK(LinksOf({}, NodeWith(4)).empty());
  CHECK(LinksOf(FourGpus(), NodeWith(0)).empty());
}

TEST_CASE("GPUs are matched by UUID where the node's have one, else by PCI address",
          "[kube][slices]") {
  auto gpus = FourGpus();
  std::swap(gpus[0], gpus[3]);
  CHECK(LinksOf(gpus, NodeWith(4)) == kFour);
  CHECK(LinksOf(gpus, NodeWith(4, true)) == kFour);
  // By their addresses the first is the last, which UUIDs know better.
  for (SliceGpu& gpu : gpus) gpu.pci_address = 0x2000U - *gpu.pci_address;
  CHECK(LinksOf(gpus, NodeWith(4)) == " SYS SYS SYS| NODE NODE| PHB|");
  CHECK(LinksOf(gpus, NodeWith(4, true)) == kFour);
  for (SliceGpu& gpu : gpus) gpu.pci_address.reset();
  CHECK(LinksOf(gpus, NodeWith(4, true)) == kFour);
  // Those that the node does not offer count for nothing.
  CHECK(LinksOf(gpus, NodeWith(3, true)) == " PHB NODE| NODE|");
  // Which one is missing is not known, so it is the last.
  cluster::Node three = NodeWith(3);
  three.labels["nvidia.com/gpu.count"] = "4";
  CHECK(LinksOf(FourGpus(), three) == kFour);
}

TEST_CASE("ResourceSlices of other GPUs than the node has say nothing, and why", "[kube][slices]") {
  const std::string begin = "the ResourceSlices of node n say nothing of its links: ";
  CHECK(WarningOf(FourGpus(), NodeWith(8)) == begin + "they have 4 GPUs, the node has 8");
  CHECK(WarningOf(FourGpus(), NodeWith(2)) == begin + "they have 4 GPUs, the node has 2");
  CHECK(WarningOf(FourGpus(), NodeWith(5, true)) ==
        begin + "the node has GPU 4, GPU-4, which is none of their 4");
  auto gpus = FourGpus();
  gpus[1].uuid = "GPU-0";
  CHECK(WarningOf(gpus, NodeWith(1, true)) ==
        begin + "the node has GPU 0, GPU-0, which they have twice");
  gpus = FourGpus();
  gpus[1].pci_address = gpus[2].pci_address;
  CHECK_THAT(WarningOf(gpus, NodeWith(4)), Catch::Contains("of the slices have one PCI address"));
  gpus[1].pci_address.reset();
  CHECK_THAT(WarningOf(gpus, NodeWith(4)),
             Catch::Contains("GPU-1 of the slices has no PCI address"));
  gpus.assign(65, GpuAt(0, "pci0000:10", 0));
  CHECK(WarningOf(gpus, NodeWith(65)) ==
        begin + "they have 65 GPUs, the node has 65; expected at most 64");
}

TEST_CASE("of a pool the highest generation counts, once all its slices are there",
          "[kube][slices]") {
  SliceLinks links;
  const cluster::Node node = NodeWith(4);
  const auto now = [&] { return LinksIn(links.Of(node).topology); };
  const std::vector<SliceGpu> all = FourGpus();
  const std::vector<SliceGpu> front(all.begin(), all.begin() + 2);
  const std::vector<SliceGpu> back(all.begin() + 2, all.end());
  CHECK(links.Observe(SliceOf("a", front, 1, 2)) == std::vector<std::string>{"n"});
  CHECK(now().empty());
  links.Observe(SliceOf("b", back, 1, 2));
  CHECK(now() == kFour);
  // A new generation, half there: beside the old slices, then in place of one.
  std::vector<SliceGpu> moved = back;
  moved[0].numa = 1;
  links.Observe(SliceOf("c", moved, 2, 2));
  CHECK(now().empty());
  links.Observe(SliceOf("a", front, 2, 2));
  CHECK(now() == " PHB SYS SYS| SYS SYS| NODE|");
  // The rest of the old one goes.
  CHECK(links.Observe(ResourceSliceRemoved{"b"}) == "n");
  CHECK(now() == " PHB SYS SYS| SYS SYS| NODE|");
  CHECK(links.Observe(ResourceSliceRemoved{"c"}) == "n");
  CHECK(now().empty());
  CHECK_FALSE(links.Observe(ResourceSliceRemoved{"c"}));
  // One slice for all, and counters in another one.
  links.Observe(SliceOf("a", all, 3, 2));
  links.Observe(SliceOf("counters", {}, 3, 2));
  CHECK(now() == kFour);
  ResourceSlice cut = SliceOf("counters", {}, 3, 2);
  cut.whole = false;
  links.Observe(cut);
  CHECK(now().empty());
}

TEST_CASE("a node has the GPUs of all its pools", "[kube][slices]") {
  SliceLinks links;
  const std::vector<SliceGpu> all = FourGpus();
  ResourceSlice first = SliceOf("a", {all[0], all[1]}, 7);
  ResourceSlice second = SliceOf("b", {all[2], all[3]});
  second.pool = "other";
  links.Observe(first);
  links.Observe(second);
  CHECK(LinksIn(links.Of(NodeWith(4)).topology) == kFour);
  // One moves to another node, which the API server does not allow.
  second.node = "m";
  CHECK(links.Observe(second) == std::vector<std::string>{"n", "m"});
  CHECK(LinksIn(links.Of(NodeWith(2)).topology) == " PHB|");
  second.node.clear();
  CHECK(links.Observe(second) == std::vector<std::string>{"m"});
  links.Observe(ResourceSliceRemoved{"a"});
  CHECK(links.empty());
}

TEST_CASE("a node has the links of its ResourceSlices, whichever comes first", "[kube][slices]") {
  NodeParts parts;
  const auto first = parts.Join(NodeWith(4), false);
  REQUIRE(first.nodes.size() == 1);
  CHECK(first.nodes[0].topology.empty());
  const auto joined = parts.Observe(SliceOf("s", FourGpus()));
  REQUIRE(joined.nodes.size() == 1);
  CHECK(LinksIn(joined.nodes[0].topology) == kFour);
  CHECK(joined.nodes[0].topology_source == TopologySource::kResourceSlices);
  CHECK_FALSE(joined.read_nodes);
  // Health, taints, capacity: published again, and the links are the same.
  CHECK(parts.Observe(SliceOf("s", FourGpus(), 2)).nodes.empty());
  CHECK(parts.Join(NodeWith(4), false).nodes == joined.nodes);
  // Its policy comes, too.
  const auto both = parts.Observe(NodeTopology{"t", "n", cluster::NumaPolicy::kRestricted});
  REQUIRE(both.nodes.size() == 1);
  CHECK(both.nodes[0].numa_policy == cluster::NumaPolicy::kRestricted);
  CHECK(both.nodes[0].topology == joined.nodes[0].topology);
  const auto gone = parts.Observe(ResourceSliceRemoved{"s"});
  REQUIRE(gone.nodes.size() == 1);
  CHECK(gone.nodes[0].topology.empty());
  CHECK(gone.nodes[0].topology_source == TopologySource::kFlat);
  CHECK(gone.nodes[0].numa_policy == cluster::NumaPolicy::kRestricted);
}

TEST_CASE("a node with links of its own keeps them, and copies are kept of no others than may need",
          "[kube][slices]") {
  NodeParts parts;
  parts.Observe(SliceOf("s", FourGpus()));
  parts.Settle();  // there are no NodeResourceTopologies
  cluster::Node own = NodeWith(4);
  own.topology = "GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\n";
  own.topology_source = TopologySource::kPairScores;
  const auto kept = parts.Join(own, false);
  CHECK(kept.nodes.front() == own);
  CHECK(parts.copies() == 0);
  CHECK(parts.Observe(SliceOf("s", {})).nodes.empty());
  parts.Observe(SliceOf("s", FourGpus()));
  parts.Join(NodeWith(0), false);
  CHECK(parts.copies() == 0);
  // The annotation goes, and comes back.
  CHECK(LinksIn(parts.Join(NodeWith(4), false).nodes.front().topology) == kFour);
  CHECK(parts.copies() == 1);
  parts.Join(own, true);
  CHECK(parts.copies() == 0);
}

TEST_CASE("without ResourceSlices of GPUs no node is kept, and with the first all are wanted again",
          "[kube][slices]") {
  NodeParts parts;
  parts.Join(NodeWith(4), true);
  CHECK(parts.copies() == 1);  // one may come with the first list
  parts.Settle();
  CHECK(parts.copies() == 0);
  parts.Join(NodeWith(4), true);
  CHECK(parts.copies() == 0);
  ResourceSlice other = SliceOf("o", {});
  other.node.clear();
  CHECK_FALSE(parts.Observe(other).read_nodes);
  CHECK(parts.Observe(SliceOf("s", FourGpus())).read_nodes);
  CHECK_FALSE(parts.Observe(SliceOf("s", FourGpus(), 2)).read_nodes);
  CHECK(LinksIn(parts.Join(NodeWith(4), true).nodes.front().topology) == kFour);
  parts.Forget(cluster::NodeUid("n-uid"));
  CHECK(parts.copies() == 0);
  CHECK(parts.Observe(ResourceSliceRemoved{"s"}).nodes.empty());
}

TEST_CASE("that ResourceSlices are of other GPUs is said once for a node", "[kube][slices]") {
  NodeParts parts;
  CHECK(parts.Join(NodeWith(8), false).warnings.empty());
  const auto wrong = parts.Observe(SliceOf("s", FourGpus()));
  CHECK(wrong.nodes.empty());
  REQUIRE(wrong.warnings.size() == 1);
  CHECK_THAT(wrong.warnings[0], Catch::Contains("they have 4 GPUs, the node has 8"));
  CHECK(parts.Join(NodeWith(8), false).warnings.empty());
  CHECK(parts.Observe(SliceOf("s", FourGpus(), 2)).warnings.empty());
  const auto other = parts.Join(NodeWith(7), false);
  REQUIRE(other.warnings.size() == 1);
  CHECK_THAT(other.warnings[0], Catch::Contains("the node has 7"));
  CHECK(parts.Join(NodeWith(4), false).warnings.empty());
  CHECK(parts.Join(NodeWith(7), false).warnings == other.warnings);
}

}  // namespace
}  // namespace muster::kube
