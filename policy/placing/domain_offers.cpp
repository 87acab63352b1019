#include "policy/placing/domain_offers.hpp"

#include <utility>

#include "policy/domains/domain_rooms.hpp"
#include "policy/domains/fabric_wish.hpp"
#include "policy/domains/wish_within.hpp"
#include "policy/search/causes.hpp"
#include "policy/search/room.hpp"

namespace muster::policy {

using topology::DomainId;

DomainOffers::DomainOffers(const std::shared_ptr<const cluster::Snapshot>& nodes,
                           const Options& options, GangRequest request,
                           const std::vector<cluster::Placement>& held)
    : placer_(options), shapes_(options.profiles), request_(std::move(request)), tx_(nodes) {
  for (const cluster::Placement& one : held) tx_.Evict(one, request_.terms.queue);
  if (!request_.terms.replaces)
    request_.terms.kept = placer_.KeptOf(*nodes, NodeFilter::kSchedulable);
  fabric_ = placer_.FabricOf(nodes->nodes());
  wish_ = request_.terms.wish != nullptr ? request_.terms.wish : UsualWish(options.fabric);
  // The memory is new: nothing is known of what was kept before.
  shapes_.Follow(nodes->nodes());
  const Search search = SearchIn(nullptr);
  roles_ = RolesOf(request_.required, shapes_);
  Sort(roles_, RoleOrder::kMostGpus, search);
  use_.Follow(tx_.free(), nodes->nodes(), fabric_);
  rooms_ = RoomByDomain(search, roles_, fabric_, use_);
}

Search DomainOffers::SearchIn(const cluster::NodeSet* within) {
  return {tx_,
          shapes_.eligibility(),
          placer_.options().strategy,
          NodeFilter::kSchedulable,
          request_.terms,
          within};
}

int DomainOffers::CompareLosses(DomainId a, DomainId b) const {
  return Losses(*fabric_, use_).Compare({a, rooms_[a].opens}, {b, rooms_[b].opens});
}

PlaceAnswer DomainOffers::In(DomainId domain) {
  if (!rooms_[domain].fits || wish_ == nullptr) return CountIn(domain);
  GangTerms terms = request_.terms;
  terms.wish = std::make_shared<const WishWithin>(wish_, domain);
  const size_t before = tx_.checkpoint();
  PlaceAnswer answer = placer_.PlaceGang(tx_, request_.required, NodeFilter::kSchedulable, terms);
  tx_.RollbackTo(before);
  return answer;
}

PlaceAnswer DomainOffers::CountIn(DomainId domain) {
  const Search search = SearchIn(fabric_->domains()[domain].nodes.get());
  PlaceAnswer answer;
  for (const Role& role : roles_) {
    if (RoomFor(search, role) >= role.size()) continue;
    const Demand& demand = request_.required[role.members.front()];
    const GpuMilliSum free = TellCauses(search, *role.shape, demand, false, answer.shortage);
    TellWanted(roles_, *role.shape, free, answer.shortage);
    break;
  }
  return answer;
}

}  // namespace muster::policy
