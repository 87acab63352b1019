#include "policy/domain_offers.hpp"

#include "cluster/transaction.hpp"
#include "policy/fragmentation.hpp"
#include "policy/roles.hpp"
#include "policy/search.hpp"
#include "policy/slots.hpp"

namespace muster::policy {

std::vector<int64_t> OffersFor(const std::shared_ptr<const cluster::Snapshot>& nodes,
                               const std::shared_ptr<const topology::Fabric>& fabric,
                               const Options& options, const GangRequest& request) {
  cluster::Transaction tx(nodes);
  ShapeMemory shapes;
  shapes.Follow(nodes->nodes());  // the memory is new: nothing is known of what was kept before
  const Search search(tx, shapes.eligibility(), options.strategy, NodeFilter::kSchedulable,
                      request.terms, nullptr);
  std::vector<int64_t> offers;
  const std::vector<Role> roles = RolesOf(request.required, shapes);
  DomainUse use;
  use.Follow(nodes->free(), fabric);
  for (const DomainRoom& room : RoomByDomain(search, roles, fabric, use))
    offers.push_back(room.members);
  return offers;
}

}  // namespace muster::policy
