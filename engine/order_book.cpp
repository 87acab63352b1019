#include "engine/order_book.hpp"

#include <algorithm>
#include <utility>

namespace muster::engine {

using cluster::Time;

namespace {

bool SaysNothing(const QueueOrder& order) {
  return order.state == queues::QueueState::kOpen && !order.paused_until;
}

}  // namespace

void OrderBook::Adopt(StandingOrders standing) {
  standing_ = std::move(standing);
  std::erase_if(standing_.queues, [](const auto& entry) { return SaysNothing(entry.second); });
}

const QueueOrder* OrderBook::Of(const std::string& queue) const {
  if (standing_.queues.empty()) return nullptr;
  const auto found = standing_.queues.find(queue);
  return found == standing_.queues.end() ? nullptr : &found->second;
}

std::optional<int32_t> OrderBook::PriorityOf(const Gang& gang) const {
  if (standing_.gangs.empty()) return std::nullopt;
  const auto found = standing_.gangs.find(gang.id.key);
  if (found == standing_.gangs.end() || found->second.uid != UidOf(gang)) return std::nullopt;
  return found->second.priority;
}

std::string OrderBook::UidOf(const Gang& gang) {
  if (!gang.id.solo) return gang.group_uid;
  return gang.members.empty() ? "" : gang.members.begin()->first.text();
}

void OrderBook::SetGang(const cluster::ObjectKey& gang, OrderedPriority order) {
  standing_.gangs.insert_or_assign(gang, std::move(order));
}

void OrderBook::SetQueue(const std::string& queue, QueueOrder order) {
  if (SaysNothing(order)) {
    standing_.queues.erase(queue);
  } else {
    standing_.queues.insert_or_assign(queue, std::move(order));
  }
}

bool OrderBook::EndPauses(Time now) {
  bool any = false;
  for (auto& [name, order] : standing_.queues) {
    if (!order.paused_until || *order.paused_until > now) continue;
    order.paused_until.reset();
    order.paused_by.clear();
    any = true;
  }
  if (any)
    std::erase_if(standing_.queues, [](const auto& entry) { return SaysNothing(entry.second); });
  return any;
}

GangId OrderBook::Begin(Reclaim reclaim) {
  GangId id{{"", "order " + std::to_string(++begun_)}, false};
  reclaims_.emplace(id, std::move(reclaim));
  return id;
}

const Reclaim* OrderBook::Find(const GangId& id) const {
  if (reclaims_.empty()) return nullptr;
  const auto found = reclaims_.find(id);
  return found == reclaims_.end() ? nullptr : &found->second;
}

Time OrderBook::due() const {
  Time due = Time::Never();
  for (const auto& [name, order] : standing_.queues) {
    if (order.paused_until) due = std::min(due, *order.paused_until);
  }
  for (const auto& [id, reclaim] : reclaims_) due = std::min(due, reclaim.deadline);
  return due;
}

}  // namespace muster::engine
