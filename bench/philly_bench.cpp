// What do the policies make of a real list of jobs? Replays the Philly list, its virtual clusters
// as queues, under each policy and with each kind of knowledge of run times, on 180 and 200 nodes
// of 8 GPUs.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/philly_policies.hpp"
#include "config/file.hpp"
#include "config/policy_file.hpp"
#include "config/shipped_profiles.hpp"
#include "sim/known_durations.hpp"
#include "sim/replay.hpp"
#include "sim/trace.hpp"

namespace muster::bench {
namespace {

using cluster::Result;

constexpr std::size_t kMostBytes = std::size_t{1} << 26U;
constexpr std::size_t kSmokeJobs = 500;
constexpr int64_t kGpusPerNode = 8;
// 2017-09-25 to 2017-10-17, when the list is complete.
constexpr sim::Window kWindow{cluster::Time(3'544'380'000), cluster::Time(5'445'180'000)};
constexpr const char* kUsage =
    "bench_philly [--policy NAME,…] [--durations NAME,…] [--nodes N,…] [--parallel N] [--smoke]\n"
    "bench_philly --print-policy NAME --nodes N\n"
    "  policies: strict-fifo, fifo, fair, fair-preemption; durations: unknown, exact, rough, "
    "learnt\n";

struct Choice {
  std::vector<std::string> policies{kPolicies.begin(), kPolicies.end()};
  std::vector<std::string> durations{"exact", "rough", "learnt", "unknown"};
  std::vector<int64_t> nodes{180, 200};
  int64_t parallel = 1;
  bool smoke = false;
  std::string print;  // a policy
};

struct Case {
  std::string policy;
  std::string durations;
  int64_t nodes = 0;
  std::string refused;  // why the policy could not be read
  sim::ReplayStatistics window;
  int64_t unfinished = 0;
  double wall_s = 0;
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

Result<config::Policy> ReadPolicy(const Data& data, const std::string& policy, int64_t nodes) {
  Result<std::vector<Quota>> quotas = ReadQuotas(data.quotas, data.quotas_file, nodes);
  if (!quotas.ok()) return quotas.error();
  return config::LoadPolicy(PolicyText(policy, *quotas, kGpusPerNode), policy);
}

void Run(const Data& data, bool smoke, Case& c) {
  const auto begin = std::chrono::steady_clock::now();
  const Result<config::Policy> policy = ReadPolicy(data, c.policy, c.nodes);
  const Result<config::Policy> fair = ReadPolicy(data, "fair", c.nodes);
  Result<std::vector<sim::TraceJob>> jobs = sim::ReadGangJobs(data.jobs, data.jobs_file);
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
  c.unfinished = sim::StatisticsOf(report.history, {}).delays.front().unfinished;
  c.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Each in a thread of its own, at most `parallel` at a time; they share nothing but the data.
void RunAll(const Data& data, const Choice& choice, std::vector<Case>& cases) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < cases.size(); i = next++) {
      Run(data, choice.smoke, cases[i]);
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

const sim::DelayRow* RowOf(const Case& c, std::string_view gpus) {
  for (const sim::DelayRow& row : c.window.delays) {
    if (row.gpus == gpus && row.delay_s.samples > 0) return &row;
  }
  return nullptr;
}

std::optional<double> MeanHours(const Case& c, std::string_view gpus) {
  const sim::DelayRow* row = RowOf(c, gpus);
  return row == nullptr ? std::nullopt : std::optional(row->delay_s.mean / 3600);
}

constexpr std::array<const char*, 6> kMeans = {"1", "2-4", "5-8", "9-16", "over 16", "over 8"};

void PrintRow(const Case& c) {
  std::printf("%5ld %-15s %-8s", static_cast<long>(c.nodes), c.policy.c_str(), c.durations.c_str());
  if (!c.refused.empty()) {
    std::printf(" not run: %s\n", c.refused.c_str());
    return;
  }
  const sim::Distribution& all = c.window.delays.front().delay_s;
  for (const double seconds : {all.mean, all.p50, all.p90, all.p99, all.max})
    std::printf(" %6.2f", seconds / 3600);
  std::printf(" |");
  for (const char* gpus : kMeans) std::printf(" %7.2f", MeanHours(c, gpus).value_or(0));
  std::printf(" | %5.1f %6ld %5.2f", c.window.utilization * 100,
              static_cast<long>(c.window.evictions), c.window.lost_ratio * 100);
  if (c.window.least_served) {
    std::printf(" %6.3f", c.window.least_served->ratio);
  } else {
    std::printf(" %6s", "-");
  }
  std::printf(" %6.1f\n", c.wall_s);
  if (c.unfinished > 0)
    std::printf("      %ld jobs never ended\n", static_cast<long>(c.unfinished));
}

// "mean 5.99 h, should be at most 5.85: missed by 2 %".
void PrintGoal(const char* what, std::optional<double> value, double goal, bool at_least = false) {
  if (!value) return;
  const bool met = at_least ? *value >= goal : *value <= goal;
  std::printf("  %-28s %8.2f, should be at %s %.2f: ", what, *value, at_least ? "least" : "most",
              goal);
  if (met) {
    std::printf("met\n");
  } else {
    std::printf("missed by %.0f %%\n", std::abs(*value / goal - 1) * 100);
  }
}

void PrintGoals(const Case& c, const std::vector<Case>& cases) {
  if (!c.refused.empty() || c.policy == "strict-fifo") return;
  if (c.durations == "exact") {
    std::printf("\n%s, exact, %ld nodes\n", c.policy.c_str(), static_cast<long>(c.nodes));
    if (c.nodes == 180) {
      PrintGoal("mean delay, h", MeanHours(c, "all"), 5.85);
      PrintGoal("mean over 8 GPUs, h", MeanHours(c, "over 8"), 27.5);
      PrintGoal("utilization, %", c.window.utilization * 100, 93.8, true);
    } else if (c.nodes == 200) {
      PrintGoal("mean delay, h", MeanHours(c, "all"), 1.48);
      PrintGoal("mean over 16 GPUs, h", MeanHours(c, "over 16"), 3.40);
    }
  }
  if (c.durations != "unknown") return;
  const auto fifo = std::find_if(cases.begin(), cases.end(), [&](const Case& other) {
    return other.policy == "strict-fifo" && other.nodes == c.nodes && other.refused.empty();
  });
  if (fifo == cases.end()) return;
  std::printf("\n%s, unknown, %ld nodes: mean by size over that of strict-fifo\n", c.policy.c_str(),
              static_cast<long>(c.nodes));
  for (const char* gpus : kMeans) {
    const auto mean = MeanHours(c, gpus);
    const auto base = MeanHours(*fifo, gpus);
    if (mean && base && *base > 0) PrintGoal(gpus, *mean / *base, 2);
  }
}

void Print(const std::vector<Case>& cases) {
  std::printf("delays in hours of the jobs submitted in the window; use, losses in its time\n");
  std::printf(
      "%5s %-15s %-8s %6s %6s %6s %6s %6s | %7s %7s %7s %7s %7s %7s | %5s %6s %5s %6s %6s\n",
      "nodes", "policy", "run time", "mean", "p50", "p90", "p99", "max", "1", "2-4", "5-8", "9-16",
      ">16", ">8", "use %", "evict", "lost%", "fair", "wall s");
  for (const Case& c : cases) PrintRow(c);
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
      std::count(choice.nodes.begin(), choice.nodes.end(), 0) == 0 && choice.parallel > 0;
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
    std::printf("%s", PolicyText(choice->print, *quotas, kGpusPerNode).c_str());
    return 0;
  }
  std::vector<Case> cases;
  for (const int64_t nodes : choice->nodes) {
    for (const std::string& policy : choice->policies) {
      for (const std::string& durations : choice->durations) {
        Case one;
        one.policy = policy;
        one.durations = durations;
        one.nodes = nodes;
        cases.push_back(std::move(one));
      }
    }
  }
  RunAll(*data, *choice, cases);
  Print(cases);
  for (const Case& c : cases) {
    if (!choice->smoke) PrintGoals(c, cases);
  }
  return 0;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) { return muster::bench::Main(argc, argv); }
