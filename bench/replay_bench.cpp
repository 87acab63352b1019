// How many decisions a second does a whole replay make? The openb trace through the wire codec and
// the handlers, beside the same cluster without Muster: the difference is what Muster costs.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/file.hpp"
#include "extender/embedded/wire_extender.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/trace.hpp"

namespace muster::bench {
namespace {

using cluster::Result;

constexpr double kGoalDecisionsPerSecond = 20'000;
constexpr std::size_t kMaxTraceBytes = std::size_t{1} << 30U;
constexpr std::size_t kSmokeJobs = 500;

// The folder with the traces, as the tests have it.
std::string DataFolder() {
  const char* folder = std::getenv("MUSTER_DATA_DIR");
  return folder != nullptr ? folder : "../shared/data";
}

Result<sim::Trace> ReadOpenb() {
  sim::Trace trace;
  const std::string nodes_file = DataFolder() + "/openb/openb_node_list_gpu_node.csv";
  const std::string pods_file = DataFolder() + "/openb/openb_pod_list_default.csv";
  const Result<std::string> nodes_text = config::ReadFile(nodes_file, kMaxTraceBytes);
  if (!nodes_text.ok()) return nodes_text.error();
  const Result<std::string> pods_text = config::ReadFile(pods_file, kMaxTraceBytes);
  if (!pods_text.ok()) return pods_text.error();
  Result<std::vector<cluster::Node>> nodes = sim::ReadOpenbNodes(*nodes_text, nodes_file);
  if (!nodes.ok()) return nodes.error();
  Result<std::vector<sim::TraceJob>> jobs = sim::ReadOpenbPods(*pods_text, pods_file);
  if (!jobs.ok()) return jobs.error();
  trace.nodes = *std::move(nodes);
  trace.jobs = *std::move(jobs);
  return trace;
}

struct Timed {
  sim::ReplayReport report;
  double wall_s = 0;
  double cpu_s = 0;
};

Timed Replay(const sim::Trace& trace, bool with_muster) {
  sim::ReplayOptions options;
  options.cluster.with_muster = with_muster;
  options.cluster.api.gating = with_muster ? sim::Gating::kAll : sim::Gating::kNone;
  options.cluster.extender = [](sim::EventLoop& loop, sim::MusterLink& link) {
    return std::make_unique<extender::WireExtender>(loop, link);
  };
  Timed timed;
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu_begin = std::clock();
  timed.report = sim::Replay(trace, options);
  timed.cpu_s = static_cast<double>(std::clock() - cpu_begin) / CLOCKS_PER_SEC;
  timed.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return timed;
}

void Print(const char* what, const Timed& timed) {
  const auto decisions = static_cast<double>(timed.report.decisions);
  std::printf("%-16s %9ld %8.3f %8.3f %12.0f %12.0f  %s\n", what,
              static_cast<long>(timed.report.decisions), timed.wall_s, timed.cpu_s,
              decisions / timed.wall_s, decisions / timed.cpu_s,
              timed.report.decision_hash.c_str());
}

int Run(bool smoke) {
  Result<sim::Trace> trace = ReadOpenb();
  if (!trace.ok()) {
    std::printf("skipped: %s; MUSTER_DATA_DIR names the folder with the traces\n",
                trace.error().ToString().c_str());
    return 0;
  }
  if (smoke) trace->jobs.resize(std::min(trace->jobs.size(), kSmokeJobs));
  std::printf("openb default: %zu nodes, %zu pods, never deleted\n", trace->nodes.size(),
              trace->jobs.size());
  std::printf("%-16s %9s %8s %8s %12s %12s  %s\n", "", "decisions", "wall s", "cpu s", "per s",
              "per cpu s", "decision hash");
  std::vector<double> rates;
  for (int round = 0; round < (smoke ? 1 : 3); ++round) {
    Print("without muster", Replay(*trace, false));
    const Timed with = Replay(*trace, true);
    Print("with muster", with);
    rates.push_back(static_cast<double>(with.report.decisions) / with.wall_s);
  }
  std::sort(rates.begin(), rates.end());
  const double median = rates[rates.size() / 2];
  if (median >= kGoalDecisionsPerSecond) {
    std::printf("goal met: %.0f decisions a second (median), at least %.0f\n", median,
                kGoalDecisionsPerSecond);
  } else {
    std::printf(
        "goal missed: %.0f decisions a second (median), should be at least %.0f: %.0f %% below\n",
        median, kGoalDecisionsPerSecond, (1 - median / kGoalDecisionsPerSecond) * 100);
  }
  return 0;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  return muster::bench::Run(argc > 1 && std::string_view(argv[1]) == "--smoke");
}
