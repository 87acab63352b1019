// OrderKey: a gang's place in its queue.
#pragma once

#include <compare>
#include <cstdint>
#include <tuple>

#include "cluster/records/gang_id.hpp"

namespace muster::queues {

// A gang's place in its queue: the highest priority first, then gangs that have not just held room
// in vain, then those that were planned before (by an earlier leader, say), then by age, then by
// id.
struct OrderKey {
  int64_t priority = 0;  // of its least urgent member
  bool expired = false;  // its last reservation did
  bool fresh = false;    // no member is nominated
  int64_t created = 0;   // ms since 1970
  cluster::GangId id;
  bool operator==(const OrderKey&) const = default;
  auto operator<=>(const OrderKey& other) const {
    return std::tie(other.priority, expired, fresh, created, id) <=>
           std::tie(priority, other.expired, other.fresh, other.created, other.id);
  }
};

}  // namespace muster::queues
