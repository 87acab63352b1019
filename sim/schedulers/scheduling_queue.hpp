// SchedulingQueue: the simulated kube-scheduler's pods that have no node yet.
//
//   gated ──gates gone──▶ active ──Pop──▶ in flight ──Done──▶ (gone)
//                           ▲                 │  └──Fail──▶ backoff
//                           │                 └──Reject──▶ unschedulable ──event, change or
//                           flush──▶ backoff or active └── backoff over ── backoff
//
// As in Kubernetes 1.37 the pods of some groups are gated together: all of them as long as one has
// a gate.
//
// Internal to KubeScheduler.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "cluster/base/units.hpp"
#include "sim/api_server/records.hpp"

namespace muster::sim {

struct Backoff {
  cluster::Duration first;
  cluster::Duration most;
};

class SchedulingQueue {
 public:
  // Each enumerator lists the places that may follow it.
  enum class Place {
    kGated,          // active
    kActive,         // in flight, gated
    kInFlight,       // backoff, unschedulable, (gone)
    kBackoff,        // active, gated
    kUnschedulable,  // backoff, active, gated
  };
  struct Entry {
    PodPtr pod;                               // as last seen
    std::optional<cluster::ObjectKey> group;  // whose pods are gated together
    Place place = Place::kActive;
    cluster::Time queued;      // when it last came in; the order among equal priorities
    uint64_t order = 0;        // the order among equal times
    cluster::Time due;         // kBackoff: when it is over
    int64_t rejections = 0;    // cycles that found no node
    int64_t errors = 0;        // failures in a row
    bool by_extender = false;  // kUnschedulable: the extender turned it down
  };

  explicit SchedulingQueue(Backoff backoff) : backoff_(backoff) {}

  // The pod was seen, without a node. `group`: it is gated together with the others of that; what
  // is said when it is seen first counts.
  void Upsert(const PodPtr& pod, cluster::Time now,
              const std::optional<cluster::ObjectKey>& group = std::nullopt);
  void Remove(const cluster::PodUid& pod, cluster::Time now);
  Entry* Find(const cluster::PodUid& pod);

  // The next pod, in flight from now on; null when no pod is active.
  Entry* Pop();
  void Reject(Entry& entry, bool by_extender, cluster::Time now);
  void Fail(Entry& entry, cluster::Time now);
  // Something changed in the cluster: unschedulable pods get another turn, all of them or those
  // turned down by the extender only.
  void Stir(bool all, cluster::Time now);

  // Backoffs that are over.
  void FlushBackoff(cluster::Time now);
  cluster::Time NextBackoff() const;
  // Unschedulable pods that came in before `before`.
  void FlushUnschedulable(cluster::Time before, cluster::Time now);
  cluster::Time OldestUnschedulable() const;

  size_t active() const { return active_.size(); }
  size_t backing_off() const { return backing_off_.size(); }
  size_t unschedulable() const { return unschedulable_.size(); }
  size_t gated() const { return gated_; }
  size_t size() const { return entries_.size(); }

 private:
  struct ActiveOrder {
    int32_t priority = 0;
    cluster::Time queued;
    uint64_t order = 0;
    bool operator<(const ActiveOrder& other) const {
      if (priority != other.priority) return priority > other.priority;
      return queued != other.queued ? queued < other.queued : order < other.order;
    }
  };
  static ActiveOrder OrderOf(const Entry& entry) {
    return {entry.pod->pod.spec->priority, entry.queued, entry.order};
  }
  bool Gated(const Entry& entry) const;
  // Pods of its group may be gated, or not any more.
  void FollowGroup(const cluster::ObjectKey& group, cluster::Time now);
  void Leave(Entry& entry);
  void Enter(Entry& entry, Place place);
  // From unschedulable to active, or to backoff while that lasts.
  void Retry(Entry& entry, cluster::Time now);
  cluster::Duration BackoffOf(const Entry& entry) const;

  const Backoff backoff_;
  uint64_t next_order_ = 0;
  size_t gated_ = 0;
  std::unordered_map<cluster::PodUid, Entry> entries_;
  std::map<cluster::ObjectKey, std::map<uint64_t, Entry*>> groups_;  // gated together; by order
  std::map<ActiveOrder, Entry*> active_;
  std::map<std::pair<cluster::Time, uint64_t>, Entry*> backing_off_;    // by (due, order)
  std::map<std::pair<cluster::Time, uint64_t>, Entry*> unschedulable_;  // by (queued, order)
};

}  // namespace muster::sim
