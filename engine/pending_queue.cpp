#include "engine/pending_queue.hpp"

#include <algorithm>
#include <utility>

#include "cluster/check.hpp"

namespace muster::engine {

void PendingQueue::Add(Gang& gang, OrderKey order) {
  MUSTER_CHECK(!gang.pending() && gang.queue->kind == nullptr);
  gang.queue.value_.order = std::move(order);
  all_.insert(&gang);
  untried_.insert(&gang);
}

bool PendingQueue::Remove(Gang& gang) {
  if (!gang.pending()) return false;
  Leave(gang);
  heads_.erase(&gang);
  untried_.erase(&gang);
  next_.erase(&gang);
  all_.erase(&gang);
  if (last_ == &gang) last_ = nullptr;
  gang.queue.value_.order.reset();
  return true;
}

void PendingQueue::RetryAbove(int64_t priority) {
  retry_above_ = std::min(retry_above_.value_or(INT64_MAX), priority);
}

bool PendingQueue::PassNeeded(uint64_t growth) const {
  const bool wanted = retry_all_ || anything_may_fit_ || retry_above_ || !untried_.empty();
  return !all_.empty() && (wanted || growth_ != growth);
}

void PendingQueue::Begin(uint64_t growth) {
  const bool others = std::exchange(retry_all_, false);
  const bool grown = std::exchange(anything_may_fit_, false) || growth_ != growth;
  scope_ = {others || grown, std::exchange(retry_above_, std::nullopt)};
  if (all_.empty() || !InScope({false, scope_.above}, first())) scope_.above.reset();
  if (grown || scope_.above) ForgetFailures();
  growth_ = growth;
  in_pass_ = true;
  ++pass_;
  last_ = nullptr;
  next_.clear();
}

const Reason* PendingQueue::Failed(const Shape& shape, int64_t below) const {
  const auto found = failed_.find({shape, below});
  return found == failed_.end() ? nullptr : &found->second;
}

bool PendingQueue::InScope(const Scope& scope, const Gang& gang) {
  return scope.all || (scope.above && gang.queue->order->priority > *scope.above);
}

Gang* PendingQueue::Next() {
  const auto after = [&](const GangsInOrder& gangs) -> Gang* {
    const auto at = last_ == nullptr ? gangs.begin() : gangs.upper_bound(last_);
    return at == gangs.end() ? nullptr : *at;
  };
  while (true) {
    Gang* best = after(untried_);
    const auto consider = [&](Gang* other) {
      if (other != nullptr && (best == nullptr || GangOrder{}(other, best))) best = other;
    };
    consider(after(next_));
    // Those above a priority come first in order, so whoever is not in the scope ends it.
    if (Gang* head = after(heads_); head != nullptr && InScope(scope_, *head)) consider(head);
    if (best == nullptr) return nullptr;
    last_ = best;
    const bool untried = untried_.erase(best) > 0;
    next_.erase(best);
    const Kind* kind = best->queue->kind;
    if (kind == nullptr) {
      heads_.insert(best);
      return best;
    }
    if (kind->judged_in != pass_) {
      const auto other = kind->gangs.upper_bound(best);
      if (other != kind->gangs.end() && InScope(scope_, **other)) next_.insert(*other);
    }
    if (untried || kind->judged_in != pass_) return best;
  }
}

void PendingQueue::Judge(Gang& gang, const KindKey& key, GangState state, const Reason& reason) {
  const auto at = kinds_.try_emplace(key).first;
  Kind& kind = at->second;
  const bool fresh = kind.gangs.empty();
  if (fresh) at_.emplace(&kind, at);
  if (gang.queue->kind != &kind) {
    Leave(gang);
    heads_.erase(&gang);
    if (fresh || GangOrder{}(&gang, *kind.gangs.begin())) {
      if (!fresh) heads_.erase(*kind.gangs.begin());
      heads_.insert(&gang);
    }
    kind.gangs.insert(&gang);
    gang.queue.value_.kind = &kind;
  }
  const bool other = kind.state != state || kind.reason.code != reason.code;
  kind.state = state;
  kind.reason = reason;
  kind.judged_in = pass_;
  if (other && !fresh) spreading_.push_back({&kind, kind.gangs.begin()});
}

bool PendingQueue::Spread(int64_t most, const std::function<void(Gang&, const Kind&)>& changed) {
  while (!spreading_.empty()) {
    Spreading& now = spreading_.back();
    for (; now.next != now.kind->gangs.end(); ++now.next) {
      if (most-- <= 0) return false;
      Gang& gang = **now.next;
      const bool same = gang.state == now.kind->state && gang.reason.code == now.kind->reason.code;
      if (!same) changed(gang, *now.kind);
    }
    spreading_.pop_back();
  }
  return true;
}

void PendingQueue::Leave(Gang& gang) {
  Kind* kind = std::exchange(gang.queue.value_.kind, nullptr);
  if (kind == nullptr) return;
  const auto at = kind->gangs.find(&gang);
  for (Spreading& one : spreading_) {
    if (one.kind == kind && one.next == at) ++one.next;
  }
  const bool head = at == kind->gangs.begin();
  kind->gangs.erase(at);
  if (head && !kind->gangs.empty()) heads_.insert(*kind->gangs.begin());
  heads_.insert(&gang);
  if (!kind->gangs.empty()) return;
  std::erase_if(spreading_, [&](const Spreading& one) { return one.kind == kind; });
  const auto known = at_.find(kind);
  kinds_.erase(known->second);
  at_.erase(known);
}

const Reason& PendingQueue::ReasonOf(const Gang& gang) {
  const Kind* kind = gang.queue->kind;
  const bool shared =
      kind != nullptr && kind->state == gang.state && kind->reason.code == gang.reason.code;
  return shared ? kind->reason : gang.reason;
}

}  // namespace muster::engine
