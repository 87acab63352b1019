// What other systems call the fields of a queue, and answers to those of theirs that nothing here
// is the same as: Kueue's ClusterQueue and Cohort, KAI's Queue, Volcano's Queue, YuniKorn's
// queues.yaml, Slurm's slurm.conf.
#pragma once

#include <vector>

#include "config/fields/fields.hpp"

namespace muster::config {

std::vector<OtherName> OtherWordsOfQueues();
std::vector<OtherName> OtherWordsOfPreemption();  // of `preemption` in a queue
std::vector<OtherName> OtherWordsOfAmounts();     // by resource
std::vector<OtherName> OtherWordsOfSelectors();   // of `namespaceSelector`

}  // namespace muster::config
