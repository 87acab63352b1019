#include "policy/used_first.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace muster::policy {

using cluster::NodeIndex;
using topology::DomainId;
using topology::Fabric;

namespace {

class UseOrder {
 public:
  UseOrder(const cluster::Snapshot& nodes, const Fabric& fabric,
           const std::vector<DomainRoom>& room, const Fabric::Range& level)
      : fabric_(fabric), room_(room), used_(fabric.domains().size(), false) {
    for (DomainId id = level.first; id < level.last; ++id) {
      if (!Used(nodes, *fabric.domains()[id].nodes)) continue;
      for (DomainId at = id; at != topology::kNoDomain && !used_[at];
           at = fabric.domains()[at].parent)
        used_[at] = true;
    }
  }
  bool operator()(DomainId a, DomainId b) const {
    const auto used = [&](DomainId id) { return used_[id] ? 0 : 1; };
    const auto spare = [&](DomainId id) { return room_[id].spare; };
    if (const int64_t order = Outwards(a, b, used); order != 0) return order < 0;
    if (const int64_t order = Outwards(a, b, spare); order != 0) return order < 0;
    return a < b;
  }

 private:
  static bool Used(const cluster::Snapshot& nodes, const cluster::NodeSet& domain) {
    const std::vector<NodeIndex> all = domain.Nodes();
    return std::any_of(all.begin(), all.end(), [&](NodeIndex index) {
      const cluster::Node* node = index.value < nodes.size() ? nodes.node(index) : nullptr;
      return node != nullptr &&
             static_cast<size_t>(nodes.free().at(index).gpu_whole) < node->gpus.size();
    });
  }
  template <typename Of>
  int64_t Outwards(DomainId a, DomainId b, const Of& of) const {
    while (a != b && a != topology::kNoDomain && b != topology::kNoDomain) {
      if (of(a) != of(b)) return of(a) < of(b) ? -1 : 1;
      a = fabric_.domains()[a].parent;
      b = fabric_.domains()[b].parent;
    }
    return 0;
  }

  const Fabric& fabric_;
  const std::vector<DomainRoom>& room_;
  std::vector<bool> used_;  // by DomainId
};

}  // namespace

std::vector<DomainId> UsedFirst(const cluster::Snapshot& nodes, const Fabric& fabric,
                                const std::vector<DomainRoom>& room) {
  if (fabric.options().trees.empty()) return {};
  const size_t levels = topology::LevelsOf(fabric.options().trees.front()).size();
  std::vector<DomainId> domains;
  for (topology::LevelRef level{0, levels}; level.level-- > 0;) {
    const Fabric::Range range = fabric.At(level);
    if (range.first == range.last) continue;
    domains.reserve(range.last - range.first);
    for (DomainId id = range.first; id < range.last; ++id) {
      if (room[id].fits) domains.push_back(id);
    }
    const UseOrder order(nodes, fabric, room, range);
    std::sort(domains.begin(), domains.end(), std::cref(order));
    break;
  }
  return domains;
}

}  // namespace muster::policy
