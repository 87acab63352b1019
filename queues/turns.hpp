// Turns: which of the queues with waiting gangs is next in order.
//
// The engine keeps the gangs of each queue in order (OrderKey) and asks for every gang that it
// plans. So an order between queues may change with every commit: what was placed in between shows
// in `usage`.
//
// 1. Pure: the same heads and usage have the same answer.
// 2. Only the first gang of a queue (its head) is offered. Which of its own gangs that is, OrderKey
//    says.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "cluster/holdings/usage.hpp"
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

struct Head {
  const std::string* queue;  // its name
  const OrderKey* gang;
  const cluster::Usage* asks = nullptr;  // what the gang would hold; never null
};

class Turns {
 public:
  virtual ~Turns() = default;
  // The position of the head that is next. `heads` in order of the queues' names, not empty.
  virtual size_t Next(const std::vector<Head>& heads, const cluster::UsageTable& usage) const = 0;
};

// The gang that is first in order, whatever its queue.
class FirstInOrder final : public Turns {
 public:
  size_t Next(const std::vector<Head>& heads, const cluster::UsageTable& usage) const override;
};

}  // namespace muster::queues
