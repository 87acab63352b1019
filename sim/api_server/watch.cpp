#include "sim/api_server/watch.hpp"

#include <algorithm>
#include <utility>

namespace muster::sim {

bool Kinds::Wants(const Object& object) const {
  switch (object.index()) {
    case 0:
      return nodes;
    case 1:
      return pods;
    case 2:
      return pod_groups;
    case 3:
      return jobs;
    case 5:
      return requests;
    default:
      return others;
  }
}

void WatchLog::Add(WatchEvent event) {
  if (watches_.empty()) {
    ++begin_;
    return;
  }
  if (log_.size() >= trim_at_) Trim();
  log_.push_back(std::move(event));
  for (Watch* watch : watches_) {
    if (watch->on_event_ && watch->kinds_.Wants(log_.back().object)) watch->on_event_();
  }
}

void WatchLog::Detach(Watch& watch) {
  std::erase(watches_, &watch);
  Trim();
}

void WatchLog::Trim() {
  uint64_t oldest = end();
  for (Watch* watch : watches_) {
    watch->Peek();  // skips what that watch does not want
    oldest = std::min(oldest, watch->cursor_);
  }
  while (begin_ < oldest) {
    log_.pop_front();
    ++begin_;
  }
  trim_at_ = std::max<size_t>(256, 2 * log_.size());
}

Watch::Watch(WatchLog& log, Kinds kinds, std::function<void()> on_event)
    : log_(log), kinds_(kinds), cursor_(log.end()), on_event_(std::move(on_event)) {
  log_.watches_.push_back(this);
}

Watch::~Watch() { log_.Detach(*this); }

const WatchEvent* Watch::Peek() {
  while (cursor_ < log_.end()) {
    const WatchEvent& event = log_.event(cursor_);
    if (kinds_.Wants(event.object)) return &event;
    ++cursor_;
  }
  return nullptr;
}

}  // namespace muster::sim
