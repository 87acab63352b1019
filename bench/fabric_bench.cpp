// How well do placement rules keep gangs together, what does it cost in occupancy and in planning
// time? 5,000 nodes in zones, blocks, racks and NVLink domains; see results/fabric.md.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/fabric_rules.hpp"
#include "bench/fabric_site.hpp"
#include "bench/fabric_story.hpp"
#include "bench/timing.hpp"
#include "cluster/base/check.hpp"

namespace muster::bench {
namespace {

constexpr double kGoalInside = 99.5;     // per cent, of those that could be
constexpr double kGoalLost = 1;          // per cent of the GPUs that blind placement holds
constexpr double kGoalRatio = 2;         // planning with over without fabric
constexpr double kGoalMilliseconds = 5;  // p99 for 1,024 members
constexpr int kRefusals = 25;            // as many gangs find no room: the cluster is full
constexpr std::array<Level, 3> kMeasured = {Level::kRack, Level::kNvlink, Level::kNode};

// What became of one story under one rule.
struct Tally {
  int offered = 0;
  int placed = 0;
  std::array<int, kMeasured.size()> possible{};  // a domain of the level had room
  std::array<int, kMeasured.size()> inside{};    // of these: placed in one
  std::vector<double> rings;                     // of each gang, GB/s; 0: not placed
  double held = 0;                               // share of GPUs, mean over the steps
  double full = 0;                               // the same when the cluster was full
};

// Lets the story happen.
class Drive {
 public:
  using Maker = std::function<std::unique_ptr<Rule>(const Setting&)>;

  Drive(const Site& site, const Story& story, const Maker& make, uint64_t seed)
      : site_(site), story_(story), ledger_(site) {
    rule_ = make({ledger_, story.by_name, seed});
  }

  Tally Run() {
    leaving_.resize(story_.steps.size());
    for (const Settled& one : story_.settled) {
      rule_->Settle(one.job, one.node);
      Enter(one.job, {one.node});
    }
    for (size_t step = 0; step < story_.steps.size(); ++step) {
      for (const auto& [job, places] : leaving_[step]) {
        rule_->Leave(job);
        ledger_.Give(places, job.gpus);
      }
      for (const Job& job : story_.steps[step].singles) Place(job);
      PlaceGang(story_.steps[step].gang);
      tally_.held += Held() / static_cast<double>(story_.steps.size());
    }
    int refused = 0;
    for (const Job& job : story_.rest) {
      if (Place(job).empty() && ++refused == kRefusals) break;
    }
    tally_.full = Held();
    return std::move(tally_);
  }

 private:
  double Held() const { return static_cast<double>(ledger_.held()) / site_.gpus(); }

  void Enter(const Job& job, const Places& places) {
    ledger_.Take(places, job.gpus);
    const auto leaves = static_cast<size_t>(job.leaves);
    if (leaves < leaving_.size()) leaving_[leaves].emplace_back(job, places);
  }

  Places Place(const Job& job) {
    Places places = rule_->Place(job);
    MUSTER_CHECK(places.empty() || places.size() == static_cast<size_t>(job.members));
    Enter(job, places);
    return places;
  }

  void PlaceGang(const Job& job) {
    std::array<bool, kMeasured.size()> possible{};
    for (size_t i = 0; i < kMeasured.size(); ++i) possible[i] = ledger_.Holds(kMeasured[i], job);
    const Places places = Place(job);
    ++tally_.offered;
    tally_.placed += places.empty() ? 0 : 1;
    for (size_t i = 0; i < kMeasured.size(); ++i) {
      if (!possible[i]) continue;
      ++tally_.possible[i];
      tally_.inside[i] += !places.empty() && site_.IsInside(kMeasured[i], places) ? 1 : 0;
    }
    tally_.rings.push_back(places.empty() ? 0 : site_.RingOf(places));
  }

