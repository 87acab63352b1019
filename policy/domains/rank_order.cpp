#include "policy/domains/rank_order.hpp"

#include <algorithm>
#include <tuple>

namespace muster::policy {

using topology::Fabric;

std::vector<std::pair<size_t, size_t>> ByRank(const Fabric& fabric, size_t tree,
                                              std::vector<RankedPod> pods) {
  std::vector<std::pair<size_t, size_t>> order;
  order.reserve(pods.size());
  const auto moving =
      std::partition(pods.begin(), pods.end(), [](const RankedPod& pod) { return pod.stays; });
  for (auto pod = pods.begin(); pod != moving; ++pod) order.emplace_back(pod->demand, pod->demand);
  std::vector<RankedPod> ranked(moving, pods.end());
  std::sort(ranked.begin(), ranked.end(), [](const RankedPod& a, const RankedPod& b) {
    return std::tie(a.rank, a.demand) < std::tie(b.rank, b.demand);
  });
  std::sort(moving, pods.end(), [&](const RankedPod& a, const RankedPod& b) {
    const int side = fabric.Compare(tree, a.node, b.node);
    return side != 0 ? side < 0 : a.taken < b.taken;
  });
  for (size_t i = 0; i < ranked.size(); ++i)
    order.emplace_back((moving + static_cast<std::ptrdiff_t>(i))->demand, ranked[i].demand);
  return order;
}

}  // namespace muster::policy
