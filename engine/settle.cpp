// Judging gangs that were touched, some at a time.
#include <utility>

#include "engine/core.hpp"

namespace muster::engine {

using cluster::Time;

namespace {

constexpr int kRounds = 4;  // of judging gangs that touched each other

}  // namespace

// Deadlines that passed, then gangs that were touched, in rounds, because a gang that is judged may
// touch those that make way for it, and they it; then those whose reason to wait may have changed.
bool Scheduler::Core::Settle(Time now) {
  SettleLeftOut(now);
  if (ever_fits_.Follow(state_, options_.scheduler_names, now)) queue_.AnythingMayFit();
  int64_t left = kSlice;
  while (!sweeps_.empty() && left > 0) left -= SweepOn();
  for (; !timers_.empty() && timers_.begin()->first <= now && left > 0; --left) {
    const GangId id = timers_.begin()->second;
    timers_.erase(timers_.begin());
    gangs_.at(id).timer.reset();
    dirty_.insert(id);
  }
  if (left <= 0) return false;
  while (!settling_.empty() || (!dirty_.empty() && rounds_ < kRounds)) {
    if (settling_.empty()) {
      settling_.swap(dirty_);
      ++rounds_;
    }
    for (; !settling_.empty() && left > 0; settling_.erase(settling_.begin()))
      left -= SettleGang(*settling_.begin(), now);
    if (left <= 0) return false;
  }
  for (; !tried_in_vain_.empty() && left > 0; tried_in_vain_.erase(tried_in_vain_.begin())) {
    const auto found = gangs_.find(*tried_in_vain_.begin());
    if (found == gangs_.end()) continue;
    found->second.reason = Reason(PendingQueue::ReasonOf(found->second));
    FollowUp(found->second, now);
    left -= CostOf(found->second);
  }
  if (!tried_in_vain_.empty()) return false;
  rounds_ = 0;
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
  if (gang.timer) timers_.erase({*gang.timer, id});
  gangs_.erase(found);
  return cost;
}

// One gang more; what that costs.
int64_t Scheduler::Core::SweepOn() {
  const auto at = sweeps_.begin();
  const std::string& ns = at->first;
  Sweep& sweep = at->second;
  const auto found =
      sweep.last ? gangs_.upper_bound(*sweep.last) : gangs_.lower_bound({{ns, ""}, false});
  if (found == gangs_.end() || (!ns.empty() && found->first.key.ns != ns)) {
    // What was tried meanwhile was tried on the half of it.
    if (sweep.asked_anew) queue_.AnythingMayFit();
    sweeps_.erase(at);
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
