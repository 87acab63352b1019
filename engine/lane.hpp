// Lane: the gangs that wait in one queue, and who of them has a turn (internal to engine/). Plain
// values of PendingQueue.
#pragma once

#include <cstddef>

#include "engine/kind.hpp"

namespace muster::engine {

struct Lane {
  GangsInOrder all;
  GangsInOrder untried;
  GangsInOrder heads;    // tried ones: those of no kind, and the first of each kind
  Gang* last = nullptr;  // planned last in this pass
  GangsInOrder next;     // of kinds of which one had a turn in this pass
  cluster::Usage asks;   // Σ over all
  // While the book is on: who stands for the queue there; and that this may be another one.
  Gang* head = nullptr;
  bool changed = false;
};

// Of a queue in which gangs wait: how many, what they ask for, and the first one.
struct WaitingQueue {
  size_t gangs = 0;
  cluster::Usage asks;
  const Gang* first = nullptr;
};

}  // namespace muster::engine
