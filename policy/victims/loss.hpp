// Loss: what goes together when a gang is preempted, and which loss comes first. The search for
// victims and an operator's order to reclaim GPUs follow the same order.
//
// Pure: the same arguments have the same answer.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "cluster/base/units.hpp"
#include "cluster/records/gang_id.hpp"

namespace muster::policy {

// A gang that holds something, or one of its pods.
struct Holder {
  cluster::GangId gang;
  std::string queue;
  int64_t priority = 0;  // the highest among its bound members
  cluster::Time start;   // since when it has its minimum; 0: it does not have it
  // An eviction may end it: nobody makes one of its pods again, or a Job counts it as a failure.
  bool may_end = false;
};

// What goes together: pods that leave anyway, a surplus pod, or a whole gang.
struct Loss {
  Holder holder;
  bool leaves = false;  // anyway
  // So many pods violate PodDisruptionBudgets, beside what is lost before it: these, and those of
  // its gang that are lost before.
  int64_t violates = 0;
  // Others of its gang leave, and what is left is less than its minimum: it has to start over
  // whoever is chosen.
  bool broken = false;
  int64_t step = 0;      // within its gang: the surplus is lost before the gang
  int64_t gpu_time = 0;  // that is lost, in tenths of a GPU × s
  // See SmallerLoss.
  bool whole = false;      // all that is left of its gang
  bool straddles = false;  // its queue is left with less than its guarantee
};

// R6, of what the queues let a gang have: pods that leave anyway, the fewest violations of
// PodDisruptionBudgets, what is left of gangs that pods which leave leave without their minimum,
// surplus, gangs that leave their queue its guarantee, the lowest priority (people expect that,
// though R6 does not say it), gangs that an eviction costs only time, the smallest loss, the gang
// that started last. A strict weak order.
bool SmallerLoss(const Loss& a, const Loss& b);

// What SmallerLoss asks before what is lost of work: any loss of a higher tier is worse than all of
// lower ones.
using LossTier = std::tuple<bool, int64_t, bool, bool, bool, int64_t, bool>;
LossTier TierOf(const Loss& loss);

}  // namespace muster::policy
