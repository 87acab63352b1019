// Tree: the queues of a policy, ready to be reckoned with: dense numbers by resource, paths, who
// may use which. Constant after construction; threads share it as a pointer to const.
//
// A queue of the policy with FairBy::kNamespace is no leaf: the queues of its namespaces are below
// it, in trees that are made from this one as namespaces come and go.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/holdings/usage.hpp"
#include "cluster/records/selector.hpp"
#include "queues/queue_spec.hpp"

namespace muster::queues {

// Position of a queue in its tree, and in all that are made from it; the root is 0, and parents
// come before their children.
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
  std::vector<Shape> shapes;  // of the guarantee
  Vector unlent;              // of the guarantee: what is kept for it, wanted or not
  Vector limit;               // INT64_MAX: none
  Vector resource_weights;
  int64_t weight = 1;
  cluster::Duration usage_half_life;  // 0: what was used counts for nothing
  int64_t priority_cap = INT64_MAX;   // the lowest on its path
  Order order = Order::kFair;
  bool by_namespace = false;             // FairBy::kNamespace; `order` is that of the queues below
  std::string of_namespace;              // it is one of those; empty: the policy has it
  QueueState state = QueueState::kOpen;  // the strictest on its path
  std::string state_of;                  // the queue of which that is the own state
  PreemptionSpec preemption = kPreemptionDefaults;  // nothing in it is inherited any more
  BookingTerms bookings;
  // What its gangs' namespaces are, by itself or what is above it. `open`: nobody says.
  bool open = true;
  std::vector<std::string> namespaces = {};
  std::optional<NamespaceSelector> selector = {};
  // Those below it are compared by their shares.
  bool fair() const { return by_namespace || order == Order::kFair; }
  // Gangs wait in it, and pods are charged to it.
  bool leaf() const { return children.empty() && !by_namespace; }
  // Gangs can name it.
  bool named() const { return by_namespace || (leaf() && of_namespace.empty()); }
};

class Tree {
 public:
  // `queues` has no fault.
  explicit Tree(const std::vector<QueueSpec>& queues);

  // Positions. Those of the policy come first, in its order, then kOrphan, unless the root is the
  // only leaf; then those of namespaces, and positions that no queue has now: leaves without a
  // name.
  size_t size() const { return queues_.size(); }
  const Queue& at(QueueIndex index) const { return *queues_[index.value]; }
  std::optional<QueueIndex> Find(std::string_view name) const;
  // To which unknown queues are charged.
  QueueIndex orphan() const { return orphan_; }
  // Those that gangs can name, by name.
  std::vector<std::string> Named() const;
  // The queue of the policy that it is, or is below.
  QueueIndex WrittenOf(QueueIndex index) const {
    return at(index).of_namespace.empty() ? index : at(index).parent;
  }
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
  static constexpr size_t kGpu = 0;  // the position of GPUs
  // Some queue has a shape.
  bool shaped() const { return shaped_; }
  // Some queue has a guarantee of it.
  bool guaranteed(size_t resource) const { return guaranteed_[resource]; }
  // Gangs may be preempted for it (R5): guaranteed, or GPUs where nothing at all is guaranteed.
  bool contested(size_t resource) const {
    const bool gpus = resources_[resource].kind == Resource::Kind::kGpu;
    return guaranteed_[resource] || (gpus && !guarantees_any_);
  }
  Vector Dense(const cluster::Usage& usage) const;
  // Else Dense does not ask what is used by model.
  bool names_models() const;
  // The model of the policy that a device is of; the longest name counts. Nothing: none.
  std::optional<size_t> ModelOf(std::string_view device) const;

  // Some queue has a limit or a guarantee: else none keeps a gang from starting.
  bool bounds() const { return bounds_; }
  // Gangs of some queue may book room.
  bool books() const { return books_; }
  // Some queue has a half-life.
  bool remembers() const { return remembers_; }
  // What is kept from everybody else, of an idle tree.
  bool keeps_any() const { return keeps_any_; }

  // The queue of `ns` below one that is fair by namespace; its name is "QUEUE/NAMESPACE".
  std::optional<QueueIndex> FindNamespace(QueueIndex queue, std::string_view ns) const;
  // The same tree with that queue, which this one does not have; and without that one. All other
  // positions are the same.
  std::shared_ptr<const Tree> WithNamespace(QueueIndex queue, const std::string& ns) const;
  std::shared_ptr<const Tree> WithoutNamespace(QueueIndex of_namespace) const;

 private:
  void AddResources(const std::vector<QueueSpec>& queues);
  void AddQueue(const QueueSpec& spec, QueueIndex parent);
  void SetChildren(QueueIndex queue, std::vector<QueueIndex> children);

  std::vector<Resource> resources_;
  std::vector<bool> guaranteed_;
  bool guarantees_any_ = false;
  std::vector<std::shared_ptr<const Queue>> queues_;  // shared by the trees made from each other
  std::vector<QueueIndex> unused_;                    // positions that no queue has
  using Names = std::map<std::string, QueueIndex, std::less<>>;
  std::shared_ptr<const Names> by_name_;  // those of the policy
  QueueIndex orphan_;
  bool keeps_any_ = false;
  bool bounds_ = false;
  bool books_ = false;
  bool remembers_ = false;
  bool shaped_ = false;
};

}  // namespace muster::queues
