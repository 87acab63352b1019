// Judging gangs that were touched, some at a time.
#include <utility>

#include "engine/core.hpp"

namespace muster::engine {

using cluster::Time;

// Sweeps and deadlines that passed, then gangs that were touched; then those whose reason to wait
// may have changed.
bool Scheduler::Core::Settle(Time now) {
  SettleLeftOut(now);
  if (ever_fits_.Follow(state_, options_.scheduler_names, now)) queue_.AnythingMayFit();
  int64_t left = kSlice;
  while (work_.sweeping() && left > 0) left -= SweepOn();
  for (; left > 0; --left) {
    if (!work_.TakeDue(now)) break;
  }
  while (left > 0) {
    const std::optional<GangId> id = work_.NextTouched();
    if (!id) break;
    left -= SettleGang(*id, now);
  }
  if (left <= 0) return false;
  while (left > 0) {
    const std::optional<GangId> id = work_.NextTried();
    if (!id) break;
    const auto found = gangs_.find(*id);
    if (found == gangs_.end()) continue;
    found->second.reason = Reason(PendingQueue::ReasonOf(found->second));
    FollowUp(found->second, now);
    left -= CostOf(found->second);
  }
  if (!work_.told_all()) return false;
  work_.EndRounds();
  return true;
}

int64_t Scheduler::Core::SettleGang(const GangId& id, Time now) {
  const auto found = gangs_.find(id);
  if (found == gangs_.end()) return 1;
  Gang& gang = found->second;
  const int64_t cost = CostOf(gang);
  gang.judged = true;
  Judge(gang, now);
  NoteHolding(gang);
  if (!Gone(gang)) {
    FollowUp(gang, now);
    return cost;
  }
  SetPending(gang, false);
  work_.Forget(gang);
  gangs_.erase(found);
  return cost;
}

// One gang more; what that costs.
int64_t Scheduler::Core::SweepOn() {
  auto& [ns, sweep] = work_.sweep();
  const auto found =
      sweep.last ? gangs_.upper_bound(*sweep.last) : gangs_.lower_bound({{ns, ""}, false});
  if (found == gangs_.end() || (!ns.empty() && found->first.key.ns != ns)) {
    // What was tried meanwhile was tried on the half of it.
    if (sweep.asked_anew) queue_.AnythingMayFit();
    work_.EndSweep();
    return 1;
  }
  sweep.last = found->first;
  Gang& gang = found->second;
  if (sweep.asked_anew) {
    for (auto& [uid, member] : gang.members) member.stays_until.reset();
  }
  if (sweep.all || (sweep.waiting && (!gang.tried || gang.victims))) Touch(gang);
  return sweep.asked_anew ? CostOf(gang) : 1;
}

}  // namespace muster::engine
