#include "sim/replay/replay_statistics.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "sim/replay/known_durations.hpp"
#include "sim/replay/queue_shares.hpp"
#include "sim/replay/replay.hpp"
#include "sim/replay/trace.hpp"

namespace muster::sim {
namespace {

using cluster::Duration;
using cluster::GpuMilli;
using cluster::Seconds;
using cluster::Time;

Time At(int64_t seconds) { return Time() + Seconds(seconds); }

JobOutcome Job(int64_t gpus, int64_t submitted, int64_t runs_for, int64_t ended) {
  JobOutcome job;
  job.gpus = GpuMilli(gpus * 1000);
  job.submitted = At(submitted);
  job.runs_for = Seconds(runs_for);
  job.started = At(ended - runs_for);
  job.ended = At(ended);
  return job;
}

const DelayRow& RowOf(const ReplayStatistics& statistics, const std::string& gpus) {
  for (const DelayRow& row : statistics.delays) {
    if (row.gpus == gpus) return row;
  }
  FAIL("no row " << gpus);
  return statistics.delays.front();
}

TEST_CASE("delays are counted by size, of jobs submitted in the window", "[sim][replay]") {
  ReplayHistory history;
  history.capacity = GpuMilli(8000);
  history.last = At(1000);
  history.jobs = {Job(1, 0, 10, 10),    Job(1, 100, 10, 120),  Job(4, 100, 10, 140),
                  Job(8, 100, 10, 160), Job(16, 100, 10, 180), Job(17, 199, 10, 300),
                  Job(1, 200, 10, 900)};
  JobOutcome cut = Job(1, 150, 10, 0);
  cut.ended.reset();
  history.jobs.push_back(cut);
  const ReplayStatistics window = StatisticsOf(history, {At(100), At(200)});
  CHECK(RowOf(window, "all").jobs == 6);
  CHECK(RowOf(window, "all").unfinished == 1);
  CHECK(RowOf(window, "all").delay_s.samples == 5);
  CHECK(RowOf(window, "1").delay_s.mean == 10);
  CHECK(RowOf(window, "2-4").delay_s.mean == 30);
  CHECK(RowOf(window, "5-8").delay_s.mean == 50);
  CHECK(RowOf(window, "9-16").delay_s.mean == 70);
  CHECK(RowOf(window, "over 16").delay_s.mean == 91);
  CHECK(RowOf(window, "over 8").delay_s.mean == Approx(80.5));
  CHECK(RowOf(StatisticsOf(history, {}), "all").jobs == 8);
}

TEST_CASE("use and losses are counted in the window of time", "[sim][replay]") {
  ReplayHistory history;
  history.capacity = GpuMilli(8000);
  history.last = At(400);
  history.usage = {{At(0), GpuMilli(8000)}, {At(100), GpuMilli(2000)}, {At(300), GpuMilli()}};
  history.losses = {{At(50), 3'600'000'000}, {At(150), 7'200'000'000}};
  const ReplayStatistics window = StatisticsOf(history, {At(50), At(250)});
  CHECK(window.utilization == Approx((50 * 8 + 150 * 2) / (200.0 * 8)));
  CHECK(window.evictions == 2);
  CHECK(window.lost_gpu_hours == Approx(3));
  CHECK(window.lost_ratio == Approx(3 * 3600 / (200.0 * 8)));
  const ReplayStatistics later = StatisticsOf(history, {At(100)});
  CHECK(later.utilization == Approx(200 * 2 / (300.0 * 8)));
  CHECK(later.evictions == 1);
}

queues::QueueSpec Guaranteed(const std::string& name, int64_t gpus) {
  queues::QueueSpec queue;
  queue.name = name;
  queue.guarantee = {{queues::Resource{}, queues::Amount(gpus * 1000)}};
  return queue;
}

TEST_CASE("shares are those of R1 for what queues want", "[sim][replay]") {
  QueueShares shares({Guaranteed("a", 6), Guaranteed("b", 2)}, GpuMilli(8000));
  CHECK(shares.Has("a"));
  CHECK_FALSE(shares.Has("root"));
  CHECK_FALSE(shares.Has("c"));
  shares.AddDemand("a", GpuMilli(8000));
  shares.AddUse("a", GpuMilli(3000));
  shares.AddDemand("c", GpuMilli(8000));
  std::vector<ShareSample> samples;
  shares.Sample(At(0), samples);
  shares.AddDemand("b", GpuMilli(4000));
  shares.Sample(At(1), samples);
  REQUIRE(samples.size() == 3);
  CHECK(samples[0].share == GpuMilli(8000));
  CHECK(samples[1].share == GpuMilli(6000));
  CHECK(samples[1].used == GpuMilli(3000));
  CHECK(samples[2].queue == "b");
  CHECK(samples[2].share == GpuMilli(2000));
  ReplayHistory history;
  history.shares = samples;
  const auto least = StatisticsOf(history, {}).least_served;
  REQUIRE(least.has_value());
  CHECK(least->queue == "b");
  CHECK(least->ratio == 0);
}

TEST_CASE("what a job says of its run time depends on the job alone", "[sim][replay]") {
  const auto read = [](const std::string& rows) {
    return ReadGangJobs("job_id,submit_s,gpus,duration_s,vc\n" + rows, "jobs.csv").value();
  };
  std::vector<TraceJob> alone = read("7,0,16,1000,vision\n");
  std::vector<TraceJob> among = read("1,0,1,10,vision\n7,0,16,1000,vision\n9,5,1,7,\n");
  TellDurations(Known::kRough, alone);
  TellDurations(Known::kRough, among);
  CHECK(alone[0].expected == among[1].expected);
  REQUIRE(alone[0].expected.has_value());
  CHECK(*alone[0].expected >= Seconds(500));
  CHECK(*alone[0].expected <= Seconds(1500));
  TellDurations(Known::kExact, among);
  CHECK(among[0].expected == Seconds(10));

  std::vector<TraceJob> unknown = read("7,0,16,1000,vision\n");
  TellDurations(Known::kUnknown, unknown);
  CHECK_FALSE(unknown[0].expected.has_value());
  TellDurations(Known::kLearnt, unknown);
  CHECK_FALSE(unknown[0].expected.has_value());
  CHECK(unknown[0].name == "vision-16gpu-7");
  CHECK(unknown[0].pods[1].pod.key.name == "vision-16gpu-7-1");
}

// Two jobs of the queue "low" on 8 GPUs, and an urgent one of 8 that evicts them.
ReplayReport ReplayEviction(Duration checkpoint) {
  Trace trace;
  trace.nodes = ParseNodeCount("1x8").value();
  trace.jobs =
      ReadGangJobs("job_id,submit_s,gpus,duration_s\n0,0,8,1000\n1,250,8,50\n", "j").value();
  cluster::PodSpec urgent = *trace.jobs[1].pods[0].pod.spec;
  urgent.priority = 10;
  trace.jobs[1].pods[0].pod.spec = std::make_shared<const cluster::PodSpec>(urgent);
  ReplayOptions options;
  options.checkpoint = checkpoint;
  options.cluster.audit = true;
  options.cluster.api.gating = Gating::kAll;
  options.cluster.kubelet.start_delay = Duration(0);
  options.cluster.muster.engine.queues =
      queues::OneQueue(queues::Order::kFifo, queues::WithinQueue::kLowerPriority);
  return Replay(trace, options);
}

TEST_CASE("what bookings keep idle is counted in the window, in proportion between samples",
          "[sim][replay]") {
  ReplayHistory history;
  history.capacity = GpuMilli(4000);
  history.last = At(400);
  history.idle = {{At(100), 0}, {At(200), 7'200'000'000}, {At(300), 10'800'000'000}};
  const ReplayStatistics window = StatisticsOf(history, {At(150), At(300)});
  CHECK(window.booked_idle_gpu_hours == Approx(2));
  CHECK(window.booked_idle_ratio == Approx(2 * 3600 / (150.0 * 4)));
  CHECK(StatisticsOf(history, {}).booked_idle_gpu_hours == Approx(3));
}

TEST_CASE("GPUs that wait for a booked gang are counted as idle", "[sim][replay]") {
  Trace trace;
  trace.nodes = ParseNodeCount("1x8").value();
  trace.jobs =
      ReadGangJobs("job_id,submit_s,gpus,duration_s\n0,0,6,36000\n1,0,8,60\n2,20000,2,36000\n", "j")
          .value();
  TellDurations(Known::kExact, trace.jobs);
  ReplayOptions options;
  options.cluster.api.gating = Gating::kAll;
  options.cluster.muster.engine.queues = {{.name = "root"}};
  const ReplayReport report = Replay(trace, options);
  // Two GPUs, from five minutes after the second job's arrival until the first one has ended.
  CHECK(StatisticsOf(report.history, {}).booked_idle_gpu_hours ==
        Approx(2 * (36'000 - 300) / 3600.0).epsilon(0.01));
}

TEST_CASE("an evicted job is made again and runs anew", "[sim][replay]") {
  const ReplayReport report = ReplayEviction({});
  CHECK(report.audit_findings == 0);
  const JobOutcome& job = report.history.jobs[0];
  CHECK(job.evictions == 1);
  REQUIRE(job.ended.has_value());
  CHECK(*job.ended >= At(250 + 50 + 1000));
  CHECK(*job.ended <= At(250 + 50 + 1000 + 5));
  const ReplayStatistics all = StatisticsOf(report.history, {});
  CHECK(all.evictions == 1);
  CHECK(all.lost_gpu_hours == Approx(8 * 250 / 3600.0));
  CHECK(report.pods_total == 3);
}

TEST_CASE("an evicted job goes on from its last checkpoint", "[sim][replay]") {
  const ReplayReport report = ReplayEviction(Seconds(100));
  const JobOutcome& job = report.history.jobs[0];
  REQUIRE(job.ended.has_value());
  CHECK(*job.ended >= At(250 + 50 + 800));
  CHECK(*job.ended <= At(250 + 50 + 800 + 5));
  CHECK(StatisticsOf(report.history, {}).lost_gpu_hours == Approx(8 * 50 / 3600.0));
}

TEST_CASE("a job is in the queue that it names, if the policy has it", "[sim][replay]") {
  Trace trace;
  trace.nodes = ParseNodeCount("1x8").value();
  trace.jobs = ReadGangJobs(
                   "job_id,submit_s,gpus,duration_s,queue\n0,0,8,3600,a\n1,0,8,3600,b\n"
                   "2,0,8,3600,a\n",
                   "jobs.csv")
                   .value();
  ReplayOptions options;
  options.cluster.audit = true;
  options.cluster.api.gating = Gating::kAll;
  options.cluster.muster.engine.queues = {Guaranteed("a", 8)};
  const ReplayReport report = Replay(trace, options);
  CHECK(report.audit_findings == 0);
  CHECK(report.gangs_started == 3);
  CHECK(report.history.jobs[0].queue == "a");
  CHECK(report.history.shares.front().used == GpuMilli(8000));
  for (const ShareSample& sample : report.history.shares) CHECK(sample.queue == "a");
  REQUIRE_FALSE(report.history.shares.empty());
  CHECK(report.history.shares.back().queue == "a");
}

}  // namespace
}  // namespace muster::sim
