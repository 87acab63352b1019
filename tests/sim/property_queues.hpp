// The queues of a World's policy.
#pragma once

#include <vector>

#include "queues/queue_spec.hpp"
#include "sim/api_server/random.hpp"

namespace muster::sim::testing {

// a, b and c, which pods name (NewPod). A gang that fits starts when nobody else runs, or is over a
// limit by itself.
std::vector<queues::QueueSpec> SomeQueues(Random& random);

}  // namespace muster::sim::testing
