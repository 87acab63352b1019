#include "engine/preemption/freeing.hpp"

#include <algorithm>
#include <utility>

#include "engine/preemption/candidates.hpp"
#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::NodeIndex;
using cluster::PodUid;
using topology::Fabric;
using topology::LevelRef;

namespace {

void AddNames(const std::set<std::string>& from, std::vector<std::string>& names, int64_t& in_all) {
  in_all = std::ssize(from);
  for (const std::string& name : from) {
    if (names.size() < DomainInUse::kMostNames) names.push_back(name);
  }
}

void NameGangs(const StandingState& state, const FoundDomain& found, DomainInUse& view) {
  std::set<std::string> gangs;
  for (const PodUid& victim : found.victims) {
    const Gang* of = state.members.GangOf(victim);
    if (of != nullptr) gangs.insert(of->id.key.ToString());  // else it is gone
  }
  AddNames(gangs, view.gangs, view.gangs_in_all);
}

void NameBlockers(const StandingState& state, const GangId& gang, const FreeingJob& job,
                  const FoundDomain& found, DomainInUse& view) {
  std::set<PodUid> candidates;
  for (const policy::Candidate& candidate : job.candidates) {
    for (const cluster::Placement& held : candidate.held) candidates.insert(held.pod);
  }
  std::set<std::string> pods;
  for (const NodeIndex node : found.nodes->Nodes()) {
    if (state.cluster.node(node) == nullptr) continue;
    for (const PodUid& uid : state.cluster.HoldersOn(node)) {
      const cluster::Pod* pod = state.cluster.FindPod(uid);
      const cluster::Allocation* held = state.cluster.AllocationOf(uid);
      const bool counts = pod != nullptr && held != nullptr && !held->placement.gpus.empty();
      const Gang* of = state.members.GangOf(uid);
      const bool own = of != nullptr && of->id == gang;
      if (counts && !own && !candidates.contains(uid)) pods.insert(pod->key.ToString());
    }
  }
  AddNames(pods, view.pods, view.pods_in_all);
}

// The domains of the level that the gang requires; those that its members are in, where it has any.
std::vector<topology::DomainId> DomainsFor(const Fabric& fabric, const topology::LevelSpan& span,
                                           const std::vector<NodeIndex>& beside) {
  const LevelRef level{span.tree, span.outermost};
  const Fabric::Range range = fabric.At(level);
  std::vector<topology::DomainId> domains;
  domains.reserve(range.last - range.first);
  for (topology::DomainId id = range.first; id < range.last; ++id) {
    const bool joins = std::any_of(beside.begin(), beside.end(),
                                   [&](NodeIndex node) { return fabric.Of(level, node) == id; });
    if (beside.empty() || joins) domains.push_back(id);
  }
  return domains;
}

}  // namespace

std::vector<topology::DomainId> RequiredDomains(const Fabric& fabric,
                                                const cluster::TopologyTerms& heeded,
                                                const std::vector<NodeIndex>& beside) {
  std::vector<topology::DomainId> domains;
  if (heeded.required.empty()) return domains;
  for (const topology::LevelSpan& span : SpansOf(fabric.options(), heeded)) {
    for (const topology::DomainId id : DomainsFor(fabric, span, beside)) domains.push_back(id);
  }
  return domains;
}

FreeingJob FreeingJobOf(const StandingState& state, const Gang& gang, cluster::Time now) {
  return {CandidatesOf(state, gang, now)};
}

std::optional<FoundDomain> FindCheapest(const std::shared_ptr<const cluster::Snapshot>& nodes,
                                        const policy::Options& options,
                                        const policy::GangRequest& request,
                                        const cluster::TopologyTerms& terms,
                                        const FreeingJob& job) {
  const cluster::TopologyTerms heeded = Heeded(options.fabric, terms);
  if (heeded.required.empty() || request.required.empty() || request.terms.wish == nullptr)
    return std::nullopt;
  policy::Placer placer(options);
  policy::GangRequest asked = request;
  if (!asked.terms.replaces)
    asked.terms.kept = placer.KeptOf(*nodes, policy::NodeFilter::kSchedulable);
  cluster::Transaction tx(nodes);
  if (placer.PlaceGang(tx, asked.required, policy::NodeFilter::kSchedulable, asked.terms).placed)
    return std::nullopt;
  const std::shared_ptr<const Fabric> fabric = placer.FabricOf(nodes->nodes());
  const policy::FreeingInput input{nodes, fabric, job.candidates,
                                   RequiredDomains(*fabric, heeded, asked.terms.beside)};
  const std::vector<policy::DomainToFree> domains = DomainsToFree(placer, input, asked);
  if (domains.empty()) return std::nullopt;
  const policy::DomainToFree& best = domains.front();
  const topology::FabricDomain& domain = input.fabric->domains()[best.domain];
  FoundDomain found;
  found.nodes = domain.nodes;
  found.view.name = domain.name;
  found.view.missing = best.missing;
  found.view.blocked = best.blocked;
  found.view.gpu_milli = best.gpu_milli;
  found.victims = best.pods;
  return found;
}

DomainInUse Named(const StandingState& state, const GangId& gang, const FreeingJob& job,
                  FoundDomain found) {
  DomainInUse view = std::move(found.view);
  NameGangs(state, found, view);
  if (view.blocked) NameBlockers(state, gang, job, found, view);
  return view;
}

}  // namespace muster::engine
