#include "engine/standing/covered_gangs.hpp"

#include <algorithm>
#include <utility>

namespace muster::engine {

using cluster::GangId;
using queues::Queue;
using queues::QueueIndex;
using queues::Resource;
using queues::Tree;
using queues::Vector;

namespace {

bool IsGpu(const Tree& tree, size_t resource) {
  const Resource::Kind kind = tree.resources()[resource].kind;
  return kind == Resource::Kind::kGpu || kind == Resource::Kind::kGpuModel;
}

bool GuaranteedGpus(const Tree& tree, QueueIndex queue) {
  const Vector& guarantee = tree.at(queue).guarantee;
  for (size_t r = 0; r < guarantee.size(); ++r) {
    if (IsGpu(tree, r) && guarantee[r] > 0) return true;
  }
  return false;
}

}  // namespace

void CoveredGangs::Set(const Tree& tree, const GangId& gang, Holding holding) {
  const auto [at, fresh] = entries_.try_emplace(gang);
  Entry& entry = at->second;
  if (!fresh && entry.holding == holding) return;
  if (fresh) entry.since = next_++;
  for (const QueueIndex queue : entry.lines) {
    lines_[queue].erase(entry.key());
    changed_.insert(queue);
  }
  const std::vector<QueueIndex> before = std::exchange(entry.lines, {});
  entry.holding = std::move(holding);
  for (const QueueIndex queue : tree.PathOf(entry.holding.leaf)) {
    if (!GuaranteedGpus(tree, queue)) continue;
    entry.lines.push_back(queue);
    lines_[queue].emplace(entry.key(), gang);
    changed_.insert(queue);
  }
  for (const QueueIndex queue : before) {
    const bool stays =
        std::find(entry.lines.begin(), entry.lines.end(), queue) != entry.lines.end();
    if (stays || covered_[queue].erase(gang) == 0) continue;
    entry.covered.erase(tree.at(queue).depth);
    differ_.insert(gang);
  }
}

void CoveredGangs::Remove(const GangId& gang) {
  const auto at = entries_.find(gang);
  if (at == entries_.end()) return;
  for (const QueueIndex queue : at->second.lines) {
    lines_[queue].erase(at->second.key());
    covered_[queue].erase(gang);
    changed_.insert(queue);
  }
  differ_.erase(gang);
  entries_.erase(at);
}

const CoveredGangs::Holding* CoveredGangs::Find(const GangId& gang) const {
  const auto at = entries_.find(gang);
  return at == entries_.end() ? nullptr : &at->second.holding;
}

std::set<GangId> CoveredGangs::CoveredIn(const Tree& tree, const Queue& queue,
                                         const Line& line) const {
  std::set<GangId> covered;
  Vector sum(queue.guarantee.size());
  for (const auto& [key, gang] : line) {
    const Vector& held = entries_.at(gang).holding.held;
    bool within = false;
    bool room = false;  // for another one
    for (size_t r = 0; r < sum.size(); ++r) {
      if (!IsGpu(tree, r) || queue.guarantee[r] <= 0) continue;
      sum[r] += held[r];
      within = within || (held[r] > 0 && sum[r] <= queue.guarantee[r]);
      room = room || sum[r] < queue.guarantee[r];
    }
    if (within) covered.insert(gang);
    if (!room) break;
  }
  return covered;
}

std::set<GangId> CoveredGangs::Follow(const Tree& tree) {
  for (const QueueIndex index : changed_) {
    const Queue& queue = tree.at(index);
    std::set<GangId> now = CoveredIn(tree, queue, lines_[index]);
    for (const GangId& gang : now) {
      if (entries_.at(gang).covered.insert(queue.depth).second) differ_.insert(gang);
    }
    for (const GangId& gang : covered_[index]) {
      if (!now.contains(gang) && entries_.at(gang).covered.erase(queue.depth) > 0)
        differ_.insert(gang);
    }
    covered_[index] = std::move(now);
  }
  changed_.clear();
  return std::exchange(differ_, {});
}

int64_t CoveredGangs::DepthOf(const GangId& gang) const {
  const auto at = entries_.find(gang);
  if (at == entries_.end()) return 0;
  const Entry& entry = at->second;
  if (entry.holding.stays) return kStays;
  return entry.covered.empty() ? 0 : *entry.covered.rbegin();
}

// Of the queue, up to the gang and with what it holds.
int64_t CoveredGangs::Ahead(const queues::Ledger& ledger, QueueIndex queue, const GangId& gang,
                            int64_t priority, size_t resource) const {
  const auto at = entries_.find(gang);
  const auto line = lines_.find(queue);
  const bool among = at != entries_.end() && line != lines_.end() &&
                     line->second.contains(at->second.key()) &&
                     line->second.at(at->second.key()) == gang;
  int64_t sum = among ? 0 : ledger.used(queue)[resource];
  if (line == lines_.end()) return sum;
  for (const auto& [key, one] : line->second) {
    const Holding& holding = entries_.at(one).holding;
    if (among) {
      sum += holding.held[resource];
      if (one == gang) break;
    } else if (!holding.stays && holding.priority < priority) {
      sum -= holding.held[resource];
    }
  }
  return sum;
}

int64_t CoveredGangs::DepthWith(const queues::Ledger& ledger, const GangId& gang, QueueIndex leaf,
                                int64_t priority, const Vector& more, bool any_model) const {
  const Tree& tree = ledger.tree();
  for (const QueueIndex queue : tree.PathOf(leaf)) {
    const Vector& guarantee = tree.at(queue).guarantee;
    for (size_t r = 0; r < guarantee.size(); ++r) {
      if (!IsGpu(tree, r) || guarantee[r] <= 0) continue;
      const bool any = any_model && r != Tree::kGpu;
      const int64_t takes = any ? std::max<int64_t>(more[r], 1) : more[r];
      if (takes > 0 && Ahead(ledger, queue, gang, priority, r) + takes <= guarantee[r])
        return tree.at(queue).depth;
    }
  }
  return 0;
}

std::vector<std::string> CoveredGangs::Audit(const Tree& tree) const {
  std::vector<std::string> broken;
  for (const auto& [index, line] : lines_) {
    const std::set<GangId> now = CoveredIn(tree, tree.at(index), line);
    const auto known = covered_.find(index);
    if (now != (known == covered_.end() ? std::set<GangId>() : known->second))
      broken.push_back("other gangs are within the guarantee of queue " + tree.at(index).name);
  }
  return broken;
}

}  // namespace muster::engine
