#include "sim/replay/replay.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/base/check.hpp"
#include "sim/replay/queue_shares.hpp"
#include "sim/replay/replay_recorder.hpp"
#include "sim/replay/still_waiting.hpp"

namespace muster::sim {

using cluster::Duration;
using cluster::Time;

namespace {

constexpr Duration kSampleIdleEvery = cluster::Seconds(3600);
constexpr int64_t kProgressEvery = 256;  // jobs submitted, or virtual hours passed

// "5400s"; at least one, because 0 is no duration.
std::string GoSeconds(Duration duration) {
  return std::to_string(std::max<int64_t>((duration.value() + 999) / 1000, 1)) + "s";
}

class Run {
 public:
  Run(const Trace& trace, const ReplayOptions& options)
      : trace_(trace),
        options_(options),
        cluster_(options.cluster),
        queues_(QueuesOf(options), Capacity(trace)),
        recorder_(QueueShares(options.shares_by.value_or(QueuesOf(options)), Capacity(trace)),
                  GangPlaces(trace.nodes, options.cluster.muster.engine.placement),
                  ModelUse(trace.nodes), Capacity(trace), options.checkpoint) {
    watch_ = cluster_.api().OpenWatch({.pods = true}, [this] { DrainSoon(); });
    for (const cluster::Node& node : trace.nodes)
      MUSTER_CHECK(cluster_.api().CreateNode(Actor::kUser, node).ok());
  }

  ReplayReport Go() {
    for (size_t i = 0; i < trace_.jobs.size();) {
      AdvanceTo(trace_.jobs[i].submitted);
      const size_t end = EndOfCrowd(i);
      Submit(i, end);
      if (i / kProgressEvery != end / kProgressEvery) Tell(static_cast<int64_t>(end));
      i = end;
    }
    const Time end = Time() + options_.horizon;
    while (!Idle() && cluster_.loop().NextDue() <= end) {
      const Time until = cluster_.loop().NextDue() + cluster::Seconds(3600);
      AdvanceTo(std::min(until, end));
      Tell(static_cast<int64_t>(trace_.jobs.size()));
    }
    return Report();
  }

 private:
  static cluster::GpuMilli Capacity(const Trace& trace) {
    int64_t gpus = 0;
    for (const cluster::Node& node : trace.nodes) gpus += static_cast<int64_t>(node.gpus.size());
    return cluster::kWholeGpu * gpus;
  }
  static std::vector<queues::QueueSpec> QueuesOf(const ReplayOptions& options) {
    if (!options.cluster.with_muster) return {};
    return options.cluster.muster.engine.queues;
  }

  bool Idle() { return cluster_.loop().idle() && deletions_.empty(); }

  // Everything up to and including `time`, deletions of the trace at their own times.
  void AdvanceTo(Time time) {
    while (!deletions_.empty() && deletions_.begin()->first <= time) {
      const auto [at, job] = *deletions_.begin();
      cluster_.loop().RunUntil(std::max(at, cluster_.loop().now()));
      deletions_.erase(deletions_.begin());
      Drain();
      Delete(job);
      Drain();
    }
    if (time > cluster_.loop().now()) cluster_.loop().RunUntil(time);
    Drain();
    if (cluster_.loop().now() >= next_idle_) SampleIdle();
  }

  void SampleIdle() {
    next_idle_ = cluster_.loop().now() + kSampleIdleEvery;
    if (cluster_.muster() == nullptr) return;
    const std::vector<engine::QueueView> queues = cluster_.muster()->scheduler().Queues();
    if (!queues.empty()) recorder_.BookedIdle(cluster_.loop().now(), queues.front().booked_idle);
  }

  // Jobs that come at one moment. Their controllers make their pods side by side, which
  // kube-scheduler then places in that order; Muster places gangs, in whatever order pods come.
  size_t EndOfCrowd(size_t first) const {
    size_t end = first + 1;
    if (options_.cluster.with_muster) return end;
    while (end < trace_.jobs.size() && trace_.jobs[end].submitted == trace_.jobs[first].submitted)
      ++end;
    return end;
  }

  // The jobs from `first` on, one pod of each in turn.
  void Submit(size_t first, size_t end) {
    size_t most = 0;
    for (size_t i = first; i < end; ++i) {
      Announce(i);
      most = std::max(most, trace_.jobs[i].pods.size());
    }
    for (size_t position = 0; position < most; ++position) {
      for (size_t i = first; i < end; ++i) {
        if (position < trace_.jobs[i].pods.size()) Create({i, position});
      }
    }
    cluster_.loop().RunUntil(cluster_.loop().now());
    Drain();
  }

  void Announce(size_t index) {
    const TraceJob& job = trace_.jobs[index];
    JobOutcome outcome;
    outcome.queue = job.queue;
    for (const PodRecord& pod : job.pods) outcome.gpus += pod.pod.spec->gpus.total();
    outcome.submitted = job.submitted;
    outcome.runs_for = job.runs_for;
    if (job.pods.size() > 1) {
      cluster::PodGroup group;
      group.key = {job.pods.front().pod.key.ns, job.name};
      group.min_member = static_cast<int64_t>(job.pods.size());
      group.topology = job.topology;
      if (queues_.Has(job.queue)) group.queue = job.queue;
      MUSTER_CHECK(cluster_.api().CreatePodGroup(Actor::kUser, std::move(group)).ok());
    }
    recorder_.Submitted(std::move(outcome), job.pods.size());
    if (options_.timeline && job.deleted)
      deletions_.emplace(std::max(*job.deleted, job.submitted), index);
  }

