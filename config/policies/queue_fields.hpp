// The fields of queues in a policy, as a table (fields.hpp): `queues`.
#pragma once

#include <string>
#include <vector>

#include "config/fields/fields.hpp"
#include "engine/contract/options.hpp"
#include "queues/queue_spec.hpp"

namespace muster::config {

// `notes`: what the file says in other systems' words.
void VisitQueues(std::vector<queues::QueueSpec>* queues, std::vector<std::string>* notes,
                 FieldVisitor* visitor);

void FindQueueContradictions(const std::vector<queues::QueueSpec>& queues,
                             const engine::NamespaceRules& namespaces,
                             std::vector<Contradiction>* found);

}  // namespace muster::config
