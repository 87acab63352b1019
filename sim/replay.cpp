#include "sim/replay.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "cluster/check.hpp"

namespace muster::sim {

using cluster::Duration;
using cluster::PodUid;
using cluster::Time;

namespace {

constexpr int64_t kProgressEvery = 256;  // jobs submitted, or virtual hours passed

struct JobFate {
  Time submitted;
  int64_t pods = 0;
  int64_t bound = 0;
  int64_t ended = 0;
  bool started = false;
  bool deleted = false;                   // by the trace, at its time
  std::vector<GangPlaces::Place> places;  // of its pods, in their order, until it starts
};

// Follows pods from their watch events. GPU time is integrated between events.
class Recorder {
 public:
  Recorder(int64_t capacity_milli, GangPlaces places)
      : capacity_(capacity_milli), places_(std::move(places)) {}

  // `position`: among the pods of the job.
  void Submitted(const PodRecord& pod, size_t job, size_t position) {
    pods_[pod.pod.uid] = {job, position, pod.pod.spec->gpus.total().value()};
  }
  void Handle(const WatchEvent& event, std::vector<JobFate>& jobs) {
    const PodRecord& record = *std::get<PodPtr>(event.object);
    const auto found = pods_.find(record.pod.uid);
    if (found == pods_.end()) return;
    Followed& pod = found->second;
    JobFate& job = jobs[pod.job];
    if (record.pod.bound() && !pod.bound) {
      pod.bound = true;
      Allocate(pod.gpu_milli, event.at);
      ++placed_;
      if (!job.started) job.places[pod.position] = {record.pod.node_name, record.pod.bound_gpus};
      if (++job.bound == job.pods && !job.started) {
        job.started = true;
        waits_.push_back(event.at - job.submitted);
        places_.Started(job.places);
        job.places = {};
      }
    }
    const bool over = record.pod.terminal() || event.change == Change::kDeleted;
    if (!over || pod.over) return;
    pod.over = true;
    if (pod.bound) {
      Allocate(-pod.gpu_milli, event.at);
      if (!job.started) --job.bound;
    }
    // The trace deletes a job when it was over. One that had not started by then never ran, and a
    // pod that somebody else removed did not end.
    const bool ended = record.pod.terminal() || (job.started && job.deleted);
    if (ended && ++job.ended == job.pods) completions_.push_back(event.at - job.submitted);
  }

  void Finish(Time first, Time last, ReplayReport& report) {
    Allocate(0, last);
    report.pods_placed = placed_;
    report.gpu_allocated_milli = most_allocated_;
    report.wait_s = Summarize(waits_);
    report.jct_s = Summarize(completions_);
    report.makespan_s = static_cast<double>((last - first).value()) / 1000;
    const double span =
        static_cast<double>((last - first).value()) * static_cast<double>(capacity_);
    report.utilization_mean = span > 0 ? busy_ / span : 0;
    report.places = places_.Report();
  }
  Time last_event() const { return last_change_; }

 private:
  struct Followed {
    size_t job = 0;
    size_t position = 0;
    int64_t gpu_milli = 0;
    bool bound = false;
    bool over = false;
  };

  void Allocate(int64_t milli, Time at) {
    busy_ += static_cast<double>(allocated_) * static_cast<double>((at - last_change_).value());
    last_change_ = at;
    allocated_ += milli;
    most_allocated_ = std::max(most_allocated_, allocated_);
  }

  int64_t capacity_;
  GangPlaces places_;
  std::unordered_map<PodUid, Followed> pods_;
  std::vector<Duration> waits_;
  std::vector<Duration> completions_;
  int64_t placed_ = 0;
  int64_t allocated_ = 0;
  int64_t most_allocated_ = 0;
  double busy_ = 0;  // GPU-milli × milliseconds
  Time last_change_;
};

class Run {
 public:
  Run(const Trace& trace, const ReplayOptions& options)
      : trace_(trace),
        options_(options),
        cluster_(options.cluster),
        recorder_(Capacity(trace),
                  GangPlaces(trace.nodes, options.cluster.muster.engine.placement)) {
    watch_ = cluster_.api().OpenWatch({.pods = true}, {});
    for (const cluster::Node& node : trace.nodes)
      MUSTER_CHECK(cluster_.api().CreateNode(Actor::kUser, node).ok());
    fates_.resize(trace.jobs.size());
  }

