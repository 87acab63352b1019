#include "policy/used_first.hpp"

#include <cstdint>

namespace muster::policy {

using cluster::NodeIndex;
using topology::DomainId;

void DomainUse::Follow(const cluster::FreeTable& free,
                       const std::shared_ptr<const topology::Fabric>& fabric) {
  taken_.Follow(free, fabric, [&](NodeIndex node) {
    return static_cast<size_t>(free.at(node).gpu_whole) < free.gpus(node).size() ? 1 : 0;
  });
}

// Below 0: a comes first; 0: they are equal as far as they go.
template <typename Of>
int UsedFirst::Outwards(DomainId a, DomainId b, const Of& of) const {
  while (a != b && a != topology::kNoDomain && b != topology::kNoDomain) {
    const int64_t one = of(a);
    const int64_t other = of(b);
    if (one != other) return one < other ? -1 : 1;
    a = fabric_.domains()[a].parent;
    b = fabric_.domains()[b].parent;
  }
  return 0;
}

bool UsedFirst::operator()(DomainId a, DomainId b) const {
  if (a == b) return false;
  const auto unused = [&](DomainId id) { return use_.At(id) ? 0 : 1; };
  const auto room = [&](DomainId id) { return slots_.Of(id); };
  if (const int order = Outwards(a, b, unused); order != 0) return order < 0;
  if (const int order = Outwards(a, b, room); order != 0) return order < 0;
  return a < b;
}

}  // namespace muster::policy
