// What do the policies make of a real list of jobs? Replays the Philly list, its virtual clusters
// as queues, under each policy and with each kind of knowledge of run times, on 180 and 200 nodes
// of 8 GPUs.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/philly_case.hpp"
#include "bench/philly_plot.hpp"
#include "bench/philly_policies.hpp"
#include "bench/philly_tables.hpp"
#include "config/file.hpp"
#include "config/policies/policy_file.hpp"
#include "config/profiles/shipped_profiles.hpp"
#include "sim/replay/csv.hpp"
#include "sim/replay/known_durations.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/trace.hpp"

namespace muster::bench {
namespace {

using cluster::Result;

constexpr std::size_t kMostBytes = std::size_t{1} << 26U;
constexpr std::size_t kSmokeJobs = 500;
constexpr int64_t kGpusPerNode = 8;
constexpr int64_t kSlices = 300;
// 2017-09-25 to 2017-10-17, when the list is complete.
constexpr sim::Window kWindow{cluster::Time(3'544'380'000), cluster::Time(5'445'180'000)};
constexpr const char* kUsage =
    "bench_philly [--policy NAME,…] [--durations NAME,…] [--nodes N,…] [--depth N]\n"
    "             [--guarantee PERCENT] [--copies N] [--plot FILE.svg] [--parallel N] [--smoke]\n"
    "bench_philly --print-policy NAME --nodes N [--depth N] [--guarantee PERCENT]\n"
    "  policies: strict-fifo, fifo, fair, fair-preemption; durations: unknown, exact, rough, "
    "learnt\n";

struct Choice {
  std::vector<std::string> policies{kPolicies.begin(), kPolicies.end()};
  std::vector<std::string> durations{"exact", "rough", "learnt", "unknown"};
  std::vector<int64_t> nodes{180, 200};
  int64_t parallel = 1;
  bool smoke = false;
  int64_t depth = 8;
  int64_t guarantee = 75;  // percent of the quotas
  int64_t copies = 1;      // of the list: see Copied
  std::string plot;        // a file
  std::string print;       // a policy
};

struct Data {
  std::string quotas_file;
  std::string quotas;
  std::string jobs_file;
  std::string jobs;
};

std::string DataFolder() {
  const char* folder = std::getenv("MUSTER_DATA_DIR");
  return folder != nullptr ? folder : "../shared/data";
}

Result<Data> ReadData() {
  Data data;
  data.quotas_file = DataFolder() + "/philly/philly_vc_quota_200nodes.csv";
  data.jobs_file = DataFolder() + "/philly/philly_gavel_jobs.csv";
  Result<std::string> quotas = config::ReadFile(data.quotas_file, kMostBytes);
  if (!quotas.ok()) return quotas.error();
  Result<std::string> jobs = config::ReadFile(data.jobs_file, kMostBytes);
  if (!jobs.ok()) return jobs.error();
  data.quotas = *std::move(quotas);
  data.jobs = *std::move(jobs);
  return data;
}

// The list so many times, each job and its copies some minutes apart; they run for as much less, so
// that the cluster has as much to do, with as many times the starts and ends.
std::string Copied(const std::string& jobs, int64_t copies) {
  enum Column { kJob, kQueue, kSubmitted, kGpus, kDuration };
  constexpr int64_t kApart = 997;  // seconds
  const auto csv =
      sim::CsvFile::Parse(jobs, "jobs", {"job_id", "vc", "submit_s", "gpus", "duration_s"});
  if (copies == 1 || !csv.ok()) return jobs;
  std::string text = "job_id,vc,submit_s,gpus,duration_s\n";
  const auto number = [&](std::size_t row, Column column) {
    return std::strtoll(std::string(csv->Text(row, column)).c_str(), nullptr, 10);
  };
  for (std::size_t row = 0; row < csv->rows(); ++row) {
    for (int64_t copy = 0; copy < copies; ++copy) {
      const int64_t runs = std::max<int64_t>(number(row, kDuration) / copies, 1);
      text += std::string(csv->Text(row, kJob)) + "-" + std::to_string(copy) + "," +
              std::string(csv->Text(row, kQueue)) + "," +
              std::to_string(number(row, kSubmitted) + copy * kApart) + "," +
              std::to_string(number(row, kGpus)) + "," + std::to_string(runs) + "\n";
    }
  }
  return text;
}

Result<config::Policy> ReadPolicy(const Data& data, const PolicyChoice& policy, int64_t nodes) {
  Result<std::vector<Quota>> quotas = ReadQuotas(data.quotas, data.quotas_file, nodes);
  if (!quotas.ok()) return quotas.error();
  return config::LoadPolicy(PolicyText(policy, *quotas, kGpusPerNode), policy.name);
}

PolicyChoice PolicyOf(const Choice& choice, const std::string& name, bool learnt) {
  return {name, choice.depth, choice.guarantee, learnt};
}

// In slices of equal length, from the first job on.
void TakeUsage(const sim::ReplayHistory& history, PhillyCase& c) {
  const cluster::Time first = history.jobs.front().submitted;
  const int64_t span = (history.last - first).value();
  c.days = static_cast<double>(span) / 86'400'000;
  for (int64_t i = 0; i < kSlices; ++i) {
    const sim::Window slice{first + cluster::Duration(span * i / kSlices),
                            first + cluster::Duration(span * (i + 1) / kSlices)};
    const auto ms = static_cast<double>(std::max<int64_t>((slice.until - slice.from).value(), 1));
    c.usage.push_back(sim::UsedIn(history, slice) /
                      (static_cast<double>(history.capacity.value()) * ms));
  }
}

void Run(const Data& data, const Choice& choice, PhillyCase& c) {
  const auto begin = std::chrono::steady_clock::now();
  const bool smoke = choice.smoke;
  const bool learnt = c.durations == "learnt";
  const Result<config::Policy> policy =
      ReadPolicy(data, PolicyOf(choice, c.policy, learnt), c.nodes);
  const Result<config::Policy> fair = ReadPolicy(data, {"fair"}, c.nodes);
  Result<std::vector<sim::TraceJob>> jobs =
      sim::ReadGangJobs(Copied(data.jobs, choice.copies), data.jobs_file);
  Result<std::vector<cluster::Node>> nodes =
      sim::ParseNodeCount(std::to_string(c.nodes) + "x" + std::to_string(kGpusPerNode));
  if (!policy.ok() || !fair.ok() || !jobs.ok() || !nodes.ok()) {
    c.refused = !policy.ok() ? policy.error().ToString()
                : !fair.ok() ? fair.error().ToString()
                : !jobs.ok() ? jobs.error().ToString()
                             : nodes.error().ToString();
    return;
  }
  sim::Trace trace{*std::move(nodes), *std::move(jobs)};
  if (smoke) trace.jobs.resize(std::min(trace.jobs.size(), kSmokeJobs));
  sim::TellDurations(*sim::ParseKnown(c.durations), trace.jobs);
  sim::ReplayOptions options;
  options.cluster.muster.engine = policy->engine;
  config::UseProfiles(&options.cluster.muster.engine.placement);
  options.cluster.api.gating = sim::Gating::kAll;
  options.shares_by = fair->engine.queues;  // one measure for all
  const sim::ReplayReport report = sim::Replay(trace, options);
  c.window = sim::StatisticsOf(report.history, smoke ? sim::Window{} : kWindow);
  c.all = sim::StatisticsOf(report.history, {});
  TakeUsage(report.history, c);
  c.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Each in a thread of its own, at most `parallel` at a time; they share nothing but the data.
void RunAll(const Data& data, const Choice& choice, std::vector<PhillyCase>& cases) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) {
      Run(data, choice, cases[i]);
      std::fprintf(stderr, "%zu of %zu: %s, %s, %ld nodes: %.1f s\n", ++done, cases.size(),
                   cases[i].policy.c_str(), cases[i].durations.c_str(),
                   static_cast<long>(cases[i].nodes), cases[i].wall_s);
    }
  };
  std::vector<std::thread> threads;
  for (int64_t i = 1; i < choice.parallel; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
}

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

std::optional<int64_t> Number(const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  return end == text.c_str() || *end != '\0' || value < 1 || value > 10'000
             ? std::nullopt
             : std::optional<int64_t>(value);
}

bool IsPolicy(const std::string& name) {
  return std::find(kPolicies.begin(), kPolicies.end(), name) != kPolicies.end();
}

// Nothing: the words are not understood.
std::optional<Choice> Choose(int argc, char** argv) {
  Choice choice;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--smoke") {
      choice.smoke = true;
      choice.durations = {"exact"};
      choice.nodes = {180};
      continue;
    }
    if (++i == argc) return std::nullopt;
    if (flag == "--policy") {
      choice.policies = Split(argv[i]);
    } else if (flag == "--durations") {
      choice.durations = Split(argv[i]);
    } else if (flag == "--print-policy") {
      choice.print = argv[i];
      if (!IsPolicy(choice.print)) return std::nullopt;
    } else if (flag == "--nodes") {
      choice.nodes.clear();
      for (const std::string& part : Split(argv[i]))
        choice.nodes.push_back(Number(part).value_or(0));
    } else if (flag == "--depth") {
      choice.depth = Number(argv[i]).value_or(0);
    } else if (flag == "--guarantee") {
      choice.guarantee = Number(argv[i]).value_or(-1);
    } else if (flag == "--copies") {
      choice.copies = Number(argv[i]).value_or(0);
    } else if (flag == "--plot") {
      choice.plot = argv[i];
    } else if (flag == "--parallel") {
      choice.parallel = Number(argv[i]).value_or(0);
    } else {
      return std::nullopt;
    }
  }
  const bool fine =
      std::all_of(choice.policies.begin(), choice.policies.end(), IsPolicy) &&
      std::all_of(choice.durations.begin(), choice.durations.end(),
                  [](const std::string& name) { return sim::ParseKnown(name).has_value(); }) &&
      std::count(choice.nodes.begin(), choice.nodes.end(), 0) == 0 && choice.parallel > 0 &&
      choice.depth > 0 && choice.copies > 0 && choice.guarantee >= 0 && choice.guarantee <= 100;
  return fine ? std::optional(choice) : std::nullopt;
}