  const Site& site_;
  const Story& story_;
  Ledger ledger_;
  std::unique_ptr<Rule> rule_;
  std::vector<std::vector<std::pair<Job, Places>>> leaving_;  // by step
  Tally tally_;
};

struct Contender {
  const char* name;
  Drive::Maker make;
  std::vector<Tally> tallies = {};  // by seed
};

// The first is Muster, the third what "blind" means.
std::vector<Contender> Contenders(PairedTimes* times) {
  const auto muster = [](const policy::Options& options, PairedTimes* into) {
    return [=](const Setting& setting) { return MakeMuster(setting, options, into); };
  };
  const auto kueue = [](Kueue algorithm) {
    return [=](const Setting& setting) { return MakeKueue(setting, algorithm); };
  };
  const auto kube = [](Scoring scoring) {
    return [=](const Setting& setting) { return MakeKubeScheduler(setting, scoring); };
  };
  return {{"Muster", muster(FabricOf(false), times)},
          {"Muster, level of hosts", muster(FabricOf(true), nullptr)},
          {"Muster, no fabric, binpack", muster({policy::Strategy::kBinpack}, nullptr)},
          {"Muster, no fabric, spread", muster({policy::Strategy::kSpread}, nullptr)},
          {"Kueue, BestFit", kueue(Kueue::kBestFit)},
          {"Kueue, BalancedPlacement", kueue(Kueue::kBalanced)},
          {"kube-scheduler, most", kube(Scoring::kMostAllocated)},
          {"kube-scheduler, least", kube(Scoring::kLeastAllocated)}};
}

constexpr size_t kMuster = 0;
constexpr size_t kBlind = 2;

double Percent(double part, double whole) { return whole == 0 ? 100 : 100 * part / whole; }

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// By seed: per cent of the GPUs held under blind placement that are not held under the other.
std::vector<double> LostBy(const Contender& one, const Contender& blind) {
  std::vector<double> lost;
  lost.reserve(one.tallies.size());
  for (size_t i = 0; i < one.tallies.size(); ++i)
    lost.push_back(100 * (1 - one.tallies[i].full / blind.tallies[i].full));
  return lost;
}

double StandardErrorOf(const std::vector<double>& values) {
  const double mean = MeanOf(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  const auto count = static_cast<double>(values.size());
  return count < 2 ? 0 : std::sqrt(sum / (count - 1) / count);
}

// The mean ring under `a` over that under `b`, of the gangs that both placed.
double RingRatio(const Contender& a, const Contender& b) {
  double sum_a = 0;
  double sum_b = 0;
  for (size_t i = 0; i < a.tallies.size(); ++i) {
    for (size_t gang = 0; gang < a.tallies[i].rings.size(); ++gang) {
      const double one = a.tallies[i].rings[gang];
      const double other = b.tallies[i].rings[gang];
      if (one == 0 || other == 0) continue;
      sum_a += one;
      sum_b += other;
    }
  }
  return sum_b == 0 ? 1 : sum_a / sum_b;
}

// Sums and means over all seeds.
struct Total {
  int offered = 0;
  int placed = 0;
  std::array<int, kMeasured.size()> possible{};
  std::array<int, kMeasured.size()> inside{};
  double ring = 0;  // of those placed
  double held = 0;
  double full = 0;
};

Total TotalOf(const Contender& one) {
  Total total;
  double rings = 0;
  for (const Tally& tally : one.tallies) {
    total.offered += tally.offered;
    total.placed += tally.placed;
    for (size_t i = 0; i < kMeasured.size(); ++i) {
      total.possible[i] += tally.possible[i];
      total.inside[i] += tally.inside[i];
    }
    for (const double ring : tally.rings) rings += ring;
    total.held += tally.held / static_cast<double>(one.tallies.size());
    total.full += tally.full / static_cast<double>(one.tallies.size());
  }
  if (total.placed > 0) total.ring = rings / total.placed;
  return total;
}

void PrintQuality(const std::vector<Contender>& contenders) {
  std::printf("%-27s %6s  %13s  %13s  %13s  %6s %7s  %6s %6s %6s\n", "", "placed", "rack",
              "NVLink domain", "node", "ring", "Muster", "held", "full", "lost");
  std::printf("%-27s %6s  %13s  %13s  %13s  %6s %7s  %6s %6s %6s\n", "rule", "%", "could   % did",
              "could   % did", "could   % did", "GB/s", "over it", "%", "%", "%");
  for (const Contender& one : contenders) {
    const Total total = TotalOf(one);
    std::printf("%-27s %6.1f", one.name, Percent(total.placed, total.offered));
    for (size_t i = 0; i < kMeasured.size(); ++i) {
      std::printf("  %6.1f %6.1f", Percent(total.possible[i], total.offered),
                  Percent(total.inside[i], total.possible[i]));
    }
    std::printf("  %6.1f %7.2f  %6.1f %6.1f %6.2f\n", total.ring,
                RingRatio(contenders[kMuster], one), 100 * total.held, 100 * total.full,
                MeanOf(LostBy(one, contenders[kBlind])));
  }
  std::printf(
      "\n\"could\": per cent of the gangs for which one domain had room, by capacity counted "
      "apart;\n"
      "\"did\": per cent of these that were placed in one\n"
      "\"ring\": slowest link of the ring over the ranks, mean over the gangs placed; \"Muster "
      "over\n"
      "it\": ratio of the means over the gangs that both placed\n"
      "\"held\": GPUs, mean over the steps; \"full\": GPUs held once %d gangs found no room and\n"
      "nobody left any more; \"lost\": of that, against Muster's binpack without fabric\n",
      kRefusals);
}

// `distance`: how much is missing, in the unit of the goal; below 0: nothing.
void PrintGoal(const std::string& what, double found, double distance) {
  std::printf("  %-64s %8.2f  ", what.c_str(), found);
  if (distance <= 0) {
    std::printf("met\n");
  } else {
    std::printf("MISSED by %.2f\n", distance);
  }
}

void PrintQualityGoals(const std::vector<Contender>& contenders) {
  std::printf("\ngoals\n");
  for (size_t i = 0; i < 2; ++i) {
    const Contender& muster = contenders[i];
    const Total total = TotalOf(muster);
    for (size_t k = 0; k < kMeasured.size(); ++k) {
      const double inside = Percent(total.inside[k], total.possible[k]);
      PrintGoal(std::string(muster.name) + ": one " + ToString(kMeasured[k]) +
                    " where possible, at least 99.5 %",
                inside, kGoalInside - inside);
    }
    double worst = 1e9;
    for (size_t other = kBlind; other < contenders.size(); ++other)
      worst = std::min(worst, RingRatio(muster, contenders[other]));
    PrintGoal(std::string(muster.name) + ": ring over the best other rule's, at least 1", worst,
              1 - worst);
    const std::vector<double> lost = LostBy(muster, contenders[kBlind]);
    char error[32];
    std::snprintf(error, sizeof error, " (error %.2f)", StandardErrorOf(lost));
    PrintGoal(std::string(muster.name) + ": % of GPUs lost, at most 1" + error, MeanOf(lost),
              MeanOf(lost) - kGoalLost);
  }
}

void PrintTimes(const std::string& what, const PairedTimes& times) {
  const auto at = [](const Times& one, double percent) {
    return Percentile(one.cpu, percent) / 1000;
  };
  const double p50 = at(times.with, 50);
  const double p99 = at(times.with, 99);
  std::printf("%-44s %8.3f %8.3f   %8.3f %8.3f   %6.2f %6.2f\n", what.c_str(), p50, p99,
              at(times.without, 50), at(times.without, 99), p50 / at(times.without, 50),
              p99 / at(times.without, 99));
}

struct Repeated {
  Job gang;
  int rounds = 0;
  int passing = 0;  // so many pods come and go between two plans
};

// A gang of this size again and again on the cluster as it is at the start, while pods come and go.
PairedTimes TimeGang(const Site& site, const Story& story, const policy::Options& options,
                     const Repeated& repeated) {
  const Job& gang = repeated.gang;
  Ledger ledger(site);
  PairedTimes times;
  times.singles = true;
  const auto rule = MakeMuster({ledger, story.by_name, 1}, options, &times);
  for (const Settled& one : story.settled) rule->Settle(one.job, one.node);
  std::mt19937_64 random(7);
  for (int round = 0; round < repeated.rounds; ++round) {
    std::vector<const Settled*> passing;
    passing.reserve(static_cast<size_t>(repeated.passing));
    for (int i = 0; i < repeated.passing; ++i)
      passing.push_back(&story.settled[random() % story.settled.size()]);
    std::sort(passing.begin(), passing.end());
    passing.erase(std::unique(passing.begin(), passing.end()), passing.end());
    for (const Settled* one : passing) rule->Leave(one->job);
    if (!rule->Place(gang).empty()) rule->Leave(gang);
    for (const Settled* one : passing) rule->Settle(one->job, one->node);
  }
  return times;
}

void BenchTimes(const Site& site, const Story& story, const PairedTimes& mixed, bool smoke) {
  std::printf("\nPlanning a gang, ms of CPU time, with fabric and without, in turns\n\n");
  std::printf("%-44s %17s   %17s   %13s\n", "", "with", "without", "ratio");
  std::printf("%-44s %8s %8s   %8s %8s   %6s %6s\n", "", "p50", "p99", "p50", "p99", "p50", "p99");
  PrintTimes("all gangs above", mixed);
  double worst_ratio = Percentile(mixed.with.cpu, 50) / Percentile(mixed.without.cpu, 50);
  double worst_p99 = 0;
  const int rounds = smoke ? 5 : 201;
  for (const int gpus : {1, 8}) {
    const Job pod{story.jobs, 1, gpus, 0};
    PrintTimes("1 x " + std::to_string(gpus) + " GPU, one pod between two plans",
               TimeGang(site, story, FabricOf(false), {pod, 10 * rounds, 1}));
  }
  for (const bool host : {false, true}) {
    for (const int members : {1, 8, 64, 256, 1024}) {
      for (const int gpus : {1, 8}) {
        const Job gang{story.jobs, members, gpus, 0};
        const PairedTimes times = TimeGang(site, story, FabricOf(host), {gang, rounds, 100});
        PrintTimes(std::to_string(members) + " x " + std::to_string(gpus) + " GPU" +
                       (host ? ", level of hosts" : ""),
                   times);
        if (host) continue;
        worst_ratio = std::max(worst_ratio,
                               Percentile(times.with.cpu, 50) / Percentile(times.without.cpu, 50));
        if (members == 1024) worst_p99 = std::max(worst_p99, Percentile(times.with.cpu, 99) / 1000);
      }
    }
  }
  std::printf("\ngoals\n");
  PrintGoal("worst ratio of p50, at most 2", worst_ratio, worst_ratio - kGoalRatio);
  PrintGoal("p99 for 1,024 members, ms, at most 5", worst_p99, worst_p99 - kGoalMilliseconds);
}

struct Choice {
  bool smoke = false;
  bool times_only = false;
  int seeds = 20;
};

void Bench(const Choice& choice) {
  const Site site(choice.smoke ? std::array<int, kLevels>{2, 2, 5, 5, 4}
                               : std::array<int, kLevels>{5, 5, 10, 5, 4});
  Load load;
  if (choice.smoke) load.steps = 50;
  std::printf(
      "%d gangs on %d nodes of %d GPUs, %d seeds; %d zones, %d blocks, %d racks, %d NVLink "
      "domains\n\n",
      load.steps, site.nodes(), kGpusPerNode, choice.seeds, site.DomainsAt(Level::kZone),
      site.DomainsAt(Level::kBlock), site.DomainsAt(Level::kRack), site.DomainsAt(Level::kNvlink));
  PairedTimes times;
  std::vector<Contender> contenders = Contenders(&times);
  if (choice.times_only) contenders.resize(1);
  for (int seed = 1; seed <= choice.seeds; ++seed) {
    const Story story = Tell(site, load, static_cast<uint64_t>(seed));
    for (Contender& one : contenders)
      one.tallies.push_back(Drive(site, story, one.make, static_cast<uint64_t>(seed)).Run());
  }
  if (!choice.times_only) {
    PrintQuality(contenders);
    PrintQualityGoals(contenders);
  }
  BenchTimes(site, Tell(site, load, 1), times, choice.smoke);
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  muster::bench::Choice choice;
  const bool seeds = words.size() == 2 && words[0] == "--seeds";
  choice.smoke = words.size() == 1 && words[0] == "--smoke";
  choice.times_only = words.size() == 1 && words[0] == "--times";
  if (seeds) choice.seeds = std::atoi(argv[2]);
  if (choice.smoke || choice.times_only) choice.seeds = 1;
  if (choice.seeds < 1 || (!words.empty() && !seeds && !choice.smoke && !choice.times_only)) {
    std::fprintf(stderr,
                 "usage: bench_fabric [--seeds N | --smoke | --times]\n"
                 "--seeds N: N seeds (20 where nothing is said), some 25 s each; --smoke: one on a "
                 "small cluster; --times: planning times alone\n");
    return 2;
  }
  muster::bench::Bench(choice);
  return 0;
}
