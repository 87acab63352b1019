#include "engine/queue_book.hpp"

#include <utility>

namespace muster::engine {

using cluster::Usage;
using queues::Vector;

void QueueBook::Reload(const std::vector<queues::QueueSpec>& queues) {
  ++edition_;
  book_.reset();
  if (queues.empty()) return;
  book_ = std::make_unique<Book>(std::make_shared<const queues::Tree>(queues));
  book_->foreign.assign(tree().resources().size(), 0);
  book_->nodes_of.resize(tree().resources().size());
  was_on_ = true;
}

void QueueBook::Follow(cluster::ClusterState& cluster) {
  if (!on() || book_->generation == cluster.generation()) return;
  const std::shared_ptr<const cluster::Snapshot> nodes = cluster.TakeSnapshot();
  if (book_->layout != nodes->layout()) CountCapacity(*nodes);
  const Usage none;
  const std::map<std::string, Usage>& now = nodes->usage().queues();
  auto old = book_->seen.begin();
  auto next = now.begin();
  while (old != book_->seen.end() || next != now.end()) {
    const bool gone = next == now.end() || (old != book_->seen.end() && old->first < next->first);
    const bool fresh = old == book_->seen.end() || (next != now.end() && next->first < old->first);
    if (gone) {
      Charge(old->first, old->second, none);
    } else if (fresh) {
      Charge(next->first, none, next->second);
    } else if (!(old->second == next->second)) {
      Charge(next->first, old->second, next->second);
    }
    if (!fresh) ++old;
    if (!gone) ++next;
  }
  book_->seen = now;
  book_->generation = nodes->generation();
  book_->layout = nodes->layout();
}

void QueueBook::Charge(const std::string& queue, const Usage& before, const Usage& now) {
  const Vector less = tree().Dense(before);
  const Vector more = tree().Dense(now);
  const queues::QueueIndex index = IndexOf(queue);
  Vector& sum = queue.empty() ? book_->foreign : book_->charged[index];
  sum.resize(less.size());
  for (size_t r = 0; r < sum.size(); ++r) sum[r] += more[r] - less[r];
  if (queue.empty()) return book_->ledger.SetForeign(sum);
  book_->ledger.Set(index, sum);
  book_->tournament.Judge(index);
}

// What the devices and machines have that are ready and healthy.
void QueueBook::CountCapacity(const cluster::Snapshot& nodes) {
  Usage all;
  for (cluster::NodeSet& some : book_->nodes_of) some = {};
  for (cluster::NodeIndex index{0}; index.value < nodes.size(); ++index.value) {
    const cluster::Node* node = nodes.node(index);
    if (node == nullptr) continue;
    if (node->ready) all.requests += node->allocatable;
    const std::string* last = nullptr;  // most nodes have one model
    for (const cluster::Gpu& gpu : node->gpus) {
      if (last == nullptr || *last != gpu.model) {
        last = &gpu.model;
        if (const auto model = tree().ModelOf(gpu.model)) book_->nodes_of[*model].Add(index);
      }
      if (!node->ready || !gpu.healthy) continue;
      all.gpu_milli += cluster::kWholeGpu.value();
      all.gpu_memory += gpu.memory;
      all.gpu_milli_by_model[gpu.model] += cluster::kWholeGpu.value();
    }
  }
  book_->ledger.SetCapacity(tree().Dense(all));
  book_->tournament.JudgeAll();
}

std::vector<std::string> QueueBook::Audit(const cluster::ClusterState& cluster) const {
  std::vector<std::string> broken;
  if (!on() || book_->generation != cluster.generation()) return broken;
  queues::Ledger fresh(std::make_shared<const queues::Tree>(tree()));
  std::map<queues::QueueIndex, Usage> sums;
  for (const auto& [queue, usage] : cluster.usage().queues()) {
    if (!queue.empty()) sums[IndexOf(queue)] += usage;
  }
  for (const auto& [index, usage] : sums) fresh.Set(index, tree().Dense(usage));
  for (uint32_t i = 0; i < tree().size(); ++i) {
    const queues::QueueIndex index{i};
    if (fresh.used(index) != ledger().used(index) || fresh.claim(index) != ledger().claim(index))
      broken.push_back("queue " + tree().at(index).name + " is charged other than its pods hold");
  }
  return broken;
}

}  // namespace muster::engine