int Main(int argc, char** argv) {
  const std::optional<Choice> choice = Choose(argc, argv);
  if (!choice) {
    std::fprintf(stderr, "%s", kUsage);
    return 2;
  }
  const Result<Data> data = ReadData();
  if (!data.ok()) {
    std::printf("skipped: %s; MUSTER_DATA_DIR names the folder with the traces\n",
                data.error().ToString().c_str());
    return 0;
  }
  if (!choice->print.empty()) {
    const auto quotas = ReadQuotas(data->quotas, data->quotas_file, choice->nodes.front());
    if (!quotas.ok()) {
      std::fprintf(stderr, "%s\n", quotas.error().ToString().c_str());
      return 1;
    }
    std::printf("%s",
                PolicyText(PolicyOf(*choice, choice->print, false), *quotas, kGpusPerNode).c_str());
    return 0;
  }
  std::vector<PhillyCase> cases;
  for (const int64_t nodes : choice->nodes) {
    for (const std::string& policy : choice->policies) {
      for (const std::string& durations : choice->durations) {
        PhillyCase one;
        one.policy = policy;
        one.durations = durations;
        one.nodes = nodes;
        cases.push_back(std::move(one));
      }
    }
  }
  RunAll(*data, *choice, cases);
  if (!choice->plot.empty() && !(std::ofstream(choice->plot) << PlotCases(cases)).flush()) {
    std::fprintf(stderr, "cannot write %s\n", choice->plot.c_str());
    return 1;
  }
  PrintTables(cases);
  if (!choice->smoke && choice->copies == 1) PrintGoals(cases);
  return 0;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) { return muster::bench::Main(argc, argv); }
