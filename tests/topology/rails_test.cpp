// Which NICs serve which GPUs, and the sets that are best by that.
#include "topology/links/rails.hpp"

#include <algorithm>
#include <bit>
#include <random>

#include "tests/topology/data_files.hpp"
#include "tests/topology/machines.hpp"
#include "topology/links/node_topology.hpp"

namespace muster::topology::testing {
namespace {

using Places = std::vector<size_t>;

// Every way to give the NICs of `order` from `next` on to GPUs of `set`: the best sum of what
// `worth` says of each.
int64_t BestSum(const std::vector<GpuMask>& beside, const RailOrder& order, GpuMask set,
                size_t next, const std::vector<int64_t>& worth) {
  if (next == order.nics.size()) return 0;
  int64_t best = BestSum(beside, order, set, next + 1, worth);
  for (const size_t gpu : PlacesOf(beside[order.nics[next]] & set)) {
    best = std::max(
        best, worth[next] + BestSum(beside, order, set & ~(GpuMask{1} << gpu), next + 1, worth));
  }
  return best;
}

}  // namespace

TEST_CASE("GPUs are beside the NICs with the best class", "[topology][rails]") {
  const Machine machine = Parsed(kDgx1v);
  CHECK(AllNicsNear(machine)[4] == NearNics{LinkType::kPix, {2}});
  CHECK(GpusBeside(machine) ==
        std::vector<GpuMask>{MaskOf({0, 1}), MaskOf({2, 3}), MaskOf({4, 5}), MaskOf({6, 7})});
  CHECK(GpusBeside(FlatMachine(4)).empty());
}

TEST_CASE("each GPU has a NIC of its own where that can be", "[topology][rails]") {
  const std::vector<GpuMask> beside = GpusBeside(Parsed(kDgx1v));
  const RailOrder any = AnyRail(beside);
  CHECK(ServedBy(beside, any, MaskOf({0, 1})).nics == Places{0});
  CHECK(ServedBy(beside, any, MaskOf({0, 3})).nics == Places{0, 1});
  const RailOrder second{{3, 2, 1}, 1};
  CHECK(ServedBy(beside, second, MaskOf({0, 4, 5, 7})).nics == Places{3, 2});
  CHECK(ServedBy(beside, second, MaskOf({0, 4, 5, 7})).wanted == 1);
  CHECK(ServedBy(beside, second, MaskOf({0, 1})).nics.empty());
  // Two NICs beside both GPUs, one beside the second alone: it gets that one.
  const std::vector<GpuMask> shared = {MaskOf({0, 1}), MaskOf({1})};
  CHECK(ServedBy(shared, {{1, 0}, 1}, MaskOf({0, 1})).nics == Places{1, 0});
  CHECK(ServedBy(shared, {{0, 1}, 1}, MaskOf({0, 1})).nics == Places{0, 1});
}

TEST_CASE("NICs that are wanted come before others, and as many as can be", "[topology][rails]") {
  std::mt19937 dice(4);
  for (int round = 0; round < 2000; ++round) {
    const size_t nics = 1 + dice() % 5;
    std::vector<GpuMask> beside;
    for (size_t nic = 0; nic < nics; ++nic) beside.push_back(dice() % 64);
    RailOrder order = AnyRail(beside);
    std::shuffle(order.nics.begin(), order.nics.end(), dice);
    order.wanted = dice() % (nics + 1);
    const GpuMask set = dice() % 64;
    const Served served = ServedBy(beside, order, set);
    // One wanted NIC is worth more than all others, and any NIC something.
    std::vector<int64_t> worth(nics, 1);
    std::fill_n(worth.begin(), order.wanted, 101);
    const int64_t best = BestSum(beside, order, set, 0, worth);
    REQUIRE(static_cast<int64_t>(served.wanted) == best / 100);
    REQUIRE(static_cast<int64_t>(served.nics.size()) == best % 100);
    REQUIRE(RailMerit(beside, order, set) == served.nics.size() + served.wanted * (kMostGpus + 1));
  }
}

TEST_CASE("a set beside the wanted NICs is chosen among those with the best ring",
          "[topology][rails]") {
  TopologyCache cache;
  const auto node = cache.Of({TopologySource::kAnnotation, Parsed(kDgx1v)});
  const auto choose = [&](GpuMask free, size_t count, const RailOrder& order) {
    return PlacesOf(node->chooser->ChooseBy(
        free, count, [&](GpuMask set) { return RailMerit(node->beside, order, set); }));
  };
  // 4 and 7 as well as 5 and 6 have two links and lie beside NICs 2 and 3.
  CHECK(choose(0xFF, 2, {{2, 3, 0, 1}, 2}) == Places{4, 7});
  CHECK(choose(0xFF, 2, {{0, 1, 2, 3}, 2}) == Places{0, 3});
  CHECK(choose(MaskOf({0, 1, 2, 3, 5, 6}), 2, {{2, 3, 0, 1}, 2}) == Places{5, 6});
  // The ring comes first: 6 and 7 have two links and one NIC, 5 and 7 one link and two NICs.
  CHECK(choose(MaskOf({5, 6, 7}), 2, {{2, 3}, 2}) == Places{5, 6});
  CHECK(choose(MaskOf({1, 6, 7}), 2, {{0, 3}, 2}) == Places{6, 7});
}

}  // namespace muster::topology::testing
