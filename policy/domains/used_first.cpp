#include "policy/domains/used_first.hpp"

#include <cstdint>

namespace muster::policy {

using topology::DomainId;

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
  const int losses = Losses(fabric_, use_).Compare({a, opens_}, {b, opens_});
  if (losses != 0) return losses < 0;
  const auto unused = [&](DomainId id) { return use_.TakenIn(id) > 0 ? 0 : 1; };
  const auto room = [&](DomainId id) { return slots_.Of(id); };
  if (const int order = Outwards(a, b, unused); order != 0) return order < 0;
  if (const int order = Outwards(a, b, room); order != 0) return order < 0;
  return a < b;
}

}  // namespace muster::policy
