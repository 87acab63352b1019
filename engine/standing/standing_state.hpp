// StandingState: the layer above KnownState (internal to engine/): what gangs have, wait for and
// may take (queues, plans, victims, orders), and what was said of them. Guarded by Scheduler's
// lock.
#pragma once

#include <utility>

#include "engine/standing/announcer.hpp"
#include "engine/standing/budget_watch.hpp"
#include "engine/standing/holdings.hpp"
#include "engine/standing/kept_rooms.hpp"
#include "engine/standing/known_state.hpp"
#include "engine/standing/order_book.hpp"
#include "engine/standing/owners.hpp"
#include "engine/standing/pending_queue.hpp"
#include "engine/standing/preemptions.hpp"
#include "engine/standing/queue_book.hpp"
#include "engine/standing/refusals.hpp"
#include "engine/standing/releases.hpp"
#include "engine/standing/reminders.hpp"
#include "engine/standing/reservations.hpp"
#include "engine/standing/shape_book.hpp"
#include "engine/standing/victim_choice.hpp"

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
