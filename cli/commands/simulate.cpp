// muster simulate: replays a trace on the embedded cluster in virtual time.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "cli/checks/node_file.hpp"
#include "cli/flags/cli.hpp"
#include "cli/tables/output_format.hpp"
#include "cli/tables/replay_plot.hpp"
#include "cli/tables/simulation_comparison.hpp"
#include "cli/tables/simulation_report.hpp"
#include "cli/tables/table.hpp"
#include "config/fields/amounts.hpp"
#include "config/file.hpp"
#include "config/policies/policy_manifest.hpp"
#include "config/profiles/shipped_profiles.hpp"
#include "extender/embedded/lockstep_extender.hpp"
#include "extender/embedded/node_list.hpp"
#include "extender/embedded/wire_extender.hpp"
#include "sim/replay/job_owners.hpp"
#include "sim/replay/known_durations.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/trace.hpp"

namespace muster::cli {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using cluster::Status;

// Of --gpu-shares.
constexpr const char* kStock = "stock";
constexpr const char* kHami = "hami";
// Of --durations.
constexpr const char* kUnknown = "unknown";

Result<sim::Trace> ReadTrace(const Args& args, const topology::FabricOptions& fabric,
                             std::ostream& err) {
  sim::Trace trace;
  Result<std::vector<cluster::Node>> nodes = ReadNodes(args.Text("--nodes"), "simulate", err);
  if (!nodes.ok()) return nodes.error();
  trace.nodes = *std::move(nodes);
  const bool gangs = args.Has("--jobs");
  const std::string file = args.Text(gangs ? "--jobs" : "--pods");
  const Result<std::string> text = config::ReadFile(file, kMaxTraceBytes);
  if (!text.ok()) return text.error();
  Result<std::vector<sim::TraceJob>> jobs =
      gangs ? sim::ReadGangJobs(*text, file, fabric) : sim::ReadOpenbPods(*text, file);
  if (!jobs.ok()) return jobs.error();
  trace.jobs = *std::move(jobs);
  sim::TellDurations(*sim::ParseKnown(args.Text("--durations", kUnknown)), trace.jobs);
  return trace;
}

// Jobs whose queue the policy does not have, if it has any.
void WarnOfQueues(const sim::Trace& trace, const std::vector<queues::QueueSpec>& queues,
                  std::ostream& err) {
  std::set<std::string> missing;
  int64_t jobs = 0;
  for (const sim::TraceJob& job : trace.jobs) {
    const bool there = job.queue.empty() ||
                       std::any_of(queues.begin(), queues.end(),
                                   [&](const auto& queue) { return queue.name == job.queue; });
    if (there) continue;
    ++jobs;
    missing.insert(job.queue);
  }
  if (queues::OnlyRoot(queues) || missing.empty()) return;
  err << "muster simulate: " << jobs << " of " << trace.jobs.size()
      << " jobs name queues that the policy does not have (" << Printable(*missing.begin())
      << (missing.size() > 1 ? ", …" : "") << "); they are in the queue of their namespace\n";
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
    constexpr int64_t kBarWidth = 30;
    const int64_t total = std::max<int64_t>(progress.jobs_total, 1);
    const auto filled = static_cast<std::size_t>(progress.jobs_submitted * kBarWidth / total);
    out_ << "\r\x1b[K[" << std::string(filled, '#') << std::string(kBarWidth - filled, '.') << "] "
         << progress.jobs_submitted << " of " << progress.jobs_total << " jobs, "
         << progress.pods_bound << " pods bound, day "
         << progress.now.milliseconds() / (24 * 3600 * 1000) << std::flush;
  }

 private:
  std::ostream& out_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_;
};

