#include "topology/links/numa_sets.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

namespace muster::topology {

NumaSets::NumaSets(const Machine& machine, NumaPolicy policy) : policy_(policy) {
  if (policy == NumaPolicy::kNone || policy == NumaPolicy::kBestEffort) return;
  std::map<int, GpuMask> by_node;
  for (size_t i = 0; i < machine.gpus.size(); ++i) {
    const std::vector<int>& numa = machine.gpus[i].numa;
    if (numa.size() != 1) return;
    by_node[numa.front()] |= GpuMask{1} << i;
  }
  groups_.reserve(by_node.size());
  for (const auto& [node, gpus] : by_node) groups_.push_back(gpus);
  std::stable_sort(groups_.begin(), groups_.end(),
                   [](GpuMask a, GpuMask b) { return std::popcount(a) > std::popcount(b); });
}

size_t NumaSets::MostGroups(size_t count) const {
  const size_t most = policy_ == NumaPolicy::kSingleNumaNode ? 1 : groups_.size();
  size_t held = 0;
  for (size_t groups = 0; groups < most;) {
    held += static_cast<size_t>(std::popcount(groups_[groups]));
    if (++groups; held >= count) return groups;
  }
  return 0;
}

struct NumaSets::Question {
  const NumaSets& sets;
  const GpuChooser& chooser;
  GpuMask free;
  size_t count;
  const Merit& merit;

  GpuMask Best(GpuMask within) const {
    return merit ? chooser.ChooseBy(free & within, count, merit)
                 : chooser.Choose(free & within, count);
  }
  bool Better(GpuMask set, GpuMask than) const {
    const auto worth = [&](GpuMask one) {
      return std::tuple(chooser.RingOf(one), merit ? merit(one) : 0, chooser.TotalOf(one));
    };
    const auto a = worth(set);
    const auto b = worth(than);
    if (a != b) return a > b;
    const auto rest = [&](GpuMask one) {
      const GpuMask left = free & ~one;
      return std::pair(sets.RestOf(chooser, left), chooser.UsefulnessOf(left));
    };
    const auto left = rest(set);
    const auto other = rest(than);
    return left > other || (left == other && HasLowerPlaces(set, than));
  }
};

NumaSets::Worth NumaSets::BestOf(const GpuChooser& chooser, GpuMask left, size_t count) const {
  Worth best;
  const size_t most = MostGroups(count);
  const auto look = [&](const auto& self, size_t groups, size_t next, GpuMask within) -> void {
    for (size_t i = next; groups > 0 && i + groups <= groups_.size(); ++i)
      self(self, groups - 1, i + 1, within | groups_[i]);
    const GpuMask set = groups > 0 ? 0 : chooser.Choose(left & within, count);
    if (set != 0) best = std::max(best, Worth{chooser.RingOf(set), chooser.TotalOf(set)});
  };
  if (most > 0) look(look, most, 0, 0);
  return best;
}

NumaSets::Rest NumaSets::RestOf(const GpuChooser& chooser, GpuMask left) const {
  constexpr std::array<size_t, 3> kSizes = {8, 4, 2};
  Rest rest{};
  for (size_t i = 0; i < kSizes.size() && chooser.exact(); ++i)
    rest.at(i) = BestOf(chooser, left, kSizes.at(i));
  return rest;
}

void NumaSets::Try(const Question& question, size_t groups, size_t next, GpuMask within,
                   GpuMask& best) const {
  if (groups > 0) {
    for (size_t i = next; i + groups <= groups_.size(); ++i)
      Try(question, groups - 1, i + 1, within | groups_[i], best);
    return;
  }
  const GpuMask set = question.Best(within);
  if (set == 0 || set == best) return;
  if (best == 0 || question.Better(set, best)) best = set;
}

GpuMask NumaSets::Choose(const GpuChooser& chooser, GpuMask free, size_t count,
                         const Merit& merit) const {
  const Question question{*this, chooser, free, count, merit};
  if (!turns_away()) return question.Best(free);
  GpuMask best = 0;
  if (const size_t groups = MostGroups(count); groups > 0) Try(question, groups, 0, 0, best);
  return best;
}

int64_t NumaSets::Times(const GpuChooser& chooser, GpuMask free, size_t count,
                        int64_t limit) const {
  int64_t times = 0;
  while (times < limit) {
    const GpuMask set = Choose(chooser, free, count);
    if (set == 0) break;
    free &= ~set;
    ++times;
  }
  return times;
}

}  // namespace muster::topology
