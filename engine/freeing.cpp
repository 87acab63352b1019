#include "engine/freeing.hpp"

#include <algorithm>
#include <utility>

#include "engine/candidates.hpp"
#include "engine/engine_state.hpp"

namespace muster::engine {

using cluster::NodeIndex;
using cluster::PodUid;
using topology::Fabric;
using topology::LevelRef;

FreeingJob FreeingJobOf(const EngineState& state, const Gang& gang) {
  FreeingJob job;
  job.candidates = CandidatesOf(state, gang);
  job.gangs.reserve(job.candidates.size());
  for (const policy::Candidate& candidate : job.candidates) {
    const Gang* of = state.members.GangOf(candidate.held.front().pod);
    job.gangs.push_back(of == nullptr ? std::string() : of->id.key.ToString());
  }
  return job;
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
  policy::FreeingInput input{nodes, placer.FabricOf(nodes->nodes()), job.candidates, {}};
  for (const topology::LevelSpan& span : SpansOf(options.fabric, heeded)) {
    const Fabric::Range range = input.fabric->At({span.tree, span.outermost});
    for (topology::DomainId id = range.first; id < range.last; ++id) input.domains.push_back(id);
  }
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
  std::set<std::string> gangs;
  for (const size_t victim : best.victims) gangs.insert(job.gangs[victim]);
  found.view.gangs_in_all = std::ssize(gangs);
  for (const std::string& gang : gangs) {
    if (found.view.gangs.size() < DomainInUse::kMostNames) found.view.gangs.push_back(gang);
  }
  return found;
}

void AddBlockers(const EngineState& state, const FreeingJob& job, const cluster::NodeSet& nodes,
                 DomainInUse& view) {
  std::set<PodUid> candidates;
  for (const policy::Candidate& candidate : job.candidates) {
    for (const cluster::Placement& held : candidate.held) candidates.insert(held.pod);
  }
  std::set<std::string> pods;
  for (const NodeIndex node : nodes.Nodes()) {
    if (state.cluster.node(node) == nullptr) continue;
    for (const PodUid& uid : state.cluster.HoldersOn(node)) {
      const cluster::Pod* pod = state.cluster.FindPod(uid);
      const cluster::Allocation* held = state.cluster.AllocationOf(uid);
      const bool counts = pod != nullptr && held != nullptr && !held->placement.gpus.empty();
      if (counts && !candidates.contains(uid)) pods.insert(pod->key.ToString());
    }
  }
  view.pods_in_all = std::ssize(pods);
  for (const std::string& pod : pods) {
    if (view.pods.size() < DomainInUse::kMostNames) view.pods.push_back(pod);
  }
}

}  // namespace muster::engine
