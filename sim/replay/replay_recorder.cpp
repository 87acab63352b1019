#include "sim/replay/replay_recorder.hpp"

#include <algorithm>
#include <utility>

namespace muster::sim {

using cluster::Duration;
using cluster::GpuMilli;
using cluster::Time;

namespace {

constexpr Duration kSampleEvery = cluster::Seconds(3600);

}  // namespace

ReplayRecorder::ReplayRecorder(QueueShares shares, GangPlaces places, ModelUse models,
                               GpuMilli capacity, Duration checkpoint)
    : shares_(std::move(shares)),
      places_(std::move(places)),
      models_(std::move(models)),
      checkpoint_ms_(checkpoint.value()),
      next_sample_(Time::Never()) {
  history_.capacity = capacity;
}

void ReplayRecorder::Submitted(JobOutcome job, size_t pods) {
  if (next_sample_ == Time::Never()) next_sample_ = job.submitted;
  SampleUntil(job.submitted);
  shares_.AddDemand(job.queue, job.gpus);
  Fate fate;
  fate.pods = pods;
  fate.demand = job.gpus;
  fate.places.resize(pods);
  fates_.push_back(std::move(fate));
  history_.jobs.push_back(std::move(job));
}

void ReplayRecorder::Created(const PodRecord& pod, PodOfJob of) {
  pods_[pod.pod.uid] = {of, pod.pod.spec->gpus.total()};
}

std::optional<PodOfJob> ReplayRecorder::Handle(const WatchEvent& event) {
  const PodRecord& record = *std::get<PodPtr>(event.object);
  const auto found = pods_.find(record.pod.uid);
  if (found == pods_.end()) return std::nullopt;
  Followed& pod = found->second;
  SampleUntil(event.at);
  if (record.pod.bound() && !pod.bound) Bound(record, pod, event.at);
  if (record.evicted_by_muster && !pod.evicted) {
    pod.evicted = true;
    Evicted(pod.of.job, event.at);
  }
  const bool gone = event.change == Change::kDeleted;
  if ((record.pod.terminal() || gone) && !pod.over) Over(record, pod, event.at);
  if (!gone) return std::nullopt;
  const PodOfJob of = pod.of;
  const bool again = pod.evicted && !record.pod.terminal() && !fates_[of.job].deleted;
  pods_.erase(found);
  return again ? std::optional(of) : std::nullopt;
}

void ReplayRecorder::Bound(const PodRecord& record, Followed& pod, Time at) {
  pod.bound = true;
  ++placed_;
  Use(pod.of.job, record.pod.node_name, pod.gpus, at);
  Fate& fate = fates_[pod.of.job];
  JobOutcome& job = history_.jobs[pod.of.job];
  if (!job.started) fate.places[pod.of.position] = {record.pod.node_name, record.pod.bound_gpus};
  if (++fate.bound + fate.ended < fate.pods) return;
  fate.runs_since = at;
  if (job.started) return;
  job.started = at;
  places_.Started(fate.places);
  fate.places = {};
}

void ReplayRecorder::Evicted(size_t job, Time at) {
  Fate& fate = fates_[job];
  if (!fate.runs_since) return;
  const int64_t ran = (at - *fate.runs_since).value();
  const int64_t kept = checkpoint_ms_ > 0 ? ran / checkpoint_ms_ * checkpoint_ms_ : 0;
  fate.kept += Duration(kept);
  fate.runs_since.reset();
  ++history_.jobs[job].evictions;
  history_.losses.push_back({at, history_.jobs[job].gpus.value() * (ran - kept)});
}

void ReplayRecorder::Over(const PodRecord& record, Followed& pod, Time at) {
  pod.over = true;
  Fate& fate = fates_[pod.of.job];
  JobOutcome& job = history_.jobs[pod.of.job];
  if (pod.bound) {
    Use(pod.of.job, record.pod.node_name, GpuMilli(-pod.gpus.value()), at);
    --fate.bound;
  }
  // The trace deletes a job when it was over. One that had not started by then never ran, and a
  // pod that somebody else removed did not end.
  const bool ended = record.pod.terminal() || (job.started && fate.deleted);
  if (ended) ++fate.ended;
  const bool done = ended && fate.ended == fate.pods;
  if (done) {
    job.ended = at;
    completions_.push_back(at - job.submitted);
  }
  if (done || fate.deleted) {
    shares_.AddDemand(job.queue, GpuMilli(-std::exchange(fate.demand, GpuMilli()).value()));
  }
}

void ReplayRecorder::Use(size_t job, const std::string& node, GpuMilli gpus, Time at) {
  models_.Use(node, gpus, at);
  used_ += gpus;
  most_used_ = std::max(most_used_, used_);
  last_event_ = at;
  shares_.AddUse(history_.jobs[job].queue, gpus);
  if (!history_.usage.empty() && history_.usage.back().at == at) {
    history_.usage.back().used = used_;
  } else {
    history_.usage.push_back({at, used_});
  }
}

void ReplayRecorder::SampleUntil(Time at) {
  for (; next_sample_ <= at; next_sample_ = next_sample_ + kSampleEvery)
    shares_.Sample(next_sample_, history_.shares);
}

std::optional<Duration> ReplayRecorder::Remaining(size_t job) const {
  const std::optional<Duration>& whole = history_.jobs[job].runs_for;
  if (!whole) return std::nullopt;
  return std::max(*whole - fates_[job].kept, Duration());
}

int64_t ReplayRecorder::started() const {
  return std::count_if(history_.jobs.begin(), history_.jobs.end(),
                       [](const JobOutcome& job) { return job.started.has_value(); });
}

int64_t ReplayRecorder::partial() const {
  int64_t count = 0;
  for (size_t i = 0; i < fates_.size(); ++i)
    count += !history_.jobs[i].started && fates_[i].bound > 0 ? 1 : 0;
  return count;
}

cluster::GpuMilli ReplayRecorder::PartialGpus() const {
  cluster::GpuMilli gpus;
  for (const auto& [uid, pod] : pods_) {
    if (pod.bound && !pod.over && !history_.jobs[pod.of.job].started) gpus += pod.gpus;
  }
  return gpus;
}

std::vector<Duration> ReplayRecorder::Waits() const {
  std::vector<Duration> waits;
  for (const JobOutcome& job : history_.jobs) {
    if (job.started) waits.push_back(*job.started - job.submitted);
  }
  return waits;
}

ReplayHistory ReplayRecorder::TakeHistory(Time last) {
  history_.last = last;
  return std::move(history_);
}

}  // namespace muster::sim
