#include "sim/world/job_controller.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "sim/api_server/informer.hpp"
#include "sim/api_server/watch.hpp"

namespace muster::sim {

using cluster::ObjectKey;

class JobController::Impl {
 public:
  Impl(EventLoop& loop, ApiServer& api) : api_(api) {
    informer_ = std::make_unique<Informer>(
        loop, api_, Kinds{.pods = true, .jobs = true}, WatchFaults{}, 0,
        [this](const WatchEvent& event) { OnEvent(event); }, [this] { Reconcile(); });
  }

 private:
  // One completion index of a Job.
  struct Index {
    cluster::PodUid pod;  // that runs or waits for it; empty: none
    int64_t made = 0;     // pods made so far
    bool done = false;
  };
  struct Work {
    ObjectKey key;
    std::map<int64_t, Index> indices;
    int64_t failed = 0;
  };

  void OnEvent(const WatchEvent& event);
  void OnJob(Change change, const JobRecord& job);
  void OnPod(Change change, const PodRecord& pod);
  void Reconcile();
  void Reconcile(const std::string& uid, Work& work);
  void Make(const JobRecord& job, int64_t number, Index& index);
  void DropPods(const Work& work);
  void WriteStatus(const JobRecord& job, const Work& work);

  ApiServer& api_;
  std::map<std::string, Work> work_;  // Jobs that exist, by UID
  std::set<std::string> touched_;     // UIDs of Jobs to look at
  std::unique_ptr<Informer> informer_;
};

void JobController::Impl::OnEvent(const WatchEvent& event) {
  if (const JobPtr* job = std::get_if<JobPtr>(&event.object)) OnJob(event.change, **job);
  if (const PodPtr* pod = std::get_if<PodPtr>(&event.object)) OnPod(event.change, **pod);
}

void JobController::Impl::OnJob(Change change, const JobRecord& job) {
  if (change == Change::kDeleted) {
    const auto found = work_.find(job.uid);
    if (found == work_.end()) return;
    DropPods(found->second);
    work_.erase(found);
    touched_.erase(job.uid);
    return;
  }
  Work& work = work_[job.uid];
  work.key = job.key;
  if (change == Change::kAdded) touched_.insert(job.uid);
}

void JobController::Impl::OnPod(Change change, const PodRecord& pod) {
  if (pod.job_uid.empty()) return;
  const auto found = work_.find(pod.job_uid);
  if (found == work_.end()) return;
  Index& index = found->second.indices[pod.job_index];
  const bool gone = change == Change::kDeleted;
  if (!gone && !pod.pod.terminal()) {
    if (change == Change::kAdded && index.pod.empty()) index.pod = pod.pod.uid;
    return;
  }
  if (index.pod != pod.pod.uid) return;  // an earlier one, counted before
  index.pod = cluster::PodUid();
  if (pod.pod.phase == cluster::PodPhase::kSucceeded) {
    index.done = true;
  } else {
    ++found->second.failed;
  }
  touched_.insert(pod.job_uid);
}

void JobController::Impl::Reconcile() {
  std::set<std::string> touched;
  touched.swap(touched_);
  for (const std::string& uid : touched) {
    const auto found = work_.find(uid);
    if (found != work_.end()) Reconcile(uid, found->second);
  }
}

void JobController::Impl::Reconcile(const std::string& uid, Work& work) {
  const JobPtr job = api_.FindJob(work.key);
  if (job == nullptr || job->uid != uid || job->complete || job->gave_up) return;
  if (work.failed > job->backoff_limit) {
    DropPods(work);
  } else {
    int64_t active = 0;
    for (const auto& [number, index] : work.indices) {
      active += index.pod.empty() ? 0 : 1;
    }
    for (int64_t number = 0; number < job->completions && active < job->parallelism; ++number) {
      Index& index = work.indices[number];
      if (index.done || !index.pod.empty()) continue;
      Make(*job, number, index);
      if (!index.pod.empty()) ++active;
    }
  }
  WriteStatus(*job, work);
}

void JobController::Impl::Make(const JobRecord& job, int64_t number, Index& index) {
  PodRecord pod = job.pod;
  pod.pod.key = {job.key.ns, job.key.name + "-" + std::to_string(number)};
  if (index.made > 0) pod.pod.key.name += "-" + std::to_string(index.made);
  pod.pod.owner_uid = job.uid;
  pod.job_uid = job.uid;
  pod.job_index = number;
  const auto made = api_.CreatePod(Actor::kController, std::move(pod));
  ++index.made;
  // A name that somebody else has taken: the next attempt uses another one.
  if (made.ok()) index.pod = (*made)->pod.uid;
}

void JobController::Impl::DropPods(const Work& work) {
  for (const auto& [number, index] : work.indices) {
    const PodPtr pod = index.pod.empty() ? nullptr : api_.FindPod(index.pod);
    if (pod == nullptr) continue;
    static_cast<void>(api_.DeletePod(Actor::kController, {pod->pod.key, pod->pod.uid}));
  }
}

void JobController::Impl::WriteStatus(const JobRecord& job, const Work& work) {
  JobRecord next = job;
  next.active = 0;
  next.succeeded = 0;
  for (const auto& [number, index] : work.indices) {
    next.active += index.pod.empty() ? 0 : 1;
    next.succeeded += index.done ? 1 : 0;
  }
  next.failed = work.failed;
  next.complete = next.succeeded >= job.completions;
  next.gave_up = work.failed > job.backoff_limit;
  const bool same = next.active == job.active && next.succeeded == job.succeeded &&
                    next.failed == job.failed && next.complete == job.complete &&
                    next.gave_up == job.gave_up;
  if (!same) static_cast<void>(api_.UpdateJob(Actor::kController, std::move(next)));
}

JobController::JobController(EventLoop& loop, ApiServer& api)
    : impl_(std::make_unique<Impl>(loop, api)) {}
JobController::~JobController() = default;

}  // namespace muster::sim
