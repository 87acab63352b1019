#include "engine/judging/succession.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::Time;

namespace {

// Another attempt of its owner is there, and is what is ordered for all of them.
bool HasOtherAttempts(const StandingState& state, const Gang& gang) {
  if (gang.attempts_of.empty()) return false;
  const std::vector<const Gang*> attempts = state.members.AttemptsOf(AcrossAttempts(gang));
  return std::any_of(attempts.begin(), attempts.end(),
                     [&](const Gang* one) { return one != &gang; });
}

}  // namespace

void FollowOwner(StandingState& state, Gang& gang, const cluster::Pod& pod) {
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  const bool told = group != nullptr && (!group->declared || group->by_owner);
  // That of several is the first one's.
  if (!told && (gang.owner.empty() || gang.members.size() == 1)) gang.owner = pod.owner_uid;
  if (gang.memory == Memory::kLeft && !pod.ending()) gang.memory = Memory::kToTake;
}

void FollowOwner(Gang& gang, const cluster::PodGroup& group) {
  if (!group.declared) gang.owner.clear();
  if (group.by_owner) gang.owner = AcrossAttempts(gang).key.ToString();
}

void LeaveToOwner(StandingState& state, Gang& gang, Time now) {
  if (gang.owner.empty() || gang.memory != Memory::kOwn) return;
  gang.memory = Memory::kLeft;
  LeftBehind left;
  left.gang = AcrossAttempts(gang);
  left.course = gang.course.WithoutPods();
  left.plans = gang.plan->made;
  left.tries = state.preemptions.TriesOf(gang.id);
  left.paid = state.preemptions.Paid(gang.id);
  const Refusal* refusal = state.refusals.Of(gang.id);
  if (refusal != nullptr && refusal->waits && refusal->words.empty()) left.silence = *refusal;
  const Time until = state.owners.Leave(gang.owner, std::move(left), now);
  if (!HasOtherAttempts(state, gang)) state.orders.KeepUntil(OrderBook::KeyOf(gang), until);
}

void LeaveNothing(StandingState& state, Gang& gang) {
  if (gang.memory != Memory::kOwn) return;
  gang.memory = Memory::kLeft;
  if (!HasOtherAttempts(state, gang)) state.orders.ForgetGang(OrderBook::KeyOf(gang));
}

void TakeFromOwner(StandingState& state, Gang& gang, Time now) {
  if (gang.memory != Memory::kToTake || gang.members.empty()) return;
  gang.memory = Memory::kOwn;
  if (gang.owner.empty()) return;
  const cluster::GangId across = AcrossAttempts(gang);
  if (const std::optional<LeftBehind> left = state.owners.Take(gang.owner, across, now)) {
    gang.course = left->course;
    state.reservations.CountEarlier(gang, left->plans);
    if (left->tries.in_vain > 0) state.preemptions.SetTries(gang.id, left->tries);
    if (left->paid) state.preemptions.Pay(gang.id);
    state.preemptions.Rename(left->gang, across);
    state.orders.Pass(left->gang.key, gang);
    if (left->silence) state.refusals.Resume(gang.id, *left->silence);
  }
  state.orders.CameBack(gang);
}

void ForgetOwner(StandingState& state, const std::string& owner) {
  for (const cluster::GangId& gang : state.owners.Forget(owner)) {
    if (state.orders.Waits(gang.key)) state.orders.ForgetGang(gang.key);
  }
}

}  // namespace muster::engine
