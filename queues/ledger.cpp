#include "queues/ledger.hpp"

#include <algorithm>
#include <utility>

#include "cluster/base/units.hpp"

namespace muster::queues {

using cluster::SaturatingAdd;

namespace {

constexpr int64_t kNoLimit = INT64_MAX;

int64_t Plus(int64_t a, int64_t b) { return SaturatingAdd(a, b); }
int64_t Minus(int64_t a, int64_t b) { return SaturatingAdd(a, -b); }

}  // namespace

Ledger::Book Ledger::Unused(size_t resources) {
  return {Vector(resources), Vector(resources), Vector(resources), Vector(resources), {}};
}

Ledger::Ledger(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {
  const size_t resources = tree_->resources().size();
  capacity_.assign(resources, 0);
  foreign_.assign(resources, 0);
  books_.assign(tree_->size(), Unused(resources));
  for (size_t i = books_.size(); i-- > 0;) {
    const QueueIndex queue{static_cast<uint32_t>(i)};
    for (size_t r = 0; r < resources; ++r) {
      const int64_t claim = ClaimOf(queue, r, books_[i].claims_below[r]);
      books_[i].claim[r] = claim;
      if (queue != kRootIndex) books_[tree_->at(queue).parent.value].claims_below[r] += claim;
    }
  }
}

void Ledger::Follow(std::shared_ptr<const Tree> tree) {
  tree_ = std::move(tree);
  const size_t resources = tree_->resources().size();
  books_.resize(tree_->size(), Unused(resources));
}

int64_t Ledger::ClaimOf(QueueIndex queue, size_t resource, int64_t below) const {
  const Queue& known = tree_->at(queue);
  const int64_t taken = known.leaf() ? books_[queue.value].used[resource] : below;
  return std::max(taken, known.unlent[resource]);
}

int64_t Ledger::kept(QueueIndex queue, size_t resource) const {
  const Book& book = books_[queue.value];
  return book.claim[resource] - (tree_->at(queue).leaf() ? book.used : book.claims_below)[resource];
}

void Ledger::Set(QueueIndex leaf, const Vector& used) {
  for (size_t r = 0; r < used.size(); ++r) Set(leaf, r, used[r]);
}

void Ledger::Set(QueueIndex leaf, size_t resource, int64_t used) {
  const int64_t more = Minus(used, books_[leaf.value].used[resource]);
  if (more == 0) return;
  for (QueueIndex queue = leaf;; queue = tree_->at(queue).parent) {
    Book& book = books_[queue.value];
    book.used[resource] = Plus(book.used[resource], more);
    const int64_t before =
        std::exchange(book.claim[resource], ClaimOf(queue, resource, book.claims_below[resource]));
    if (queue == kRootIndex) break;
    int64_t& above = books_[tree_->at(queue).parent.value].claims_below[resource];
    above = Plus(above, Minus(book.claim[resource], before));
  }
}

std::optional<Excess> Ledger::Exceeds(QueueIndex leaf, const Vector& asks) const {
  const std::vector<QueueIndex> path = tree_->PathOf(leaf);
  for (size_t r = 0; r < asks.size(); ++r) {
    if (asks[r] <= 0) continue;
    int64_t added = asks[r];  // to the claim of the queue below
    for (const QueueIndex queue : path) {
      const Queue& known = tree_->at(queue);
      const Book& book = books_[queue.value];
      const int64_t limit = known.limit[r];
      const int64_t would = Plus(book.used[r], asks[r]);
      if (limit != kNoLimit && would > limit)
        return Excess{Excess::Kind::kLimit, queue, r, would, limit};
      const int64_t below = known.leaf() ? would : Plus(book.claims_below[r], added);
      const int64_t claim = std::max(below, known.unlent[r]);
      added = Minus(claim, book.claim[r]);
      if (added <= 0 || !tree_->keeps_any()) continue;
      const int64_t most =
          queue == kRootIndex ? std::min(limit, Minus(capacity_[r], foreign_[r])) : limit;
      // Where nothing is kept from anybody the limit, or the room, decides alone.
      if (claim <= most || claim <= would) continue;
      return Excess{Excess::Kind::kGuarantee, queue, r, added,
                    std::max<int64_t>(0, Minus(most, book.claim[r]))};
    }
  }
  return std::nullopt;
}

std::optional<Excess> Ledger::ExceedsGuarantee(QueueIndex leaf, const Vector& asks) const {
  const QueueIndex queue = tree_->WrittenOf(leaf);
  for (size_t r = 0; r < asks.size(); ++r) {
    if (asks[r] <= 0 || !tree_->guaranteed(r)) continue;
    const int64_t most = tree_->at(queue).guarantee[r];
    const int64_t would = Plus(books_[queue.value].non_preemptible[r], asks[r]);
    if (would > most) return Excess{Excess::Kind::kOwnGuarantee, queue, r, would, most};
  }
  return std::nullopt;
}

}  // namespace muster::queues
