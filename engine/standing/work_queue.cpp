#include "engine/standing/work_queue.hpp"

#include <algorithm>

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

void WorkQueue::Set(Timers& timers, std::optional<Time>& timer, Gang& gang, Time due) {
  if (timer.value_or(Time::Never()) == due) return;
  if (timer) timers.erase({*timer, gang.id});
  timer.reset();
  if (due == Time::Never()) return;
  timer = due;
  timers[{due, gang.id}] = &gang;
}

void WorkQueue::SetTimer(Gang& gang, Time due) { Set(timers_, gang.work.value_.timer, gang, due); }

void WorkQueue::SetTellTimer(Gang& gang, Time due) {
  Set(tells_, gang.work.value_.tell, gang, due);
}

void WorkQueue::TellDue(int64_t most, Time now) {
  for (; most > 0 && !tells_.empty() && tells_.begin()->first.first <= now; --most) {
    Gang& gang = *tells_.begin()->second;
    tells_.erase(tells_.begin());
    gang.work.value_.tell.reset();
    tried_.insert(gang.id);
  }
}

std::optional<GangId> WorkQueue::TouchNextDue(Time now) {
  if (timers_.empty() || timers_.begin()->first.first > now) return std::nullopt;
  Gang& gang = *timers_.begin()->second;
  timers_.erase(timers_.begin());
  gang.work.value_.timer.reset();
  touched_.insert(gang.id);
  return gang.id;
}

Time WorkQueue::due() const {
  const auto first = [](const Timers& timers) {
    return timers.empty() ? Time::Never() : timers.begin()->first.first;
  };
  return std::min(first(timers_), first(tells_));
}

std::optional<GangId> WorkQueue::NextTried() { return TakeFirst(tried_); }

void WorkQueue::Forget(Gang& gang) {
  SetTimer(gang, Time::Never());
  SetTellTimer(gang, Time::Never());
  touched_.erase(gang.id);
}

}  // namespace muster::engine
