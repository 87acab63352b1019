#include "cli/tables/simulation_comparison.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>

#include "cli/tables/table.hpp"

namespace muster::cli {
namespace {

constexpr const char* kNothing = "-";

struct Measure {
  std::string name;
  std::function<std::string(const SimulationRun&)> of;
};

std::string Count(int64_t count) { return count == 0 ? kNothing : std::to_string(count); }

std::string TimeText(const sim::Distribution& of, double sim::Distribution::*measure) {
  return of.samples == 0 ? kNothing : Lasting(of.*measure);
}

// Of all jobs; null: they are single pods.
const sim::ReplayStatistics* Statistics(const SimulationRun& run) {
  return run.statistics.empty() ? nullptr : &run.statistics.front();
}

std::string Delay(const SimulationRun& run, const std::string& gpus) {
  const sim::ReplayStatistics* statistics = Statistics(run);
  if (statistics == nullptr) return kNothing;
  for (const sim::DelayRow& row : statistics->delays) {
    if (row.gpus == gpus) return TimeText(row.delay_s, &sim::Distribution::mean);
  }
  return kNothing;
}

std::string StayedOut(const SimulationRun& run, sim::OutCause cause) {
  int64_t pods = 0;
  for (const sim::OutRow& row : run.report.out) pods += row.cause == cause ? row.pods : 0;
  return Count(pods);
}

template <typename Value>
std::function<std::string(const SimulationRun&)> OfStatistics(Value value) {
  return [value](const SimulationRun& run) {
    const sim::ReplayStatistics* statistics = Statistics(run);
    return statistics == nullptr ? std::string(kNothing) : value(*statistics);
  };
}

std::vector<Measure> PlacedAndTimes() {
  using Run = const SimulationRun&;
  const auto ended = [](Run run) { return run.report.jct_s.samples > 0; };
  return {
      {"pods placed", [](Run run) { return std::to_string(run.report.pods_placed); }},
      {"pods not placed", [](Run run) { return Count(run.report.pods_unplaced); }},
      {"gangs started",
       [](Run run) {
         return run.report.gangs_total == run.report.pods_total
                    ? kNothing
                    : std::to_string(run.report.gangs_started);
       }},
      {"gangs in part at the end", [](Run run) { return Count(run.report.partial_gangs); }},
      {"gpus allocated at most", [](Run run) { return Percent(run.report.allocation_ratio); }},
      {"utilization, mean",
       [ended](Run run) { return ended(run) ? Percent(run.report.utilization_mean) : kNothing; }},
      {"wait, mean", [](Run run) { return TimeText(run.report.wait_s, &sim::Distribution::mean); }},
      {"wait, p95", [](Run run) { return TimeText(run.report.wait_s, &sim::Distribution::p95); }},
      {"completion, mean",
       [](Run run) { return TimeText(run.report.jct_s, &sim::Distribution::mean); }},
      {"completion, p95",
       [](Run run) { return TimeText(run.report.jct_s, &sim::Distribution::p95); }},
      {"makespan",
       [ended](Run run) { return ended(run) ? Lasting(run.report.makespan_s) : kNothing; }}};
}

void AddJobs(const SimulationRun& first, std::vector<Measure>& measures) {
  const sim::ReplayStatistics* statistics = Statistics(first);
  if (statistics == nullptr) return;
  for (const sim::DelayRow& row : statistics->delays) {
    measures.push_back(
        {"delay, mean, " + (row.gpus == "all"
                                ? "all jobs"
                                : "jobs of " + row.gpus + (row.gpus == "1" ? " GPU" : " GPUs")),
         [gpus = row.gpus](const SimulationRun& run) { return Delay(run, gpus); }});
  }
  using Of = const sim::ReplayStatistics&;
  measures.push_back({"runs evicted", OfStatistics([](Of of) { return Count(of.evictions); })});
  measures.push_back({"GPU-hours lost by evictions", OfStatistics([](Of of) {
                        return of.lost_gpu_hours > 0 ? Decimal(of.lost_gpu_hours, 1) : kNothing;
                      })});
  measures.push_back({"GPU-hours kept idle for bookings", OfStatistics([](Of of) {
                        return of.booked_idle_gpu_hours > 0 ? Decimal(of.booked_idle_gpu_hours, 1)
                                                            : kNothing;
                      })});
  measures.push_back({"least service/share", OfStatistics([](Of of) {
                        return of.least_served ? Decimal(of.least_served->ratio, 3) + " (" +
                                                     of.least_served->queue + ")"
                                               : kNothing;
                      })});
}

void AddCauses(std::vector<Measure>& measures) {
  for (int cause = 0; cause <= static_cast<int>(sim::OutCause::kNotAlone); ++cause) {
    const auto one = static_cast<sim::OutCause>(cause);
    measures.push_back({std::string("stayed out: ") + ToString(one),
                        [one](const SimulationRun& run) { return StayedOut(run, one); }});
  }
}

}  // namespace

std::string ComparisonTable(const std::vector<SimulationRun>& runs) {
  std::vector<Table::Column> columns = {{"MEASURE"}};
  for (const SimulationRun& run : runs) columns.push_back({run.policy, true});
  Table table(std::move(columns));
  std::vector<Measure> measures = PlacedAndTimes();
  AddJobs(runs.front(), measures);
  AddCauses(measures);
  for (const Measure& measure : measures) {
    std::vector<std::string> row = {measure.name};
    for (const SimulationRun& run : runs) row.push_back(measure.of(run));
    const bool says = std::any_of(row.begin() + 1, row.end(),
                                  [](const std::string& cell) { return cell != kNothing; });
    if (says) table.Add(std::move(row));
  }
  return table.ToString();
}

}  // namespace muster::cli
