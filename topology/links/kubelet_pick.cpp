#include "topology/links/kubelet_pick.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <set>

namespace muster::topology {
namespace {

constexpr int kPadding = -1;
constexpr size_t kMostAvailable = 16;

// Walks through the divisions of a list in the order in which the published rule does.
class Divider {
 public:
  Divider(const std::vector<int>& scores, size_t gpus, std::span<const size_t> available,
          std::span<const size_t> required, size_t count)
      : scores_(scores), gpus_(gpus), available_(available), count_(count) {
    for (const size_t place : required) {
      const auto found = std::find(available.begin(), available.end(), place);
      // What is not available is in no set.
      if (found == available.end()) impossible_ = true;
      required_ |= GpuMask{1} << static_cast<size_t>(found - available.begin());
    }
    for (size_t i = 0; i < available.size(); ++i) list_.push_back(static_cast<int>(i));
    while (list_.size() % count != 0) list_.push_back(kPadding);
    padding_ = list_.size() - available.size();
  }

  std::vector<size_t> Pick() {
    if (impossible_) return {};
    if (count_ == 1) {
      // Every set is worth the same: the first that holds what is required.
      for (size_t i = 0; i < available_.size(); ++i) {
        if ((required_ & ~(GpuMask{1} << i)) == 0) return {available_[i]};
      }
      return {};
    }
    Divide(list_);
    return BestOf(best_);
  }

 private:
  using Division = std::vector<std::vector<int>>;

  int ScoreOf(const std::vector<int>& set) const {
    int score = 0;
    for (size_t i = 0; i < set.size(); ++i) {
      for (size_t j = i + 1; j < set.size(); ++j) {
        if (set[i] == kPadding || set[j] == kPadding) continue;
        score += scores_[available_[static_cast<size_t>(set[i])] * gpus_ +
                         available_[static_cast<size_t>(set[j])]];
      }
    }
    return score;
  }

  bool HoldsRequired(const std::vector<int>& set) const {
    GpuMask mask = 0;
    for (const int item : set) {
      if (item != kPadding) mask |= GpuMask{1} << static_cast<size_t>(item);
    }
    return (required_ & ~mask) == 0;
  }

  // The first of the list, with each choice of the rest in order; then what remains.
  void Divide(const std::vector<int>& list) {
    if (list.size() == count_) {
      division_.push_back(list);
      Judge();
      division_.pop_back();
      return;
    }
    std::vector<size_t> chosen;
    Extend(list, 1, &chosen);
  }

  void Extend(const std::vector<int>& list, size_t from, std::vector<size_t>* chosen) {
    if (chosen->size() + 1 == count_) {
      Take(list, *chosen);
      return;
    }
    for (size_t i = from; i < list.size(); ++i) {
      // Padding is all alike: only from its first on.
      const bool skips = list[i] == kPadding && list[i - 1] == kPadding &&
                         (chosen->empty() || chosen->back() != i - 1);
      if (skips) break;
      chosen->push_back(i);
      Extend(list, i + 1, chosen);
      chosen->pop_back();
    }
  }

  void Take(const std::vector<int>& list, const std::vector<size_t>& chosen) {
    std::vector<int> set = {list.front()};
    std::vector<int> rest;
    size_t next = 0;
    for (size_t i = 1; i < list.size(); ++i) {
      const bool taken = next < chosen.size() && chosen[next] == i;
      if (taken) ++next;
      (taken ? set : rest).push_back(list[i]);
    }
    const auto padding = static_cast<size_t>(std::count(set.begin(), set.end(), kPadding));
    if (padding != 0 && padding != padding_) return;
    division_.push_back(std::move(set));
    Divide(rest);
    division_.pop_back();
  }

  void Judge() {
    const bool possible =
        std::any_of(division_.begin(), division_.end(), [&](const std::vector<int>& set) {
          return std::find(set.begin(), set.end(), kPadding) == set.end() && HoldsRequired(set);
        });
    if (!possible) return;
    int score = 0;
    for (const std::vector<int>& set : division_) score += ScoreOf(set);
    if (!best_.empty() && score <= best_score_) return;
    best_ = division_;
    best_score_ = score;
  }

  std::vector<size_t> BestOf(const Division& division) const {
    const std::vector<int>* best = nullptr;
    int best_score = 0;
    for (const std::vector<int>& set : division) {
      if (!HoldsRequired(set)) continue;
      const int score = ScoreOf(set);
      if (best != nullptr && score <= best_score) continue;
      best = &set;
      best_score = score;
    }
    std::vector<size_t> places;
    if (best == nullptr) return places;
    for (const int item : *best) {
      if (item != kPadding) places.push_back(available_[static_cast<size_t>(item)]);
    }
    return places;
  }

  const std::vector<int>& scores_;
  const size_t gpus_;
  const std::span<const size_t> available_;
  const size_t count_;
  GpuMask required_ = 0;  // bits by place in available_
  bool impossible_ = false;
  std::vector<int> list_;  // places in available_, then padding
  size_t padding_ = 0;
  Division division_;
  Division best_;
  int best_score_ = 0;
};

}  // namespace

std::vector<int> PairScores(const Machine& machine) {
  const size_t gpus = machine.gpus.size();
  const std::vector<LinkType> pcie = PcieRelations(machine);
  std::vector<int> scores(gpus * gpus, 0);
  for (size_t a = 0; a < gpus; ++a) {
    for (size_t b = 0; b < gpus; ++b) {
      if (a == b) continue;
      const Link link = machine.At(a, b).link;
      // What the tool says of a pair itself comes before what others imply.
      const bool told = link.type >= LinkType::kSys && link.type <= LinkType::kPcie;
      scores[a * gpus + b] = PairScore(link, told ? link.type : pcie[a * gpus + b]);
    }
  }
  return scores;
}

std::vector<size_t> BestEffortPick(const std::vector<int>& scores, size_t gpus,
                                   std::span<const size_t> available,
                                   std::span<const size_t> required, size_t count) {
  if (count == 0 || available.size() < count || required.size() > count ||
      available.size() > kMostAvailable) {
    return {};
  }
  return Divider(scores, gpus, available, required, count).Pick();
}

bool Admits(const Machine& machine, NumaPolicy policy, GpuMask set) {
  if (policy == NumaPolicy::kNone || policy == NumaPolicy::kBestEffort) return true;
  std::map<int, size_t> sizes;  // of the machine's NUMA nodes, in GPUs
  std::set<int> used;
  for (size_t i = 0; i < machine.gpus.size(); ++i) {
    const std::vector<int>& numa = machine.gpus[i].numa;
    const bool wanted = (set & GpuMask{1} << i) != 0;
    if (numa.size() != 1) {
      if (wanted) return true;
      continue;
    }
    ++sizes[numa.front()];
    if (wanted) used.insert(numa.front());
  }
  if (policy == NumaPolicy::kSingleNumaNode) return used.size() <= 1;
  std::vector<size_t> largest;
  largest.reserve(sizes.size());
  for (const auto& [node, size] : sizes) largest.push_back(size);
  std::sort(largest.rbegin(), largest.rend());
  auto missing = static_cast<int64_t>(std::popcount(set));
  size_t needed = 0;
  while (missing > 0 && needed < largest.size()) missing -= static_cast<int64_t>(largest[needed++]);
  return used.size() <= needed;
}

}  // namespace muster::topology
