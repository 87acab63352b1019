#include "engine/work_queue.hpp"

namespace muster::engine {

using cluster::Time;

namespace {

// Gangs touch each other: one that is judged those that make way for it, and they it.
constexpr int kRounds = 4;

std::optional<GangId> TakeFirst(std::set<GangId>& ids) {
  if (ids.empty()) return std::nullopt;
  return std::move(ids.extract(ids.begin()).value());
}

}  // namespace

void WorkQueue::Touch(Gang& gang) {
  gang.work.value_.version = ++version_;
  touched_.insert(gang.id);
}

std::optional<GangId> WorkQueue::NextTouched() {
  if (round_.empty() && !touched_.empty() && rounds_ < kRounds) {
    round_.swap(touched_);
    ++rounds_;
  }
  return TakeFirst(round_);
}

void WorkQueue::SetTimer(Gang& gang, Time due) {
  std::optional<Time>& timer = gang.work.value_.timer;
  if (timer) timers_.erase({*timer, gang.id});
  timer.reset();
  if (due == Time::Never()) return;
  timer = due;
  timers_[{due, gang.id}] = &gang;
}

std::optional<GangId> WorkQueue::TouchNextDue(Time now) {
  if (timers_.empty() || due() > now) return std::nullopt;
  Gang& gang = *timers_.begin()->second;
  timers_.erase(timers_.begin());
  gang.work.value_.timer.reset();
  touched_.insert(gang.id);
  return gang.id;
}

Time WorkQueue::due() const {
  return timers_.empty() ? Time::Never() : timers_.begin()->first.first;
}

std::optional<GangId> WorkQueue::NextTried() { return TakeFirst(tried_); }

void WorkQueue::Forget(Gang& gang) {
  SetTimer(gang, Time::Never());
  touched_.erase(gang.id);
}

}  // namespace muster::engine
