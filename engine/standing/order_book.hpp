// OrderBook: what operators have ordered and still holds, and the orders to reclaim GPUs that are
// being carried out (internal to engine/). Only records; engine/cycle/ordering.hpp decides. Guarded
// by Scheduler.
//
// 1. A standing order holds until another one of the same gang or queue, or until the gang ends. If
//    the gang's owner may make others in its place, or nobody has seen it since a restart, the
//    order waits for the next one (KeepUntil). An order of a queue that says nothing any more is
//    not kept.
// 2. All attempts of an owner have one order.
// 3. An order to reclaim GPUs has victims in Preemptions under the id that Begin gives: no gang has
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

#include "engine/contract/orders.hpp"
#include "engine/gangs/gang.hpp"

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
  // Under which its order is.
  static cluster::ObjectKey KeyOf(const Gang& gang) { return AcrossAttempts(gang).key; }

  void ForgetGang(const cluster::ObjectKey& gang) {
    standing_.gangs.erase(gang);
    waits_.erase(gang);
  }
  // It ends then, unless the gang comes back or another one takes its place. Nothing: there is
  // none.
  void KeepUntil(const cluster::ObjectKey& gang, cluster::Time until);
  bool Waits(const cluster::ObjectKey& gang) const { return waits_.contains(gang); }
  void CameBack(const Gang& gang) {
    if (PriorityOf(gang)) waits_.erase(KeyOf(gang));
  }
  // What was ordered of the one holds for the other now.
  void Pass(const cluster::ObjectKey& from, const Gang& to);
  // Of gangs that nobody waits for any more.
  void EndWaits(cluster::Time now);
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
  std::map<cluster::ObjectKey, cluster::Time> waits_;  // until when; of orders of gangs
  std::map<GangId, Reclaim> reclaims_;
  uint64_t begun_ = 0;
};

}  // namespace muster::engine
