// What NVIDIA's device plugin may hand out, against the rule itself (BestEffortPick) with the GPUs
// listed in many orders.
#include "topology/links/pick_table.hpp"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/topology/machines.hpp"
#include "topology/links/kubelet_pick.hpp"
#include "topology/links/node_topology.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::topology {
namespace {

using topology::testing::kDgx1v;
using topology::testing::MaskOf;

struct Box {
  explicit Box(const Machine& one)
      : machine(one),
        scores(PairScores(machine)),
        chooser(std::make_shared<const GpuChooser>(BuildGraph(machine, {}).matrix)),
        picks(machine, chooser) {}

  // What the rule hands out with the free GPUs in this order.
  GpuMask PickFrom(const std::vector<size_t>& order, size_t count) const {
    GpuMask mask = 0;
    for (const size_t place : BestEffortPick(scores, machine.gpus.size(), order, {}, count))
      mask |= GpuMask{1} << place;
    return mask;
  }

  Machine machine;
  std::vector<int> scores;
  std::shared_ptr<const GpuChooser> chooser;
  PickTable picks;
};

Machine Parsed(const std::string& text) {
  const auto machine = ParseMachine(text, "test");
  REQUIRE(machine.ok());
  return *machine;
}

// All links alike, as behind NVSwitches.
Machine Switched(size_t gpus) {
  std::vector<int> scores(gpus * gpus, 1210);
  return *MachineOfPairScores(scores, gpus);
}

TEST_CASE("what may be picked is what the rule picks in some order, and nothing else",
          "[topology][kubelet]") {
  const Box box(Parsed(kDgx1v));
  int sets = 0;
  for (GpuMask free = 1; free <= 0xFF; ++free) {
    if (std::popcount(free) > 5) continue;  // of more there are too many orders for a test
    for (size_t count = 1; count <= static_cast<size_t>(std::popcount(free)); ++count) {
      std::vector<size_t> order = PlacesOf(free);
      std::set<GpuMask> seen;
      do {
        seen.insert(box.PickFrom(order, count));
      } while (std::next_permutation(order.begin(), order.end()));
      for (GpuMask set = free; set != 0; set = (set - 1) & free) {
        if (static_cast<size_t>(std::popcount(set)) != count) continue;
        CAPTURE(free, set);
        const PickForecast forecast = box.picks.Of(free, set);
        const bool comes = seen.contains(set);
        const PickOutcome want = !comes             ? PickOutcome::kDiffers
                                 : seen.size() == 1 ? PickOutcome::kAgrees
                                                    : PickOutcome::kTied;
        REQUIRE(forecast.outcome == want);
        REQUIRE(forecast.choices == seen.size());
        REQUIRE(seen.contains(forecast.pick));
        REQUIRE((!comes || forecast.pick == set));
        const bool slower = std::any_of(seen.begin(), seen.end(), [&](GpuMask pick) {
          return box.chooser->RingOf(pick) < box.chooser->RingOf(set);
        });
        REQUIRE(forecast.slower == slower);
        REQUIRE(box.picks.Of(free, set) == forecast);  // as it is kept
        ++sets;
      }
    }
  }
  CHECK(sets == 3'270);
}

TEST_CASE("whatever the rule picks of many GPUs is foreseen", "[topology][kubelet]") {
  std::mt19937_64 random(7);
  for (const Machine& machine : {Parsed(kDgx1v), Switched(8), Switched(12)}) {
    const Box box(machine);
    const size_t gpus = machine.gpus.size();
    for (int round = 0; round < 200; ++round) {
      const GpuMask free = random() & box.chooser->all();
      std::vector<size_t> order = PlacesOf(free);
      if (order.empty() || order.size() > 10) continue;
      std::shuffle(order.begin(), order.end(), random);
      const size_t count = 1 + random() % order.size();
      const GpuMask pick = box.PickFrom(order, count);
      const PickForecast forecast = box.picks.Of(free, pick);
      CAPTURE(gpus, free, count, pick);
      REQUIRE((forecast.outcome == PickOutcome::kAgrees || forecast.outcome == PickOutcome::kTied));
      REQUIRE(forecast.pick == pick);
    }
  }
}

TEST_CASE("who gets all free GPUs gets what was planned", "[topology][kubelet]") {
  for (const size_t gpus : {size_t{1}, size_t{8}, size_t{16}}) {
    const Box box(Switched(gpus));
    const PickForecast forecast = box.picks.Of(box.chooser->all(), box.chooser->all());
    CHECK(forecast == PickForecast{PickOutcome::kAgrees, false, box.chooser->all(), 1});
  }
}

TEST_CASE("where all links are alike every set may come, and none is slower",
          "[topology][kubelet]") {
  const Box box(Switched(8));
  const GpuMask four = MaskOf({0, 1, 2, 3});
  CHECK(box.picks.Of(0xFF, four) == PickForecast{PickOutcome::kTied, false, four, 70});
  CHECK(box.picks.Of(0xFF, 1) == PickForecast{PickOutcome::kTied, false, 1, 8});
}

TEST_CASE("more than twelve free GPUs are not foreseen", "[topology][kubelet]") {
  const Box box(Switched(16));
  CHECK_FALSE(box.picks.tabled());
  CHECK(box.picks.Of(0xFFFF, 0x3) == PickForecast{});
  CHECK(box.picks.Of(0x1FFF, 0x3) == PickForecast{});
  CHECK(box.picks.Of(0x0FFF, 0x3) == PickForecast{PickOutcome::kTied, false, 0x3, 66});
}

}  // namespace
}  // namespace muster::topology
