#include "engine/standing/order_book.hpp"

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
  std::erase_if(waits_, [&](const auto& one) { return !standing_.gangs.contains(one.first); });
}

const QueueOrder* OrderBook::Of(const std::string& queue) const {
  if (standing_.queues.empty()) return nullptr;
  const auto found = standing_.queues.find(queue);
  return found == standing_.queues.end() ? nullptr : &found->second;
}

std::optional<int32_t> OrderBook::PriorityOf(const Gang& gang) const {
  if (standing_.gangs.empty()) return std::nullopt;
  const auto found = standing_.gangs.find(KeyOf(gang));
  if (found == standing_.gangs.end() || found->second.uid != UidOf(gang)) return std::nullopt;
  return found->second.priority;
}

std::string OrderBook::UidOf(const Gang& gang) {
  if (!gang.id.solo) return gang.owner.empty() ? gang.group_uid : gang.owner;
  return gang.members.empty() ? "" : gang.members.begin()->first.text();
}

void OrderBook::KeepUntil(const cluster::ObjectKey& gang, Time until) {
  if (standing_.gangs.contains(gang)) waits_.insert_or_assign(gang, until);
}

void OrderBook::Pass(const cluster::ObjectKey& from, const Gang& to) {
  waits_.erase(from);
  auto order = standing_.gangs.extract(from);
  if (order.empty()) return;
  order.key() = KeyOf(to);
  order.mapped().uid = UidOf(to);
  standing_.gangs.insert(std::move(order));  // its own takes precedence
}

void OrderBook::EndWaits(Time now) {
  std::erase_if(waits_, [&](const auto& one) {
    if (one.second > now) return false;
    standing_.gangs.erase(one.first);
    return true;
  });
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
  for (const auto& [key, until] : waits_) due = std::min(due, until);
  for (const auto& [id, reclaim] : reclaims_) due = std::min(due, reclaim.deadline);
  return due;
}

}  // namespace muster::engine
