#include "engine/judging/durations.hpp"

#include <algorithm>
#include <utility>

#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::Duration;
using cluster::RunTimes;
using cluster::Time;
using queues::Trust;

namespace {

Trust TrustOf(const StandingState& state, const Gang& gang) {
  const QueueBook& book = state.queue_book;
  return book.tree().at(book.IndexOf(QueueOf(gang))).bookings.trust;
}

// `start`: of a gang that runs, or would.
Estimate Shortest(const RunTimes& times, Time start, Duration learnt, Trust trust) {
  Estimate estimate;
  const auto consider = [&](Duration duration, Trust by) {
    if (duration <= Duration(0) || trust < by || duration >= estimate.duration) return;
    estimate = {duration, by};
  };
  consider(times.enforced, Trust::kEnforced);
  if (times.ends_at != Time())
    consider(std::max(times.ends_at - start, Duration(1)), Trust::kEnforced);
  consider(times.declared, Trust::kDeclared);
  consider(learnt, Trust::kLearnt);
  return estimate;
}

Duration Learnt(const StandingState& state, const Gang& gang, Trust trust) {
  return trust < Trust::kLearnt ? Duration(0) : state.run_history.MeanOf(gang);
}

}  // namespace

Time StartOf(const Gang& gang, Time now) {
  if (gang.past.running_since()) return *gang.past.running_since();
  Time first = Time::Never();
  for (const auto& [uid, member] : gang.members) {
    if (member.holds() && member.pod->bound_at > Time(0))
      first = std::min(first, member.pod->bound_at);
  }
  if (first != Time::Never()) return first;
  return gang.tally.planned > 0 ? gang.plan->made_at : now;
}

RunTimes RunTimesOf(const StandingState& state, const Gang& gang) {
  RunTimes all;
  bool enforced = true;
  bool declared = true;
  bool ends = true;
  bool checkpoints = !gang.members.empty();
  for (const auto& [uid, member] : gang.members) {
    const cluster::Pod& pod = *member.pod;
    if (pod.terminal()) continue;
    RunTimes one = pod.run_times == nullptr ? RunTimes{} : *pod.run_times;
    if (const RunTimes* job = state.jobs.RunTimesOf(pod)) one.Tighten(*job);
    enforced = enforced && one.enforced > Duration(0);
    declared = declared && one.declared > Duration(0);
    ends = ends && one.ends_at != Time();
    checkpoints = checkpoints && one.checkpoints;
    all.Lengthen(one);
  }
  all.checkpoints = checkpoints;
  if (!enforced) all.enforced = Duration(0);
  if (!declared) all.declared = Duration(0);
  if (!ends) all.ends_at = Time();
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  if (group == nullptr) return all;
  RunTimes said = group->run_times;
  if (said.declared > Duration(0)) all.declared = Duration(0);  // it speaks for its pods
  said.Tighten(all);
  return said;
}

Estimate EstimateOf(const StandingState& state, const Gang& gang, Time now) {
  const Trust trust = TrustOf(state, gang);
  return Shortest(RunTimesOf(state, gang), now, Learnt(state, gang, trust), trust);
}

KnownEnd EndOf(const StandingState& state, const Gang& gang, Time now) {
  const RunTimes times = RunTimesOf(state, gang);
  const Trust trust = TrustOf(state, gang);
  const Time start = StartOf(gang, now);
  const Estimate estimate = Shortest(times, start, Learnt(state, gang, trust), trust);
  if (estimate.by == Trust::kNone) return {};
  Time enforced = times.enforced > Duration(0) ? start + times.enforced : Time::Never();
  if (times.ends_at != Time()) enforced = std::min(enforced, times.ends_at);
  Duration lasts = estimate.duration;
  while (start + lasts + kLate <= now) lasts += lasts;
  KnownEnd end{start + lasts, estimate.by};
  if (enforced < end.at && now < enforced + kLate) end = {enforced, Trust::kEnforced};
  if (end.at <= now) end.at = end.at + kLate;
  return end;
}

}  // namespace muster::engine
