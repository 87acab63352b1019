#include "bench/fabric_story.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>

namespace muster::bench {
namespace {

struct Weighted {
  int value = 0;
  int percent = 0;
};

constexpr std::array<Weighted, 4> kSingleGpus = {{{1, 40}, {2, 25}, {4, 20}, {8, 15}}};
constexpr std::array<Weighted, 4> kMemberGpus = {{{1, 40}, {2, 10}, {4, 15}, {8, 35}}};
constexpr std::array<Weighted, 8> kMembers = {
    {{2, 15}, {4, 20}, {8, 20}, {16, 15}, {32, 12}, {64, 10}, {128, 6}, {256, 2}}};

template <size_t kSize>
double MeanOf(const std::array<Weighted, kSize>& values) {
  double sum = 0;
  for (const Weighted& one : values) sum += one.value * one.percent;
  return sum / 100;
}

class Teller {
 public:
  Teller(const Site& site, const Load& load, uint64_t seed)
      : site_(site), load_(load), random_(seed) {}

  Story Tell() {
    story_.by_name.resize(static_cast<size_t>(site_.nodes()));
    std::iota(story_.by_name.begin(), story_.by_name.end(), 0);
    std::shuffle(story_.by_name.begin(), story_.by_name.end(), random_);
    Settle();
    story_.steps.reserve(static_cast<size_t>(load_.steps));
    for (int step = 0; step < load_.steps; ++step) {
      Step one;
      one.singles.reserve(static_cast<size_t>(load_.singles));
      for (int i = 0; i < load_.singles; ++i) one.singles.push_back(Single(step));
      one.gang = Gang(step);
      story_.steps.push_back(std::move(one));
    }
    story_.rest.reserve(static_cast<size_t>(load_.steps));
    for (int i = 0; i < load_.steps; ++i) story_.rest.push_back(Gang(load_.steps));
    return std::move(story_);
  }

 private:
  // [0, 1), the same with every library.
  double Roll() { return static_cast<double>(random_() >> 11U) * 0x1p-53; }
  int Below(int limit) { return static_cast<int>(Roll() * limit); }
  template <size_t kSize>
  int Draw(const std::array<Weighted, kSize>& values) {
    int left = Below(100);
    for (const Weighted& one : values) {
      if (left < one.percent) return one.value;
      left -= one.percent;
    }
    return values.back().value;
  }
  int After(int step, double mean) {
    return step + 1 + static_cast<int>(-std::log(1 - Roll()) * mean);
  }

  Job Single(int step) {
    const double stay = load_.settled * site_.gpus() / MeanOf(kSingleGpus) / load_.singles;
    return {story_.jobs++, 1, Draw(kSingleGpus), After(step, stay)};
  }
  // None that would not fit the cluster if it were half empty.
  Job Gang(int step) {
    const double stay = load_.gangs * site_.gpus() / (MeanOf(kMembers) * MeanOf(kMemberGpus));
    Job job{story_.jobs++, 0, 0, After(step, stay)};
    do {
      job.members = Draw(kMembers);
      job.gpus = Draw(kMemberGpus);
    } while (job.members * job.gpus > site_.gpus() / 2);
    return job;
  }

  // Seven in ten pods go to the fullest node of a rack that has room, the others to any.
  int NodeFor(const Ledger& ledger, int rack, int gpus) {
    const int size = site_.NodesIn(Level::kRack);
    const int first = rack * size;
    int best = -1;
    const bool any = Roll() < 0.3;
    const int start = Below(size);
    for (int i = 0; i < size; ++i) {
      const int node = first + (start + i) % size;
      if (ledger.FreeOn(node) < gpus) continue;
      if (best < 0 || ledger.FreeOn(node) < ledger.FreeOn(best)) best = node;
      if (any) break;
    }
    return best;
  }

  void Settle() {
    Ledger ledger(site_);
    const int racks = site_.DomainsAt(Level::kRack);
    const int rack_gpus = site_.NodesIn(Level::kRack) * kGpusPerNode;
    std::vector<int> limit(static_cast<size_t>(racks));
    std::vector<int> held(static_cast<size_t>(racks), 0);
    for (int& one : limit)
      one = static_cast<int>(rack_gpus * (load_.settled * (0.65 + 0.8 * Roll())));
    for (int tries = 0; ledger.held() < load_.settled * site_.gpus() && tries < 100 * site_.gpus();
         ++tries) {
      const int rack = Below(racks);
      const auto at = static_cast<size_t>(rack);
      const int gpus = Draw(kSingleGpus);
      if (held[at] + gpus > std::min(limit[at], rack_gpus)) continue;
      const int node = NodeFor(ledger, rack, gpus);
      if (node < 0) continue;
      Job job = Single(0);
      job.gpus = gpus;
      ledger.Take({node}, gpus);
      held[at] += gpus;
      story_.settled.push_back({job, node});
    }
  }

  const Site& site_;
  const Load& load_;
  std::mt19937_64 random_;
  Story story_;
};

}  // namespace

Story Tell(const Site& site, const Load& load, uint64_t seed) {
  return Teller(site, load, seed).Tell();
}

}  // namespace muster::bench
