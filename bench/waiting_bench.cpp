// What do gangs cost that wait? 3,000 gangs on 20,000 nodes of 8 GPUs, of which most wait for an
// hour: the whole simulation, API server and kube-scheduler included. Beside it the same gangs on
// five times as many nodes, where nobody waits.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <string_view>

#include "cluster/base/check.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/trace.hpp"

namespace muster::bench {
namespace {

double CpuSeconds() {
  timespec now{};
  MUSTER_CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Five come each second; each asks for 8 to 64 nodes, for 20 to 120 minutes.
std::string Jobs(int count) {
  std::mt19937 random(7);
  const auto draw = [&](uint32_t from, uint32_t to) {
    return from + static_cast<uint32_t>(random() % (to - from + 1));
  };
  std::string jobs = "job_id,submit_s,gpus,duration_s\n";
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    jobs += "j" + number + "," + std::to_string(i / 5) + "," + std::to_string(64U << draw(0, 3)) +
            "," + std::to_string(draw(1'200, 7'200)) + "\n";
  }
  return jobs;
}

// Seconds of processor time.
double Simulate(int nodes, int jobs) {
  sim::Trace trace;
  trace.nodes = *sim::ParseNodeCount(std::to_string(nodes) + "x8");
  trace.jobs = *sim::ReadGangJobs(Jobs(jobs), "jobs");
  const double before = CpuSeconds();
  const sim::ReplayReport report = sim::Replay(trace, {});
  const double seconds = CpuSeconds() - before;
  std::printf("%6d nodes %8.1f s   %lld of %d gangs started\n", nodes, seconds,
              static_cast<long long>(report.gangs_started), jobs);
  return seconds;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::string_view(argv[1]) == "--smoke";
  const int jobs = smoke ? 150 : 3'000;
  const int nodes = smoke ? 1'000 : 20'000;
  std::printf("%d gangs, seconds of processor time\n\n", jobs);
  const double waiting = muster::bench::Simulate(nodes, jobs);
  const double none = muster::bench::Simulate(nodes * 5, jobs);
  std::printf("\nwaiting over not waiting: %.2f\n", waiting / none);
  return 0;
}
