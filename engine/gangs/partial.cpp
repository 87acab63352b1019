#include "engine/gangs/partial.hpp"

#include <algorithm>

#include "engine/gangs/minimum.hpp"

namespace muster::engine {

using cluster::Duration;
using cluster::Time;

namespace {

// kube-scheduler asks again for a member within podMaxBackoffSeconds, 10 s where nobody sets it.
constexpr Duration kGraceOnReturn = cluster::Seconds(15);

// The Job controller makes the next pod of one that failed 10 s later, then twice as late each
// time, up to 10 minutes (MaxJobPodFailureBackOff in pkg/controller/job/job_controller.go of
// k8s.io/kubernetes v1.37.0); half as much again for it to hear of the failure.
constexpr Duration kControllerPatience = cluster::Seconds(900);

// A gang that has never run is partial since the first of its members was bound, as the API server
// has it.
Time PartialSince(const Gang& gang, Duration timeout, Time now) {
  if (gang.past.has_run()) return now;
  Time since = now;
  for (const auto& [uid, member] : gang.members) {
    const Time bound_at = member.pod->bound_at;
    if (member.ours && member.pod->bound() && bound_at > Time(0)) since = std::min(since, bound_at);
  }
  return OnReturn(since, timeout, now);
}

}  // namespace

Time OnReturn(Time since, Duration timeout, Time now) {
  if (since + timeout > now) return std::min(since, now);
  return now + (std::min(timeout, kGraceOnReturn) - timeout);
}

// While a member may take its time to end nobody can take its place: a Job makes another one only
// then.
void FollowPartial(const Gang& gang, Course& course, Duration timeout, Time now) {
  if (!course.partial_since) course.partial_since = PartialSince(gang, timeout, now);
  const bool in_grace = gang.tally.leave_by > now;
  if (in_grace) course.partial_since = std::max(*course.partial_since, gang.tally.leave_by);
  if (course.in_grace && !in_grace) course.partial_since = std::min(*course.partial_since, now);
  course.in_grace = in_grace;
}

bool KeepsRest(const Gang& gang, const cluster::PodGroup* group) {
  const bool runs = gang.past.running_since() && gang.tally.bound_of_muster > 0;
  return group != nullptr && group->keeps_rest && runs;
}

bool ComesBackOneByOne(const Gang& gang, const cluster::PodGroup* group) {
  const bool runs = gang.past.running_since() && gang.tally.bound_of_muster > 0;
  const bool in_part = group != nullptr && group->starts_with > 0 && !gang.past.one_by_one() &&
                       Lack(DeclaredMinimum(group), gang.past.whole()) > 0;
  return runs && Need(gang, Counting::kBound) > 0 && !in_part;
}

bool AwaitsController(const Gang& gang, const cluster::PodGroup* group) {
  return group != nullptr && group->by_owner && gang.past.running_since() &&
         Need(gang, Counting::kPresent) > 0;
}

Duration PartialTimeout(const Gang& gang, const cluster::PodGroup* group, const Options& options) {
  if (!AwaitsController(gang, group)) return options.partial_timeout;
  return std::max(options.partial_timeout, kControllerPatience);
}

}  // namespace muster::engine
