// OrderBook: what operators have ordered and still holds, and the orders to reclaim GPUs that are
// being carried out (internal to engine/). Only records; ordering.hpp decides. Guarded by
// Scheduler.
//
// 1. A standing order holds until another one of the same gang or queue, or until the gang ends. An
//    order of a queue that says nothing any more is not kept.
// 2. An order to reclaim GPUs has victims in Preemptions under the id that Begin gives: no gang has
//    such an id, for its namespace has no name.
//
// A restart forgets the reclaims: evictions that were asked for show in the pods. What stands is
// told again (StandingOrders is a fact).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "engine/gang.hpp"
#include "engine/orders.hpp"

namespace muster::engine {

struct Reclaim {
  ReclaimGpus order;
  std::string by;
  cluster::Time deadline;  // for the victims to leave
};

class OrderBook {
 public:
  const StandingOrders& standing() const { return standing_; }
  void Adopt(StandingOrders standing);
  // Null: nothing is ordered.
  const QueueOrder* Of(const std::string& queue) const;
  // Nothing: its own.
  std::optional<int32_t> PriorityOf(const Gang& gang) const;
  // OrderedPriority::uid.
  static std::string UidOf(const Gang& gang);

  void SetGang(const cluster::ObjectKey& gang, OrderedPriority order);
  void ForgetGang(const cluster::ObjectKey& gang) { standing_.gangs.erase(gang); }
  void SetQueue(const std::string& queue, QueueOrder order);
  // Pauses that are over end. True: there was one.
  bool EndPauses(cluster::Time now);

  GangId Begin(Reclaim reclaim);
  void End(const GangId& id) { reclaims_.erase(id); }
  const std::map<GangId, Reclaim>& reclaims() const { return reclaims_; }
  // Null: the id is a gang's.
  const Reclaim* Find(const GangId& id) const;

  // When something ends without further facts; Never: nothing does.
  cluster::Time due() const;

 private:
  StandingOrders standing_;
  std::map<GangId, Reclaim> reclaims_;
  uint64_t begun_ = 0;
};

}  // namespace muster::engine