  void Create(PodOfJob of) {
    const TraceJob& job = trace_.jobs[of.job];
    PodRecord record = job.pods[of.position];
    record.runs_for = recorder_.Remaining(of.job);
    if (job.pods.size() > 1) record.pod.pod_group = job.name;
    if (queues_.Has(job.queue)) record.pod.asked_queue = job.queue;
    if (job.expected) {
      record.annotations[cluster::kExpectedDuration] = GoSeconds(*job.expected);
      record.pod.run_times =
          std::make_shared<const cluster::RunTimes>(cluster::RunTimes{.declared = *job.expected});
    }
    const cluster::Result<PodPtr> created =
        cluster_.api().CreatePod(Actor::kUser, std::move(record));
    MUSTER_CHECK(created.ok());
    recorder_.Created(**created, of);
    ++pods_total_;
  }

  void Delete(size_t index) {
    recorder_.Deleted(index);
    for (const PodRecord& pod : trace_.jobs[index].pods) {
      const PodPtr found = cluster_.api().FindPod(pod.pod.key);
      if (!found) continue;
      MUSTER_CHECK(cluster_.api()
                       .DeletePod(Actor::kUser, {found->pod.key, found->pod.uid}, Duration(0))
                       .ok());
    }
    cluster_.loop().RunUntil(cluster_.loop().now());
  }

  // At the same moment, so that a pod that has to be made again is.
  void DrainSoon() {
    if (drain_posted_) return;
    drain_posted_ = true;
    cluster_.loop().Post([this] {
      drain_posted_ = false;
      Drain();
    });
  }

  void Drain() {
    std::vector<PodOfJob> again;
    while (const WatchEvent* event = watch_->Peek()) {
      if (const std::optional<PodOfJob> of = recorder_.Handle(*event)) again.push_back(*of);
      watch_->Pop();
    }
    for (const PodOfJob& of : again) Create(of);
  }

  void Tell(int64_t submitted) {
    if (!options_.progress) return;
    options_.progress({submitted, static_cast<int64_t>(trace_.jobs.size()),
                       cluster_.api().decisions().count(), cluster_.loop().now()});
  }

  void AddModels(Time first, Time last, ReplayReport& report) {
    const bool whole_only =
        !options_.cluster.with_muster && options_.cluster.shared_by == SharedBy::kStock;
    std::vector<cluster::Node> nodes;
    for (const NodePtr& node : cluster_.api().Nodes()) nodes.push_back(node->node);
    std::vector<engine::GangView> gangs;
    if (cluster_.muster() != nullptr) gangs = cluster_.muster()->scheduler().Gangs();
    report.waiting = StillWaiting(gangs);
    LeftOver left = LookAtTheEnd(nodes, cluster_.api().Pods(), whole_only, RefusedPods(gangs));
    report.out = std::move(left.out);
    report.models = recorder_.models().Report(first, last);
    for (size_t i = 0; i < report.models.size(); ++i) {  // both are ordered by model
      report.models[i].free = left.free[i].free;
      report.models[i].free_whole = left.free[i].free_whole;
      report.models[i].free_nodes = left.free[i].free_nodes;
    }
  }

  ReplayReport Report() {
    SampleIdle();
    ReplayReport report;
    report.nodes = static_cast<int64_t>(trace_.nodes.size());
    const cluster::GpuMilli capacity = Capacity(trace_);
    report.gpu_capacity_milli = capacity.value();
    report.gpus = capacity.value() / cluster::kWholeGpu.value();
    report.pods_total = pods_total_;
    report.pods_placed = recorder_.placed();
    report.pods_unplaced = report.pods_total - report.pods_placed;
    report.gangs_total = static_cast<int64_t>(trace_.jobs.size());
    report.gangs_started = recorder_.started();
    report.partial_gangs = recorder_.partial();
    report.partial_gpu_milli = recorder_.PartialGpus().value();
    report.gpu_allocated_milli = recorder_.most_used().value();
    report.wait_s = Summarize(recorder_.Waits());
    report.jct_s = Summarize(recorder_.completions());
    report.places = recorder_.Places();
    const Time first = trace_.jobs.empty() ? Time() : trace_.jobs.front().submitted;
    const Time last = std::max({first, recorder_.last_event(),
                                trace_.jobs.empty() ? first : trace_.jobs.back().submitted});
    AddModels(first, last, report);
    report.makespan_s = static_cast<double>((last - first).value()) / 1000;
    report.history = recorder_.TakeHistory(last);
    report.utilization_mean = StatisticsOf(report.history, {first, last}).utilization;
    if (capacity.value() > 0) {
      report.allocation_ratio = static_cast<double>(report.gpu_allocated_milli) /
                                static_cast<double>(report.gpu_capacity_milli);
    }
    report.decisions = cluster_.api().decisions().count();
    report.decision_hash = cluster_.api().decisions().ToString();
    report.scheduler = cluster_.scheduler().stats();
    if (cluster_.auditor() != nullptr) {
      report.audit_findings = static_cast<int64_t>(cluster_.auditor()->findings().size());
    }
    return report;
  }

  const Trace& trace_;
  const ReplayOptions& options_;
  Cluster cluster_;
  std::unique_ptr<Watch> watch_;
  const QueueShares queues_;  // of the policy, for what jobs can name
  ReplayRecorder recorder_;
  Time next_idle_;
  bool drain_posted_ = false;
  std::multimap<Time, size_t> deletions_;
  int64_t pods_total_ = 0;
};

}  // namespace

ReplayReport Replay(const Trace& trace, const ReplayOptions& options) {
  return Run(trace, options).Go();
}

}  // namespace muster::sim
