#include "policy/freeing.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "policy/domain_offers.hpp"
#include "policy/wish_within.hpp"

namespace muster::policy {

using topology::DomainId;
using topology::Fabric;

namespace {

// Positions of the candidates of all owners that hold something on those nodes.
std::vector<size_t> ThoseOn(const cluster::NodeSet& nodes,
                            const std::vector<Candidate>& candidates) {
  std::set<uint64_t> owners;
  for (const Candidate& candidate : candidates) {
    const bool there = std::any_of(candidate.held.begin(), candidate.held.end(),
                                   [&](const auto& held) { return nodes.Contains(held.node); });
    if (there) owners.insert(candidate.owner);
  }
  std::vector<size_t> those;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (owners.contains(candidates[i].owner)) those.push_back(i);
  }
  return those;
}

// The same of some of the candidates.
class SetsOfSome final : public VictimSets {
 public:
  SetsOfSome(VictimSets& all, const std::vector<size_t>& those, size_t candidates)
      : all_(all), those_(those), candidates_(candidates) {}
  bool Allows(const std::vector<bool>& chosen) override { return all_.Allows(OfAll(chosen)); }
  bool AllowsParts(const std::vector<bool>& chosen) override {
    return all_.AllowsParts(OfAll(chosen));
  }

 private:
  std::vector<bool> OfAll(const std::vector<bool>& chosen) const {
    std::vector<bool> of_all(candidates_, false);
    for (size_t i = 0; i < those_.size(); ++i) of_all[those_[i]] = chosen[i];
    return of_all;
  }

  VictimSets& all_;
  const std::vector<size_t>& those_;
  const size_t candidates_;
};

DomainToFree Free(Placer& placer, const FreeingInput& input, const GangRequest& request,
                  const DomainToFree& of) {
  DomainToFree one = of;
  const std::vector<size_t> those =
      ThoseOn(*input.fabric->domains()[one.domain].nodes, input.candidates);
  std::vector<Candidate> candidates;
  candidates.reserve(those.size());
  for (const size_t i : those) candidates.push_back(input.candidates[i]);
  GangTerms terms = request.terms;
  terms.wish = std::make_shared<const WishWithin>(request.terms.wish, one.domain);
  std::optional<SetsOfSome> sets;
  if (input.sets != nullptr) sets.emplace(*input.sets, those, input.candidates.size());
  PreemptionAnswer answer =
      PlaceByPreemption(placer, {input.snapshot, nullptr, candidates, sets ? &*sets : nullptr},
                        request.required, terms);
  one.blocked = !answer.placed;
  one.placements = std::move(answer.placements);
  std::set<uint64_t> owners;
  for (const size_t victim : answer.victims) {
    one.victims.push_back(those[victim]);
    owners.insert(candidates[victim].owner);
    one.tier = std::max(one.tier, candidates[victim].tier);
    one.gpu_time += candidates[victim].gpu_time;
    for (const cluster::Placement& held : candidates[victim].held) {
      for (const cluster::GpuShare& share : held.gpus)
        one.gpu_milli += share.taken.compute().value();
    }
  }
  one.owners = static_cast<int64_t>(owners.size());
  return one;
}

}  // namespace

std::vector<DomainToFree> DomainsToFree(Placer& placer, const FreeingInput& input,
                                        const GangRequest& request) {
  const DomainOffers offers(input.snapshot, placer.options(), request);
  std::vector<DomainToFree> domains;
  domains.reserve(input.domains.size());
  for (const DomainId id : input.domains) {
    DomainToFree one;
    one.domain = id;
    one.missing = std::ssize(request.required) - offers.rooms()[id].members;
    domains.push_back(std::move(one));
  }
  std::sort(domains.begin(), domains.end(), [](const DomainToFree& a, const DomainToFree& b) {
    return std::tie(a.missing, a.domain) < std::tie(b.missing, b.domain);
  });
  if (domains.size() > kMostDomains) domains.resize(kMostDomains);
  for (DomainToFree& one : domains) one = Free(placer, input, request, one);
  std::sort(domains.begin(), domains.end(), [](const DomainToFree& a, const DomainToFree& b) {
    return std::tie(a.blocked, a.tier, a.gpu_time, a.owners, a.gpu_milli, a.missing, a.domain) <
           std::tie(b.blocked, b.tier, b.gpu_time, b.owners, b.gpu_milli, b.missing, b.domain);
  });
  return domains;
}

}  // namespace muster::policy
