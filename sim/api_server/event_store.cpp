#include "sim/api_server/event_store.hpp"

namespace muster::sim {

namespace {

// What makes two events one. Names and reasons contain no line breaks, and the message comes last.
template <typename Event>
std::string Identity(const Event& event) {
  return event.uid + '\n' + event.key.ToString() + '\n' + event.reason + '\n' + event.message;
}

}  // namespace

void EventStore::Add(cluster::Time now, const engine::EmitEvent& event) {
  if (limit_ == 0) return;
  const auto [at, fresh] = numbers_.try_emplace(Identity(event), first_ + records_.size());
  if (!fresh && records_[at->second - first_].last_seen + kLife > now) {
    EventRecord& known = records_[at->second - first_];
    ++known.count;
    known.last_seen = now;
    return;
  }
  at->second = first_ + records_.size();
  records_.push_back({now, now, 1, event.key, event.uid, event.on_pod, event.warning, event.reason,
                      event.message, event.on_node, event.on_orders});
  if (records_.size() <= limit_) return;
  const auto oldest = numbers_.find(Identity(records_.front()));
  if (oldest != numbers_.end() && oldest->second == first_) numbers_.erase(oldest);
  records_.pop_front();
  ++first_;
}

std::vector<EventRecord> EventStore::Living(cluster::Time now) const {
  std::vector<EventRecord> living;
  for (const EventRecord& record : records_) {
    if (record.last_seen + kLife > now) living.push_back(record);
  }
  return living;
}

}  // namespace muster::sim
