// QueueView: a queue of the policy, for people: what it may have, has and wants, and who is next.
// TurnView: when a gang that waits has its turn. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/contract/orders.hpp"
#include "queues/ledger.hpp"
#include "queues/order_key.hpp"
#include "queues/queue_spec.hpp"

namespace muster::engine {

struct ClaimState;
struct Gang;

// Amounts as queues::Resource has them; INT64_MAX: no limit.
struct QueueAmounts {
  queues::Resource resource;
  int64_t guarantee = 0;
  int64_t limit = INT64_MAX;
  int64_t used = 0;     // with what is earmarked
  int64_t pending = 0;  // asked for by the gangs that wait
  int64_t share = 0;    // R1, rounded down
  bool scaled = false;  // the cluster has less than is guaranteed
  // Of the guarantee, unused: kept for it, or lent where somebody borrows.
  int64_t kept = 0;
  // What it used, the past counting less (usageHalfLife); nothing: that counts for nothing.
  std::optional<int64_t> average = {};
  int64_t borrowed() const { return used > guarantee ? used - guarantee : 0; }
  // R3: what it has of others' guarantees (of its parent: what that guarantees to none of its
  // children), and others of its own. See queues/loans.
  std::map<std::string, int64_t> borrowed_from;
  std::map<std::string, int64_t> lent_to;
  int64_t lent() const {
    int64_t sum = 0;
    for (const auto& [queue, amount] : lent_to) sum += amount;
    return sum;
  }
  int64_t idle() const { return used < guarantee ? guarantee - used : 0; }
};

// Nodes that the queue is guaranteed as a whole (R14): see ShapeBook.
struct ShapeView {
  queues::Shape shape;
  std::vector<std::string> nodes;  // kept for it now, in order
  int64_t whole = 0;               // of these, nobody else has GPUs there
  int64_t lent = 0;                // others have, whom it may preempt
  int64_t gpu_milli = 0;           // of all of them
  // There are no more such nodes that it could have.
  int64_t missing() const { return shape.whole_nodes - static_cast<int64_t>(nodes.size()); }
};

struct QueueView {
  std::string name;
  std::string parent;  // of the root: empty
  bool leaf = true;
  bool by_namespace = false;  // see queues::FairBy
  std::string of_namespace;   // below such a queue; empty: the policy has it
  int64_t weight = 1;
  std::optional<int64_t> priority_cap;  // the lowest on its path
  queues::Order order = queues::Order::kFair;
  queues::QueueState state = queues::QueueState::kOpen;  // the strictest on its path
  std::string held_by;                        // whose that is, for people; empty: it is open
  std::optional<cluster::Time> paused_until;  // it holds until then, and ends by itself
  std::vector<QueueAmounts> amounts;          // of what is limited, guaranteed, used or asked for
  std::vector<ShapeView> shapes;              // of its guarantee
  int64_t pending = 0;                        // gangs
  // Ever: milliseconds of a GPU kept free for bookings of its gangs, and for their restart.
  int64_t booked_idle = 0;
  std::string next;  // of them; empty: none waits
  // As it is compared with its siblings, with that gang added.
  bool within = false;
  std::string b;
};

struct TurnView {
  std::string queue;
  int64_t position = 1;  // among the gangs of its queue that may ever start
  int64_t of = 1;
  // At the lowest queue above where another one goes first: that one, its gang, and how both are
  // compared there with their first gangs. Empty: no other queue goes first.
  std::string at;
  std::string ahead;
  std::string ahead_gang;
  std::string ahead_b;  // "within its guarantee", or b
  std::string own;      // the child of `at` that the gang is below
  std::string own_b;
};

// What both are made of, taken under the lock.
struct QueueFacts {
  struct Line {
    int64_t gangs = 0;
    cluster::Usage asks;                    // of all of them
    std::optional<queues::OrderKey> first;  // that may ever start; nothing: none may
    cluster::Usage first_asks;
  };
  std::optional<queues::Ledger> ledger;                  // set by LookAtQueues
  std::map<std::string, int64_t> booked_idle;            // by queue
  std::map<std::string, Line> lines;                     // by queue, where gangs wait
  StandingOrders orders;                                 // of operators
  std::map<std::string, std::vector<ShapeView>> shapes;  // by queue
};
QueueFacts LookAtQueues(ClaimState& state);

// Each before those below it, in order of the policy; without the orphan where it has nothing.
std::vector<QueueView> ViewQueues(const QueueFacts& facts);
// Of the gang at `position` of `of` in `queue`.
TurnView ViewTurn(const QueueFacts& facts, const std::string& queue, int64_t position, int64_t of);

}  // namespace muster::engine
