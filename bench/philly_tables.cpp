#include "bench/philly_tables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

namespace muster::bench {
namespace {

constexpr std::array<const char*, 6> kSizes = {"1", "2-4", "5-8", "9-16", "over 16", "over 8"};

void PrintName(const PhillyCase& c) {
  std::printf("%5ld %-15s %-8s", static_cast<long>(c.nodes), c.policy.c_str(), c.durations.c_str());
}

void PrintDelay(const sim::DelayRow* row) {
  if (row == nullptr) {
    std::printf(" %6s %6s %6s %6s %6s", "-", "-", "-", "-", "-");
    return;
  }
  const sim::Distribution& d = row->delay_s;
  for (const double seconds : {d.mean, d.p50, d.p90, d.p99, d.max})
    std::printf(" %6.2f", seconds / 3600);
}

void PrintRow(const PhillyCase& c, const sim::ReplayStatistics& statistics) {
  PrintName(c);
  if (!c.refused.empty()) {
    std::printf(" not run: %s\n", c.refused.c_str());
    return;
  }
  PrintDelay(DelayOf(statistics, "all"));
  std::printf(" |");
  for (const char* gpus : kSizes) std::printf(" %7.2f", MeanHours(statistics, gpus).value_or(0));
  std::printf(" | %5.2f %6ld %5.2f %5.2f", statistics.utilization * 100,
              static_cast<long>(statistics.evictions), statistics.lost_ratio * 100,
              statistics.booked_idle_ratio * 100);
  if (statistics.least_served) {
    std::printf(" %6.3f", statistics.least_served->ratio);
  } else {
    std::printf(" %6s", "-");
  }
  std::printf(" %6.1f\n", c.wall_s);
  const int64_t unfinished = statistics.delays.front().unfinished;
  if (unfinished > 0) std::printf("      %ld jobs never ended\n", static_cast<long>(unfinished));
}

void PrintRows(const char* title, const std::vector<PhillyCase>& cases,
               sim::ReplayStatistics PhillyCase::*of) {
  std::printf("%s\n", title);
  std::printf(
      "%5s %-15s %-8s %6s %6s %6s %6s %6s | %7s %7s %7s %7s %7s %7s | %5s %6s %5s %5s %6s %6s\n",
      "nodes", "policy", "run time", "mean", "p50", "p90", "p99", "max", "1", "2-4", "5-8", "9-16",
      ">16", ">8", "use %", "evict", "lost%", "idle%", "fair", "wall s");
  for (const PhillyCase& c : cases) PrintRow(c, c.*of);
}

void PrintSizes(const std::vector<PhillyCase>& cases) {
  std::printf("\ndelays in hours by size: of the window, and of the whole list\n");
  std::printf("%5s %-15s %-8s %-7s %5s %6s %6s %6s %6s %6s | %5s %6s %6s %6s %6s %6s\n", "nodes",
              "policy", "run time", "GPUs", "jobs", "mean", "p50", "p90", "p99", "max", "jobs",
              "mean", "p50", "p90", "p99", "max");
  for (const PhillyCase& c : cases) {
    if (!c.refused.empty()) continue;
    for (const char* gpus : kSizes) {
      const sim::DelayRow* window = DelayOf(c.window, gpus);
      const sim::DelayRow* all = DelayOf(c.all, gpus);
      PrintName(c);
      std::printf(" %-7s %5ld", gpus, window == nullptr ? 0L : static_cast<long>(window->jobs));
      PrintDelay(window);
      std::printf(" | %5ld", all == nullptr ? 0L : static_cast<long>(all->jobs));
      PrintDelay(all);
      std::printf("\n");
    }
  }
}

// "mean delay, h 5.99, should be at most 5.85: missed by 2.4 %".
void PrintGoal(const char* what, std::optional<double> value, double goal, bool at_least = false) {
  if (!value) return;
  const bool met = at_least ? *value >= goal : *value <= goal;
  std::printf("  %-28s %8.2f, should be at %s %.2f: ", what, *value, at_least ? "least" : "most",
              goal);
  if (met) {
    std::printf("met\n");
  } else {
    std::printf("missed by %.1f %%\n", std::abs(*value / goal - 1) * 100);
  }
}

void PrintExact(const PhillyCase& c) {
  std::printf("\n%s, exact, %ld nodes\n", c.policy.c_str(), static_cast<long>(c.nodes));
  if (c.nodes == 180) {
    PrintGoal("mean delay, h", MeanHours(c.window, "all"), 5.85);
    PrintGoal("mean over 8 GPUs, h", MeanHours(c.window, "over 8"), 27.5);
    PrintGoal("utilization, %", c.window.utilization * 100, 93.8, true);
  } else if (c.nodes == 200) {
    PrintGoal("mean delay, h", MeanHours(c.window, "all"), 1.48);
    PrintGoal("mean over 16 GPUs, h", MeanHours(c.window, "over 16"), 3.40);
  }
}

void PrintUnknown(const PhillyCase& c, const std::vector<PhillyCase>& cases) {
  const auto fifo = std::find_if(cases.begin(), cases.end(), [&](const PhillyCase& other) {
    return other.policy == "strict-fifo" && other.durations == c.durations &&
           other.nodes == c.nodes && other.refused.empty();
  });
  if (fifo == cases.end()) return;
  std::printf("\n%s, unknown, %ld nodes: mean by size over that of strict-fifo\n", c.policy.c_str(),
              static_cast<long>(c.nodes));
  for (const char* gpus : kSizes) {
    const auto mean = MeanHours(c.window, gpus);
    const auto base = MeanHours(fifo->window, gpus);
    if (mean && base && *base > 0) PrintGoal(gpus, *mean / *base, 2);
  }
}

}  // namespace

void PrintTables(const std::vector<PhillyCase>& cases) {
  PrintRows("delays in hours of the jobs submitted in the window; use, losses, idle in its time",
            cases, &PhillyCase::window);
  PrintRows("\nthe same of all jobs of the list", cases, &PhillyCase::all);
  PrintSizes(cases);
}

void PrintGoals(const std::vector<PhillyCase>& cases) {
  for (const PhillyCase& c : cases) {
    if (!c.refused.empty() || c.policy == "strict-fifo") continue;
    if (c.durations == "exact") PrintExact(c);
    if (c.durations == "unknown") PrintUnknown(c, cases);
  }
}

}  // namespace muster::bench