SimulationRun Replay(const sim::Trace& trace, sim::ReplayOptions options, std::ostream& err) {
  SimulationRun run;
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

Result<sim::ReplayOptions> ReplayOptionsFrom(const Args& args) {
  sim::ReplayOptions options;
  options.timeline = args.Has("--timeline");
  options.cluster.with_muster = !args.Has("--without-muster");
  options.cluster.shared_by =
      args.Text("--gpu-shares") == kHami ? sim::SharedBy::kHami : sim::SharedBy::kStock;
  options.cluster.audit = args.Has("--audit");
  if (args.Has("--checkpoint"))
    options.checkpoint =
        config::ParseDuration(args.Text("--checkpoint")).value_or(options.checkpoint);
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

// "FROM-UNTIL", in seconds.
std::optional<sim::Window> ParseWindow(const std::string& text) {
  int64_t from = 0;
  int64_t until = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, from);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, until);
  if (second.ec != std::errc() || second.ptr != end || from < 0 || from >= until)
    return std::nullopt;
  return sim::Window{cluster::Time() + cluster::Seconds(from),
                     cluster::Time() + cluster::Seconds(until)};
}

// What is said of jobs as such.
Status CheckJobFlags(const Args& args) {
  const auto wrong = [](const char* message) { return Error{Code::kInvalidArgument, message, ""}; };
  for (const char* flag : {"--durations", "--checkpoint", "--window", "--plot"}) {
    if (args.Has(flag) && !args.Has("--jobs"))
      return Error{Code::kInvalidArgument, std::string(flag) + " is for --jobs", ""};
  }
  if (!sim::ParseKnown(args.Text("--durations", kUnknown)))
    return wrong("--durations must be unknown, exact, rough or learnt");
  if (args.Has("--checkpoint") && !config::ParseDuration(args.Text("--checkpoint")))
    return wrong("--checkpoint must be a duration such as 1h or 30m");
  if (args.Has("--window") && !ParseWindow(args.Text("--window")))
    return wrong("--window must be two numbers of seconds such as 0-86400, the first one less");
  return cluster::Ok{};
}

// The files of --compare, or that of --policy, or none: the defaults.
std::vector<std::string> PoliciesOf(const Args& args) {
  if (!args.Has("--compare")) return {args.Text("--policy")};
  std::vector<std::string> files;
  std::string rest = args.Text("--compare");
  while (true) {
    const std::size_t comma = rest.find(',');
    files.push_back(rest.substr(0, comma));
    if (comma == std::string::npos) return files;
    rest.erase(0, comma + 1);
  }
}

Status CheckCompare(const Args& args) {
  if (!args.Has("--compare")) return cluster::Ok{};
  for (const char* flag : {"--policy", "--plot", "--without-muster"}) {
    if (args.Has(flag))
      return Error{Code::kInvalidArgument,
                   std::string("--compare and ") + flag + " exclude each other", ""};
  }
  const std::vector<std::string> files = PoliciesOf(args);
  if (files.size() > 1 && std::find(files.begin(), files.end(), "") == files.end())
    return cluster::Ok{};
  return Error{Code::kInvalidArgument,
               "--compare must be two policies or more such as a.yaml,b.yaml, not \"" +
                   args.Text("--compare") + "\"",
               ""};
}

