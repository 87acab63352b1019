// What /v1/queues and /metrics show of the policy's queues. Pure functions; see api_json.hpp.
#pragma once

#include <string>
#include <vector>

#include "engine/explain/queue_view.hpp"
#include "extender/wire/json_text.hpp"

namespace muster::extender {

// {"queues": [{name, parent, leaf, weight, order, state, heldBy, pausedUntil, priorityCap, pending,
// next, within, b, amounts[{resource, unit, guarantee, limit, used, pending, share, scaled,
// borrowed, idle, kept, borrowedFrom[{queue, amount}], lentTo[{queue, amount}]}]}]}. `unit`: GPUs,
// cores or MiB; no limit is left out. `next` is the gang that is next in order below the
// queue, `within` and `b` how the queue is compared with its siblings then.
std::string QueuesJson(const std::vector<engine::QueueView>& queues);
// The members of one of these, into an object that is open.
void AddQueue(JsonText& json, const engine::QueueView& queue);

// muster_queue_… of at most kMostQueueLabels queues; those that come later are added up as
// "other". Amounts are GPUs, cores and bytes. Empty: of none.
inline constexpr std::size_t kMostQueueLabels = 200;
std::string QueueMetrics(const std::vector<engine::QueueView>& queues);

}  // namespace muster::extender
