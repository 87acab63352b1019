#include "engine/preemption/candidates.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/gangs/minimum.hpp"
#include "engine/judging/bars.hpp"
#include "engine/judging/request.hpp"
#include "engine/preemption/budgets.hpp"
#include "engine/preemption/losses.hpp"
#include "engine/preemption/queue_candidates.hpp"
#include "engine/preemption/queue_rights.hpp"
#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::PodUid;
using cluster::Time;

namespace {

// The cluster when all of them are gone.
std::shared_ptr<const cluster::Snapshot> Without(const std::vector<policy::Candidate>& candidates,
                                                 const cluster::Snapshot& snapshot) {
  cluster::FreeTable free = snapshot.free();
  std::vector<std::pair<cluster::NodeIndex, cluster::PodUid>> gone;
  for (const policy::Candidate& candidate : candidates) {
    for (const cluster::Placement& held : candidate.held) {
      free.Give(*snapshot.node(held.node), held);
      if (snapshot.pods() != nullptr) gone.emplace_back(held.node, held.pod);
    }
  }
  std::shared_ptr<const cluster::PodField> pods = snapshot.pods();
  if (pods != nullptr) pods = std::make_shared<const cluster::PodField>(pods->Without(gone));
  return std::make_shared<const cluster::Snapshot>(snapshot.nodes(), std::move(free),
                                                   snapshot.generation(), snapshot.layout(),
                                                   nullptr, std::move(pods));
}

}  // namespace

bool Preempts(const StandingState& state, const Gang& gang) {
  const bool any = EvictsAny(state, gang);
  if (!any || gang.terms.preempts) return any && *gang.terms.preempts;
  return std::all_of(gang.members.begin(), gang.members.end(), [](const auto& entry) {
    const cluster::Pod& pod = *entry.second.pod;
    return pod.spec->preempts || pod.bound() || pod.ending();
  });
}

bool MayPreempt(const StandingState& state, const Gang& gang) {
  if (state.holdings.all().empty()) return false;
  const Refusal* refusal = state.refusals.Of(gang.id);
  if (refusal != nullptr && !refusal->may_evict) return false;
  return MayHaveCandidates(state, gang) && Preempts(state, gang);
}

std::optional<Time> MayPreemptFrom(const StandingState& state, const Gang& gang) {
  return std::max(state.preemptions.TriesOf(gang.id).until,
                  state.preemptions.EndedEarlyUntil(AcrossAttempts(gang)));
}

std::vector<policy::Candidate> CandidatesOf(const StandingState& state, const Gang& gang,
                                            Time now) {
  QueueCandidates found = FindQueueCandidates(state, gang, false, now);
  for (LawfulCandidates& choice : found.choices) {
    if (!choice.by_place) return std::move(choice.candidates);
  }
  return {};
}

namespace {

// A gang that finds no victims because of PodDisruptionBudgets is tried again after this at the
// latest: its candidates may no longer be protected then.
constexpr cluster::Duration kBudgetsAgain = cluster::Seconds(3'600);

// Has the gang tried again when what shields its candidates may have ended.
void AwaitEnd(StandingState& state, const Shielded& shielded, Time now) {
  if (shielded.until) state.preemptions.WakeAt(*shielded.until);
  if (shielded.budgets.empty()) return;
  state.budget_watch.Await();
  state.preemptions.WakeAt(now + kBudgetsAgain);
}

KnownCandidates& FindCandidates(StandingState& state, const Gang& gang, Time now) {
  const int64_t priority = PriorityOf(gang);
  // It preempted in vain: for now its candidates are only pods that leave anyway.
  const bool leaving_only = MayPreemptFrom(state, gang).has_value();
  KnownCandidates& known = state.candidates;
  const bool same = known.known && known.priority == priority && known.queue == QueueOf(gang) &&
                    known.leaving_only == leaving_only && known.at == now &&
                    known.asks == gang.queue->asks && known.version == state.work.version() &&
                    known.generation == state.cluster.generation();
  if (same) return known;
  known = {};
  known.known = true;
  known.priority = priority;
  known.queue = QueueOf(gang);
  known.asks = gang.queue->asks;
  known.at = now;
  known.leaving_only = leaving_only;
  known.version = state.work.version();
  known.generation = state.cluster.generation();
  QueueCandidates found = FindQueueCandidates(state, gang, leaving_only, now);
  for (LawfulCandidates& choice : found.choices) {
    auto list =
        std::make_shared<const std::vector<policy::Candidate>>(std::move(choice.candidates));
    known.choices.push_back({std::move(list), nullptr, std::move(choice.law), choice.by_place,
                             std::move(choice.first)});
  }
  known.shielded = std::move(found.shielded);
  known.refused = std::move(found.refused);
  AwaitEnd(state, known.shielded, now);
  return known;
}

}  // namespace

KnownCandidates CandidatesFor(StandingState& state, const Gang& gang, Time now) {
  KnownCandidates& known = FindCandidates(state, gang, now);
  // One that requires a domain is looked at domain by domain.
  if (!Heeded(state.options.placement.fabric, TopologyOf(state, gang)).required.empty())
    return known;
  const std::shared_ptr<const cluster::Snapshot> snapshot = state.cluster.TakeSnapshot();
  for (VictimChoice& choice : known.choices) {
    if (choice.without == nullptr && !choice.by_place)
      choice.without = Without(*choice.list, *snapshot);
  }
  return known;
}

bool MayEvictAll(const StandingState& state, const std::set<PodUid>& victims, const Gang& gang) {
  std::set<GangId> staying;  // a victim of theirs does not leave by itself
  for (const PodUid& uid : victims) {
    const Member* member = state.members.FindMember(uid);
    if (member == nullptr) {
      if (state.cluster.AllocationOf(uid) != nullptr) return false;
      continue;  // it is gone
    }
    const GangId* makes_way_for = state.preemptions.PreemptorOf(uid);
    if (makes_way_for != nullptr && *makes_way_for != gang.id) return false;
    if (!member->holds()) continue;
    const Gang& of = *state.members.GangOf(uid);
    if (!member->leaving()) staying.insert(of.id);
  }
  return MayEvictByQueues(state, gang, victims) &&
         std::all_of(staying.begin(), staying.end(), [&](const GangId& id) {
           const Gang& of = *state.members.Find(id);
           if (CannotBeEvicted(state, of)) return false;
           const auto stays = [&](const Member& one) {
             return CountsAsBound(one) && !victims.contains(one.uid);
           };
           const bool none_left = std::none_of(
               of.members.begin(), of.members.end(),
               [&](const auto& one) { return one.second.holds() && stays(one.second); });
           return none_left ||
                  (HasSurplus(state, of) && Lack(of.minimum, CountMembers(of, true, stays)) == 0);
         });
}

bool VictimsStillValid(const StandingState& state, const Gang& gang) {
  const Victims& victims = *state.preemptions.VictimsOf(gang.id);
  std::vector<PodUid> planned;
  for (const auto& [uid, member] : gang.members) {
    if (member.planned()) planned.push_back(uid);
  }
  return !victims.lost && Preempts(state, gang) &&
         NamespaceBar(state, gang.id.key.ns).code == ReasonCode::kNone &&
         gang.queue_bar.code == ReasonCode::kNone && MayEvictAll(state, victims.pods, gang) &&
         state.cluster.EarmarksHold(planned);
}

}  // namespace muster::engine
