#include "engine/cycle/planner.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "cluster/holdings/transaction.hpp"
#include "engine/cycle/moves.hpp"
#include "engine/judging/request.hpp"
#include "engine/preemption/freeing.hpp"

namespace muster::engine {
namespace {

using cluster::Together;
using cluster::Transaction;

policy::PlaceAnswer PlaceInEmptyCluster(policy::Placer& placer, const PlanJob& job) {
  Transaction tx(job.empty);
  policy::GangTerms terms = job.request.terms;
  if (!terms.replaces) terms.kept = placer.KeptOf(*job.empty, policy::NodeFilter::kAll);
  std::vector<policy::Demand> demands = job.request.required;
  for (policy::Demand& demand : demands) demand.excluded.clear();
  return placer.PlaceGang(tx, demands, policy::NodeFilter::kAll, terms);
}

// The domain of that level in which all of them are; empty: there is none.
std::string DomainOf(const topology::Fabric& fabric, const std::string& level,
                     const std::vector<cluster::Placement>& placements) {
  for (const topology::LevelRef& at : topology::FindLevels(fabric.options(), level)) {
    const topology::DomainId id = fabric.Of(at, placements.front().node);
    const bool all =
        std::all_of(placements.begin(), placements.end(),
                    [&](const cluster::Placement& one) { return fabric.Of(at, one.node) == id; });
    if (all && id != topology::kNoDomain) return fabric.domains()[id].name;
  }
  return {};
}

// What is down there, for people. The domain where most members found room may be one that is too
// small: there nobody has to leave, and nothing is down.
void TellWhatIsDown(policy::Placer& placer, const PlanJob& job, PlanResult& result) {
  const policy::Shortage& shortage = result.shortage;
  const auto demand =
      std::find_if(job.request.required.begin(), job.request.required.end(),
                   [&](const policy::Demand& one) { return one.pod == shortage.pod; });
  if (demand == job.request.required.end()) return;
  if (shortage.limit.empty()) {
    const auto missing = std::ssize(job.request.required) - shortage.placed_before;
    result.down = DownAmong(*job.snapshot, nullptr, *demand->spec, missing);
    return;
  }
  const std::shared_ptr<const topology::Fabric> fabric = placer.FabricOf(job.snapshot->nodes());
  const auto look_in = [&](const std::string& domain) {
    const auto nodes = NodesOfDomain(*fabric, shortage.limit, domain);
    return nodes == nullptr ? Down{} : DownAmong(*job.snapshot, nodes.get(), *demand->spec);
  };
  result.down = look_in(shortage.domain);
  const std::string& fits_in = result.fits_in.empty() ? job.fits_in : result.fits_in;
  if (!result.down.what.empty() || result.down.others || fits_in.empty()) return;
  result.down = look_in(fits_in);
  result.down.domain = fits_in;
}

// In the domain of the level that it requires that is the cheapest to free.
std::optional<policy::PreemptionAnswer> FreeDomain(policy::Placer& placer, const PlanJob& job,
                                                   const policy::GangTerms& terms,
                                                   const VictimChoice& choice, LawfulSets* sets) {
  const cluster::TopologyTerms heeded = Heeded(placer.options().fabric, job.topology);
  if (heeded.required.empty() || terms.wish == nullptr) return std::nullopt;
  const std::shared_ptr<const topology::Fabric> fabric = placer.FabricOf(job.snapshot->nodes());
  policy::GangRequest request = job.request;
  request.terms = terms;
  const policy::FreeingInput input{job.snapshot, fabric,
                                   *choice.list, RequiredDomains(*fabric, heeded, terms.beside),
                                   sets,         choice.by_place};
  for (policy::DomainToFree& one : DomainsToFree(placer, input, request)) {
    if (one.blocked || (sets != nullptr && !sets->Moderate(one.victims))) continue;
    return policy::PreemptionAnswer{true, std::move(one.placements), std::move(one.victims),
                                    std::move(one.pods)};
  }
  return std::nullopt;
}

policy::PreemptionAnswer Preempt(policy::Placer& placer, const PlanJob& job,
                                 const policy::GangTerms& terms, const VictimChoice& choice) {
  std::optional<LawfulSets> sets;
  if (choice.law != nullptr) sets.emplace(*choice.law);
  if (auto freed = FreeDomain(placer, job, terms, choice, sets ? &*sets : nullptr)) return *freed;
  policy::PreemptionAnswer answer =
      policy::PlaceByPreemption(placer,
                                {job.snapshot, choice.without, *choice.list,
                                 sets ? &*sets : nullptr, choice.by_place, choice.first.get()},
                                job.request.required, terms);
  if (answer.placed && sets && !sets->Moderate(answer.victims)) answer.placed = false;
  return answer;
}

// Whole, and without elastic members: no pod is evicted for those.
bool Preempt(policy::Placer& placer, const PlanJob& job, const policy::GangTerms& terms,
             PlanResult& result) {
  for (const VictimChoice& choice : job.candidates.choices) {
    policy::PreemptionAnswer answer = Preempt(placer, job, terms, choice);
    if (!answer.placed) continue;
    result.placed = true;
    result.required = std::move(answer.placements);
    result.victims = std::move(answer.pods);
    return true;
  }
  return false;
}

// It would fit if those went, too, that are protected for now.
bool FitsWithoutShielded(policy::Placer& placer, const PlanJob& job, policy::GangTerms terms) {
  if (job.candidates.shielded.gangs == 0) return false;
  terms.reasons = false;
  Transaction tx(job.snapshot);
  const auto evict = [&](const std::vector<policy::Candidate>& candidates) {
    for (const policy::Candidate& candidate : candidates) {
      for (const cluster::Placement& held : candidate.held) tx.Evict(held, candidate.queue);
    }
  };
  const auto lawful = std::find_if(job.candidates.choices.begin(), job.candidates.choices.end(),
                                   [](const VictimChoice& choice) { return !choice.by_place; });
  if (lawful != job.candidates.choices.end()) evict(*lawful->list);
  evict(job.candidates.shielded.candidates);
  return placer.PlaceGang(tx, job.request.required, policy::NodeFilter::kSchedulable, terms).placed;
}

policy::LaterAnswer FindLater(policy::Placer& placer, const PlanJob& job,
                              const policy::GangTerms& terms) {
  const BookingJob& search = *job.booking;
  if (!search.closing)
    return policy::PlaceLater(placer, job.snapshot, search.steps, job.request.required, terms);
  policy::GangRequest request = job.request;
  request.terms = terms;
  return policy::PlaceByClosing(placer, job.snapshot, search.busy, search.level, request);
}

// What the policy keeps for lost members is theirs; what is shut is nobody's.
std::shared_ptr<const cluster::NodeSet> KeptFrom(policy::Placer& placer, const PlanJob& job,
                                                 const cluster::Snapshot& nodes) {
  if (job.request.terms.replaces) return nullptr;
  return Together(placer.KeptOf(nodes, policy::NodeFilter::kSchedulable), job.closed);
}

// On nodes that no queue is guaranteed as a whole, else on those that are lent, else on those that
// others may be promised for.
policy::PlaceAnswer PlaceAside(policy::Placer& placer, const PlanJob& job, Transaction& tx,
                               policy::GangTerms terms, PlanResult& result) {
  const ShapedNodes& shaped = job.shaped;
  const auto kept = terms.kept;
  const auto place = [&](std::shared_ptr<const cluster::NodeSet> off) {
    terms.kept = std::move(off);
    return placer.PlaceGang(tx, job.request.required, policy::NodeFilter::kSchedulable, terms);
  };
  // Where members were to be before a restart they are to be again.
  const bool nominated =
      shaped.lent != nullptr &&
      std::any_of(job.request.required.begin(), job.request.required.end(), [&](const auto& one) {
        return one.preferred.valid() && shaped.lent->Contains(one.preferred);
      });
  if (shaped.lent != nullptr && !nominated) {
    policy::PlaceAnswer answer = place(Together(Together(kept, shaped.shut), shaped.lent));
    if (answer.placed) return answer;
  }
  policy::PlaceAnswer answer = place(Together(kept, shaped.shut));
  if (answer.placed || shaped.shut == nullptr) return answer;
  const size_t before = tx.checkpoint();
  policy::PlaceAnswer anywhere = place(kept);
  result.on_shaped = anywhere.placed;
  if (!anywhere.placed || shaped.may_exchange) return anywhere;
  tx.RollbackTo(before);
  return answer;
}

bool FitsUnkept(policy::Placer& placer, const PlanJob& job, policy::GangTerms terms) {
  if (job.unkept == nullptr) return false;
  terms.reasons = false;
  Transaction tx(job.unkept);
  return placer.PlaceGang(tx, job.request.required, policy::NodeFilter::kSchedulable, terms).placed;
}

// Those that have their nodes now, for the members that are placed after them.
void AddPlaced(const PlanJob& job, const std::vector<cluster::Placement>& placements,
               policy::GangTerms& terms) {
  std::map<cluster::PodUid, const policy::Demand*> demands;
  for (const policy::Demand& demand : job.request.required) demands[demand.pod] = &demand;
  for (const policy::Demand& demand : job.request.elastic) demands[demand.pod] = &demand;
  for (const cluster::Placement& one : placements) {
    const policy::Demand& demand = *demands.at(one.pod);
    terms.placed.push_back({one.node, demand.spec, demand.subgroup, cluster::WholeGpusOf(one),
                            demand.unit, demand.rank});
  }
  terms.beside = policy::NodesOf(terms.placed);
}

// A plan that is being made.
struct Draft {
  policy::Placer& placer;
  const PlanJob& job;
  Transaction tx;
  std::vector<policy::Demand> elastic;  // that are still to be tried
  PlanResult result;
};

// Lost members one by one, as many as find room. False: none does.
bool PlaceApart(Draft& draft, const policy::GangTerms& terms) {
  const PlanJob& job = draft.job;
  if (!job.one_by_one) return false;
  std::set<cluster::PodUid> needed;
  for (const policy::Demand& demand : job.request.required) needed.insert(demand.pod);
  PlanResult& result = draft.result;
  for (std::vector<cluster::Placement>& batch :
       PlaceLost(draft.placer, draft.tx, job.request, job.segments, terms)) {
    const bool required = std::any_of(batch.begin(), batch.end(),
                                      [&](const auto& one) { return needed.contains(one.pod); });
    if (required) {
      result.required.insert(result.required.end(), batch.begin(), batch.end());
    } else {
      result.elastic.push_back(std::move(batch));
    }
  }
  std::erase_if(draft.elastic,
                [&](const policy::Demand& one) { return StartsInWhole(job.segments, one); });
  return !result.required.empty() || !result.elastic.empty();
}

// Why the required ones found no place, `result.shortage`, and what else could help.
void TellWhy(policy::Placer& placer, const PlanJob& job, const policy::GangTerms& terms,
             PlanResult& result) {
  const std::string limit = result.shortage.limit;
  result.booked = FitsUnkept(placer, job, terms);
  result.move = FindMove(placer, job);
  if (job.empty != nullptr) {
    const policy::PlaceAnswer empty = PlaceInEmptyCluster(placer, job);
    result.never_fits = !empty.placed && !empty.shortage.gave_up;
    if (result.never_fits) result.shortage = empty.shortage;
    if (empty.placed && !limit.empty())
      result.fits_in = DomainOf(*placer.FabricOf(job.empty->nodes()), limit, empty.placements);
  }
  if (!result.never_fits) TellWhatIsDown(placer, job, result);
}

// The required ones, all of them, but for lost ones (PlaceApart). False: the result says why not,
// or has victims.
bool PlaceRequired(Draft& draft, const policy::GangTerms& terms) {
  auto& [placer, job, tx, elastic, result] = draft;
  policy::GangTerms aside = terms;
  aside.kept = Together(terms.kept, job.shaped.shut);
  // In segments each has a place of its own, and those that are not there yet keep theirs.
  const bool in_place = job.one_by_one && AnyInSegments(job.segments);
  if (in_place && PlaceApart(draft, aside)) return true;
  if (in_place && !job.all_there) return false;
  policy::PlaceAnswer answer = PlaceAside(placer, job, tx, terms, result);
  if (answer.placed && !job.over_queue) {
    result.required = std::move(answer.placements);
    return true;
  }
  result.shortage = answer.shortage;
  if (Preempt(placer, job, aside, result)) return false;
  result.shielded = FitsWithoutShielded(placer, job, aside);
  if (answer.placed) return false;
  if (!in_place && PlaceApart(draft, aside)) return true;
  TellWhy(placer, job, aside, result);
  return false;
}

}  // namespace

std::vector<cluster::Placement> PlacementsOf(const PlanResult& result) {
  std::vector<cluster::Placement> all = result.required;
  for (const std::vector<cluster::Placement>& batch : result.elastic)
    all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

PlanResult Plan(policy::Placer& placer, const PlanJob& job) {
  Draft draft{placer, job, Transaction(job.snapshot), job.request.elastic, {}};
  PlanResult& result = draft.result;
  policy::GangTerms terms = job.request.terms;
  terms.kept = KeptFrom(placer, job, *job.snapshot);
  if (job.booking != nullptr) {
    terms.kept = Together(terms.kept, job.shaped.shut);
    result.later = FindLater(placer, job, terms);
    return std::move(result);
  }
  const bool all = job.request.required.empty() || PlaceRequired(draft, terms);
  if (!all && !job.one_by_one) return std::move(result);
  AddPlaced(job, PlacementsOf(result), terms);
  // Those of a subgroup that was lost as a whole start with it.
  std::erase_if(draft.elastic, [&](const policy::Demand& one) {
    return job.one_by_one && WhollyLost(terms, one.subgroup) != policy::Subgroup::kNone;
  });
  // They know where their gang is, and will be.
  terms.kept =
      Together(Together(placer.KeptOf(*job.snapshot, policy::NodeFilter::kSchedulable), job.closed),
               job.shaped.shut);
  Batches more = PlaceElastic(placer, draft.tx, draft.elastic, job.segments, std::move(terms));
  std::move(more.begin(), more.end(), std::back_inserter(result.elastic));
  result.placed = !result.required.empty() || !result.elastic.empty();
  return std::move(result);
}

}  // namespace muster::engine
