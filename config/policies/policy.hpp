// Policy: all that one policy file says. Plain values.
#pragma once

#include <string>
#include <vector>

#include "cluster/records/grouping_rule.hpp"
#include "config/policies/extender_settings.hpp"
#include "engine/contract/options.hpp"

namespace muster::config {

// Whom gangs may have evicted, as one word for all queues.
//   kByQueue        as each queue says; without queues nobody
//   kNever          nobody
//   kLowerPriority  in each queue the gangs of lower priority
enum class Preemption { kByQueue, kNever, kLowerPriority };

struct Policy {
  engine::Options engine;
  // As the file has them; engine.queues follows from these three.
  std::vector<queues::QueueSpec> queues = {};
  bool strict_order = false;
  Preemption preemption = Preemption::kByQueue;
  ExtenderSettings extender;
  MetricsSettings metrics;
  OperatorSettings operators;
  bool by_owner = true;  // whether grouping rules count
  cluster::UnreadableOwners unreadable_owners = cluster::UnreadableOwners::kWait;
  // Namespaces, or kEveryNamespace: see WithNonIndexedJobs.
  std::vector<std::string> non_indexed_jobs = {};
  cluster::GroupingRules grouping;  // beside those that ship: see WithOwnRules
  // Only says that "default-scheduler" in engine.scheduler_names is meant.
  bool allow_default_scheduler = false;
  // For the author of the file, with places: fields that have no effect any more. Not part of it.
  std::vector<std::string> notes = {};
};

}  // namespace muster::config
