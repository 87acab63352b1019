#include "cli/tables/simulation_report.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cli/tables/table.hpp"
#include "extender/wire/json_text.hpp"

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

std::string Describe(const sim::Distribution& d) {
  return "mean " + Lasting(d.mean) + ", p50 " + Lasting(d.p50) + ", p95 " + Lasting(d.p95) +
         ", p99 " + Lasting(d.p99) + ", max " + Lasting(d.max);
}

std::string OfAll(int64_t part, int64_t all) {
  return std::to_string(part) + " of " + std::to_string(all) +
         (all == 0 ? "" : " (" + Percent(Ratio(part, all)) + ")");
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
      cells.push_back(d.samples == 0 ? "-" : Lasting(seconds));
    cells.push_back(std::to_string(row.evictions));
    table.Add(std::move(cells));
  }
  std::string text = "\ndelay, ";
  text += TitleOf(statistics.window);
  if (unfinished > 0) text += ", " + std::to_string(unfinished) + " of them not ended";
  text += "\n";
  text += table.ToString() + "utilization " + Percent(statistics.utilization);
  if (statistics.evictions > 0) {
    text += ", " + std::to_string(statistics.evictions) + " runs evicted, lost " +
            Decimal(statistics.lost_gpu_hours, 1) + " GPU-hours (" +
            Percent(statistics.lost_ratio) + " of the capacity)";
  }
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

std::string ModelName(const std::string& model) { return model.empty() ? "-" : model; }

void AddModels(extender::JsonText& json, const std::vector<sim::ModelReport>& models) {
  json.BeginArray("models");
  for (const sim::ModelReport& model : models) {
    json.BeginObject();
    json.Add("model", model.model);
    json.Add("nodes", model.nodes);
    json.Add("gpus", model.gpus);
    json.AddMilli("most_used_gpus", model.most_used.value());
    json.AddDecimal("utilization_mean", model.utilization);
    json.AddMilli("free_gpus", model.free.value());
    json.Add("free_whole_gpus", model.free_whole);
    json.Add("free_nodes", model.free_nodes);
    json.EndObject();
  }
  json.EndArray();
}

void AddOut(extender::JsonText& json, const std::vector<sim::OutRow>& out) {
  json.BeginArray("stayed_out");
  for (const sim::OutRow& row : out) {
    json.BeginObject();
    json.Add("cause", ToString(row.cause));
    json.Add("model", row.model);
    json.Add("pods", row.pods);
    json.AddMilli("gpus", row.gpus.value());
    json.EndObject();
  }
  json.EndArray();
}

void AddWaiting(extender::JsonText& json, const std::vector<sim::WaitingRow>& waiting) {
  json.BeginArray("waiting");
  for (const sim::WaitingRow& row : waiting) {
    json.BeginObject();
    json.Add("code", row.code);
    json.Add("never", row.never);
    json.Add("gangs", row.gangs);
    json.Add("example", row.gang);
    json.Add("why", row.why);
    json.EndObject();
  }
  json.EndArray();
}

void AddRun(extender::JsonText& json, const SimulationRun& run) {
  const sim::ReplayReport& report = run.report;
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
  json.Add("partial_gpu_milli", report.partial_gpu_milli);
  Add(json, "wait_s", report.wait_s);
  Add(json, "jct_s", report.jct_s);
  json.AddDecimal("utilization_mean", report.utilization_mean);
  json.AddDecimal("makespan_s", report.makespan_s);
  AddPlaces(json, report.places);
  AddModels(json, report.models);
  AddOut(json, report.out);
  AddWaiting(json, report.waiting);
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
}

// Whether something is in use at the end.
bool Occupied(const sim::ReplayReport& report) {
  int64_t free = 0;
  for (const sim::ModelReport& model : report.models) free += model.free.value();
  return free < report.gpu_capacity_milli;
}

std::string Gpus(cluster::GpuMilli gpus) {
  const int64_t tenths = gpus.value() / 100;
  return std::to_string(tenths / 10) + (tenths % 10 == 0 ? "" : "." + std::to_string(tenths % 10));
}

// By the model of GPUs; empty: they are all of one, of which all that is said is said of all.
std::string ModelsTable(const sim::ReplayReport& report) {
  if (report.models.size() < 2) return {};
  const bool ended = report.jct_s.samples > 0;
  const bool occupied = Occupied(report);
  std::vector<Table::Column> columns = {
      {"GPU MODEL"}, {"NODES", true}, {"GPUS", true}, {"MOST IN USE", true}, {"OF ALL", true}};
  if (ended) columns.push_back({"MEAN", true});
  if (occupied) {
    columns.insert(columns.end(),
                   {{"FREE AT THE END", true}, {"WHOLE GPUS", true}, {"WHOLE NODES", true}});
  }
  Table table(std::move(columns));
  for (const sim::ModelReport& model : report.models) {
    if (model.gpus == 0) continue;
    const int64_t capacity = model.gpus * cluster::kWholeGpu.value();
    std::vector<std::string> row = {ModelName(model.model), std::to_string(model.nodes),
                                    std::to_string(model.gpus), Gpus(model.most_used),
                                    Percent(Ratio(model.most_used.value(), capacity))};
    if (ended) row.push_back(Percent(model.utilization));
    if (occupied) {
      row.push_back(Gpus(model.free));
      row.push_back(std::to_string(model.free_whole));
      row.push_back(std::to_string(model.free_nodes));
    }
    table.Add(std::move(row));
  }
  return "\n" + table.ToString();
}

