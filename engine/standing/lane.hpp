// Lane: the gangs that wait in one queue, and who of them has a turn (internal to engine/). Plain
// values of PendingQueue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "engine/standing/kind.hpp"

namespace muster::engine {

struct Lane {
  GangsInOrder all;
  GangsInOrder untried;
  GangsInOrder heads;    // tried ones: those of no kind, and the first of each kind
  Gang* last = nullptr;  // planned last in this pass
  GangsInOrder next;     // of kinds of which one had a turn in this pass
  cluster::Usage asks;   // Σ over all
  // The first Course::queued_at of all, which stays the same while they wait; Never: none has one;
  // nothing: to be found out.
  std::optional<cluster::Time> oldest;
  // Who stands for the queue in the QueueBook; and that this may be another one.
  Gang* head = nullptr;
  bool changed = false;
};

// Which gangs have a turn beside those that were not tried yet.
struct Scope {
  bool all = false;
  // In which they wait, and of higher priority than that.
  std::map<std::string, int64_t> queues;
  bool Has(const Gang& gang) const {
    if (all || queues.empty()) return all;
    const auto queue = queues.find(gang.queue->queue);
    return queue != queues.end() && gang.queue->order->priority > queue->second;
  }
};

// How far a kind's verdict has been brought to its gangs.
struct Propagation {
  Kind* kind = nullptr;
  GangsInOrder::iterator next;
};

using GangQuestion = std::function<bool(const Gang&)>;

// What PendingQueue::Walk asks.
struct WalkQuestions {
  // Of a queue, by its first gang and Lane::oldest: somebody there may count.
  std::function<bool(const Gang&, cluster::Time)> enters;
  GangQuestion counts;
  GangQuestion goes_on;  // to the one after it
};

// Of a queue in which gangs wait: how many, what they ask for, and the first one that may ever
// start; null: none may.
struct WaitingQueue {
  size_t gangs = 0;
  cluster::Usage asks;
  const Gang* first = nullptr;
};

// Which one it is of those of its queue that may ever start, from 1, and how many these are.
struct LinePlace {
  int64_t position = 1;
  int64_t of = 1;
};

}  // namespace muster::engine
