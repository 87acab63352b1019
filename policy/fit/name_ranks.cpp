#include "policy/fit/name_ranks.hpp"

#include <algorithm>

namespace muster::policy {

void NameRanks::Add(const std::string& name) {
  const auto next = rank_of_.lower_bound(name);
  if (next != rank_of_.end() && next->first == name) return;
  const uint64_t low = next == rank_of_.begin() ? 0 : std::prev(next)->second;
  const uint64_t high = next == rank_of_.end() ? UINT64_MAX : next->second;
  // The last one leaves as much room as all have between them, for those that come after it.
  const uint64_t gap =
      next == rank_of_.end() ? std::min(kStep, (high - low) / 2) : (high - low) / 2;
  rank_of_.emplace_hint(next, name, low + gap);
  if (gap == 0) Renumber();
}

void NameRanks::Renumber() {
  uint64_t rank = 0;
  for (auto& [name, its] : rank_of_) its = rank += kStep;
  renumbered_ = true;
}

}  // namespace muster::policy