Status CheckUse(const Args& args) {
  const auto wrong = [](const char* message) { return Error{Code::kInvalidArgument, message, ""}; };
  if (!args.positionals().empty()) return wrong("it takes flags only");
  if (!args.Has("--nodes")) return wrong("--nodes is needed: a file, or for example 180x8");
  if (args.Has("--pods") == args.Has("--jobs")) return wrong("give one of --pods and --jobs");
  if (Status fine = CheckCompare(args); !fine.ok()) return fine;
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
  return CheckJobFlags(args);
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

std::string JsonOf(const Args& args, const std::vector<SimulationRun>& runs) {
  return args.Has("--compare") ? ToJson(runs) : ToJson(runs.front());
}

// "--json -" is --output json.
Result<OutputFormat> PrintedAs(const Args& args) {
  const bool json = args.Text("--json") == "-";
  if (json && args.Has("--output"))
    return Error{Code::kInvalidArgument, "--json - and --output exclude each other", ""};
  return json ? OutputFormat::kJson : FormatOf(args);
}

// The files that are written beside what is printed. Opened before the replay, so that it is not
// in vain.
class Outputs {
 public:
  Status Open(const Args& args) {
    if (args.Text("--json") != "-") {
      if (Status opened = Open(args, "--json", json_); !opened.ok()) return opened;
    }
    return Open(args, "--plot", plot_);
  }
  Status Write(const Args& args, const std::vector<SimulationRun>& runs) {
    if (json_.is_open() && !(json_ << JsonOf(args, runs)).flush())
      return Unwritable(args, "--json");
    if (plot_.is_open() &&
        !(plot_ << PlotReplay(runs.front().report.history, runs.front().statistics.back())).flush())
      return Unwritable(args, "--plot");
    return cluster::Ok{};
  }

 private:
  static Status Unwritable(const Args& args, const char* flag) {
    return Error{Code::kInvalidArgument, args.Text(flag) + ": cannot be written", ""};
  }
  static Status Open(const Args& args, const char* flag, std::ofstream& file) {
    if (!args.Has(flag)) return cluster::Ok{};
    file.open(args.Text(flag), std::ios::binary);
    if (!file) return Unwritable(args, flag);
    return cluster::Ok{};
  }
  std::ofstream json_;
  std::ofstream plot_;
};

// One replay of the trace that the flags say, and what is to be told of it.
class Simulation {
 public:
  Simulation(const Args& args, const CliStreams& streams) : args_(args), streams_(streams) {}

  // `policy`: a file; empty: the defaults. Prints what is wrong.
  std::optional<int> Prepare(const std::string& policy) {
    Result<sim::ReplayOptions> options = ReplayOptionsFrom(args_);
    if (!options.ok()) return Misused(streams_, "simulate", options.error().message);
    options_ = *std::move(options);
    policy_ = policy;
    engine::Options& engine = options_.cluster.muster.engine;
    if (!policy.empty()) {
      const Result<config::Policy> read = config::ReadPolicyOrManifestFile(policy).Take();
      if (!read.ok()) return Fail(streams_, read.error().ToString());
      engine = read->engine;
    }
    config::UseProfiles(&engine.placement);
    Result<sim::Trace> trace = ReadTrace(args_, engine.placement.fabric, streams_.err);
    if (!trace.ok()) return Fail(streams_, trace.error().ToString());
    trace_ = *std::move(trace);
    sim::PutInNamespaces(engine.queues, engine.namespaces.allow, trace_.jobs);
    if (const Status fine = CheckTrace(args_, trace_); !fine.ok())
      return Misused(streams_, "simulate", fine.error().message);
    WarnOfQueues(trace_, engine.queues, streams_.err);
    return std::nullopt;
  }

  SimulationRun Run() {
    SimulationRun run = Replay(trace_, options_, streams_.err);
    run.policy = policy_;
    if (args_.Has("--jobs")) run.statistics.push_back(sim::StatisticsOf(run.report.history, {}));
    if (args_.Has("--window"))
      run.statistics.push_back(
          sim::StatisticsOf(run.report.history, *ParseWindow(args_.Text("--window"))));
    return run;
  }

 private:
  const Args& args_;
  const CliStreams& streams_;
  std::string policy_;
  sim::ReplayOptions options_;
  sim::Trace trace_;
};

int Simulate(const Args& args, const CliStreams& streams) {
  if (const Status use = CheckUse(args); !use.ok()) {
    return Misused(streams, "simulate", use.error().message);
  }
  const Result<OutputFormat> format = PrintedAs(args);
  if (!format.ok()) return Misused(streams, "simulate", format.error().message);
  // All of them are read before the first replay, so that it is not in vain.
  std::vector<Simulation> simulations;
  for (const std::string& policy : PoliciesOf(args)) {
    simulations.emplace_back(args, streams);
    if (const std::optional<int> failed = simulations.back().Prepare(policy)) return *failed;
  }
  Outputs outputs;
  if (Status opened = outputs.Open(args); !opened.ok())
    return Fail(streams, opened.error().message);
  std::vector<SimulationRun> runs;
  int64_t broken = 0;
  int64_t vain = 0;
  for (Simulation& simulation : simulations) {
    runs.push_back(simulation.Run());
    broken += runs.back().report.audit_findings;
    vain += InVain(runs.back().report) ? 1 : 0;
  }
  const bool table = *format == OutputFormat::kTable || *format == OutputFormat::kWide;
  streams.out << (!table                  ? InFormat(*format, JsonOf(args, runs))
                  : args.Has("--compare") ? ComparisonTable(runs)
                                          : ToTable(runs.front()));
  if (Status written = outputs.Write(args, runs); !written.ok())
    return Fail(streams, written.error().message);
  for (const SimulationRun& run : runs) {
    for (const std::string& line : NeverStarted(run))
      streams.err << "muster simulate: " << Printable(line) << "\n";
  }
  if (vain > 0) return kExitFailed;
  if (broken > 0) return Fail(streams, std::to_string(broken) + " invariants were broken");
  return kExitOk;
}

}  // namespace

