#include "engine/planner.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "cluster/transaction.hpp"
#include "engine/moves.hpp"

namespace muster::engine {
namespace {

using cluster::Transaction;

// Elastic members take what is left, one by one. Once a spec found no room, equal ones will not
// either.
std::vector<cluster::Placement> PlaceElastic(policy::Placer& placer, Transaction& tx,
                                             const std::vector<policy::Demand>& demands,
                                             policy::GangTerms terms) {
  std::vector<cluster::Placement> placed;
  std::set<std::pair<const cluster::PodSpec*, size_t>> full;  // with the subgroup
  for (const policy::Demand& demand : demands) {
    if (demand.excluded.empty() && full.contains({demand.spec.get(), demand.subgroup})) continue;
    policy::PlaceAnswer answer =
        placer.PlaceGang(tx, {demand}, policy::NodeFilter::kSchedulable, terms);
    if (answer.placed) {
      placed.push_back(std::move(answer.placements.front()));
      terms.placed.push_back(
          {placed.back().node, demand.spec, demand.subgroup, cluster::WholeGpusOf(placed.back())});
    } else if (demand.excluded.empty()) {
      full.emplace(demand.spec.get(), demand.subgroup);
    }
  }
  return placed;
}

policy::PlaceAnswer PlaceInEmptyCluster(policy::Placer& placer, const PlanJob& job) {
  Transaction tx(job.empty);
  policy::GangTerms terms = job.request.terms;
  if (!terms.replaces) terms.kept = placer.KeptOf(*job.empty, policy::NodeFilter::kAll);
  std::vector<policy::Demand> demands = job.request.required;
  for (policy::Demand& demand : demands) demand.excluded.clear();
  return placer.PlaceGang(tx, demands, policy::NodeFilter::kAll, terms);
}

// What both have.
std::shared_ptr<const cluster::NodeSet> Together(std::shared_ptr<const cluster::NodeSet> a,
                                                 const std::shared_ptr<const cluster::NodeSet>& b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  cluster::NodeSet both = *a;
  for (const cluster::NodeIndex node : b->Nodes()) both.Add(node);
  return std::make_shared<const cluster::NodeSet>(std::move(both));
}

// Whole, and without elastic members: no pod is evicted for those.
bool Preempt(policy::Placer& placer, const PlanJob& job, const policy::GangTerms& terms,
             PlanResult& result) {
  policy::PreemptionAnswer answer = policy::PlaceByPreemption(
      placer, {job.snapshot, job.candidates.without, *job.candidates.list}, job.request.required,
      terms);
  if (!answer.placed) return false;
  result.placed = true;
  result.required = std::move(answer.placements);
  for (const size_t victim : answer.victims) {
    for (const cluster::Placement& held : (*job.candidates.list)[victim].held)
      result.victims.push_back(held.pod);
  }
  std::sort(result.victims.begin(), result.victims.end());
  return true;
}

}  // namespace

PlanResult Plan(policy::Placer& placer, const PlanJob& job) {
  PlanResult result;
  Transaction tx(job.snapshot);
  policy::GangTerms terms = job.request.terms;
  const auto kept =
      Together(placer.KeptOf(*job.snapshot, policy::NodeFilter::kSchedulable), job.closed);
  if (!terms.replaces) terms.kept = kept;
  if (!job.request.required.empty()) {
    policy::PlaceAnswer answer =
        placer.PlaceGang(tx, job.request.required, policy::NodeFilter::kSchedulable, terms);
    if (!answer.placed) {
      result.shortage = answer.shortage;
      if (job.candidates.list != nullptr && Preempt(placer, job, terms, result)) return result;
      result.move = FindMove(placer, job);
      if (job.empty == nullptr) return result;
      const policy::PlaceAnswer empty = PlaceInEmptyCluster(placer, job);
      result.never_fits = !empty.placed && !empty.shortage.gave_up;
      if (result.never_fits) result.shortage = empty.shortage;
      return result;
    }
    result.required = std::move(answer.placements);
  }
  // They know where their gang is, and will be.
  terms.kept = kept;
  for (size_t i = 0; i < result.required.size(); ++i) {
    const policy::Demand& demand = job.request.required[i];
    terms.placed.push_back({result.required[i].node, demand.spec, demand.subgroup,
                            cluster::WholeGpusOf(result.required[i])});
  }
  terms.beside = policy::NodesOf(terms.placed);
  result.elastic = PlaceElastic(placer, tx, job.request.elastic, std::move(terms));
  result.placed = !result.required.empty() || !result.elastic.empty();
  return result;
}

}  // namespace muster::engine
