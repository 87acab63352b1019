// What gangs have, wait for and may take (internal to engine/): queues, plans, victims, orders,
// what is said of them. Guarded by Scheduler's lock.
#pragma once

#include <utility>

#include "engine/announcer.hpp"
#include "engine/budget_watch.hpp"
#include "engine/holdings.hpp"
#include "engine/kept_rooms.hpp"
#include "engine/known_state.hpp"
#include "engine/order_book.hpp"
#include "engine/owners.hpp"
#include "engine/pending_queue.hpp"
#include "engine/preemptions.hpp"
#include "engine/queue_book.hpp"
#include "engine/refusals.hpp"
#include "engine/releases.hpp"
#include "engine/reminders.hpp"
#include "engine/reservations.hpp"
#include "engine/shape_book.hpp"
#include "engine/victim_choice.hpp"

namespace muster::engine {

struct StandingState : KnownState {
  explicit StandingState(Options given, Rules plugged = {})
      : KnownState(std::move(given), std::move(plugged)) {}

  QueueBook queue_book{options.queues};
  PendingQueue queue{queue_book};  // to be planned
  ShapeBook shapes{cluster, members, queue_book};
  Reservations reservations{cluster, members, writes};
  Preemptions preemptions;
  BudgetWatch budget_watch;
  Holdings holdings;
  KeptRooms kept_rooms;
  Owners owners;
  OrderBook orders;  // of operators
  Releases releases;
  Refusals refusals;
  KnownCandidates candidates;  // the last that were asked for
  Reminders reminders{rules.tell_again, writes};
  Announcer announcer{members, writes, reminders};
};

}  // namespace muster::engine
