// QueueSpec: one queue as the policy describes it. Plain values; config/ fills them, FindFaults
// says what is wrong with a list of them, Tree is built from one that is right.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/base/units.hpp"
#include "cluster/records/selector.hpp"
#include "queues/booking_terms.hpp"
#include "queues/resource.hpp"

namespace muster::queues {

// All others are below it. It need not be described.
inline constexpr const char* kRoot = "root";
// To which pods are charged whose queue is not in the policy, or not theirs. No queue can have this
// name.
inline constexpr const char* kOrphan = "_orphan";

// Whose turn it is among the gangs below the queue.
//   kFair        the child that is furthest below its share (R2)
//   kFifo        by priority and age; between queues, those within their guarantee first
//   kStrictFifo  the same, and a gang that does not fit blocks those behind it; only in queues
//                that gangs name
enum class Order { kFair, kFifo, kStrictFifo };

// Between whom a queue that gangs name is fair.
//   kNone       its gangs are one line
//   kNamespace  each namespace with gangs in it has a queue below it (Tree::WithNamespace)
enum class FairBy { kNone, kNamespace };

// What the queue, and all below it, may start.
//   kOpen   everything
//   kHold   no gang; those that run go on, and get lost and elastic members
//   kDrain  the same, without elastic members
enum class QueueState { kOpen, kHold, kDrain };
const char* ToString(QueueState state);  // as the policy has it

// Whom the gangs of a queue may have evicted among gangs of that queue (R4), and among those of
// others (R5). kInherit: as the queue above says.
enum class WithinQueue { kInherit, kNever, kLowerPriority };
enum class Reclaim { kInherit, kNever, kGuarantee, kFairShare };
// What becomes of a gang that was evicted as a whole: it waits for another turn, or for its team.
enum class OnEvicted { kInherit, kRequeue, kFail };
// What the PodDisruptionBudgets of a gang are to others that may have it evicted.
//   kKeep    nobody is evicted whom a budget does not let go
//   kPrefer  those go first whom budgets let go; then as few others as can be, all the same
enum class Budgets { kInherit, kKeep, kPrefer };

// Of a queue and all below it, until one below says otherwise.
struct PreemptionSpec {
  static constexpr int64_t kInherit = -1;
  WithinQueue within_queue = WithinQueue::kInherit;
  Reclaim reclaim = Reclaim::kInherit;
  int64_t delay = kInherit;  // ms: nobody is evicted for a gang that is complete for less than that
  // ms: R8, of gangs of this queue that others of it want evicted, and that other queues want.
  int64_t min_runtime_preempt = kInherit;
  int64_t min_runtime_reclaim = kInherit;
  // A gang that was evicted so often within an hour is left alone.
  int64_t max_evictions_per_hour = kInherit;
  // A gang preempts at most so many times the GPUs that it asks for.
  int64_t max_evicted_ratio = kInherit;
  OnEvicted on_evicted = OnEvicted::kInherit;
  // ms: a gang for which others were evicted, and that dies before its minRuntime, keeps its
  // devices for so long; 0: it does not.
  int64_t restart_window = kInherit;
  // Of gangs of this queue that others of it want evicted (R4), that other queues want within their
  // guarantee, and by their share (R5).
  Budgets budgets_preempt = Budgets::kInherit;
  Budgets budgets_guarantee = Budgets::kInherit;
  Budgets budgets_fair_share = Budgets::kInherit;
  bool operator==(const PreemptionSpec&) const = default;
};

// What holds where no queue on the path says anything: reclaim what is guaranteed, whatever budgets
// say, and protect nobody else but by budgets and the number of evictions.
inline constexpr PreemptionSpec kPreemptionDefaults{WithinQueue::kLowerPriority,
                                                    Reclaim::kGuarantee,
                                                    0,
                                                    0,
                                                    0,
                                                    2,
                                                    4,
                                                    OnEvicted::kRequeue,
                                                    300'000,
                                                    Budgets::kKeep,
                                                    Budgets::kPrefer,
                                                    Budgets::kKeep};

// Namespaces by their labels; all of it must hold. Without any requirement: every namespace.
struct NamespaceSelector {
  cluster::Labels match_labels = {};
  auto operator<=>(const NamespaceSelector&) const = default;
};

// So many nodes that the queue can have for itself, with all of their GPUs: they are empty, or used
// by it, or by gangs that it may have evicted.
struct Shape {
  int64_t whole_nodes = 0;
  std::string model = {};  // of all of the node's GPUs, as Resource::model; empty: any
  bool operator==(const Shape&) const = default;
};

struct QueueSpec {
  std::string name = {};
  std::string parent = {};  // empty: kRoot
  // Which namespaces may use it: these, and those that are selected. Neither: as its parent; where
  // none says anything, all.
  std::vector<std::string> namespaces = {};
  std::optional<NamespaceSelector> selector = {};
  Amounts guarantee = {};          // theirs when they want it
  std::vector<Shape> shapes = {};  // of the guarantee
  Limits lend = {};  // so much of the guarantee others may have while it is not wanted
  Limits limit = {};
  int64_t weight = 1;  // its part, beside its siblings', of what nobody has a guarantee for
  // What a unit counts in comparison with other resources; else as the parent says, else 1.
  std::map<Resource, int64_t> resource_weights = {};
  // So long ago use counts for half in comparison with siblings; 0: only what is used now. Else as
  // the parent says, else 0.
  std::optional<cluster::Duration> usage_half_life = {};
  std::optional<int64_t> priority_cap = {};  // no gang below counts for more (R13)
  Order order = Order::kFair;
  FairBy fair_by = FairBy::kNone;
  QueueState state = QueueState::kOpen;
  PreemptionSpec preemption = {};
  BookingRules bookings = {};
  bool operator==(const QueueSpec&) const = default;
};

// The only queue where a policy has none: without limits, in order of priority and age, and nobody
// books or reclaims.
std::vector<QueueSpec> OneQueue(Order order = Order::kFifo,
                                WithinQueue within = WithinQueue::kNever);

// There is no queue but the root: every gang that may use it is in it, whatever queue it names.
bool OnlyRoot(const std::vector<QueueSpec>& queues);

inline constexpr int64_t kMostEvictions = 1'000;  // within an hour
inline constexpr int64_t kMostQueues = 2'000;
inline constexpr int64_t kMostLevels = 12;  // below the root
inline constexpr int64_t kMostDepth = 1'000;
inline constexpr int64_t kMostWholeNodes = 100'000;
// Of a half-life that is not 0: shorter ones would be over before the next look.
inline constexpr cluster::Duration kLeastHalfLife = cluster::Seconds(60);
inline constexpr int64_t kMostWeight = 1'000'000;
inline constexpr int64_t kMostAmount = int64_t{1} << 50U;

// With the GPUs that are guaranteed by model, where nothing is said of all GPUs.
Amount GuaranteeOf(const QueueSpec& queue, const Resource& resource);
// The sum of those.
Amount GuaranteedByModel(const QueueSpec& queue);
// Of that model, or where it is empty of any; 0: the queue says none.
int64_t WholeNodesOf(const QueueSpec& queue, const std::string& model);
// For people: "2 whole h100 nodes", "1 whole node".
std::string ToString(const Shape& shape);

// What is wrong with a list of queues.
struct Fault {
  size_t queue = 0;   // position in the list
  std::string field;  // "guarantee.gpu", "parent", …
  std::string message;
};

// All of it, in order of the list; empty: a Tree can be built.
std::vector<Fault> FindFaults(const std::vector<QueueSpec>& queues);

}  // namespace muster::queues
