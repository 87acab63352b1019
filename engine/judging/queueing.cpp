#include "engine/judging/queueing.hpp"

#include <algorithm>
#include <utility>

#include "engine/judging/queue_rules.hpp"
#include "engine/standing/standing_state.hpp"

namespace muster::engine {

void Dequeue(StandingState& state, Gang& gang) {
  if (!gang.pending()) return;
  // With strict order others wait for it: when it goes, they have a turn.
  const bool blocks = &state.queue.FirstBeside(gang) == &gang || gang.queue->tried;
  if (StrictOrder(state, gang.queue->queue) && blocks) state.queue.RetryAll();
  gang.reason = Reason(PendingQueue::ReasonOf(gang));
  state.queue.Remove(gang);
}

void Enqueue(StandingState& state, Gang& gang) {
  queues::OrderKey order{PriorityOf(gang), gang.course.expired, true, INT64_MAX, gang.id};
  for (const auto& [uid, member] : gang.members) {
    const cluster::Pod& pod = *member.pod;
    if (pod.terminal() || !member.ours || member.malformed()) continue;
    order.created = std::min(order.created, pod.created.milliseconds());
    order.fresh = order.fresh && (pod.bound() || pod.nominated_node.empty());
  }
  if (const cluster::PodGroup* group = state.members.GroupOf(gang))
    order.created = group->created.milliseconds();
  order.created = state.owners.Since(gang.owner, cluster::Time(order.created)).milliseconds();
  state.queue.Add(gang, std::move(order), QueueOf(gang), AsksOf(gang));
}

}  // namespace muster::engine
