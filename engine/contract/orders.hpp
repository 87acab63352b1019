// Orders: what operators order beside the policy, and what comes of it. Plain values.
//
// A standing order holds until it is taken back: it is part of StandingOrders, which whoever runs
// the engine keeps over restarts and tells it as a fact. The others are carried out once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/base/units.hpp"
#include "cluster/records/gang_id.hpp"
#include "queues/queue_spec.hpp"

namespace muster::engine {

// Of a gang: its members count for so much, under the cap of its queue (R13).
struct OrderedPriority {
  std::string uid;  // of its PodGroup, or its only pod: another one of its name is another gang
  int32_t priority = 0;
  std::string by;
  // Of an only pod: what makes the next one in its place, whose the order is then. Empty: none.
  std::string owner = {};
  auto operator<=>(const OrderedPriority&) const = default;
};

// Of a queue and all below it. The stricter of this and the policy holds.
struct QueueOrder {
  queues::QueueState state = queues::QueueState::kOpen;
  std::string by;  // of `state`
  // GPUs were reclaimed: until then as kDrain.
  std::optional<cluster::Time> paused_until;
  std::string paused_by;
  auto operator<=>(const QueueOrder&) const = default;
};

// All that hold.
struct StandingOrders {
  std::map<cluster::ObjectKey, OrderedPriority> gangs;
  std::map<std::string, QueueOrder> queues;  // by name, whether the policy has it or not
  bool operator==(const StandingOrders&) const = default;
};

inline constexpr size_t kMostGangOrders = 2'000;
// As Kubernetes has it for PriorityClasses of users: above are the system's.
inline constexpr int64_t kMostOrderedPriority = 1'000'000'000;
inline constexpr int64_t kMostOrderedGpus = 1'000'000;
inline constexpr cluster::Duration kLongestReclaimPause = cluster::Seconds(86'400);
inline constexpr cluster::Duration kReclaimPause = cluster::Seconds(600);  // if nothing is said
// A gang whose plan was given back by order is not planned again before this.
inline constexpr cluster::Duration kCancelPause = cluster::Seconds(60);

struct SetPriority {
  cluster::ObjectKey gang;
  std::optional<int64_t> priority;  // nothing: its own
};
// Standing.
struct SetQueueState {
  std::string queue;
  queues::QueueState state = queues::QueueState::kOpen;  // kOpen ends a pause, too
};
// Evicts whole gangs of the queue and of those below it, and members beyond a gang's minimum before
// whole gangs, until so many GPUs are free, or nobody. Then the queue pauses.
struct ReclaimGpus {
  std::string queue;
  int64_t gpus = 0;
  cluster::Duration pause = kReclaimPause;
};
// A plan of which no member is bound is given back, or the room that a gang has booked, and what is
// kept for the gang's restart.
struct CancelPlan {
  cluster::ObjectKey gang;
};

struct Order {
  std::string by;  // who orders it, for people
  std::variant<SetPriority, SetQueueState, ReclaimGpus, CancelPlan> what;
};

struct OrderEffect {
  std::string was;  // for people: what held before, and what holds now
  std::string is;
  StandingOrders standing;  // all that hold then
  struct Evicted {
    cluster::GangId gang;
    std::string queue;
    int64_t pods = 0;
    bool whole = false;  // else members beyond its minimum
    int64_t gpu_milli = 0;
    // A rule of its queue that would keep it from other gangs; empty: there is none.
    std::string despite = {};
    auto operator<=>(const Evicted&) const = default;
  };
  // What would go in its turn, and stays.
  struct Kept {
    cluster::GangId gang;
    std::string why;
    auto operator<=>(const Kept&) const = default;
  };
  std::vector<Evicted> evicted;  // of ReclaimGpus, ordered by gang
  std::vector<Kept> kept;        // the same
};

}  // namespace muster::engine
