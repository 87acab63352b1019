// Kind: gangs that wait and share one verdict, see engine/standing/pending_queue.hpp (internal to
// engine/). Plain values; the gangs are the pending queue's.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>

#include "engine/gangs/gang.hpp"
#include "engine/standing/booking.hpp"
#include "policy/terms/gang_request.hpp"

namespace muster::engine {

// What its gangs have in common: all that decides whether they fit.
struct KindKey {
  policy::RequestKey request;
  // Behind the first one under strict order, where only the queue of what is asked for matters.
  bool blocked = false;
  int64_t priority = 0;
  bool preempts = false;
  BookingNumbers kept_off;  // those from whose room they are kept
  std::string ns = {};      // where their queue counts who goes ahead of bookings by namespace
  auto operator<=>(const KindKey&) const = default;
};

struct GangOrder {
  using is_transparent =
      void;  // NOLINT(readability-identifier-naming): the standard library's name
  bool operator()(const Gang* a, const Gang* b) const {
    return *a->queue->order < *b->queue->order;
  }
};
using GangsInOrder = std::set<Gang*, GangOrder>;  // each with an order

struct Kind {
  const KindKey* key = nullptr;  // under which the pending queue has it
  GangsInOrder gangs;
  GangState state = GangState::kQueued;
  Reason reason;
  uint64_t judged_in = 0;  // the last pass that did
};

}  // namespace muster::engine
