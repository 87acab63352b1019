// Tree: the queues of a policy, ready to be reckoned with: dense numbers by resource, paths, who
// may use which. Constant after construction; threads share it as a pointer to const.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/selector.hpp"
#include "cluster/usage.hpp"
#include "queues/queue_spec.hpp"

namespace muster::queues {

// Position of a queue in its tree; the root is 0, and parents come before their children.
struct QueueIndex {
  uint32_t value = 0;
  auto operator<=>(const QueueIndex&) const = default;
};
inline constexpr QueueIndex kRootIndex{0};

// By Tree::resources().
using Vector = std::vector<int64_t>;

struct Queue {
  std::string name;
  QueueIndex parent;  // of the root: itself
  int64_t depth = 0;  // below the root
  std::vector<QueueIndex> children;
  Vector guarantee;
  Vector unlent;  // of the guarantee: what is kept for it, wanted or not
  Vector limit;   // INT64_MAX: none
  Vector resource_weights;
  int64_t weight = 1;
  int64_t priority_cap = INT64_MAX;  // the lowest on its path
  Order order = Order::kFair;
  QueueState state = QueueState::kOpen;             // the strictest on its path
  std::string state_of;                             // the queue of which that is the own state
  PreemptionSpec preemption = kPreemptionDefaults;  // nothing in it is inherited any more
  BookingTerms bookings;
  // What its gangs' namespaces are, by itself or what is above it. `open`: nobody says.
  bool open = true;
  std::vector<std::string> namespaces = {};
  std::optional<NamespaceSelector> selector = {};
  bool leaf() const { return children.empty(); }
};

class Tree {
 public:
  // `queues` has no fault.
  explicit Tree(const std::vector<QueueSpec>& queues);

  size_t size() const { return queues_.size(); }
  const Queue& at(QueueIndex index) const { return queues_[index.value]; }
  // In order of the policy; the last is kOrphan, unless the root is the only queue.
  const std::vector<Queue>& queues() const { return queues_; }
  std::optional<QueueIndex> Find(std::string_view name) const;
  // To which unknown queues are charged.
  QueueIndex orphan() const { return orphan_; }
  // Those that gangs can name, in order of the policy.
  std::vector<std::string> Leaves() const;
  // From `below` to the root, with both.
  std::vector<QueueIndex> PathOf(QueueIndex below) const;
  // The children of the lowest common ancestor of two leaves, towards each; nothing: they are one
  // queue.
  struct Branches {
    QueueIndex a;
    QueueIndex b;
  };
  std::optional<Branches> Diverge(QueueIndex x, QueueIndex y) const;

  // GPUs, their memory, CPU, memory, and the models that the policy names.
  const std::vector<Resource>& resources() const { return resources_; }
  // Some queue has a guarantee of it.
  bool guaranteed(size_t resource) const { return guaranteed_[resource]; }
  Vector Dense(const cluster::Usage& usage) const;
  // The model of the policy that a device is of; the longest name counts. Nothing: none.
  std::optional<size_t> ModelOf(std::string_view device) const;

  // What is kept from everybody else, of an idle tree.
  bool keeps_any() const { return keeps_any_; }

 private:
  void AddResources(const std::vector<QueueSpec>& queues);
  void AddQueue(const QueueSpec& spec, QueueIndex parent);

  std::vector<Resource> resources_;
  std::vector<bool> guaranteed_;
  std::vector<Queue> queues_;
  std::map<std::string, QueueIndex, std::less<>> by_name_;
  QueueIndex orphan_;
  bool keeps_any_ = false;
};

}  // namespace muster::queues
