#include "engine/candidates.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "engine/bars.hpp"
#include "engine/defect.hpp"
#include "engine/engine_state.hpp"
#include "engine/minimum.hpp"

namespace muster::engine {

using cluster::PodUid;
using cluster::Time;

namespace {

// In the order in which candidates are to be lost: who leaves anyway, then by priority; of one
// priority gangs that an eviction costs time only before those that it may end (see JobTable), then
// whoever started last, the surplus of a gang before the gang.
struct Loss {
  bool stays = false;
  int64_t priority = 0;
  bool may_end = false;  // of the gang: it goes surplus first, whoever makes which pod
  int64_t negated_start = 0;
  GangId gang;
  int64_t step = 0;  // within the gang
  std::vector<const Member*> members;
  auto Key() const { return std::tie(stays, priority, may_end, negated_start, gang, step); }
};

// The minimum means something: there is a PodGroup, and it makes sense.
bool MinimumKnown(const EngineState& state, const Gang& gang) {
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  return group != nullptr && DefectOf(gang, group, state.options).code == ReasonCode::kNone;
}

void AddLosses(const EngineState& state, const Gang& gang, int64_t priority, bool leaving_only,
               std::vector<Loss>& losses) {
  Loss loss;
  loss.priority = priority;
  loss.negated_start = -gang.past.runs_since().value_or(Time(0)).milliseconds();
  loss.gang = gang.id;
  const auto add = [&](std::vector<const Member*> members) {
    losses.push_back(loss);
    losses.back().members = std::move(members);
    ++loss.step;
  };
  bool whole = !MustStay(state, gang);
  std::vector<const Member*> bound;
  for (const auto& [uid, member] : gang.members) {
    if (!member.holds()) continue;
    const bool free =
        state.preemptions.PreemptorOf(uid) == nullptr && state.cluster.AllocationOf(uid) != nullptr;
    if (!member.leaving()) {
      bound.push_back(&member);
      whole = whole && free && member.pod->bound_by_muster;
    } else if (free && !state.preemptions.KeptUntil(uid)) {
      add({&member});
    }
  }
  if (!whole || leaving_only || bound.empty()) return;
  std::vector<const Member*> surplus;
  if (MinimumKnown(state, gang)) surplus = TakeSurplus(gang, bound);
  loss.stays = true;
  loss.step = 0;
  loss.may_end = std::any_of(bound.begin(), bound.end(), [&](const Member* member) {
    return state.jobs.LosesByEviction(*member->pod);
  });
  for (const Member* member : surplus) add({member});
  if (!bound.empty()) add(std::move(bound));
}

std::vector<policy::Candidate> CandidatesBelow(const EngineState& state, int64_t priority,
                                               bool leaving_only) {
  std::vector<Loss> losses;
  const auto& holding = state.preemptions.holding();
  for (auto next = holding.begin(); next != holding.end() && next->first < priority; ++next) {
    for (const GangId& id : next->second)
      AddLosses(state, *state.members.Find(id), next->first, leaving_only, losses);
  }
  std::sort(losses.begin(), losses.end(),
            [](const Loss& a, const Loss& b) { return a.Key() < b.Key(); });
  std::vector<policy::Candidate> candidates;
  candidates.reserve(losses.size());
  std::map<GangId, uint64_t> owners;
  uint64_t next_owner = 0;
  for (const Loss& loss : losses) {
    policy::Candidate candidate;
    // Those that leave anyway bind nobody else.
    candidate.owner =
        loss.stays ? owners.try_emplace(loss.gang, next_owner++).first->second : next_owner++;
    for (const Member* member : loss.members)
      candidate.held.push_back(state.cluster.AllocationOf(member->uid)->placement);
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

}  // namespace

bool MustStay(const EngineState& state, const Gang& gang) {
  if (gang.course.repairing) return true;
  return std::any_of(gang.members.begin(), gang.members.end(), [&](const auto& entry) {
    const auto& [uid, member] = entry;
    return member.may_be_bound() ||
           (member.holds() && (member.pod->daemon || state.preemptions.KeptUntil(uid)));
  });
}

bool Preempts(const EngineState& state, const Gang& gang) {
  if (state.options.preemption == Preemption::kNever) return false;
  return std::all_of(gang.members.begin(), gang.members.end(), [](const auto& entry) {
    const cluster::Pod& pod = *entry.second.pod;
    return pod.spec->preempts || pod.bound() || pod.terminal() || pod.deleting;
  });
}

bool MayPreempt(const EngineState& state, const Gang& gang) {
  const auto& holding = state.preemptions.holding();
  if (holding.empty() || holding.begin()->first >= gang.queue->order->priority) return false;
  return Preempts(state, gang);
}

KnownCandidates CandidatesFor(EngineState& state, const Gang& gang) {
  const int64_t priority = gang.queue->order->priority;
  // Others were evicted for it in vain: for now it only has what is left anyway.
  const bool leaving_only = state.preemptions.may_preempt_from(gang.id).has_value();
  KnownCandidates& known = state.candidates;
  const bool same = known.list != nullptr && known.priority == priority &&
                    known.leaving_only == leaving_only && known.version == state.work.version() &&
                    known.generation == state.cluster.generation();
  if (same) return known;
  auto list = std::make_shared<const std::vector<policy::Candidate>>(
      CandidatesBelow(state, priority, leaving_only));
  const std::shared_ptr<const cluster::Snapshot> snapshot = state.cluster.TakeSnapshot();
  cluster::FreeTable free = snapshot->free();
  for (const policy::Candidate& candidate : *list) {
    for (const cluster::Placement& held : candidate.held)
      free.Give(*snapshot->node(held.node), held);
  }
  auto without = std::make_shared<const cluster::Snapshot>(
      snapshot->nodes(), std::move(free), snapshot->generation(), snapshot->layout());
  known = {priority,        leaving_only,      state.work.version(), state.cluster.generation(),
           std::move(list), std::move(without)};
  return known;
}

bool MayGo(const EngineState& state, const std::set<PodUid>& victims, const GangId& preemptor,
           int64_t priority) {
  std::set<GangId> gangs;
  for (const PodUid& uid : victims) {
    const Member* member = state.members.FindMember(uid);
    if (member == nullptr) {
      if (state.cluster.AllocationOf(uid) != nullptr) return false;
      continue;  // it is gone
    }
    const GangId* makes_way_for = state.preemptions.PreemptorOf(uid);
    if (makes_way_for != nullptr && *makes_way_for != preemptor) return false;
    if (!member->holds()) continue;
    if (member->pod->spec->priority >= priority) return false;
    if (!member->leaving()) gangs.insert(state.members.GangOf(uid)->id);
  }
  return std::all_of(gangs.begin(), gangs.end(), [&](const GangId& id) {
    const Gang& gang = *state.members.Find(id);
    if (MustStay(state, gang)) return false;
    const auto stays = [&](const Member& one) { return Stays(one) && !victims.contains(one.uid); };
    bool lesser = true;
    bool none_left = true;
    for (const auto& [uid, member] : gang.members) {
      if (!member.holds()) continue;
      lesser = lesser && member.pod->spec->priority < priority;
      none_left = none_left && !stays(member);
    }
    return lesser && (none_left || (MinimumKnown(state, gang) &&
                                    Lack(gang.minimum, CountMembers(gang, true, stays)) == 0));
  });
}

bool StillWanted(const EngineState& state, const Gang& gang) {
  const Victims& victims = *state.preemptions.VictimsOf(gang.id);
  int64_t priority = INT32_MAX;
  std::vector<PodUid> planned;
  for (const auto& [uid, member] : gang.members) {
    if (!member.pod->terminal()) priority = std::min<int64_t>(priority, member.pod->spec->priority);
    if (member.planned()) planned.push_back(uid);
  }
  return !victims.lost && Preempts(state, gang) &&
         NamespaceBar(state, gang.id.key.ns).code == ReasonCode::kNone &&
         MayGo(state, victims.pods, gang.id, priority) && state.cluster.EarmarksHold(planned);
}

}  // namespace muster::engine
