#include "policy/domains/wish_within.hpp"

#include <utility>
#include <vector>

namespace muster::policy {

using topology::DomainId;

WishedDomains WishWithin::Domains(const Surroundings& around) const {
  const auto within = [&](DomainId id) {
    while (id != topology::kNoDomain && id != domain_) id = around.fabric.domains()[id].parent;
    return id == domain_;
  };
  std::vector<DomainRoom> room = around.room;
  for (DomainId id = 0; id < room.size(); ++id) room[id].fits = room[id].fits && within(id);
  Surroundings inside{around.nodes,  around.beside, around.others, around.preferred,
                      around.fabric, room,          around.losses, around.single_nodes};
  const cluster::NodeSet& nodes = *around.fabric.domains()[domain_].nodes;
  std::erase_if(inside.single_nodes,
                [&](const NodeRoom& one) { return !nodes.Contains(one.node); });
  WishedDomains wished = all_->Domains(inside);
  std::erase_if(wished.domains, [&](const Domain& one) { return !within(one.id); });
  return wished;
}

}  // namespace muster::policy
