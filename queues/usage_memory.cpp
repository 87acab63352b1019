#include "queues/usage_memory.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace muster::queues {

using cluster::Duration;
using cluster::Time;

namespace {

constexpr unsigned kDecayDigits = 52;
constexpr unsigned kRootDigits = 62;  // of the powers that a decay is a product of
constexpr size_t kMostGone = 4'096;

constexpr Uint128 RootOf(Uint128 square) {
  Uint128 root = 0;
  for (Uint128 bit = Uint128{1} << 62U; bit > 0; bit >>= 1U) {
    if ((root + bit) * (root + bit) <= square) root += bit;
  }
  return root;
}

// 2^(−1/2), 2^(−1/4), 2^(−1/8), …: each is the root of the one before it.
constexpr std::array<uint64_t, kDecayDigits> Roots() {
  std::array<uint64_t, kDecayDigits> roots{};
  Uint128 last = Uint128{1} << (kRootDigits - 1);
  for (uint64_t& root : roots) {
    last = RootOf(last << kRootDigits);
    root = static_cast<uint64_t>(last);
  }
  return roots;
}
constexpr std::array<uint64_t, kDecayDigits> kRoots = Roots();

Uint128 Rounded(Uint128 value, unsigned digits) {
  return (value + (Uint128{1} << (digits - 1))) >> digits;
}

int64_t Counted(int64_t used) { return std::clamp<int64_t>(used, 0, kMostAmount); }

}  // namespace

uint64_t Decay(Duration passed, Duration half_life) {
  const auto span = static_cast<uint64_t>(half_life.value());
  const auto time = static_cast<uint64_t>(std::max<int64_t>(0, passed.value()));
  const uint64_t halvings = time / span;
  if (halvings > kDecayDigits) return 0;
  const auto part = static_cast<uint64_t>((Uint128{time % span} << kDecayDigits) / span);
  Uint128 power = Uint128{1} << kRootDigits;
  for (unsigned i = 0; i < kDecayDigits; ++i) {
    if (((part >> (kDecayDigits - 1 - i)) & 1U) != 0)
      power = Rounded(power * kRoots[i], kRootDigits);
  }
  const auto digits = kRootDigits - kDecayDigits + static_cast<unsigned>(halvings);
  return static_cast<uint64_t>(Rounded(power, digits));
}

Uint128 UsageMemory::MeanAt(const PastUse& past, size_t resource, Time now) {
  const Uint128 used = Uint128{static_cast<uint64_t>(past.used[resource])} << kMeanDigits;
  const Uint128 before = past.mean[resource];
  if (past.half_life == Duration(0)) return used;
  const uint64_t decay = Decay(now - past.since, past.half_life);
  if (before >= used) return used + Rounded((before - used) * decay, kDecayDigits);
  return used - Rounded((used - before) * decay, kDecayDigits);
}

void UsageMemory::Use(const std::string& queue, Duration half_life, const Vector& used, Time now) {
  const auto [at, fresh] = pasts_.try_emplace(queue);
  PastUse& past = at->second;
  std::vector<Uint128> mean;
  for (size_t r = 0; r < used.size(); ++r) {
    mean.push_back(fresh ? Uint128{static_cast<uint64_t>(Counted(used[r]))} << kMeanDigits
                         : MeanAt(past, r, now));
  }
  past = {half_life, now, used, std::move(mean)};
  for (int64_t& one : past.used) one = Counted(one);
}

Vector UsageMemory::At(const std::string& queue, size_t resources, Time now) const {
  Vector mean(resources);
  const auto found = pasts_.find(queue);
  if (found == pasts_.end()) return mean;
  for (size_t r = 0; r < mean.size(); ++r)
    mean[r] = static_cast<int64_t>(MeanAt(found->second, r, now) >> kMeanDigits);
  return mean;
}

void UsageMemory::LetGo(const Tree& tree, Time now) {
  for (auto at = pasts_.begin(); at != pasts_.end();) {
    const PastUse& past = at->second;
    const Vector nothing(past.used.size());
    const bool gone = !tree.Find(at->first);
    if (gone && past.used != nothing) Use(at->first, past.half_life, nothing, now);
    if (gone && At(at->first, nothing.size(), now) == nothing) {
      at = pasts_.erase(at);
    } else {
      ++at;
    }
  }
  KeepLast(tree);
}

void UsageMemory::KeepLast(const Tree& tree) {
  const auto gone = [&](const std::string& queue) { return !tree.Find(queue); };
  size_t count = 0;
  for (const auto& [queue, past] : pasts_) {
    if (gone(queue)) ++count;
  }
  if (count <= kMostGone) return;
  for (const std::string& queue : LeastFirst(pasts_)) {
    if (count == kMostGone) return;
    if (gone(queue)) count -= pasts_.erase(queue);
  }
}

UsageRecord UsageMemory::All(const std::vector<Resource>& resources) const {
  if (none()) return {};
  return {resources, pasts_};
}

cluster::Status UsageMemory::Adopt(UsageRecord record, const Tree& tree, Time now) {
  if (cluster::Status sound = CheckUsage(record, now); !sound.ok()) return sound;
  queues::Reorder(record.queues, record.resources, tree.resources());
  record.queues.merge(pasts_);  // what the record says goes first
  pasts_ = std::move(record.queues);
  KeepLast(tree);
  return cluster::Ok{};
}

}  // namespace muster::queues
