#include "topology/links/pick_table.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "topology/links/kubelet_pick.hpp"

namespace muster::topology {
namespace {

// By mask of at most kMostTabled GPUs: Σ 3^i over it.
constexpr auto kInBaseThree = [] {
  std::array<uint32_t, size_t{1} << PickTable::kMostTabled> sums{};
  for (size_t mask = 1; mask < sums.size(); ++mask) {
    uint32_t power = 1;
    for (size_t left = mask; left != 0; left >>= 1U, power *= 3)
      sums[mask] += (left & 1U) != 0 ? power : 0;
  }
  return sums;
}();

// All sets that the rule may pick, whatever the order of the free GPUs. Within, these are counted
// from 0 on, so that a set is a place in small tables.
class Divisions {
 public:
  Divisions(const std::vector<int>& scores, size_t gpus, GpuMask free, size_t count)
      : places_(PlacesOf(free)), count_(count), short_(places_.size() % count) {
    score_.assign(size_t{1} << places_.size(), 0);
    marked_.assign(score_.size(), 0);
    for (uint32_t set = 1; set < score_.size(); ++set) {
      const auto first = static_cast<size_t>(std::countr_zero(set));
      const uint32_t rest = set & (set - 1);
      int score = score_[rest];
      for (uint32_t left = rest; left != 0; left &= left - 1)
        score +=
            scores[places_[first] * gpus + places_[static_cast<size_t>(std::countr_zero(left))]];
      score_[set] = score;
    }
  }

  // Empty: the rule may hand out fewer than were asked for.
  std::vector<GpuMask> Picks() {
    Divide(static_cast<uint32_t>(score_.size() - 1), short_ != 0, 0);
    std::vector<GpuMask> picks;
    if (odd_) return picks;
    picks.reserve(picks_.size());
    for (const uint32_t set : picks_) {
      GpuMask mask = 0;
      for (uint32_t left = set; left != 0; left &= left - 1)
        mask |= GpuMask{1} << places_[static_cast<size_t>(std::countr_zero(left))];
      picks.push_back(mask);
    }
    return picks;
  }

 private:
  // Every division once: the first that is left with each choice of others, then what remains. One
  // set is short where the GPUs are no multiple of the size.
  void Divide(uint32_t left, bool has_short, int sum) {
    if (left == 0) return Judge(sum);
    const uint32_t first = left & (~left + 1);
    const uint32_t others = left ^ first;
    for (uint32_t with = others;; with = (with - 1) & others) {
      const auto size = static_cast<size_t>(std::popcount(with)) + 1;
      const bool whole = size == count_;
      if (whole || (has_short && size == short_)) {
        sets_.push_back(with | first);
        Divide(others ^ with, has_short && whole, sum + score_[with | first]);
        sets_.pop_back();
      }
      if (with == 0) return;
    }
  }

  void Judge(int sum) {
    if (found_ && sum < best_) return;
    if (!found_ || sum > best_) {
      for (const uint32_t set : picks_) marked_[set] = 0;
      picks_.clear();
      odd_ = false;
      found_ = true;
      best_ = sum;
    }
    int highest = 0;
    for (const uint32_t set : sets_) highest = std::max(highest, score_[set]);
    for (const uint32_t set : sets_) {
      if (score_[set] != highest || marked_[set] != 0) continue;
      if (static_cast<size_t>(std::popcount(set)) != count_) {
        odd_ = true;
        continue;
      }
      marked_[set] = 1;
      picks_.push_back(set);
    }
  }

  const std::vector<size_t> places_;
  const size_t count_;
  const size_t short_;  // size of the set that is short; 0: none is
  std::vector<int> score_;
  std::vector<uint8_t> marked_;  // is in picks_
  std::vector<uint32_t> sets_;   // of the division so far
  std::vector<uint32_t> picks_;
  bool found_ = false;
  int best_ = 0;
  bool odd_ = false;  // a short set may be picked
};

constexpr uint32_t kFound = 1;

// Outcome, choices (at most 70 of 8 GPUs) and pick (8 bits) of a machine that keeps its answers.
uint32_t Packed(const PickForecast& forecast) {
  return kFound | static_cast<uint32_t>(forecast.outcome) << 1U |
         (forecast.slower ? uint32_t{1} << 3U : 0) | forecast.choices << 4U |
         static_cast<uint32_t>(forecast.pick) << 16U;
}

PickForecast Unpacked(uint32_t word) {
  PickForecast forecast;
  forecast.outcome = static_cast<PickOutcome>(word >> 1U & 3U);
  forecast.slower = (word >> 3U & 1U) != 0;
  forecast.choices = word >> 4U & 0xfffU;
  forecast.pick = word >> 16U;
  return forecast;
}

}  // namespace

std::string_view ToString(PickOutcome outcome) {
  constexpr std::array<std::string_view, kPickOutcomes> kNames = {"unknown", "agree", "tied",
                                                                  "differ"};
  return kNames.at(static_cast<size_t>(outcome));
}

PickTable::PickTable(const Machine& machine, std::shared_ptr<const GpuChooser> chooser)
    : chooser_(std::move(chooser)), scores_(PairScores(machine)) {
  if (tabled()) {
    answers_ = std::vector<std::atomic<uint32_t>>(size_t{2} * kInBaseThree[chooser_->all()] + 1);
  }
}

PickForecast PickTable::Of(GpuMask free, GpuMask planned) const {
  if (!tabled()) return Find(free, planned);
  std::atomic<uint32_t>& kept = answers_[kInBaseThree[free] + kInBaseThree[planned]];
  uint32_t word = kept.load(std::memory_order_relaxed);
  if (word == 0) {
    word = Packed(Find(free, planned));
    kept.store(word, std::memory_order_relaxed);
  }
  return Unpacked(word);
}

PickForecast PickTable::Find(GpuMask free, GpuMask planned) const {
  if (free == planned) return {PickOutcome::kAgrees, false, planned, 1};
  const auto available = static_cast<size_t>(std::popcount(free));
  const auto count = static_cast<size_t>(std::popcount(planned));
  if (count == 1) {  // every one is worth the same, and is its own division
    return {PickOutcome::kTied, false, planned, static_cast<uint32_t>(available)};
  }
  if (available > kMostFree) return {};
  const std::vector<GpuMask> picks =
      Divisions(scores_, chooser_->matrix().gpus, free, count).Picks();
  if (picks.empty()) return {};
  PickForecast forecast{PickOutcome::kDiffers, false, picks.front(),
                        static_cast<uint32_t>(picks.size())};
  const MegabytesPerSecond ring = chooser_->RingOf(planned);
  for (const GpuMask pick : picks) {
    forecast.slower = forecast.slower || chooser_->RingOf(pick) < ring;
    if (HasLowerPlaces(pick, forecast.pick)) forecast.pick = pick;
  }
  if (std::find(picks.begin(), picks.end(), planned) == picks.end()) return forecast;
  forecast.outcome = picks.size() == 1 ? PickOutcome::kAgrees : PickOutcome::kTied;
  forecast.pick = planned;
  return forecast;
}

}  // namespace muster::topology
