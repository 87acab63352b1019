#include "queues/usage_memory.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace muster::queues {

using cluster::Duration;
using cluster::Time;

namespace {

constexpr unsigned kMeanDigits = 24;
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

Uint128 UsageMemory::MeanAt(const Past& past, size_t resource, Time now) {
  const Uint128 used = Uint128{static_cast<uint64_t>(past.used[resource])} << kMeanDigits;
  const Uint128 before = past.mean[resource];
  if (past.half_life == Duration(0)) return used;
  const uint64_t decay = Decay(now - past.since, past.half_life);
  if (before >= used) return used + Rounded((before - used) * decay, kDecayDigits);
  return used - Rounded((used - before) * decay, kDecayDigits);
}

void UsageMemory::Use(const std::string& queue, Duration half_life, const Vector& used, Time now) {
  const auto [at, fresh] = pasts_.try_emplace(queue);
  Past& past = at->second;
  std::vector<Uint128> mean;
  for (size_t r = 0; r < used.size(); ++r) {
    mean.push_back(fresh ? Uint128{static_cast<uint64_t>(Counted(used[r]))} << kMeanDigits
                         : MeanAt(past, r, now));
  }
  past = {half_life, now, used, std::move(mean), false};
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
  std::vector<std::pair<Time, std::string>> gone;
  for (auto at = pasts_.begin(); at != pasts_.end();) {
    Past& past = at->second;
    const bool gone_now = !tree.Find(at->first);
    const size_t resources = past.used.size();
    if (gone_now && !past.gone) Use(at->first, past.half_life, Vector(resources), now);
    past.gone = gone_now;
    if (past.gone && At(at->first, resources, now) == Vector(resources)) {
      at = pasts_.erase(at);
      continue;
    }
    if (past.gone) gone.emplace_back(past.since, at->first);
    ++at;
  }
  if (gone.size() <= kMostGone) return;
  std::sort(gone.begin(), gone.end());
  gone.resize(gone.size() - kMostGone);
  for (const auto& one : gone) pasts_.erase(one.second);
}

void UsageMemory::Reorder(const std::vector<Resource>& before, const std::vector<Resource>& after) {
  if (before == after) return;
  for (auto& [queue, past] : pasts_) {
    Past next{past.half_life, past.since, Vector(after.size()), std::vector<Uint128>(after.size()),
              past.gone};
    for (size_t r = 0; r < after.size(); ++r) {
      const auto found = std::find(before.begin(), before.end(), after[r]);
      if (found == before.end()) continue;
      const auto at = static_cast<size_t>(found - before.begin());
      next.used[r] = past.used[at];
      next.mean[r] = past.mean[at];
    }
    past = std::move(next);
  }
}

}  // namespace muster::queues
