// muster simulate: replays a trace on the embedded cluster in virtual time.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "cli/cli.hpp"
#include "cli/table.hpp"
#include "config/file.hpp"
#include "config/policy_file.hpp"
#include "config/shipped_profiles.hpp"
#include "extender/embedded/lockstep_extender.hpp"
#include "extender/embedded/wire_extender.hpp"
#include "extender/json_text.hpp"
#include "sim/replay.hpp"
#include "sim/trace.hpp"

namespace muster::cli {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using cluster::Status;

struct Run {
  sim::ReplayReport report;
  double wall_s = 0;
  double decisions_per_s = 0;
};

// Of --gpu-shares.
constexpr const char* kStock = "stock";
constexpr const char* kHami = "hami";

constexpr std::size_t kMaxTraceBytes = std::size_t{1} << 30U;

bool IsNodeCount(const std::string& text) {
  return text.find_first_not_of("0123456789x") == std::string::npos;
}

Result<std::vector<cluster::Node>> ReadNodes(const std::string& nodes) {
  if (IsNodeCount(nodes)) return sim::ParseNodeCount(nodes);
  const Result<std::string> text = config::ReadFile(nodes, kMaxTraceBytes);
  if (!text.ok()) return text.error();
  return sim::ReadOpenbNodes(*text, nodes);
}

Result<sim::Trace> ReadTrace(const Args& args) {
  sim::Trace trace;
  Result<std::vector<cluster::Node>> nodes = ReadNodes(args.Text("--nodes"));
  if (!nodes.ok()) return nodes.error();
  trace.nodes = *std::move(nodes);
  const bool gangs = args.Has("--jobs");
  const std::string file = args.Text(gangs ? "--jobs" : "--pods");
  const Result<std::string> text = config::ReadFile(file, kMaxTraceBytes);
  if (!text.ok()) return text.error();
  Result<std::vector<sim::TraceJob>> jobs =
      gangs ? sim::ReadGangJobs(*text, file) : sim::ReadOpenbPods(*text, file);
  if (!jobs.ok()) return jobs.error();
  trace.jobs = *std::move(jobs);
  return trace;
}

// One line on a terminal, redrawn at most ten times a second.
class ProgressBar {
 public:
  explicit ProgressBar(std::ostream& out) : out_(out) {}
  ~ProgressBar() {
    if (drawn_) out_ << "\r\x1b[K" << std::flush;
  }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Show(const sim::ReplayProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (drawn_ && now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    drawn_ = true;
    constexpr int64_t kWidth = 30;
    const int64_t total = std::max<int64_t>(progress.jobs_total, 1);
    const auto filled = static_cast<std::size_t>(progress.jobs_submitted * kWidth / total);
    out_ << "\r\x1b[K[" << std::string(filled, '#') << std::string(kWidth - filled, '.') << "] "
         << progress.jobs_submitted << " of " << progress.jobs_total << " jobs, "
         << progress.pods_bound << " pods bound, day "
         << progress.now.milliseconds() / (24 * 3600 * 1000) << std::flush;
  }

 private:
  std::ostream& out_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_;
};

Run Replay(const sim::Trace& trace, sim::ReplayOptions options, std::ostream& err) {
  Run run;
  const auto begin = std::chrono::steady_clock::now();
  {
    ProgressBar bar(err);
    if (::isatty(STDERR_FILENO) == 1) {
      options.progress = [&bar](const sim::ReplayProgress& progress) { bar.Show(progress); };
    }
    run.report = sim::Replay(trace, options);
  }
  run.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  run.decisions_per_s = run.wall_s > 0 ? static_cast<double>(run.report.decisions) / run.wall_s : 0;
  return run;
}

// null when there are no samples: zeros would be read as times.
void Add(extender::JsonText& json, const char* name, const sim::Distribution& d) {
  if (d.samples == 0) return json.AddNull(name);
  json.BeginObject(name);
  json.Add("samples", d.samples);
  json.AddDecimal("mean", d.mean);
  json.AddDecimal("p50", d.p50);
  json.AddDecimal("p95", d.p95);
  json.AddDecimal("p99", d.p99);
  json.AddDecimal("max", d.max);
  json.EndObject();
}

std::string ToJson(const Run& run) {
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
  json.Add("decision_hash", report.decision_hash);
  json.Add("decisions", report.decisions);
  json.Add("audit_findings", report.audit_findings);
  json.AddDecimal("wall_s", run.wall_s);
  json.AddDecimal("decisions_per_s", run.decisions_per_s);
  json.EndObject();
  return json.Take();
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

std::string ToTable(const Run& run) {
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
  table.Add({"decisions", std::to_string(report.decisions)});
  table.Add({"decision hash", report.decision_hash});
  table.Add({"wall time, s", Decimal(run.wall_s, 2)});
  table.Add({"decisions per s", Decimal(run.decisions_per_s, 0)});
  return table.ToString();
}

Result<sim::ReplayOptions> ReplayOptionsFrom(const Args& args) {
  sim::ReplayOptions options;
  options.timeline = args.Has("--timeline");
  options.cluster.with_muster = !args.Has("--without-muster");
  options.cluster.shared_by =
      args.Text("--gpu-shares") == kHami ? sim::SharedBy::kHami : sim::SharedBy::kStock;
  options.cluster.audit = args.Has("--audit");
  // Every pod of the trace is Muster's, as with the recommended admission policy.
  options.cluster.api.gating = options.cluster.with_muster ? sim::Gating::kAll : sim::Gating::kNone;
  const Result<int64_t> seed = args.Number("--seed", 1, 0, std::numeric_limits<int64_t>::max());
  if (!seed.ok()) return seed.error();
  options.cluster.seed = static_cast<uint64_t>(*seed);
  const bool http = args.Has("--http");
  options.cluster.extender = [http](sim::EventLoop& loop,
                                    sim::MusterLink& link) -> std::unique_ptr<sim::ExtenderPort> {
    if (http) return std::make_unique<extender::LockstepExtender>(loop, link);
    return std::make_unique<extender::WireExtender>(loop, link);
  };
  return options;
}

Status CheckUse(const Args& args) {
  const auto wrong = [](const char* message) { return Error{Code::kInvalidArgument, message, ""}; };
  if (!args.positionals().empty()) return wrong("it takes flags only");
  if (!args.Has("--nodes")) return wrong("--nodes is needed: a CSV file, or for example 180x8");
  if (args.Has("--pods") == args.Has("--jobs")) return wrong("give one of --pods and --jobs");
  if (args.Has("--timeline") && args.Has("--fill")) {
    return wrong("--timeline and --fill exclude each other");
  }
  if (args.Has("--timeline") && args.Has("--jobs")) {
    return wrong("--timeline is for --pods: jobs end by themselves");
  }
  if (args.Has("--http") && args.Has("--without-muster")) {
    return wrong("--http and --without-muster exclude each other");
  }
  if (args.Has("--gpu-shares") && !args.Has("--without-muster")) {
    return wrong("--gpu-shares is for --without-muster: Muster assigns shares itself");
  }
  const std::string shares = args.Text("--gpu-shares", kStock);
  if (shares != kStock && shares != kHami) return wrong("--gpu-shares must be stock or hami");
  return cluster::Ok{};
}

// Whether the trace says what the flags need to know.
Status CheckTrace(const Args& args, const sim::Trace& trace) {
  const auto any = [&](const auto& is) {
    return std::any_of(trace.jobs.begin(), trace.jobs.end(), is);
  };
  const auto wrong = [](std::string message) {
    return Error{Code::kInvalidArgument, std::move(message), ""};
  };
  if (args.Has("--timeline") &&
      !any([](const sim::TraceJob& job) { return job.deleted.has_value(); })) {
    return wrong("--timeline: " + args.Text("--pods") +
                 " does not say when any pod is deleted (column deletion_time)");
  }
  const bool shares = any([](const sim::TraceJob& job) {
    return std::any_of(job.pods.begin(), job.pods.end(),
                       [](const sim::PodRecord& pod) { return pod.pod.spec->gpus.fractional(); });
  });
  if (shares && args.Has("--without-muster") && !args.Has("--gpu-shares")) {
    return wrong(
        "--without-muster: pods of " + args.Text("--pods") +
        " request shares of GPUs, which kube-scheduler alone cannot assign: give --gpu-shares "
        "stock (the stock device plugin: a whole GPU for each share) or hami (HAMi's scheduler)");
  }
  return cluster::Ok{};
}

int Simulate(const Args& args, const CliStreams& streams) {
  if (const Status use = CheckUse(args); !use.ok()) {
    return Misused(streams, "simulate", use.error().message);
  }
  Result<sim::ReplayOptions> options = ReplayOptionsFrom(args);
  if (!options.ok()) return Misused(streams, "simulate", options.error().message);
  if (args.Has("--policy")) {
    const Result<config::Policy> policy = config::LoadPolicyFile(args.Text("--policy"));
    if (!policy.ok()) return Fail(streams, policy.error().ToString());
    options->cluster.muster.engine = policy->engine;
  }
  config::UseProfiles(&options->cluster.muster.engine.placement);
  const Result<sim::Trace> trace = ReadTrace(args);
  if (!trace.ok()) return Fail(streams, trace.error().ToString());
  if (const Status fine = CheckTrace(args, *trace); !fine.ok()) {
    return Misused(streams, "simulate", fine.error().message);
  }

  const bool to_file = args.Has("--json") && args.Text("--json") != "-";
  std::ofstream file;
  if (to_file) file.open(args.Text("--json"), std::ios::binary);
  if (!file) return Fail(streams, args.Text("--json") + ": cannot be written");
  const Run run = Replay(*trace, *options, streams.err);
  if (args.Has("--json") && !to_file) {
    streams.out << ToJson(run);
  } else {
    streams.out << ToTable(run);
  }
  if (to_file) {
    file << ToJson(run);
    if (!file.flush()) return Fail(streams, args.Text("--json") + ": cannot be written");
  }
  if (run.report.audit_findings > 0) {
    return Fail(streams, std::to_string(run.report.audit_findings) + " invariants were broken");
  }
  return kExitOk;
}

}  // namespace

Command SimulateCommand() {
  return {"simulate",
          "--nodes FILE|NxG (--pods FILE | --jobs FILE)",
          "replay a trace on the embedded cluster in virtual time",
          {{"--nodes", "FILE|NxG", "nodes: an openb CSV file, or N nodes of G GPUs"},
           {"--pods", "FILE", "single pods: an openb CSV file"},
           {"--jobs", "FILE", "gangs: a CSV file with job_id, submit_s, gpus, duration_s"},
           {"--timeline", "", "delete pods at the times in the trace"},
           {"--fill", "", "never delete pods (default)"},
           {"--policy", "FILE", "policy YAML (default: the defaults of every field)"},
           {"--seed", "N", "random seed (default 1)"},
           {"--http", "", "connect kube-scheduler and Muster by real sockets"},
           {"--without-muster", "", "kube-scheduler alone, pod by pod"},
           {"--gpu-shares", "stock|hami",
            "without Muster, what assigns shares of GPUs: the stock device plugin (a whole GPU for "
            "each share) or HAMi's scheduler"},
           {"--audit", "", "check every invariant after every event (slow)"},
           {"--json", "FILE", "also write the result as JSON (-: to standard output instead)"}},
          Simulate};
}

}  // namespace muster::cli