Command SimulateCommand() {
  return {
      "simulate",
      "--nodes FILE|NxG[@LABEL=N] (--pods FILE | --jobs FILE)",
      "replay a trace on the embedded cluster in virtual time",
      {{"--nodes", "FILE|NxG[@LABEL=N]",
        "nodes: Kubernetes Nodes or NodePools (.yaml, .yml, .json), an openb CSV file, or N "
        "nodes of G GPUs; 180x8@rack=10,block=60 labels each 10 of them rack=rack-00 and so "
        "on, each 60 block=block-0"},
       {"--pods", "FILE",
        "single pods: an openb CSV file; also queue, namespace, user, tolerations as with --jobs"},
       {"--jobs", "FILE",
        "gangs: a CSV file with job_id, submit_s, gpus, duration_s; also gpus_per_pod (8), "
        "topology_required, topology_preferred (a level of the policy's fabric), "
        "segments_required, segments_preferred (LEVEL=PODS, several with ';' in between), queue "
        "or vc (a queue of the policy), namespace (default: one that may use the queue), user "
        "(whose it is, for --durations learnt), tolerations (KEY, KEY=VALUE or *, with :EFFECT if "
        "only that, several with ';' in "
        "between)"},
       {"--durations", "unknown|exact|rough|learnt",
        "what jobs say of how long they run: nothing (default), the truth, 0.5 to 1.5 times "
        "it, nothing but an owner that comes again"},
       {"--checkpoint", "DURATION",
        "how often a job is saved: so it goes on when it was evicted (default: it begins "
        "anew)"},
       {"--window", "FROM-UNTIL",
        "also the delays of jobs submitted then, and what was in use then (seconds)"},
       {"--plot", "FILE.svg", "draw delays by size and the use of GPUs over time"},
       {"--timeline", "", "delete pods at the times in the trace"},
       {"--fill", "", "never delete pods (default)"},
       {"--policy", "FILE",
        "policy YAML, or a ConfigMap that holds it (default: the defaults of every field); the "
        "result tells how gangs lie "
        "in its fabric"},
       {"--compare", "FILE,FILE",
        "replay under each of these policies, and show them side by side"},
       {"--seed", "N", "random seed (default 1)"},
       {"--http", "", "connect kube-scheduler and Muster by real sockets"},
       {"--without-muster", "", "kube-scheduler alone, pod by pod"},
       {"--gpu-shares", "stock|hami",
        "without Muster, what assigns shares of GPUs: the stock device plugin (a whole GPU for "
        "each share) or HAMi's scheduler"},
       {"--audit", "", "check every invariant after every event (slow)"},
       {"--json", "FILE", "also write the result as JSON (-: to standard output instead)"},
       OutputFlag()},
      Simulate,
      {"muster simulate --nodes 16x8 --jobs sim/demo/jobs.csv",
       "muster simulate --nodes 16x8 --jobs sim/demo/jobs.csv "
       "--compare sim/demo/fair.yaml,sim/demo/fifo.yaml",
       "muster simulate --nodes 180x8@rack=10 --jobs jobs.csv --policy policy.yaml",
       "muster simulate --nodes nodes.yaml --pods pods.csv -o yaml"}};
}

}  // namespace muster::cli
