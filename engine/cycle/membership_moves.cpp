#include "engine/cycle/membership_moves.hpp"

#include <algorithm>
#include <vector>

#include "engine/claims/claim_state.hpp"
#include "engine/claims/scale_up.hpp"
#include "engine/judging/queueing.hpp"
#include "engine/judging/succession.hpp"
#include "engine/preemption/victim_changes.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::PodUid;

namespace {

// Not while it may be bound without our knowing: others would be given what it holds.
bool MayLeave(ClaimState& state, const Member& member) {
  const bool may = member.pod->bound() || !member.may_be_bound();
  if (!may) state.members.Defer(member.uid);
  return may;
}

// It is no member of that gang any more. What it makes way for stays.
void Detach(ClaimState& state, const PodUid& uid) {
  const PlacedMember at = state.members.Find(uid);
  const GangId id = at.gang->id;
  const bool evicted = at.member->writes->doing == WriteKind::kEvict;
  state.writes.Forget(*at.member, "muster: the pod is gone");
  if (const GangId* preemptor = state.preemptions.PreemptorOf(uid)) {
    // The pod is gone: an eviction that is under way has succeeded.
    if (evicted) NoteEvicted(state, GangId(*preemptor));
    TouchPreemptor(state, *at.member);
  }
  state.reservations.Forget(*at.member);
  state.members.Remove(uid);
  // Its turn may come before it is settled: what follows is for gangs with members.
  if (at.gang->members.empty()) Dequeue(state, *at.gang);
  state.work.Touch(*at.gang);
  EraseUnjudged(state, id);
}

}  // namespace

void Join(ClaimState& state, const Pod& pod) {
  state.members.TakeDeferred(pod.uid);
  const PlacedMember before = state.members.Find(pod.uid);
  if (before.gang != nullptr && before.gang->id != Membership::IdFor(pod)) {
    // Its PodGroup was changed.
    if (!MayLeave(state, *before.member)) return;
    if (pod.bound()) state.reservations.Settle(*before.member);
    if (pod.deleting) {  // a victim that leaves already makes way, whosever it is now
      Detach(state, pod.uid);
    } else {
      InvalidateVictim(state, *before.member);
      Leave(state, pod.uid);
    }
  }
  const PlacedMember at = state.members.Add(pod);
  FollowOwner(state, *at.gang, pod);
  state.work.Touch(*at.gang);
  TouchPreemptor(state, *at.member);
  if (at.gang->id.solo) return;
  for (const PodUid& uid : state.members.TakeUnmanaged(at.gang->id.key)) {
    if (uid != pod.uid) Join(state, *state.cluster.FindPod(uid));
  }
}

void Serve(ClaimState& state, const std::string& scheduler) {
  if (!state.members.Serve(scheduler)) return;
  std::vector<PodUid> waiting;
  state.cluster.EachPod([&](const Pod& pod) {
    if (state.members.WouldAsk(pod)) waiting.push_back(pod.uid);
  });
  std::sort(waiting.begin(), waiting.end());
  for (const PodUid& uid : waiting) {
    state.members.Claim(uid);
    Join(state, *state.cluster.FindPod(uid));
  }
}

void Leave(ClaimState& state, const PodUid& uid) {
  if (state.members.Find(uid).gang == nullptr) return;
  Detach(state, uid);
  state.preemptions.Forget(uid);
}

void Disown(ClaimState& state, const Pod& pod) {
  const Member& member = *state.members.Find(pod.uid).member;
  if (!MayLeave(state, member)) return;
  if (member.planned() && !pod.bound())
    state.writes.Ask(Nominate{state.writes.NextId(), {member.key, member.uid}, ""});
  InvalidateVictim(state, member);
  Leave(state, pod.uid);
  state.cluster.ChargeTo(pod.uid, "");
  state.members.AddUnmanaged(pod);
}

void ReassignPod(ClaimState& state, const PodUid& uid, bool joins) {
  const Pod* pod = state.cluster.FindPod(uid);
  if (pod == nullptr || state.members.IsMember(uid) == joins ||
      state.members.Managed(*pod) != joins)
    return;
  if (joins) {
    Join(state, *pod);
  } else if (!pod->bound()) {
    Disown(state, *pod);
  }
}

void ApplyDeferred(ClaimState& state, const PodUid& uid) {
  if (!state.members.TakeDeferred(uid)) return;
  const Pod& pod = *state.cluster.FindPod(uid);
  if (state.members.Managed(pod)) {
    Join(state, pod);
  } else {
    Disown(state, pod);
  }
}

void EraseUnjudged(ClaimState& state, const GangId& id) {
  Gang* gang = state.members.Find(id);
  if (gang != nullptr && !gang->judged && state.members.Ended(*gang)) EraseGang(state, *gang);
}

void EraseGang(ClaimState& state, Gang& gang) {
  const GangId id = gang.id;
  Dequeue(state, gang);
  state.work.Forget(gang);
  state.preemptions.ForgetGang(id);
  state.releases.Forget(id);
  state.holdings.Hold(gang, std::nullopt, 0, "");
  state.queue_book.Leave(id);
  if (gang.owner.empty()) state.orders.ForgetGang(id.key);
  EndScaleUp(state, id);
  state.refusals.Forget(id);
  state.members.Erase(id);
}

}  // namespace muster::engine
