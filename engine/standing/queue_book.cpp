#include "engine/standing/queue_book.hpp"

#include <algorithm>
#include <utility>

namespace muster::engine {

using cluster::Usage;
using queues::QueueIndex;
using queues::Vector;

namespace {

constexpr int64_t kMinute = 60'000;

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
  const auto tree_now = std::make_shared<const queues::Tree>(queues);
  if (book_ != nullptr) memory_.Reorder(tree().resources(), tree_now->resources());
  if (!tree_now->remembers()) memory_.Clear();
  book_ = std::make_unique<Book>(tree_now);
  book_->foreign.assign(tree().resources().size(), 0);
  book_->capacity.assign(tree().resources().size(), 0);
  book_->nodes_of.resize(tree().resources().size());
  for (uint32_t i = 0; i < tree().size(); ++i) {
    const queues::Queue& queue = tree().at(QueueIndex{i});
    const bool fair = queue.preemption.reclaim == queues::Reclaim::kFairShare;
    book_->shares_may_change = book_->shares_may_change || (fair && tree().remembers());
  }
}

void QueueBook::Follow(cluster::ClusterState& cluster) {
  if (book_->generation != cluster.generation()) {
    const std::shared_ptr<const cluster::Snapshot> nodes = cluster.TakeSnapshot();
    CountCapacity(nodes->nodes());
    FollowChanges(book_->seen, nodes->usage().queues(),
                  [&](const std::string& queue, const Usage& before, const Usage& now) {
                    Charge(queue, before, now);
                  });
    FollowChanges(book_->seen_non_preemptible, nodes->usage().non_preemptible(),
                  [&](const std::string& queue, const Usage& before, const Usage& now) {
                    if (!queue.empty()) ChargeGuarantee(IndexOf(queue), before, now);
                  });
    book_->generation = nodes->generation();
  }
  DropEmpty();
}

const std::string& QueueBook::Enter(const cluster::GangId& gang, const std::string& queue) {
  const QueueIndex named = *tree().Find(queue);
  if (!tree().at(named).by_namespace) {
    Leave(gang);
    return tree().at(named).name;
  }
  const std::string& ns = gang.key.ns;
  std::optional<QueueIndex> leaf = tree().FindNamespace(named, ns);
  if (!leaf) {
    Adopt(tree().WithNamespace(named, ns));
    leaf = tree().FindNamespace(named, ns);
    book_->minute.reset();
    if (book_->changed) book_->changed->insert(*leaf);
    // Until now that was the orphan's.
    const std::string& name = tree().at(*leaf).name;
    if (const auto seen = book_->seen.find(name); seen != book_->seen.end()) {
      Charge(tree().orphan(), seen->second, {});
      Charge(*leaf, {}, seen->second);
    }
    const auto kept = book_->seen_non_preemptible.find(name);
    if (kept != book_->seen_non_preemptible.end()) {
      ChargeGuarantee(tree().orphan(), kept->second, {});
      ChargeGuarantee(*leaf, {}, kept->second);
    }
  }
  const auto [at, fresh] = book_->entered.emplace(gang, *leaf);
  if (!fresh && at->second == *leaf) return tree().at(*leaf).name;
  if (!fresh) {
    Leave(gang);
    book_->entered.emplace(gang, *leaf);
  }
  ++book_->gangs[*leaf];
  return tree().at(*leaf).name;
}

void QueueBook::Leave(const cluster::GangId& gang) {
  const auto entered = book_->entered.find(gang);
  if (entered == book_->entered.end()) return;
  if (--book_->gangs[entered->second] == 0) book_->left.insert(entered->second);
  book_->entered.erase(entered);
}

void QueueBook::DropEmpty() {
  for (const QueueIndex leaf : std::exchange(book_->left, {})) {
    if (book_->gangs[leaf] > 0) continue;
    const bool unknown = tree().remembers() && (!book_->changed || book_->changed->contains(leaf));
    if (unknown || book_->seen.contains(tree().at(leaf).name) || book_->tournament.has_head(leaf)) {
      book_->left.insert(leaf);
      continue;
    }
    book_->gangs.erase(leaf);
    book_->charged.erase(leaf);
    Adopt(tree().WithoutNamespace(leaf));
  }
}

bool QueueBook::Remember(cluster::ClusterState& cluster, cluster::Time now) {
  if (!tree().remembers()) return false;
  Follow(cluster);
  NoteUse(now);
  const int64_t minute = now.milliseconds() / kMinute;
  if (book_->minute == minute) return false;
  book_->minute = minute;
  memory_.LetGo(tree(), now);
  for (uint32_t i = 1; i < tree().size(); ++i) {
    const queues::Queue& queue = tree().at(QueueIndex{i});
    Vector average;
    if (!queue.name.empty() && queue.usage_half_life > cluster::Duration(0))
      average = memory_.At(queue.name, tree().resources().size(), now);
    book_->ledger.Remember(QueueIndex{i}, std::move(average));
  }
  book_->tournament.JudgeAll();
  return book_->shares_may_change;
}

void QueueBook::NoteUse(cluster::Time now) {
  std::set<QueueIndex> queues;
  if (!book_->changed) {
    for (uint32_t i = 1; i < tree().size(); ++i) queues.insert(QueueIndex{i});
  } else {
    for (const QueueIndex leaf : *book_->changed) {
      for (QueueIndex queue = leaf; queue != queues::kRootIndex; queue = tree().at(queue).parent)
        queues.insert(queue);
    }
  }
  book_->changed.emplace();
  for (const QueueIndex index : queues) {
    const queues::Queue& queue = tree().at(index);
    if (!queue.name.empty() && queue.usage_half_life > cluster::Duration(0))
      memory_.Use(queue.name, queue.usage_half_life, book_->ledger.used(index), now);
  }
}

cluster::Time QueueBook::due() const {
  if (!book_->shares_may_change || !book_->minute) return cluster::Time::Never();
  return cluster::Time((*book_->minute + 1) * kMinute);
}

std::optional<queues::UsageRecord> QueueBook::UsedSoFar() const {
  if (!tree().remembers()) return std::nullopt;
  return memory_.All(tree().resources());
}

void QueueBook::AdoptUsage(const queues::UsageRecord& record, cluster::Time now) {
  if (!tree().remembers() || !memory_.Adopt(record, tree(), now).ok()) return;
  book_->changed.reset();
  book_->minute.reset();
}

void QueueBook::Adopt(std::shared_ptr<const queues::Tree> tree) {
  book_->ledger.Follow(tree);
  book_->idle.Follow(std::move(tree));
  book_->tournament.Follow();
}

void QueueBook::Charge(const std::string& queue, const Usage& before, const Usage& now) {
  if (!queue.empty()) return Charge(IndexOf(queue), before, now);
  const Vector less = tree().Dense(before);
  const Vector more = tree().Dense(now);
  for (size_t r = 0; r < less.size(); ++r) book_->foreign[r] += more[r] - less[r];
  book_->ledger.SetForeign(book_->foreign);
}

void QueueBook::Charge(QueueIndex index, const Usage& before, const Usage& now) {
  const Vector less = tree().Dense(before);
  const Vector more = tree().Dense(now);
  Vector& sum = book_->charged[index];
  sum.resize(less.size());
  for (size_t r = 0; r < sum.size(); ++r) sum[r] += more[r] - less[r];
  book_->ledger.Set(index, sum);
  book_->tournament.Judge(index);
  if (book_->changed && tree().remembers()) book_->changed->insert(index);
}

void QueueBook::ChargeGuarantee(QueueIndex leaf, const Usage& before, const Usage& now) {
  const QueueIndex named = tree().WrittenOf(leaf);
  const Vector less = tree().Dense(before);
  const Vector more = tree().Dense(now);
  Vector sum = ledger().non_preemptible(named);
  for (size_t r = 0; r < sum.size(); ++r) sum[r] += more[r] - less[r];
  book_->ledger.SetNonPreemptible(named, std::move(sum));
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
  if (book_->generation != cluster.generation()) return broken;
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
    if (!queue.empty()) kept[tree().WrittenOf(IndexOf(queue))] += usage;
  }
  for (const auto& [index, usage] : kept) fresh.SetNonPreemptible(index, tree().Dense(usage));
  for (uint32_t i = 0; i < tree().size(); ++i) {
    const QueueIndex index{i};
    if (fresh.used(index) != ledger().used(index) || fresh.claim(index) != ledger().claim(index) ||
        fresh.non_preemptible(index) != ledger().non_preemptible(index))
      broken.push_back("queue " + tree().at(index).name + " is charged other than its pods hold");
    const queues::Queue& queue = tree().at(index);
    const auto gangs = book_->gangs.find(index);
    const bool empty = gangs == book_->gangs.end() || gangs->second == 0;
    if (!queue.of_namespace.empty() && !queue.name.empty() && empty && !book_->left.contains(index))
      broken.push_back("queue " + queue.name + " is there without a gang");
  }
  return broken;
}

}  // namespace muster::engine
