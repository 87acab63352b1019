#include "cli/simulation_report.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cli/table.hpp"
#include "extender/json_text.hpp"

namespace muster::cli {
namespace {

double Ratio(int64_t part, int64_t all) {
  return static_cast<double>(part) / static_cast<double>(all);
}

// null when there are no samples: zeros would be read as times.
void Add(extender::JsonText& json, const char* name, const sim::Distribution& d) {
  if (d.samples == 0) return json.AddNull(name);
  json.BeginObject(name);
  json.Add("samples", d.samples);
  json.AddDecimal("mean", d.mean);
  json.AddDecimal("p50", d.p50);
  json.AddDecimal("p90", d.p90);
  json.AddDecimal("p95", d.p95);
  json.AddDecimal("p99", d.p99);
  json.AddDecimal("max", d.max);
  json.EndObject();
}

// Shares of gangs and links, and means; null where there are none.
void AddPlaces(extender::JsonText& json, const sim::PlacesReport& places) {
  const auto share = [&](const char* name, int64_t part, int64_t all) {
    if (all == 0) return json.AddNull(name);
    json.AddDecimal(name, Ratio(part, all));
  };
  json.BeginObject("places");
  json.Add("gangs", places.gangs);
  json.Add("one_node", places.one_node);
  share("one_node_ratio", places.one_node, places.gangs);
  json.Add("links", places.links);
  json.BeginArray("levels");
  for (const sim::LevelPlaces& level : places.levels) {
    json.BeginObject();
    json.Add("tree", level.tree);
    json.Add("level", level.level);
    json.Add("one_domain", level.whole);
    share("one_domain_ratio", level.whole, places.gangs);
    share("domains_mean", level.domains, places.gangs);
    json.Add("links_out", level.crossings);
    share("links_out_ratio", level.crossings, places.links);
    json.EndObject();
  }
  json.EndArray();
  if (places.ringed > 0) {
    json.BeginObject("rings");
    json.Add("members", places.ringed);
    json.AddDecimal("gigabytes_per_second_mean", places.ring_gbps);
    json.Add("gangs", places.ringed_gangs);
    json.AddDecimal("slowest_gigabytes_per_second_mean", places.slowest_gbps);
    json.EndObject();
  } else {
    json.AddNull("rings");
  }
  json.EndObject();
}

std::string Decimal(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string Describe(const sim::Distribution& d) {
  if (d.samples == 0) return "-";
  return "mean " + Decimal(d.mean, 1) + ", p50 " + Decimal(d.p50, 1) + ", p95 " +
         Decimal(d.p95, 1) + ", p99 " + Decimal(d.p99, 1) + ", max " + Decimal(d.max, 1);
}

std::string OfAll(int64_t part, int64_t all) {
  return std::to_string(part) + " of " + std::to_string(all) +
         (all == 0 ? "" : " (" + Decimal(Ratio(part, all) * 100, 2) + " %)");
}

// How gangs of several pods lay when they started.
void AddPlaces(Table& table, const sim::PlacesReport& places) {
  if (places.gangs > 0 && !places.levels.empty()) {
    table.Add({"gangs on one node", OfAll(places.one_node, places.gangs)});
    for (const sim::LevelPlaces& level : places.levels) {
      table.Add({"gangs in one " + level.tree + "/" + level.level,
                 OfAll(level.whole, places.gangs) + ", in " +
                     Decimal(Ratio(level.domains, places.gangs), 2) + " on average, links out " +
                     OfAll(level.crossings, places.links)});
    }
  }
  if (places.ringed > 0) {
    table.Add({"rings, GB/s", "mean " + Decimal(places.ring_gbps, 1) + " of " +
                                  std::to_string(places.ringed) + " members, slowest of a gang " +
                                  Decimal(places.slowest_gbps, 1)});
  }
}

std::string Hours(double seconds) { return Decimal(seconds / 3600, 2); }

void AddStatistics(extender::JsonText& json, const sim::ReplayStatistics& statistics) {
  json.BeginObject();
  json.AddMilli("from_s", statistics.window.from.milliseconds());
  if (statistics.window.until == cluster::Time::Never()) {
    json.AddNull("until_s");
  } else {
    json.AddMilli("until_s", statistics.window.until.milliseconds());
  }
  json.BeginArray("delays");
  for (const sim::DelayRow& row : statistics.delays) {
    json.BeginObject();
    json.Add("gpus", row.gpus);
    json.Add("jobs", row.jobs);
    json.Add("unfinished", row.unfinished);
    json.Add("evictions", row.evictions);
    Add(json, "delay_s", row.delay_s);
    json.EndObject();
  }
  json.EndArray();
  json.AddDecimal("utilization", statistics.utilization);
  json.Add("evictions", statistics.evictions);
  json.AddDecimal("lost_gpu_hours", statistics.lost_gpu_hours);
  json.AddDecimal("lost_ratio", statistics.lost_ratio);
  json.AddDecimal("booked_idle_gpu_hours", statistics.booked_idle_gpu_hours);
  json.AddDecimal("booked_idle_ratio", statistics.booked_idle_ratio);
  if (statistics.least_served) {
    json.BeginObject("least_served");
    json.Add("queue", statistics.least_served->queue);
    json.AddDecimal("service_over_share", statistics.least_served->ratio);
    json.EndObject();
  } else {
    json.AddNull("least_served");
  }
  json.EndObject();
}

std::string TitleOf(const sim::Window& window) {
  if (window == sim::Window{}) return "all jobs";
  const auto seconds = [](cluster::Time at) { return std::to_string(at.milliseconds() / 1000); };
  return "jobs submitted from " + seconds(window.from) + " to " + seconds(window.until) + " s";
}

std::string ToTable(const sim::ReplayStatistics& statistics) {
  Table table({{"GPUS"},
               {"JOBS", true},
               {"MEAN", true},
               {"P50", true},
               {"P90", true},
               {"P99", true},
               {"MAX", true},
               {"EVICTIONS", true}});
  int64_t unfinished = 0;
  for (const sim::DelayRow& row : statistics.delays) {
    if (row.jobs == 0) continue;
    unfinished = std::max(unfinished, row.unfinished);
    const sim::Distribution& d = row.delay_s;
    std::vector<std::string> cells = {row.gpus, std::to_string(row.jobs)};
    for (const double seconds : {d.mean, d.p50, d.p90, d.p99, d.max})
      cells.push_back(d.samples == 0 ? "-" : Hours(seconds));
    cells.push_back(std::to_string(row.evictions));
    table.Add(std::move(cells));
  }
  std::string text = "\ndelay in hours, ";
  text += TitleOf(statistics.window);
  if (unfinished > 0) text += ", " + std::to_string(unfinished) + " of them not ended";
  text += "\n";
  text += table.ToString() + "utilization " + Decimal(statistics.utilization * 100, 2) + " %, " +
          std::to_string(statistics.evictions) + " runs evicted, lost " +
          Decimal(statistics.lost_gpu_hours, 1) + " GPU-hours (" +
          Decimal(statistics.lost_ratio * 100, 2) + " % of the capacity)";
  if (statistics.booked_idle_gpu_hours > 0) {
    text += ", kept idle for bookings " + Decimal(statistics.booked_idle_gpu_hours, 1) +
            " GPU-hours (" + Decimal(statistics.booked_idle_ratio * 100, 2) + " %)";
  }
  if (statistics.least_served) {
    text += ", least service/share " + Decimal(statistics.least_served->ratio, 3) + " (" +
            Printable(statistics.least_served->queue) + ")";
  }
  return text + "\n";
}

}  // namespace

std::string ToJson(const SimulationRun& run) {
  const sim::ReplayReport& report = run.report;
  extender::JsonText json;
  json.BeginObject();
  json.Add("nodes", report.nodes);
  json.Add("gpus", report.gpus);
  json.Add("pods_total", report.pods_total);
  json.Add("pods_placed", report.pods_placed);
  json.Add("pods_unplaced", report.pods_unplaced);
  json.Add("gpu_allocated_milli", report.gpu_allocated_milli);
  json.Add("gpu_capacity_milli", report.gpu_capacity_milli);
  json.AddDecimal("allocation_ratio", report.allocation_ratio);
  json.Add("gangs_total", report.gangs_total);
  json.Add("gangs_started", report.gangs_started);
  json.Add("partial_gangs", report.partial_gangs);
  Add(json, "wait_s", report.wait_s);
  Add(json, "jct_s", report.jct_s);
  json.AddDecimal("utilization_mean", report.utilization_mean);
  json.AddDecimal("makespan_s", report.makespan_s);
  AddPlaces(json, report.places);
  if (!run.statistics.empty()) {
    json.BeginArray("statistics");
    for (const sim::ReplayStatistics& statistics : run.statistics) AddStatistics(json, statistics);
    json.EndArray();
  }
  json.Add("decision_hash", report.decision_hash);
  json.Add("decisions", report.decisions);
  json.Add("audit_findings", report.audit_findings);
  json.AddDecimal("wall_s", run.wall_s);
  json.AddDecimal("decisions_per_s", run.decisions_per_s);
  json.EndObject();
  return json.Take();
}

std::string ToTable(const SimulationRun& run) {
  const sim::ReplayReport& report = run.report;
  Table table({{"MEASURE"}, {"VALUE"}});
  table.Add({"nodes", std::to_string(report.nodes)});
  table.Add({"gpus", std::to_string(report.gpus)});
  table.Add({"pods placed", std::to_string(report.pods_placed) + " of " +
                                std::to_string(report.pods_total) + ", " +
                                std::to_string(report.pods_unplaced) + " not"});
  table.Add({"gangs started", std::to_string(report.gangs_started) + " of " +
                                  std::to_string(report.gangs_total) + ", " +
                                  std::to_string(report.partial_gangs) + " partial at the end"});
  table.Add({"gpus allocated at most",
             Decimal(static_cast<double>(report.gpu_allocated_milli) / 1000, 3) + " of " +
                 Decimal(static_cast<double>(report.gpu_capacity_milli) / 1000, 3) + " (" +
                 Decimal(report.allocation_ratio * 100, 2) + " %)"});
  table.Add({"utilization, mean", Decimal(report.utilization_mean * 100, 2) + " %"});
  table.Add({"wait, s", Describe(report.wait_s)});
  table.Add({"completion, s", Describe(report.jct_s)});
  table.Add({"makespan, s", Decimal(report.makespan_s, 1)});
  AddPlaces(table, report.places);
  table.Add({"decisions", std::to_string(report.decisions)});
  table.Add({"decision hash", report.decision_hash});
  table.Add({"wall time, s", Decimal(run.wall_s, 2)});
  table.Add({"decisions per s", Decimal(run.decisions_per_s, 0)});
  std::string text = table.ToString();
  for (const sim::ReplayStatistics& statistics : run.statistics) text += ToTable(statistics);
  return text;
}

}  // namespace muster::cli
