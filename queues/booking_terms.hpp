// BookingRules: what a queue of the policy says of bookings; BookingTerms: what holds for it. Plain
// values; Tree makes the one of the other.
#pragma once

#include <cstdint>
#include <optional>

#include "cluster/base/units.hpp"

namespace muster::queues {

// Which durations of gangs count for bookings; each includes those before it.
//   kNone      none: nobody is known to end
//   kEnforced  when pods are ended, whatever they do
//   kDeclared  what their owners expect
//   kLearnt    how long gangs like it ran
enum class Trust { kNone, kEnforced, kDeclared, kLearnt };

// When a gang that finds no room books some, and how. Not said: as the queue above says, else as
// BookingTerms has it.
struct BookingRules {
  // So many gangs at a time that may use the same nodes; 0: none.
  std::optional<int64_t> depth = {};
  std::optional<cluster::Duration> min_age = {};  // only gangs that have waited for so long
  // After this room is closed for a gang of which nobody knows when others leave it.
  std::optional<cluster::Duration> reserve_after = {};
  // For so long at a time; then it is open for as long. 0: until the gang starts.
  std::optional<cluster::Duration> reserve_for = {};
  // Its gangs' booked room is lent to gangs that they may evict when they start (R16).
  std::optional<bool> lend_to_evictable = {};
  std::optional<bool> without_checkpoint = {};  // its gangs borrow so without checkpoints, too
  std::optional<Trust> trust = {};              // which durations of the queue's gangs count
  // So many gangs of a namespace that wait in the queue start ahead of a booking; 0: any number.
  std::optional<int64_t> max_per_user = {};
  bool operator==(const BookingRules&) const = default;
};

// The same, with all that is not said filled in.
struct BookingTerms {
  int64_t depth = 1;
  cluster::Duration min_age = cluster::Seconds(300);
  cluster::Duration reserve_after = cluster::Seconds(7200);
  cluster::Duration reserve_for = cluster::Seconds(21'600);
  bool lend_to_evictable = true;
  bool without_checkpoint = false;
  Trust trust = Trust::kDeclared;
  int64_t max_per_user = 0;
  bool operator==(const BookingTerms&) const = default;
};

}  // namespace muster::queues