  ReplayReport Go() {
    for (size_t i = 0; i < trace_.jobs.size(); ++i) {
      AdvanceTo(trace_.jobs[i].submitted);
      Submit(i);
      if (i % kProgressEvery == 0) Tell(static_cast<int64_t>(i));
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
  static int64_t Capacity(const Trace& trace) {
    int64_t gpus = 0;
    for (const cluster::Node& node : trace.nodes) gpus += static_cast<int64_t>(node.gpus.size());
    return gpus * cluster::kWholeGpu.value();
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
  }

  void Submit(size_t index) {
    const TraceJob& job = trace_.jobs[index];
    JobFate& fate = fates_[index];
    fate.submitted = job.submitted;
    fate.pods = static_cast<int64_t>(job.pods.size());
    fate.places.resize(job.pods.size());
    pods_total_ += fate.pods;
    if (job.pods.size() > 1) {
      cluster::PodGroup group;
      group.key = {"default", job.name};
      group.min_member = fate.pods;
      group.topology = job.topology;
      MUSTER_CHECK(cluster_.api().CreatePodGroup(Actor::kUser, std::move(group)).ok());
    }
    for (size_t position = 0; position < job.pods.size(); ++position) {
      PodRecord record = job.pods[position];
      record.runs_for = job.runs_for;
      if (job.pods.size() > 1) record.pod.pod_group = job.name;
      const cluster::Result<PodPtr> created =
          cluster_.api().CreatePod(Actor::kUser, std::move(record));
      MUSTER_CHECK(created.ok());
      recorder_.Submitted(**created, index, position);
    }
    if (options_.timeline && job.deleted)
      deletions_.emplace(std::max(*job.deleted, job.submitted), index);
    cluster_.loop().RunUntil(cluster_.loop().now());
    Drain();
  }

  void Delete(size_t index) {
    fates_[index].deleted = true;
    for (const PodRecord& pod : trace_.jobs[index].pods) {
      const PodPtr found = cluster_.api().FindPod(pod.pod.key);
      if (!found) continue;
      MUSTER_CHECK(cluster_.api()
                       .DeletePod(Actor::kUser, {found->pod.key, found->pod.uid}, Duration(0))
                       .ok());
    }
    cluster_.loop().RunUntil(cluster_.loop().now());
  }

  void Drain() {
    while (const WatchEvent* event = watch_->Peek()) {
      recorder_.Handle(*event, fates_);
      watch_->Pop();
    }
  }

  void Tell(int64_t submitted) {
    if (!options_.progress) return;
    options_.progress({submitted, static_cast<int64_t>(trace_.jobs.size()),
                       cluster_.api().decisions().count(), cluster_.loop().now()});
  }

  ReplayReport Report() {
    ReplayReport report;
    report.nodes = static_cast<int64_t>(trace_.nodes.size());
    report.gpu_capacity_milli = Capacity(trace_);
    report.gpus = report.gpu_capacity_milli / cluster::kWholeGpu.value();
    report.pods_total = pods_total_;
    report.gangs_total = static_cast<int64_t>(fates_.size());
    for (const JobFate& fate : fates_) {
      report.gangs_started += fate.started ? 1 : 0;
      report.partial_gangs += !fate.started && fate.bound > 0 ? 1 : 0;
    }
    const Time first = trace_.jobs.empty() ? Time() : trace_.jobs.front().submitted;
    const Time last = std::max({first, recorder_.last_event(),
                                trace_.jobs.empty() ? first : trace_.jobs.back().submitted});
    recorder_.Finish(first, last, report);
    report.pods_unplaced = report.pods_total - report.pods_placed;
    if (report.gpu_capacity_milli > 0) {
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
  Recorder recorder_;
  std::vector<JobFate> fates_;
  std::multimap<Time, size_t> deletions_;
  int64_t pods_total_ = 0;
};

}  // namespace

Distribution Summarize(std::vector<Duration> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const auto rank = [&](double share) {
    const auto n = static_cast<size_t>(std::ceil(share * static_cast<double>(samples.size())));
    return static_cast<double>(samples[std::max<size_t>(n, 1) - 1].value()) / 1000;
  };
  double sum = 0;
  for (const Duration sample : samples) sum += static_cast<double>(sample.value());
  return {static_cast<int64_t>(samples.size()),
          sum / static_cast<double>(samples.size()) / 1000,
          rank(0.50),
          rank(0.95),
          rank(0.99),
          rank(1.0)};
}

ReplayReport Replay(const Trace& trace, const ReplayOptions& options) {
  return Run(trace, options).Go();
}

}  // namespace muster::sim
