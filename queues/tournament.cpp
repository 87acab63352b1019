#include "queues/tournament.hpp"

#include <utility>

namespace muster::queues {

bool Tournament::First::operator()(const Candidate& a, const Candidate& b) const {
  if (const auto order = Compare(a.standing, b.standing); order != 0) return order < 0;
  if (*a.gang != *b.gang) return *a.gang < *b.gang;
  return a.child < b.child;
}

Tournament::Tournament(const Ledger& ledger) : ledger_(ledger) { Follow(); }

void Tournament::Follow() {
  const size_t size = ledger_.tree().size();
  heads_.resize(size);
  winners_.resize(size);
  candidates_.resize(size);
  entries_.resize(size);
}

void Tournament::SetHead(QueueIndex leaf, const OrderKey* gang, Vector asks) {
  Head& head = heads_[leaf.value];
  if (head.gang == nullptr && gang == nullptr) return;
  head = {gang, std::move(asks)};
  Judge(leaf);
}

void Tournament::Judge(QueueIndex leaf) {
  winners_[leaf.value].reset();
  if (heads_[leaf.value].gang != nullptr) winners_[leaf.value] = leaf;
  for (QueueIndex queue = leaf; queue != kRootIndex; queue = ledger_.tree().at(queue).parent)
    JudgeOne(queue);
}

void Tournament::JudgeAll() {
  for (size_t i = heads_.size(); i-- > 1;) {
    const QueueIndex queue{static_cast<uint32_t>(i)};
    if (ledger_.tree().at(queue).leaf()) Judge(queue);
  }
}

void Tournament::JudgeOne(QueueIndex child) {
  const QueueIndex parent = ledger_.tree().at(child).parent;
  Entrants& candidates = candidates_[parent.value];
  std::optional<Entrants::iterator>& entry = entries_[child.value];
  if (entry) candidates.erase(*std::exchange(entry, std::nullopt));
  if (const std::optional<QueueIndex> leaf = winners_[child.value]) {
    const Head& head = heads_[leaf->value];
    Candidate candidate{child, *leaf, {}, head.gang};
    const Queue& known = ledger_.tree().at(parent);
    const Standing standing = StandingOf(ledger_, child, head.asks);
    if (known.fair()) {
      candidate.standing = standing;
    } else {
      candidate.standing.within = standing.within;
    }
    entry = candidates.insert(candidate).first;
  }
  winners_[parent.value].reset();
  if (!candidates.empty()) winners_[parent.value] = candidates.begin()->leaf;
}

std::vector<Candidate> Tournament::Candidates(QueueIndex queue) const {
  const Entrants& candidates = candidates_[queue.value];
  return {candidates.begin(), candidates.end()};
}

}  // namespace muster::queues
