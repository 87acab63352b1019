// Ledger: what each queue of a tree uses, with all below it, and whether it may use more (R3).
// Owned by one thread. A change costs O(depth).
//
//   claim of a leaf   = max(what it uses, what is kept for it)
//   claim of a queue  = max(Σ claims of its children, what is kept for it)
//
// So the claim of a queue is what nobody else may have of it. What is kept for a queue (its
// guarantee less what it lends) is nobody else's, wanted or not.
//
// R14: of what a leaf uses, gangs that are not preemptible have at most its guarantee.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "queues/tree.hpp"

namespace muster::queues {

// Why a queue may not use more.
struct Excess {
  enum class Kind {
    kLimit,         // of `queue`: it would use `would` of `most`
    kGuarantee,     // below `queue` only `most` are not kept for others, and it would take `would`
    kOwnGuarantee,  // its gangs that are not preemptible would use `would`, its guarantee is `most`
  };
  Kind kind = Kind::kLimit;
  QueueIndex queue;
  size_t resource = 0;  // in Tree::resources()
  int64_t would = 0;
  int64_t most = 0;
  bool operator==(const Excess&) const = default;
};

class Ledger {
 public:
  explicit Ledger(std::shared_ptr<const Tree> tree);

  const Tree& tree() const { return *tree_; }
  // A tree made from that one, with what every queue uses.
  void Follow(std::shared_ptr<const Tree> tree);
  // By resource: what the cluster has; and of that what pods hold that are in no queue.
  void SetCapacity(Vector capacity) { capacity_ = std::move(capacity); }
  void SetForeign(Vector foreign) { foreign_ = std::move(foreign); }
  const Vector& capacity() const { return capacity_; }
  const Vector& foreign() const { return foreign_; }
  // What the pods that are charged to `leaf` use. (To the orphan too.)
  void Set(QueueIndex leaf, const Vector& used);
  void Set(QueueIndex leaf, size_t resource, int64_t used);
  // Of what is charged to a queue of the policy that gangs name, what those use that are not
  // preemptible.
  void SetNonPreemptible(QueueIndex named, Vector used) {
    books_[named.value].non_preemptible = std::move(used);
  }

  // What the queue used on average (UsageMemory); empty: that counts for nothing.
  void Remember(QueueIndex queue, Vector average) {
    books_[queue.value].average = std::move(average);
  }

  const Vector& used(QueueIndex queue) const { return books_[queue.value].used; }
  const Vector& average(QueueIndex queue) const { return books_[queue.value].average; }
  const Vector& claim(QueueIndex queue) const { return books_[queue.value].claim; }
  // What of its guarantee it has not taken and does not lend, beside what is kept for those below.
  int64_t kept(QueueIndex queue, size_t resource) const;
  const Vector& non_preemptible(QueueIndex named) const {
    return books_[named.value].non_preemptible;
  }

  // The first that keeps a gang of `leaf` that asks for so much from starting, from the leaf up;
  // nothing: it may start. What it does not ask for does not count.
  std::optional<Excess> Exceeds(QueueIndex leaf, const Vector& asks) const;
  // R14: the same of a gang that is not preemptible, beside the above. What no queue is guaranteed
  // does not count.
  std::optional<Excess> ExceedsGuarantee(QueueIndex leaf, const Vector& asks) const;

 private:
  struct Book {
    Vector used;
    Vector non_preemptible;  // of queues of the policy
    Vector claims_below;     // Σ over children
    Vector claim;
    Vector average;
  };
  static Book Unused(size_t resources);
  int64_t ClaimOf(QueueIndex queue, size_t resource, int64_t below) const;

  std::shared_ptr<const Tree> tree_;  // constant after construction
  std::vector<Book> books_;           // by QueueIndex
  Vector capacity_;
  Vector foreign_;
};

}  // namespace muster::queues