std::string OutTable(const std::vector<sim::OutRow>& out) {
  if (out.empty()) return {};
  Table table({{"WHY PODS STAYED OUT"}, {"ON NODES OF"}, {"PODS", true}, {"GPUS ASKED", true}});
  for (const sim::OutRow& row : out) {
    const bool nowhere =
        row.cause == sim::OutCause::kNoNode || row.cause == sim::OutCause::kRefused;
    table.Add({ToString(row.cause), nowhere ? "-" : ModelName(row.model), std::to_string(row.pods),
               Gpus(row.gpus)});
  }
  return "\n" + table.ToString();
}

// What is free where something is in use, and in what pieces.
void AddFree(Table& table, const sim::ReplayReport& report) {
  if (!Occupied(report)) return;
  cluster::GpuMilli free;
  int64_t whole = 0;
  int64_t nodes = 0;
  for (const sim::ModelReport& model : report.models) {
    free += model.free;
    whole += model.free_whole;
    nodes += model.free_nodes;
  }
  const cluster::GpuMilli parts = free - cluster::kWholeGpu * whole;
  table.Add({"gpus free at the end",
             Gpus(free) + ": " + std::to_string(whole) + " whole" +
                 (parts.value() > 0 ? ", " + Gpus(parts) + " as parts of others" : "") + "; " +
                 std::to_string(nodes) + (nodes == 1 ? " node" : " nodes") + " wholly free"});
}

}  // namespace

std::string Decimal(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string Percent(double ratio) { return Decimal(ratio * 100, 2) + " %"; }

std::string Lasting(double seconds) {
  const auto whole = static_cast<int64_t>(std::min(std::max(seconds, 0.0), 1e15));
  if (seconds > 0 && seconds < 0.1) return "under 0.1 s";
  if (seconds < 60) return seconds > 0 ? Decimal(seconds, seconds < 10 ? 1 : 0) + " s" : "0 s";
  const auto both = [](int64_t large, const char* unit, int64_t small, const char* smaller) {
    const std::string text = std::to_string(large) + " " + unit;
    return small == 0 ? text : text + " " + std::to_string(small) + " " + smaller;
  };
  if (whole < 3600) return both(whole / 60, "min", whole % 60, "s");
  if (whole < 86400) return both(whole / 3600, "h", whole / 60 % 60, "min");
  return both(whole / 86400, "d", whole / 3600 % 24, "h");
}

bool InVain(const sim::ReplayReport& report) {
  return report.pods_total > 0 && report.pods_placed == 0;
}

std::vector<std::string> NeverStarted(const SimulationRun& run) {
  const sim::ReplayReport& report = run.report;
  const bool vain = InVain(report);
  const std::string under = run.policy.empty() ? "" : run.policy + ": ";
  std::vector<std::string> lines;
  for (const sim::WaitingRow& row : report.waiting) {
    if (!row.never && !vain) continue;
    lines.push_back(under + std::to_string(row.gangs) + " of " +
                    std::to_string(report.gangs_total) + " jobs " +
                    (row.never ? "can never start" : "did not start") + ", such as " + row.gang +
                    ": " + row.code + ": " + row.why);
  }
  if (vain) {
    std::string nothing = under + "no pod was placed";
    if (report.waiting.empty() && !report.out.empty())
      nothing += std::string(": ") + ToString(report.out.front().cause);
    lines.push_back(nothing + ": see that nodes, policy and trace are of one cluster");
  }
  return lines;
}

std::string ToJson(const SimulationRun& run) {
  extender::JsonText json;
  json.BeginObject();
  AddRun(json, run);
  json.EndObject();
  return json.Take();
}

std::string ToJson(const std::vector<SimulationRun>& runs) {
  extender::JsonText json;
  json.BeginObject();
  json.BeginArray("policies");
  for (const SimulationRun& run : runs) {
    json.BeginObject();
    json.Add("policy", run.policy);
    AddRun(json, run);
    json.EndObject();
  }
  json.EndArray();
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
  if (report.gangs_total != report.pods_total) {
    table.Add({"gangs started",
               std::to_string(report.gangs_started) + " of " + std::to_string(report.gangs_total)});
  }
  if (report.partial_gangs > 0)
    table.Add({"gangs in part at the end", std::to_string(report.partial_gangs) + ": they hold " +
                                               Gpus(cluster::GpuMilli(report.partial_gpu_milli)) +
                                               " GPUs and wait for the rest for ever"});
  table.Add({"gpus allocated at most",
             Decimal(static_cast<double>(report.gpu_allocated_milli) / 1000, 3) + " of " +
                 Decimal(static_cast<double>(report.gpu_capacity_milli) / 1000, 3) + " (" +
                 Percent(report.allocation_ratio) + ")"});
  AddFree(table, report);
  // Where nothing ends, the last event is no end.
  const bool ended = report.jct_s.samples > 0;
  if (ended) table.Add({"utilization, mean", Percent(report.utilization_mean)});
  if (report.wait_s.max > 0) table.Add({"wait", Describe(report.wait_s)});
  if (ended) table.Add({"completion", Describe(report.jct_s)});
  if (ended) table.Add({"makespan", Lasting(report.makespan_s)});
  AddPlaces(table, report.places);
  table.Add({"simulated in", Lasting(run.wall_s)});
  std::string text = table.ToString() + ModelsTable(report) + OutTable(report.out);
  for (const sim::ReplayStatistics& statistics : run.statistics) text += ToTable(statistics);
  return text;
}

}  // namespace muster::cli
