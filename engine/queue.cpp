#include <algorithm>
#include <utility>

#include "engine/core.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::Time;

void Scheduler::Core::SetPending(Gang& gang, bool pending) {
  if (gang.pending) {
    // With strict order the others wait for the first one: when it goes, they have a turn.
    if (options_.strict_order && &queue_.first() == &gang) queue_.RetryAll();
    gang.reason = Reason(PendingQueue::ReasonOf(gang));
    queue_.Remove(gang);
    gang.pending.reset();
  }
  if (!pending || HeldBack(gang).code != ReasonCode::kNone) return;
  int32_t priority = INT32_MAX;
  int64_t created = INT64_MAX;
  bool fresh = true;
  for (const auto& [uid, member] : gang.members) {
    const Pod& pod = *member.pod;
    if (pod.terminal() || !member.ours || member.malformed()) continue;
    priority =
        std::min(priority, pod.spec->priority);  // a gang is as urgent as its least urgent member
    created = std::min(created, pod.created.milliseconds());
    fresh = fresh && (pod.bound() || pod.nominated_node.empty());
  }
  if (!gang.id.solo) created = state_.FindPodGroup(gang.id.key)->created.milliseconds();
  gang.pending = OrderKey{-int64_t{priority}, gang.expired, fresh, created, gang.id};
  queue_.Add(gang);
}

void Scheduler::Core::SetTimer(Gang& gang, Time now) {
  Time next = Time::Never();
  const auto at = [&](const std::optional<Time>& time) {
    if (time && *time > now) next = std::min(next, *time);
  };
  at(gang.deadline);
  at(gang.backoff_until);
  at(gang.replan_from);
  at(gang.may_preempt_from);
  at(PublishAt(gang));
  if (gang.record_differs) at(gang.recorded_at + kRecordAgain);
  if (gang.partial_since) at(*gang.partial_since + options_.partial_timeout);
  for (const auto& [uid, member] : gang.members) {
    for (const HeldBind& held : member.held) at(held.answer_by);
    if (member.not_before > now) at(member.not_before);
    at(member.stays_until);
    at(member.pauses_until);
    if (gang.pending) {
      for (const auto& [node, until] : member.excluded) at(until);
    }
  }
  work_.SetTimer(gang, next);
}

}  // namespace muster::engine
