// The device graph, what nodes share, NICs, NUMA admission and the kubelet's own pick.
#include "topology/links/node_topology.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "tests/topology/data_files.hpp"
#include "tests/topology/machines.hpp"
#include "topology/links/device_graph.hpp"
#include "topology/links/numa_sets.hpp"

namespace muster::topology::testing {
namespace {

using Places = std::vector<size_t>;
using Kind = DeviceGraph::Kind;

size_t CountOf(const DeviceGraph& graph, Kind kind) {
  return static_cast<size_t>(
      std::count_if(graph.vertices.begin(), graph.vertices.end(),
                    [&](const DeviceGraph::Vertex& vertex) { return vertex.kind == kind; }));
}

Places StockPick(const Machine& machine, GpuMask free, size_t count, Places required = {}) {
  return BestEffortPick(PairScores(machine), machine.gpus.size(), PlacesOf(free), required, count);
}

}  // namespace

TEST_CASE("the graph has the switches and bridges that the classes imply", "[topology][graph]") {
  const DeviceGraph graph = BuildGraph(Parsed(kDgx1v), {});
  CHECK(CountOf(graph, Kind::kGpu) == 8);
  CHECK(CountOf(graph, Kind::kNic) == 4);
  CHECK(CountOf(graph, Kind::kPcieSwitch) == 4);
  CHECK(CountOf(graph, Kind::kHostBridge) == 2);
  CHECK(CountOf(graph, Kind::kNumaNode) == 2);
  CHECK(CountOf(graph, Kind::kFabricSwitch) == 0);
  CHECK(graph.odd_pairs == 0);
  CHECK(graph.matrix.At(0, 3) == 50'000);
  CHECK(graph.matrix.At(0, 5) == 6'000);
  CHECK(graph.matrix.socket == std::vector<uint8_t>{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK_THAT(ToDot(graph), Catch::Contains("NVLink x2, 50 GB/s"));
}

TEST_CASE("all links of a GPU together say whether there is a switch", "[topology][graph]") {
  const auto machine = [](const std::string& link, size_t gpus) {
    std::string header;
    std::string rows;
    for (size_t a = 0; a < gpus; ++a) {
      header += " GPU" + std::to_string(a);
      rows += "GPU" + std::to_string(a);
      for (size_t b = 0; b < gpus; ++b) rows += a == b ? " X" : " " + link;
      rows += "\n";
    }
    return Parsed(header + "\n" + rows);
  };
  CHECK(CountOf(BuildGraph(machine("NV12", 8), {}), Kind::kFabricSwitch) == 1);
  CHECK(CountOf(BuildGraph(machine("NV18", 4), {}), Kind::kFabricSwitch) == 1);
  CHECK(CountOf(BuildGraph(machine("NV4", 4), {}), Kind::kFabricSwitch) == 0);   // a mesh
  CHECK(CountOf(BuildGraph(machine("NV6", 4), {}), Kind::kFabricSwitch) == 0);   // GH200
  CHECK(CountOf(BuildGraph(machine("NV12", 2), {}), Kind::kFabricSwitch) == 0);  // a bridge
  CHECK(BuildGraph(machine("NV18", 8), {}).matrix.At(2, 5) == 450'000);
}

TEST_CASE("paths of real machines' graphs give the classes of their matrices",
          "[topology][graph][data]") {
  for (const char* file :
       {"dgx1v", "dgx1-topo-mp", "dgx-a100", "oci-a100-8-nic18", "hopper-sxm-8-nic8", "gb200-tray",
        "v100-8-mlx5-2", "nv4-pairs-4-nic1", "rtx4090-8", "k80-4-mlx4-old-legend", "p40-8-soc-mlx5",
        "gtx-7-legend-first", "container-5-of-8", "amd-smi-2-pcie"}) {
    const auto text = ReadDataFile(file);
    if (!text) continue;
    INFO(file);
    CHECK(BuildGraph(Parsed(*text), {}).odd_pairs == 0);
  }
}

TEST_CASE("classes that fit no tree stand as they were told", "[topology][graph][data]") {
  const auto text = ReadDataFile("ppu-8-icn");  // SYS between GPUs of one NUMA node
  if (!text) return;
  const DeviceGraph graph = BuildGraph(Parsed(*text), {});
  CHECK(graph.odd_pairs == 4);
  CHECK(graph.matrix.At(0, 2) == 6'000);
  CHECK(graph.matrix.At(0, 1) == 50'000);
}

TEST_CASE("NVLinks hide PCIe relations, and other devices tell them", "[topology][graph][data]") {
  const auto with = ReadDataFile("dgx1v");
  const auto without = ReadDataFile("dgx1-topo-mp");
  if (!with || !without) return;
  const std::vector<LinkType> relations = PcieRelations(Parsed(*with));
  const Machine machine = Parsed(*without);
  for (size_t a = 0; a < 8; ++a) {
    for (size_t b = 0; b < 8; ++b) CHECK(relations[a * 8 + b] == machine.At(a, b).link.type);
  }
}

TEST_CASE("nodes that are alike share one object, an odd one costs one entry", "[topology][node]") {
  TopologyCache cache;
  const Machine machine = Parsed(kDgx1v);
  const auto a = cache.Of({TopologySource::kAnnotation, machine});
  const auto b = cache.Of({TopologySource::kAnnotation, Parsed(kDgx1v)});
  CHECK(a == b);
  CHECK(cache.live_tables() == 1);
  const auto c = cache.Of({TopologySource::kProfile, machine});
  CHECK(c != a);
  CHECK(c->chooser == a->chooser);
  Machine odd = machine;
  odd.cells[1] = odd.cells[odd.devices()] = {Link{LinkType::kPix}, "PIX", 0};
  {
    const auto d = cache.Of({TopologySource::kAnnotation, odd});
    CHECK(cache.live_tables() == 2);
  }
  CHECK(cache.live_tables() == 1);
}

TEST_CASE("a flat machine gives the lowest GPUs", "[topology][node]") {
  TopologyCache cache;
  const auto flat = cache.Of({TopologySource::kFlat, FlatMachine(8)});
  CHECK(flat->Choose(0b11010110, 3) == Places{1, 2, 4});
  CHECK(flat->Choose(0b1, 2).empty());
}

TEST_CASE("scores of pairs are a machine", "[topology][node]") {
  const Machine want = Parsed(kDgx1v);
  const auto machine = MachineOfPairScores(PairScores(want), 8);
  REQUIRE(machine.ok());
  CHECK(machine->At(0, 3).text == "NV2");
  CHECK(machine->At(0, 5).text == "SYS");
  CHECK(BuildGraph(*machine, {}).matrix.bandwidth == BuildGraph(want, {}).matrix.bandwidth);
  std::vector<int> scores = PairScores(want);
  scores[1] = 77;
  CHECK(MachineOfPairScores(scores, 8).error().ToString().substr(0, 8) == "[0][1]: ");
  scores[1] = 110;
  CHECK_THAT(MachineOfPairScores(scores, 8).error().message, Catch::Contains("contradicts 150"));
}

TEST_CASE("a machine knows whether all its links are alike, and its slowest one",
          "[topology][node]") {
  TopologyCache cache;
  CHECK_FALSE(cache.Of({TopologySource::kAnnotation, Parsed(kDgx1v)})->even);
  CHECK(SlowestLink(Parsed(kDgx1v), {})->text == "SYS");
  const Cell nv4{Link{LinkType::kNvLink, 4}, "NV4", 0};
  CHECK(cache.Of({TopologySource::kProfile, FlatMachine(3, nv4)})->even == 100'000U);
  CHECK(cache.Of({TopologySource::kProfile, FlatMachine(3, nv4), {.nvlink = 50'000}})->even ==
        200'000U);
  CHECK(cache.Of({TopologySource::kFlat, FlatMachine(3)})->even == 0U);
  CHECK_FALSE(cache.Of({TopologySource::kFlat, FlatMachine(1)})->even);
  CHECK(SlowestLink(FlatMachine(1), {}) == nullptr);
}

TEST_CASE("the kubelet's NUMA policies turn sets away", "[topology][numa]") {
  TopologyCache cache;
  const auto node = cache.Of({TopologySource::kAnnotation, Parsed(kDgx1v)});
  const Machine& machine = node->facts.machine;
  CHECK(Admits(machine, NumaPolicy::kNone, MaskOf({0, 4})));
  CHECK(Admits(machine, NumaPolicy::kBestEffort, MaskOf({0, 4})));
  CHECK_FALSE(Admits(machine, NumaPolicy::kSingleNumaNode, MaskOf({0, 4})));
  CHECK(Admits(machine, NumaPolicy::kSingleNumaNode, MaskOf({0, 1, 2, 3})));
  CHECK_FALSE(Admits(machine, NumaPolicy::kSingleNumaNode, MaskOf({0, 1, 2, 3, 4})));
  // Five GPUs need two nodes, so restricted lets them have two.
  CHECK(Admits(machine, NumaPolicy::kRestricted, MaskOf({0, 1, 2, 3, 4})));
  CHECK_FALSE(Admits(machine, NumaPolicy::kRestricted, MaskOf({0, 4})));
  CHECK(Admits(FlatMachine(4), NumaPolicy::kSingleNumaNode, MaskOf({0, 3})));
  // The best pair crosses the boards where only 0, 1 and 4 are free.
  CHECK(node->Choose(MaskOf({0, 1, 4}), 2) == Places{0, 4});
  const NumaSets single(machine, NumaPolicy::kSingleNumaNode);
  CHECK(single.Choose(*node->chooser, MaskOf({0, 1, 4}), 2) == MaskOf({0, 1}));
  CHECK(single.Choose(*node->chooser, MaskOf({0, 4}), 2) == 0);
}

TEST_CASE("one GPU: the odd one", "[topology][node]") {
  TopologyCache cache;
  const auto node = cache.Of({TopologySource::kAnnotation, Parsed(kDgx1v)});
  CHECK(node->ChooseOne(MaskOf({2, 4, 5, 6, 7}), MaskOf({2, 4})) == 2U);
  CHECK(node->ChooseOne(MaskOf({4, 5}), MaskOf({5})) == 5U);
  CHECK_FALSE(node->ChooseOne(MaskOf({4, 5}), 0));
}

// Scores on a DGX-1V, PCIe relation and NVLinks added up: 0-1 150, 0-2 130, 0-3 230, 0-4 210, 1-2
// 230, 1-3 130, 1-5 210, 2-3 250, 2-6 110, 3-7 110, others across 10; the second board alike.
TEST_CASE("the stock device plugin's pick on a DGX-1V, by hand", "[topology][kubelet]") {
  const Machine machine = Parsed(kDgx1v);
  const std::vector<int> scores = PairScores(machine);
  CHECK(scores[0 * 8 + 1] == 150);
  CHECK(scores[0 * 8 + 3] == 230);
  CHECK(scores[0 * 8 + 4] == 210);
  CHECK(scores[2 * 8 + 3] == 250);
  CHECK(scores[0 * 8 + 7] == 10);
  struct Case {
    Places free;
    size_t count;
    Places want;
    const char* why;
    Places required = {};
  };
  const std::vector<Case> cases = {
      {{0, 1, 2, 3, 4, 5, 6, 7}, 8, {0, 1, 2, 3, 4, 5, 6, 7}, "all"},
      {{3, 5}, 1, {3}, "the first one"},
      {{5, 3}, 1, {5}, "the first one as listed"},
      {{0, 1, 2, 3}, 2, {0, 3}, "03+12 = 460 beats 01+23 = 400 and 02+13 = 260; 0-3 is first"},
      {{4, 5, 6, 7}, 2, {4, 7}, "47+56 = 460"},
      {{0, 1, 2}, 2, {1, 2}, "12 alone 230"},
      {{0, 1, 3}, 2, {0, 3}, "03 alone 230"},
      {{0, 2, 3}, 2, {2, 3}, "23 alone 250"},
      {{1, 2, 3}, 2, {2, 3}, "250"},
      {{0, 4}, 2, {0, 4}, "only pair"},
      {{0, 5, 6}, 2, {5, 6}, "230"},
      {{0, 4, 5}, 2, {0, 4}, "210 beats 45 = 150"},
      {{1, 5, 6}, 2, {5, 6}, "230 beats 210"},
      {{0, 1, 4, 5}, 2, {0, 4}, "04+15 = 420 beats 01+45 = 300"},
      {{2, 3, 6, 7}, 2, {2, 3}, "23+67 = 500 beats 26+37 = 220"},
      {{0, 3, 4, 7}, 2, {0, 3}, "03+47 = 460 beats 04+37 = 320"},
      {{1, 2, 5, 6}, 2, {1, 2}, "12+56 = 460 beats 15+26 = 320"},
      {{0, 7}, 2, {0, 7}, "no choice, no link"},
      {{0, 5}, 2, {0, 5}, "no choice, no link"},
      {{0, 5, 7}, 2, {5, 7}, "57 = 130"},
      {{0, 1, 2, 3, 4, 5, 6, 7}, 4, {0, 1, 2, 3}, "a board has 1120, and so has the other"},
      {{0, 1, 2, 3, 4}, 4, {0, 1, 2, 3}, "1120"},
      {{3, 4, 5, 6, 7}, 4, {4, 5, 6, 7}, "1120"},
      {{0, 1, 2, 3}, 3, {1, 2, 3}, "123 = 610; 023 = 610; 013 = 510; 012 = 510", {1}},
      {{0, 1, 2}, 3, {0, 1, 2}, "no choice"},
      {{0, 3, 4}, 2, {0, 3}, "230 beats 210 and 10"},
      {{0, 1, 2, 3}, 2, {0, 1}, "must hold both", {0, 1}},
      {{0, 1, 2, 3}, 2, {1, 2}, "must hold 1: the division 03+12", {1}},
      {{0, 1}, 2, {}, "2 is not available", {2}},
      {{0, 1}, 3, {}, "too few"},
      {{0, 1, 2, 3}, 1, {2}, "the required one", {2}},
      {{0, 1, 2, 3}, 1, {}, "more required than asked for", {1, 2}},
  };
  for (const Case& c : cases) {
    INFO(c.why);
    CHECK(BestEffortPick(scores, 8, c.free, c.required, c.count) == c.want);
  }
}

// The figures of docs/design/gpu-choice.md.
TEST_CASE("how often the stock rule misses an NVLink ring on a DGX-1V", "[topology][kubelet]") {
  const Machine machine = Parsed(kDgx1v);
  const GpuChooser chooser(BuildGraph(machine, {}).matrix);
  struct Tally {
    int possible = 0;  // free sets in which some set of that size has an NVLink ring
    int missed = 0;    // of these, where the stock pick has none
    bool operator==(const Tally&) const = default;
  };
  std::map<size_t, Tally> tallies;
  Tally all;
  for (GpuMask free = 1; free <= 0xFF; ++free) {
    for (size_t count = 2; count <= PlacesOf(free).size(); ++count) {
      if (chooser.RingOf(chooser.Choose(free, count)) < 25'000) continue;
      GpuMask picked = 0;
      for (const size_t place : StockPick(machine, free, count)) picked |= GpuMask{1} << place;
      const int missed = chooser.RingOf(picked) < 25'000 ? 1 : 0;
      for (Tally* tally : {&tallies[count], &all}) {
        ++tally->possible;
        tally->missed += missed;
      }
    }
  }
  CHECK(tallies == std::map<size_t, Tally>{{2, {235, 0}},
                                           {3, {135, 0}},
                                           {4, {77, 30}},
                                           {5, {61, 21}},
                                           {6, {37, 0}},
                                           {7, {9, 0}},
                                           {8, {1, 0}}});
  CHECK(all == Tally{555, 51});
}

}  // namespace muster::topology::testing
