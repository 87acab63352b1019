#include "engine/queue_book.hpp"

#include <algorithm>
#include <utility>

namespace muster::engine {

using cluster::Usage;
using queues::QueueIndex;
using queues::Vector;

namespace {

// What the machine and its devices have, where they are ready and healthy.
Usage CapacityOf(const cluster::Node& node) {
  Usage all;
  if (!node.ready) return all;
  all.requests = node.allocatable;
  for (const cluster::Gpu& gpu : node.gpus) {
    if (!gpu.healthy) continue;
    all.gpu_milli += cluster::kWholeGpu.value();
    all.gpu_memory += gpu.memory;
    all.gpu_milli_by_model[gpu.model] += cluster::kWholeGpu.value();
  }
  return all;
}

using ByQueue = std::map<std::string, Usage>;

// visit(queue, before, now) for each that changed; `seen` is `now` then.
template <typename Visit>
void FollowChanges(ByQueue& seen, const ByQueue& now, Visit visit) {
  const Usage none;
  auto old = seen.begin();
  auto next = now.begin();
  while (old != seen.end() || next != now.end()) {
    const bool gone = next == now.end() || (old != seen.end() && old->first < next->first);
    const bool fresh = old == seen.end() || (next != now.end() && next->first < old->first);
    if (gone) {
      visit(old->first, old->second, none);
      old = seen.erase(old);
      continue;
    }
    if (fresh) {
      visit(next->first, none, next->second);
      seen.emplace_hint(old, *next);
    } else {
      if (!(old->second == next->second)) {
        visit(next->first, old->second, next->second);
        old->second = next->second;
      }
      ++old;
    }
    ++next;
  }
}

}  // namespace

void QueueBook::Reload(const std::vector<queues::QueueSpec>& queues) {
  ++edition_;
  book_.reset();
  if (queues.empty()) return;
  book_ = std::make_unique<Book>(std::make_shared<const queues::Tree>(queues));
  book_->foreign.assign(tree().resources().size(), 0);
  book_->capacity.assign(tree().resources().size(), 0);
  book_->nodes_of.resize(tree().resources().size());
  was_on_ = true;
}

void QueueBook::Follow(cluster::ClusterState& cluster) {
  if (!on() || book_->generation == cluster.generation()) return;
  const std::shared_ptr<const cluster::Snapshot> nodes = cluster.TakeSnapshot();
  CountCapacity(nodes->nodes());
  FollowChanges(book_->seen, nodes->usage().queues(),
                [&](const std::string& queue, const Usage& before, const Usage& now) {
                  Charge(queue, before, now);
                });
  FollowChanges(book_->seen_non_preemptible, nodes->usage().non_preemptible(),
                [&](const std::string& queue, const Usage& before, const Usage& now) {
                  ChargeGuarantee(queue, before, now);
                });
  book_->generation = nodes->generation();
}

void QueueBook::Charge(const std::string& queue, const Usage& before, const Usage& now) {
  const Vector less = tree().Dense(before);
  const Vector more = tree().Dense(now);
  const QueueIndex index = IndexOf(queue);
  Vector& sum = queue.empty() ? book_->foreign : book_->charged[index];
  sum.resize(less.size());
  for (size_t r = 0; r < sum.size(); ++r) sum[r] += more[r] - less[r];
  if (queue.empty()) return book_->ledger.SetForeign(sum);
  book_->ledger.Set(index, sum);
  book_->tournament.Judge(index);
}

void QueueBook::ChargeGuarantee(const std::string& queue, const Usage& before, const Usage& now) {
  if (queue.empty()) return;
  const QueueIndex index = IndexOf(queue);
  const Vector less = tree().Dense(before);
  const Vector more = tree().Dense(now);
  Vector sum = ledger().non_preemptible(index);
  for (size_t r = 0; r < sum.size(); ++r) sum[r] += more[r] - less[r];
  book_->ledger.SetNonPreemptible(index, std::move(sum));
}

void QueueBook::CountCapacity(const cluster::NodeTable& nodes) {
  const cluster::NodeTable& before = book_->nodes;
  const Vector old = book_->capacity;
  constexpr uint32_t kChunk = cluster::NodeTable::kChunk;
  for (uint32_t chunk = 0; chunk < nodes.chunks(); ++chunk) {  // tables do not shrink
    if (nodes.SameChunk(before, chunk)) continue;
    for (uint32_t i = chunk * kChunk; i < std::min(nodes.size(), (chunk + 1) * kChunk); ++i) {
      const cluster::Node* was = i < before.size() ? before[i].get() : nullptr;
      const cluster::Node* is = nodes[i].get();
      if (was == is) continue;
      if (was != nullptr) CountNode(cluster::NodeIndex{i}, *was, -1);
      if (is != nullptr) CountNode(cluster::NodeIndex{i}, *is, 1);
    }
  }
  book_->nodes = nodes;
  if (book_->capacity == old) return;
  book_->ledger.SetCapacity(book_->capacity);
  book_->idle.SetCapacity(book_->capacity);
  book_->tournament.JudgeAll();
}

void QueueBook::CountNode(cluster::NodeIndex index, const cluster::Node& node, int sign) {
  const std::string* last = nullptr;  // most nodes have one model
  for (const cluster::Gpu& gpu : node.gpus) {
    if (last != nullptr && *last == gpu.model) continue;
    last = &gpu.model;
    const auto model = tree().ModelOf(gpu.model);
    if (!model) continue;
    sign > 0 ? book_->nodes_of[*model].Add(index) : book_->nodes_of[*model].Remove(index);
  }
  const Vector has = tree().Dense(CapacityOf(node));
  for (size_t r = 0; r < has.size(); ++r) book_->capacity[r] += sign * has[r];
}

std::vector<std::string> QueueBook::Audit(const cluster::ClusterState& cluster) const {
  std::vector<std::string> broken;
  if (!on() || book_->generation != cluster.generation()) return broken;
  Usage all;
  for (const cluster::Node* node : cluster.Nodes()) all += CapacityOf(*node);
  if (tree().Dense(all) != ledger().capacity())
    broken.emplace_back("the queues count another capacity than the nodes have");
  queues::Ledger fresh(std::make_shared<const queues::Tree>(tree()));
  std::map<QueueIndex, Usage> sums;
  for (const auto& [queue, usage] : cluster.usage().queues()) {
    if (!queue.empty()) sums[IndexOf(queue)] += usage;
  }
  for (const auto& [index, usage] : sums) fresh.Set(index, tree().Dense(usage));
  std::map<QueueIndex, Usage> kept;
  for (const auto& [queue, usage] : cluster.usage().non_preemptible()) {
    if (!queue.empty()) kept[IndexOf(queue)] += usage;
  }
  for (const auto& [index, usage] : kept) fresh.SetNonPreemptible(index, tree().Dense(usage));
  for (uint32_t i = 0; i < tree().size(); ++i) {
    const QueueIndex index{i};
    if (fresh.used(index) != ledger().used(index) || fresh.claim(index) != ledger().claim(index) ||
        fresh.non_preemptible(index) != ledger().non_preemptible(index))
      broken.push_back("queue " + tree().at(index).name + " is charged other than its pods hold");
  }
  return broken;
}

}  // namespace muster::engine
