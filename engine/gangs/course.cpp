#include "engine/gangs/course.hpp"

#include <algorithm>
#include <utility>

namespace muster::engine {

using cluster::Duration;
using cluster::Time;

namespace {

constexpr Duration kLongestPause = cluster::Seconds(3'600);
constexpr Duration kLongestBackoff = cluster::Seconds(60);
constexpr Duration kLongestMovePause = cluster::Seconds(86'400);

void ClearIfDue(std::optional<Time>& time, Time now) {
  if (time && *time <= now) time.reset();
}

}  // namespace

Duration Doubled(Duration first, int64_t times, Duration most) {
  Duration pause = first;
  for (int64_t i = 1; i < times && pause < most; ++i) pause = pause * 2;
  return std::min(pause, most);
}

Duration BackoffAfter(int64_t failures, const Options& options) {
  return Doubled(options.backoff_first, failures, options.backoff_max);
}

Duration PauseAfter(Duration held, int64_t times) {
  return Doubled(held, times, std::max(held, kLongestPause));
}

Duration HeldAfter(Duration timeout, int64_t times) {
  return Doubled(timeout, times + 1, std::max(timeout, kLongestBackoff));
}

Course Course::WithoutPods() const {
  Course rest;
  rest.attempts = attempts;
  rest.expired = expired;
  rest.moves = moves;
  rest.move_from = move_from;
  rest.evicted_for = evicted_for;
  if (setback.code == ReasonCode::kRefused) return rest;
  rest.setback = setback;
  if (backoff_until && *backoff_until < Time::Never()) rest.backoff_until = backoff_until;
  return rest;
}

void Course::Pass(Time now) {
  ClearIfDue(backoff_until, now);
  ClearIfDue(replan_from, now);
}

void Course::Start() {
  partial_since.reset();
  evicted_for.clear();
  EndRepair();
  cramped = false;
  attempts = 0;
  expired = false;
  setback = {};
  obstacle.clear();
}

void Course::Fail(Reason why, const Options& options, Time now) {
  ++attempts;
  setback = std::move(why);
  backoff_until = now + BackoffAfter(attempts, options);
}

void Course::PauseUntil(Time time) {
  if (backoff_until) backoff_until = std::max(*backoff_until, time);
}

void Course::Expire(Reason why, Duration held, const Options& options, Time now) {
  Fail(std::move(why), options, now);
  expired = true;
  backoff_until = std::max(*backoff_until, now + PauseAfter(held, attempts));
}

void Course::Refuse(Reason why) {
  ++attempts;
  setback = std::move(why);
  backoff_until = Time::Never();
}

void Course::BreakPlan(bool beside, const Options& options, Time now) {
  if (beside) {  // not a start; what is bound waits for the rest
    replan_from = now + Doubled(options.retry_interval, ++broken_plans, options.backoff_max);
    return;
  }
  Fail(setback.code == ReasonCode::kNone ? Because(ReasonCode::kPlanBroken) : setback, options,
       now);
}

void Course::BeginRepair(Reason why, const Options& options, Time now) {
  repairing = true;
  obstacle.clear();
  Fail(std::move(why), options, now);
}

void Course::Cancel(Reason why, Time until) {
  setback = std::move(why);
  backoff_until = until;
}

// Each move is further from the last one, as preemptions in vain are: at most once in a day.
void Course::BeginMove(Reason why, std::set<cluster::PodUid> pods, const Options& options,
                       Time now) {
  repairing = true;
  relocating = true;
  moving = std::move(pods);
  cramped = false;
  obstacle.clear();
  setback = std::move(why);
  move_from = now + Doubled(options.victim_timeout, ++moves, kLongestMovePause);
}

void Course::EndRepair() {
  repairing = false;
  relocating = false;
  moving.clear();
}

}  // namespace muster::engine
