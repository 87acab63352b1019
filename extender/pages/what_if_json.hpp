// The page of an answer to a what-if question. Pure function.
//
//   {"gangs": [{namespace, name, kind, asked, starts, order, afterSeconds, queue, priority,
//     minMember, pods, state, reason{code, message}, turn{…}, placed[{pod, node, gpus[index]}],
//     preemption{…} as of GangJson, later{afterSeconds, class, evidence, evictions},
//     changed, now{starts, afterSeconds, queue, priority, state, reason{…}, later{…}}}],
//    "evictions": [{namespace, name, for, pods, podsInAll, priority, queue, right, afterSeconds,
//     changed}],
//    "spared": evictions, "queues": [{name, changed, now{…}, then{…}}], "evictedPods", "waiting",
//    "complete", "lookedAheadSeconds", "lookedAtAll", "warnings"}
//     gangs: those that start, then those that were asked about and do not, then, with a policy,
//     the others that wait. `asked`: of the manifests. `order`: from 1, of starts. `later`:
//     engine::WhatIfLater.
//     With a policy, `now`: what becomes of the gang, or the queue, under the one in force; without
//     it: it runs, or there is no such queue. `changed`: that is something else; these come first
//     in each part. `spared`: who is evicted under the policy in force alone. Queues as in
//     QueuesJson, when all that starts without further ends has started.
#pragma once

#include <string>
#include <vector>

#include "engine/trial/what_if.hpp"

namespace muster::extender {

// `now`: the answer under the policy in force, where `then` is for another one; null: it is not.
std::string WhatIfJson(const engine::WhatIfAnswer& then, const engine::WhatIfAnswer* now,
                       const std::vector<std::string>& warnings);

}  // namespace muster::extender
