#include "sim/api_store.hpp"

#include <algorithm>

namespace muster::sim {

std::string ApiStore::NewUid() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const uint64_t high = uids_.Next();
  const uint64_t low = uids_.Next();
  std::string text;
  text.reserve(36);
  for (unsigned i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) text.push_back('-');
    const uint64_t word = i < 16 ? high : low;
    text.push_back(kDigits[(word >> (60U - 4U * (i % 16U))) & 0xfU]);
  }
  text[14] = '4';  // the version digit of a random UUID
  return text;
}

void ApiStore::Log(Change change, Object object) {
  if (watches_.empty()) {
    ++log_begin_;
    return;
  }
  if (log_.size() >= trim_at_) Trim();
  log_.push_back({change, std::move(object), version_, loop_.now()});
  for (Watch* watch : watches_) {
    if (watch->on_event_ && watch->kinds_.Wants(log_.back().object)) watch->on_event_();
  }
}

void ApiStore::Detach(Watch& watch) {
  std::erase(watches_, &watch);
  Trim();
}

void ApiStore::Trim() {
  uint64_t oldest = log_end();
  for (Watch* watch : watches_) {
    watch->Peek();  // skips what that watch does not want
    oldest = std::min(oldest, watch->cursor_);
  }
  while (log_begin_ < oldest) {
    log_.pop_front();
    ++log_begin_;
  }
  trim_at_ = std::max<size_t>(256, 2 * log_.size());
}

}  // namespace muster::sim
