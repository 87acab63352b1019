#include "policy/slots.hpp"

#include <algorithm>

#include "policy/gang_request.hpp"
#include "policy/roles.hpp"
#include "policy/room.hpp"
#include "policy/search.hpp"

namespace muster::policy {

using cluster::NodeIndex;
using topology::DomainSums;
using topology::Fabric;

namespace {

// Of one node; sums of 2^32 nodes do not overflow.
constexpr int64_t kMostPods = int64_t{1} << 30U;

}  // namespace

const DomainSums& Slots::Follow(const Search& search, const Shape& shape,
                                const std::shared_ptr<const Fabric>& fabric) {
  return sums_.Follow(search.tx().free(), fabric,
                      [&](NodeIndex node) { return PodsOn(search, shape, node, kMostPods); });
}

std::vector<DomainRoom> RoomByDomain(const Search& search, const std::vector<Role>& roles,
                                     const std::shared_ptr<const Fabric>& fabric) {
  std::vector<DomainRoom> rooms(fabric->domains().size());
  if (rooms.empty()) return rooms;
  for (size_t i = 0; i < roles.size(); ++i) {
    const Role& role = roles[i];
    const DomainSums& slots =
        role.shape->slots[search.memory()].Follow(search, *role.shape, fabric);
    for (topology::DomainId domain = 0; domain < rooms.size(); ++domain) {
      DomainRoom& room = rooms[domain];
      const int64_t spare = slots.Of(domain) - role.size();
      if (i == 0) room.spare = spare;
      room.fits = room.fits && spare >= 0;
      room.members += std::min(slots.Of(domain), role.size());
    }
  }
  return rooms;
}

std::vector<NodeRoom> SingleNodes(const Search& search, const std::vector<Role>& roles,
                                  const std::shared_ptr<const Fabric>& fabric) {
  const bool want_gpus = std::any_of(roles.begin(), roles.end(),
                                     [](const Role& role) { return !role.spec().gpus.none(); });
  std::vector<NodeRoom> nodes;
  for (size_t i = 0; i < roles.size(); ++i) {
    const Role& role = roles[i];
    const std::vector<int64_t>& counts =
        role.shape->slots[search.memory()].Follow(search, *role.shape, fabric).counts();
    const auto spare = [&](NodeIndex node) {
      return (node.value < counts.size() ? counts[node.value] : 0) - role.size();
    };
    if (i > 0) {
      std::erase_if(nodes, [&](const NodeRoom& one) { return spare(one.node) < 0; });
      continue;
    }
    for (NodeIndex node{0}; node.value < counts.size(); ++node.value) {
      if (spare(node) < 0) continue;
      const bool strays = !want_gpus && !search.tx().node(node)->gpus.empty();
      if (!strays) nodes.push_back({node, spare(node)});
    }
  }
  return nodes;
}

}  // namespace muster::policy
