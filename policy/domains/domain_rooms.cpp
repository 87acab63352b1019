#include "policy/domains/domain_rooms.hpp"

#include <algorithm>
#include <cstdint>

#include "policy/search/devices.hpp"
#include "policy/search/room.hpp"

namespace muster::policy {

using cluster::NodeIndex;
using topology::DomainSums;
using topology::Fabric;

namespace {

// Of one node; sums of 2^32 nodes do not overflow.
constexpr int64_t kMostPods = int64_t{1} << 30U;

// So many free nodes of the domain a role takes, about: it fills nodes one after the other, the
// emptiest first, and the rest goes to a node in use where there is room. `most`: of its pods on
// one node.
int64_t OpenedBy(const Role& role, int64_t slots, int64_t most, int64_t free_nodes) {
  if (role.spec().gpus.none() || most == 0) return 0;
  const int64_t rest = role.size() % most;
  const bool beside = slots - free_nodes * most >= rest;
  const int64_t nodes = role.size() / most + (rest > 0 && !beside ? 1 : 0);
  return std::min(nodes, free_nodes);
}

}  // namespace

const DomainSums& FollowSlots(const Search& search, Shape& shape,
                              const std::shared_ptr<const Fabric>& fabric) {
  return shape.slots[search.memory()].Follow(
      search.tx().free(), fabric, shape.spec->gpus.count > 1,
      [&](NodeIndex node) { return PodsOn(search, shape, node, kMostPods); },
      [&](NodeIndex node, int64_t pods) { return RingsOf(search.DevicesOn(shape, node), pods); });
}

std::vector<DomainRoom> RoomByDomain(const Search& search, const std::vector<Role>& roles,
                                     const std::shared_ptr<const Fabric>& fabric,
                                     const DomainUse& use) {
  std::vector<DomainRoom> rooms(fabric->domains().size());
  if (rooms.empty()) return rooms;
  for (size_t i = 0; i < roles.size(); ++i) {
    const Role& role = roles[i];
    const DomainSums& slots = FollowSlots(search, *role.shape, fabric);
    const Slots& known = role.shape->slots[search.memory()];
    const std::vector<int64_t>& counts = slots.counts();
    const int64_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
    for (topology::DomainId domain = 0; domain < rooms.size(); ++domain) {
      DomainRoom& room = rooms[domain];
      const int64_t here = slots.Of(domain);
      const int64_t spare = here - role.size();
      if (i == 0) room.spare = spare;
      room.fits = room.fits && spare >= 0;
      room.members += std::min(here, role.size());
      if (!room.fits) continue;
      const uint32_t ring = known.RingIn(domain, role.size());
      room.ring = i == 0 ? ring : std::min(room.ring, ring);
      room.opens += OpenedBy(role, here, most, use.FreeIn(domain));
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
    const std::vector<int64_t>& counts = FollowSlots(search, *role.shape, fabric).counts();
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
      if (!strays) nodes.push_back({node, spare(node), UINT32_MAX});
    }
  }
  for (NodeRoom& one : nodes) {
    for (const Role& role : roles)
      one.ring =
          std::min(one.ring, role.shape->slots[search.memory()].RingOn(one.node, role.size()));
  }
  return nodes;
}

}  // namespace muster::policy
