#include "policy/victims/freeing.hpp"

#include <algorithm>
#include <bitset>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "cluster/holdings/transaction.hpp"
#include "policy/domains/wish_within.hpp"

namespace muster::policy {

using topology::DomainId;
using topology::Fabric;

namespace {

// For each of the domains the positions of the candidates of all owners that hold something there.
std::vector<std::vector<size_t>> ThoseIn(const FreeingInput& input,
                                         const std::vector<DomainToFree>& domains) {
  using Domains = std::bitset<kMostDomains>;  // by position
  std::vector<Domains> of_node(input.snapshot->size());
  for (size_t i = 0; i < domains.size(); ++i) {
    for (const cluster::NodeIndex node : input.fabric->domains()[domains[i].domain].nodes->Nodes())
      of_node[node.value].set(i);
  }
  std::unordered_map<uint64_t, Domains> of_owner;
  std::set<const void*> pools;  // seen of Candidate::alike
  for (const Candidate& candidate : input.candidates) {
    Domains& in = of_owner[candidate.owner];
    for (const cluster::Placement& held : candidate.held) in |= of_node[held.node.value];
    if (candidate.alike == nullptr || !pools.insert(candidate.alike.get()).second) continue;
    for (const cluster::Placement& held : *candidate.alike) in |= of_node[held.node.value];
  }
  std::vector<std::vector<size_t>> those(domains.size());
  for (size_t i = 0; i < input.candidates.size(); ++i) {
    const Domains& in = of_owner.at(input.candidates[i].owner);
    for (size_t domain = 0; domain < domains.size(); ++domain) {
      if (in.test(domain)) those[domain].push_back(i);
    }
  }
  return those;
}

DomainToFree Free(Placer& placer, const FreeingInput& input, const GangRequest& request,
                  const DomainToFree& of, const std::vector<size_t>& those) {
  DomainToFree one = of;
  std::vector<Candidate> candidates;
  candidates.reserve(those.size());
  for (const size_t i : those) candidates.push_back(input.candidates[i]);
  GangTerms terms = request.terms;
  terms.wish = std::make_shared<const WishWithin>(request.terms.wish, one.domain);
  std::optional<SetsOfSome> sets;
  if (input.sets != nullptr) sets.emplace(*input.sets, those, input.candidates.size());
  PreemptionAnswer answer =
      PlaceByPreemption(placer,
                        {input.snapshot, nullptr, candidates, sets ? &*sets : nullptr,
                         input.by_place, input.fabric->domains()[one.domain].nodes.get()},
                        request.required, terms);
  one.pods = std::move(answer.pods);
  one.blocked = !answer.placed;
  one.placements = std::move(answer.placements);
  std::map<uint64_t, int64_t> owners;  // and what they violate
  for (const size_t victim : answer.victims) {
    one.victims.push_back(those[victim]);
    int64_t& violates = owners[candidates[victim].owner];
    violates = std::max(violates, candidates[victim].violates);
    one.tier = std::max(one.tier, candidates[victim].tier);
    one.gpu_time += candidates[victim].gpu_time;
    for (const cluster::Placement& held : candidates[victim].held) {
      for (const cluster::GpuShare& share : held.gpus)
        one.gpu_milli += share.taken.compute().value();
    }
  }
  one.owners = static_cast<int64_t>(owners.size());
  for (const auto& [owner, violates] : owners) one.violates += violates;
  return one;
}

// While nobody leaves: what the policy keeps for lost members is kept from it, unless it replaces
// some.
std::vector<DomainRoom> RoomsNow(Placer& placer, const FreeingInput& input,
                                 const GangRequest& request) {
  GangTerms terms = request.terms;
  if (!terms.replaces) terms.kept = placer.KeptOf(*input.snapshot, NodeFilter::kSchedulable);
  cluster::Transaction tx(input.snapshot);
  return placer.RoomsFor(tx, request.required, NodeFilter::kSchedulable, terms);
}

}  // namespace

std::vector<DomainToFree> DomainsToFree(Placer& placer, const FreeingInput& input,
                                        const GangRequest& request) {
  const std::vector<DomainRoom> rooms = RoomsNow(placer, input, request);
  std::vector<DomainToFree> domains;
  domains.reserve(input.domains.size());
  for (const DomainId id : input.domains) {
    DomainToFree one;
    one.domain = id;
    one.missing = std::ssize(request.required) - rooms[id].members;
    domains.push_back(std::move(one));
  }
  std::sort(domains.begin(), domains.end(), [](const DomainToFree& a, const DomainToFree& b) {
    return std::tie(a.missing, a.domain) < std::tie(b.missing, b.domain);
  });
  if (domains.size() > kMostDomains) domains.resize(kMostDomains);
  const std::vector<std::vector<size_t>> those = ThoseIn(input, domains);
  for (size_t i = 0; i < domains.size(); ++i)
    domains[i] = Free(placer, input, request, domains[i], those[i]);
  std::sort(domains.begin(), domains.end(), [](const DomainToFree& a, const DomainToFree& b) {
    const auto key = [](const DomainToFree& one) {
      return std::tie(one.blocked, one.violates, one.tier, one.gpu_time, one.owners, one.gpu_milli,
                      one.missing, one.domain);
    };
    return key(a) < key(b);
  });
  return domains;
}

}  // namespace muster::policy
