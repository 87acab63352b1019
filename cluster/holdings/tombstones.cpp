#include "cluster/holdings/tombstones.hpp"

#include <algorithm>

namespace muster::cluster {
namespace {

constexpr size_t kUuidLength = 36;
constexpr size_t kFirstSlots = 64;

// -1: no digit.
int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool IsHyphen(size_t at) { return at == 8 || at == 13 || at == 18 || at == 23; }

// splitmix64's last step: every bit of the outcome depends on every bit of `x`.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

Tombstones::Key Tombstones::KeyOf(std::string_view uid) {
  Key key;
  bool uuid = uid.size() == kUuidLength;
  for (size_t at = 0; uuid && at < kUuidLength; ++at) {
    if (IsHyphen(at)) {
      uuid = uid[at] == '-';
      continue;
    }
    const int digit = HexDigit(uid[at]);
    uuid = digit >= 0;
    key.high = key.high << 4 | key.low >> 60;
    key.low = key.low << 4 | static_cast<uint64_t>(digit);
  }
  if (uuid) return key;
  key = {0x9e3779b97f4a7c15U, uid.size()};
  for (const char c : uid) {
    key.high = Mix(key.high + static_cast<unsigned char>(c));
    key.low = Mix(key.low ^ key.high);
  }
  return key;
}

size_t Tombstones::Home(const Key& key) const {
  return Mix(key.high ^ Mix(key.low)) & (slots_.size() - 1);
}

size_t Tombstones::Find(const Key& key) const {
  size_t slot = Home(key);
  while (slots_[slot] != kFree && keys_[slots_[slot]] != key)
    slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

bool Tombstones::Contains(const std::string& uid) const {
  return !slots_.empty() && slots_[Find(KeyOf(uid))] != kFree;
}

void Tombstones::Add(const std::string& uid) {
  if (keys_.size() < limit_ && 2 * (keys_.size() + 1) > slots_.size()) Grow();
  const Key key = KeyOf(uid);
  size_t slot = Find(key);
  if (slots_[slot] != kFree) return;
  if (keys_.size() < limit_) {
    slots_[slot] = static_cast<uint32_t>(keys_.size());
    keys_.push_back(key);
    return;
  }
  Erase(Find(keys_[oldest_]));
  keys_[oldest_] = key;
  slots_[Find(key)] = static_cast<uint32_t>(oldest_);
  oldest_ = (oldest_ + 1) % limit_;
}

// Those behind it move up where they would not be found any more.
void Tombstones::Erase(size_t slot) {
  const size_t mask = slots_.size() - 1;
  for (size_t next = (slot + 1) & mask; slots_[next] != kFree; next = (next + 1) & mask) {
    const size_t home = Home(keys_[slots_[next]]);
    if (((next - home) & mask) < ((next - slot) & mask)) continue;
    slots_[slot] = slots_[next];
    slot = next;
  }
  slots_[slot] = kFree;
}

void Tombstones::Grow() {
  slots_.assign(std::max(kFirstSlots, 2 * slots_.size()), kFree);
  for (size_t i = 0; i < keys_.size(); ++i) slots_[Find(keys_[i])] = static_cast<uint32_t>(i);
}

}  // namespace muster::cluster
