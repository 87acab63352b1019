#include "sim/event_store.hpp"

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
  if (!fresh) {
    EventRecord& known = records_[at->second - first_];
    ++known.count;
    known.last_seen = now;
    return;
  }
  records_.push_back({now, now, 1, event.key, event.uid, event.on_pod, event.warning, event.reason,
                      event.message, event.on_node, event.on_orders});
  if (records_.size() <= limit_) return;
  numbers_.erase(Identity(records_.front()));
  records_.pop_front();
  ++first_;
}

}  // namespace muster::sim
