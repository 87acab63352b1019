// Sets of GPUs that the kubelet's topology manager admits, against trying every set.
#include "topology/links/numa_sets.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "tests/topology/data_files.hpp"
#include "tests/topology/machines.hpp"
#include "topology/links/node_topology.hpp"

namespace muster::topology::testing {
namespace {

// Eight GPUs on four NUMA nodes, pairs of neighbours with a bridge between them.
Machine FourNodes() {
  std::string text;
  for (int b = 0; b < 8; ++b) text += "\tGPU" + std::to_string(b);
  text += "\tCPU Affinity\tNUMA Affinity\n";
  for (int a = 0; a < 8; ++a) {
    text += "GPU" + std::to_string(a);
    for (int b = 0; b < 8; ++b) text += a == b ? "\t X " : (a / 2 == b / 2 ? "\tNV12" : "\tSYS");
    text += "\t" + std::to_string(8 * (a / 2)) + "-" + std::to_string(8 * (a / 2) + 7) + "\t" +
            std::to_string(a / 2) + "\n";
  }
  return Parsed(text);
}

// Eight GPUs at two sockets: a square of links at each, wide and narrow ones by turns, and wide
// links between the sockets: 0 to 6 and 1 to 7.
Machine WideAcross() {
  const auto link = [](int a, int b) -> std::string {
    if (a == b) return "X";
    const int low = std::min(a, b);
    const int high = std::max(a, b);
    if (high == low + 6) return "NV2";
    if (low / 4 != high / 4) return "SYS";
    if (high == low + 1 && low % 2 == 0) return "NV2";
    return (low % 4 == 0 && high == low + 3) || (low % 4 == 1 && high == low + 1) ? "NV1" : "SYS";
  };
  std::string text;
  for (int b = 0; b < 8; ++b) text += "\tGPU" + std::to_string(b);
  text += "\tCPU Affinity\tNUMA Affinity\n";
  for (int a = 0; a < 8; ++a) {
    text += "GPU" + std::to_string(a);
    for (int b = 0; b < 8; ++b) text += "\t" + link(a, b);
    text += a < 4 ? "\t0-7\t0\n" : "\t8-15\t1\n";
  }
  return Parsed(text);
}

}  // namespace

TEST_CASE("what is left is judged by the sets that are admitted there", "[topology][numa]") {
  const Machine machine = WideAcross();
  TopologyCache cache;
  const auto node = cache.Of({TopologySource::kAnnotation, machine});
  const GpuChooser& chooser = *node->chooser;
  // GPU 2 is dead. Without a policy 0, 1, 6 and 7 stay: they have the wider ring.
  const GpuMask healthy = MaskOf({0, 1, 3, 4, 5, 6, 7});
  CHECK(chooser.Choose(healthy, 2) == MaskOf({4, 5}));
  const auto policy = GENERATE(NumaPolicy::kRestricted, NumaPolicy::kSingleNumaNode);
  const NumaSets sets(machine, policy);
  const GpuMask pair = sets.Choose(chooser, healthy, 2);
  CHECK(pair == MaskOf({0, 1}));
  CHECK(sets.Choose(chooser, healthy & ~pair, 4) == MaskOf({4, 5, 6, 7}));
  CHECK(sets.Choose(chooser, healthy, 1) == MaskOf({3}));
}

TEST_CASE("no set with such links leaves a better four behind", "[topology][numa]") {
  const Machine machine = GENERATE(Parsed(kDgx1v), FourNodes(), WideAcross());
  TopologyCache cache;
  const auto node = cache.Of({TopologySource::kAnnotation, machine});
  const GpuChooser& chooser = *node->chooser;
  const NumaSets sets(machine, NumaPolicy::kSingleNumaNode);
  const auto four = [&](GpuMask left) {
    const GpuMask best = sets.Choose(chooser, left, 4);
    return std::pair(chooser.RingOf(best), chooser.TotalOf(best));
  };
  for (GpuMask free = 1; free < 256; ++free) {
    for (size_t count = 1; count <= 4; ++count) {
      const GpuMask got = sets.Choose(chooser, free, count);
      if (got == 0) continue;
      const auto left = four(free & ~got);
      for (GpuMask set = free; set != 0; set = (set - 1) & free) {
        if (static_cast<size_t>(std::popcount(set)) != count ||
            !Admits(machine, NumaPolicy::kSingleNumaNode, set) ||
            chooser.RingOf(set) != chooser.RingOf(got) ||
            chooser.TotalOf(set) != chooser.TotalOf(got))
          continue;
        INFO("free " << free << ", got " << got << ", other " << set);
        REQUIRE(four(free & ~set) <= left);
      }
    }
  }
}

TEST_CASE("the chosen set is as good as the best of all that are admitted", "[topology][numa]") {
  const Machine machine = GENERATE(Parsed(kDgx1v), FourNodes());
  const auto policy = GENERATE(NumaPolicy::kRestricted, NumaPolicy::kSingleNumaNode);
  TopologyCache cache;
  const auto node = cache.Of({TopologySource::kAnnotation, machine});
  const GpuChooser& chooser = *node->chooser;
  const NumaSets sets(machine, policy);
  REQUIRE(sets.turns_away());
  for (GpuMask free = 0; free < 256; ++free) {
    for (size_t count = 1; count <= 8; ++count) {
      const GpuMask want =
          chooser.ChooseIf(free, count, [&](GpuMask set) { return Admits(machine, policy, set); });
      const GpuMask got = sets.Choose(chooser, free, count);
      INFO("free " << free << ", count " << count << ", got " << got << ", want " << want);
      REQUIRE((got == 0) == (want == 0));
      REQUIRE((got & ~free) == 0);
      if (got == 0) continue;
      REQUIRE(static_cast<size_t>(std::popcount(got)) == count);
      REQUIRE(Admits(machine, policy, got));
      REQUIRE(chooser.RingOf(got) == chooser.RingOf(want));
      REQUIRE(chooser.TotalOf(got) == chooser.TotalOf(want));
    }
  }
}

TEST_CASE("a merit counts between the ring and the rest, among the sets that are admitted",
          "[topology][numa]") {
  const Machine machine = Parsed(kDgx1v);
  const auto policy =
      GENERATE(NumaPolicy::kNone, NumaPolicy::kRestricted, NumaPolicy::kSingleNumaNode);
  TopologyCache cache;
  const auto node = cache.Of({TopologySource::kAnnotation, machine});
  const GpuChooser& chooser = *node->chooser;
  const NumaSets sets(machine, policy);
  // Odd places are worth more.
  const auto merit = [](GpuMask set) {
    return static_cast<uint32_t>(std::popcount(set & GpuMask{0xAA}));
  };
  for (GpuMask free = 0; free < 256; ++free) {
    for (size_t count = 1; count <= 8; ++count) {
      const GpuMask plain = sets.Choose(chooser, free, count);
      const GpuMask got = sets.Choose(chooser, free, count, merit);
      INFO("free " << free << ", count " << count << ", got " << got);
      REQUIRE((got == 0) == (plain == 0));
      if (got == 0) continue;
      REQUIRE((got & ~free) == 0);
      REQUIRE(Admits(machine, policy, got));
      REQUIRE(chooser.RingOf(got) == chooser.RingOf(plain));
      // No admitted set with this ring has more merit.
      for (GpuMask set = free; set != 0; set = (set - 1) & free) {
        if (static_cast<size_t>(std::popcount(set)) != count || !Admits(machine, policy, set) ||
            chooser.RingOf(set) != chooser.RingOf(got))
          continue;
        REQUIRE(merit(set) <= merit(got));
        if (merit(set) == merit(got)) REQUIRE(chooser.TotalOf(set) <= chooser.TotalOf(got));
      }
    }
  }
}

TEST_CASE("so many sets are counted as can be taken one after the other", "[topology][numa]") {
  TopologyCache cache;
  const auto node = cache.Of({TopologySource::kAnnotation, FourNodes()});
  const GpuChooser& chooser = *node->chooser;
  const NumaSets single(node->facts.machine, NumaPolicy::kSingleNumaNode);
  CHECK(single.Times(chooser, 0xFF, 2, 10) == 4);
  CHECK(single.Times(chooser, 0xFF, 2, 3) == 3);
  CHECK(single.Times(chooser, 0b01010111, 2, 10) == 1);
  CHECK(single.Times(chooser, 0xFF, 3, 10) == 0);
  const NumaSets restricted(node->facts.machine, NumaPolicy::kRestricted);
  CHECK(restricted.Times(chooser, 0xFF, 3, 10) == 2);
  CHECK(restricted.Times(chooser, 0xFF, 4, 10) == 2);
  // One GPU is left on each of four nodes: three of them would need no more than two.
  CHECK(restricted.Times(chooser, 0b01010101, 3, 10) == 0);
}

TEST_CASE("nothing is turned away where NUMA nodes are not known or do not matter",
          "[topology][numa]") {
  CHECK_FALSE(NumaSets(FlatMachine(4), NumaPolicy::kSingleNumaNode).turns_away());
  CHECK_FALSE(NumaSets(Parsed(kDgx1v), NumaPolicy::kBestEffort).turns_away());
  CHECK_FALSE(NumaSets(Parsed(kDgx1v), NumaPolicy::kNone).turns_away());
}

}  // namespace muster::topology::testing
