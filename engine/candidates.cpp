#include "engine/candidates.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "engine/bars.hpp"
#include "engine/defect.hpp"
#include "engine/engine_state.hpp"
#include "engine/minimum.hpp"
#include "policy/fabric_wish.hpp"

namespace muster::engine {

using cluster::PodUid;
using cluster::Time;

namespace {

// What goes together, and what that costs.
struct Lost {
  policy::Loss loss;
  std::vector<const Member*> members;
};

// The minimum means something: there is a PodGroup, and it makes sense.
bool MinimumKnown(const EngineState& state, const Gang& gang) {
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  return group != nullptr && DefectOf(gang, group, state.options).code == ReasonCode::kNone;
}

bool AnyRequired(const std::vector<cluster::TopologySegment>& segments) {
  return std::any_of(segments.begin(), segments.end(),
                     [](const cluster::TopologySegment& segment) { return segment.required; });
}

// Some of its pods need others in their domain: none of them can go alone.
bool IsInSegments(const EngineState& state, const Gang& gang) {
  const topology::FabricOptions& fabric = state.options.placement.fabric;
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  return std::any_of(gang.members.begin(), gang.members.end(), [&](const auto& entry) {
    const cluster::TopologyTerms& said = policy::TermsOf(group, *entry.second.pod);
    if (said.segments.empty() && said.subgroups.empty()) return false;
    const cluster::TopologyTerms terms = Heeded(fabric, said);
    return AnyRequired(terms.segments) ||
           std::any_of(terms.subgroups.begin(), terms.subgroups.end(),
                       [](const auto& subgroup) { return AnyRequired(subgroup.segments); });
  });
}

// Pods beyond the minimum may go, the others stay.
bool HasSurplus(const EngineState& state, const Gang& gang) {
  return MinimumKnown(state, gang) && !IsInSegments(state, gang);
}

void AddLosses(const EngineState& state, const Gang& gang, int64_t priority, bool leaving_only,
               std::vector<Lost>& losses) {
  policy::Loss loss{HolderOf(gang, priority), true, 0};
  const auto add = [&](std::vector<const Member*> members) {
    losses.push_back({loss, std::move(members)});
    ++loss.step;
  };
  bool whole = !CannotBeEvicted(state, gang);
  std::vector<const Member*> bound;
  for (const auto& [uid, member] : gang.members) {
    if (!member.holds()) continue;
    const bool free =
        state.preemptions.PreemptorOf(uid) == nullptr && state.cluster.AllocationOf(uid) != nullptr;
    if (!member.leaving()) {
      bound.push_back(&member);
      whole = whole && free && member.pod->bound_by_muster;
    } else if (free && !state.preemptions.ProtectedUntil(uid)) {
      add({&member});
    }
  }
  if (!whole || leaving_only || bound.empty()) return;
  std::vector<const Member*> surplus;
  if (HasSurplus(state, gang)) surplus = TakeSurplus(gang, bound);
  loss.leaves = false;
  loss.step = 0;
  // Of the gang: its surplus takes precedence, whichever controller makes which pod.
  loss.holder.may_end = std::any_of(bound.begin(), bound.end(), [&](const Member* member) {
    return state.jobs.LosesByEviction(*member->pod);
  });
  for (const Member* member : surplus) add({member});
  if (!bound.empty()) add(std::move(bound));
}

std::vector<policy::Candidate> Candidates(const EngineState& state,
                                          const policy::Preemptor& preemptor, bool leaving_only) {
  const policy::VictimRule& rule = *state.rules.victims;
  const int64_t below = rule.Below(preemptor).value_or(INT64_MAX);
  std::vector<Lost> losses;
  const auto& holding = state.preemptions.holding();
  for (auto next = holding.begin(); next != holding.end() && next->first < below; ++next) {
    for (const GangId& id : next->second) {
      const Gang& gang = *state.members.Find(id);
      if (rule.MayEvict(preemptor, HolderOf(gang, next->first)))
        AddLosses(state, gang, next->first, leaving_only, losses);
    }
  }
  std::sort(losses.begin(), losses.end(),
            [&](const Lost& a, const Lost& b) { return rule.Before(a.loss, b.loss); });
  std::vector<policy::Candidate> candidates;
  candidates.reserve(losses.size());
  std::map<GangId, uint64_t> owners;
  uint64_t next_owner = 0;
  for (const auto& [loss, members] : losses) {
    policy::Candidate candidate;
    candidate.queue = loss.holder.queue;
    // Those that leave anyway bind nobody else.
    candidate.owner = loss.leaves
                          ? next_owner++
                          : owners.try_emplace(loss.holder.gang, next_owner++).first->second;
    for (const Member* member : members)
      candidate.held.push_back(state.cluster.AllocationOf(member->uid)->placement);
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

}  // namespace

policy::Preemptor PreemptorOf(const Gang& gang) {
  return {gang.id, QueueOf(gang), PriorityOf(gang)};
}

std::optional<int32_t> HighestHeld(const Gang& gang) {
  std::optional<int32_t> highest;
  for (const auto& [uid, member] : gang.members) {
    if (member.holds())
      highest = std::max(highest.value_or(INT32_MIN), CappedPriority(gang, member));
  }
  return highest;
}

policy::Holder HolderOf(const Gang& gang, int64_t priority) {
  return {gang.id, QueueOf(gang), priority, gang.past.running_since().value_or(Time(0)), false};
}

bool CannotBeEvicted(const EngineState& state, const Gang& gang) {
  if (gang.course.repairing) return true;
  return std::any_of(gang.members.begin(), gang.members.end(), [&](const auto& entry) {
    const auto& [uid, member] = entry;
    return member.may_be_bound() ||
           (member.holds() && (member.pod->daemon || state.preemptions.ProtectedUntil(uid)));
  });
}

bool GoesInParts(const EngineState& state, const Gang& gang) { return HasSurplus(state, gang); }

bool Preempts(const EngineState& state, const Gang& gang) {
  if (state.options.preemption == Preemption::kNever) return false;
  return std::all_of(gang.members.begin(), gang.members.end(), [](const auto& entry) {
    const cluster::Pod& pod = *entry.second.pod;
    return pod.spec->preempts || pod.bound() || pod.ending();
  });
}

bool MayPreempt(const EngineState& state, const Gang& gang) {
  const auto& holding = state.preemptions.holding();
  if (holding.empty()) return false;
  const std::optional<int64_t> below = state.rules.victims->Below(PreemptorOf(gang));
  return !(below && holding.begin()->first >= *below) && Preempts(state, gang);
}

std::vector<policy::Candidate> CandidatesOf(const EngineState& state, const Gang& gang) {
  return Candidates(state, PreemptorOf(gang), false);
}

KnownCandidates CandidatesFor(EngineState& state, const Gang& gang) {
  const policy::Preemptor preemptor = PreemptorOf(gang);
  // Others were evicted for it in vain: for now it only has what is left anyway.
  const bool leaving_only = state.preemptions.may_preempt_from(gang.id).has_value();
  KnownCandidates& known = state.candidates;
  const bool same = known.list != nullptr && known.priority == preemptor.priority &&
                    known.queue == preemptor.queue && known.leaving_only == leaving_only &&
                    known.version == state.work.version() &&
                    known.generation == state.cluster.generation();
  if (same) return known;
  auto list = std::make_shared<const std::vector<policy::Candidate>>(
      Candidates(state, preemptor, leaving_only));
  const std::shared_ptr<const cluster::Snapshot> snapshot = state.cluster.TakeSnapshot();
  cluster::FreeTable free = snapshot->free();
  for (const policy::Candidate& candidate : *list) {
    for (const cluster::Placement& held : candidate.held)
      free.Give(*snapshot->node(held.node), held);
  }
  auto without = std::make_shared<const cluster::Snapshot>(
      snapshot->nodes(), std::move(free), snapshot->generation(), snapshot->layout());
  known = {preemptor.priority,         preemptor.queue, leaving_only,      state.work.version(),
           state.cluster.generation(), std::move(list), std::move(without)};
  return known;
}

bool MayEvictAll(const EngineState& state, const std::set<PodUid>& victims,
                 const policy::Preemptor& preemptor) {
  const policy::VictimRule& rule = *state.rules.victims;
  std::set<GangId> gangs;
  for (const PodUid& uid : victims) {
    const Member* member = state.members.FindMember(uid);
    if (member == nullptr) {
      if (state.cluster.AllocationOf(uid) != nullptr) return false;
      continue;  // it is gone
    }
    const GangId* makes_way_for = state.preemptions.PreemptorOf(uid);
    if (makes_way_for != nullptr && *makes_way_for != preemptor.gang) return false;
    if (!member->holds()) continue;
    const Gang& gang = *state.members.GangOf(uid);
    if (!rule.MayEvict(preemptor, HolderOf(gang, CappedPriority(gang, *member)))) return false;
    if (!member->leaving()) gangs.insert(gang.id);
  }
  return std::all_of(gangs.begin(), gangs.end(), [&](const GangId& id) {
    const Gang& gang = *state.members.Find(id);
    if (CannotBeEvicted(state, gang)) return false;
    const auto stays = [&](const Member& one) {
      return CountsAsBound(one) && !victims.contains(one.uid);
    };
    const bool none_left = std::none_of(
        gang.members.begin(), gang.members.end(),
        [&](const auto& entry) { return entry.second.holds() && stays(entry.second); });
    const int64_t highest = HighestHeld(gang).value_or(INT32_MIN);
    return rule.MayEvict(preemptor, HolderOf(gang, highest)) &&
           (none_left ||
            (HasSurplus(state, gang) && Lack(gang.minimum, CountMembers(gang, true, stays)) == 0));
  });
}

bool VictimsStillValid(const EngineState& state, const Gang& gang) {
  const Victims& victims = *state.preemptions.VictimsOf(gang.id);
  std::vector<PodUid> planned;
  for (const auto& [uid, member] : gang.members) {
    if (member.planned()) planned.push_back(uid);
  }
  return !victims.lost && Preempts(state, gang) &&
         NamespaceBar(state, gang.id.key.ns).code == ReasonCode::kNone &&
         gang.queue_bar.code == ReasonCode::kNone &&
         MayEvictAll(state, victims.pods, PreemptorOf(gang)) && state.cluster.EarmarksHold(planned);
}

}  // namespace muster::engine
