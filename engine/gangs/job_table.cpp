#include "engine/gangs/job_table.hpp"

#include <utility>

namespace muster::engine {

using cluster::Pod;
using cluster::PodUid;

bool JobTable::Upsert(const cluster::BatchJob& job) {
  const auto [at, added] = jobs_.try_emplace(job.uid.text());
  Entry& entry = at->second;
  entry.key = job.key;
  entry.run_times = job.run_times;
  entry.waits_for_the_end = job.waits_for_the_end;
  const auto leaving = leaving_.find(job.uid.text());
  if (leaving != leaving_.end()) leaving->second.waited_for = job.waits_for_the_end;
  if (!added && entry.ignores_evictions == job.ignores_evictions) return false;
  entry.ignores_evictions = job.ignores_evictions;
  entry.warned = false;
  return true;
}

std::vector<cluster::BatchJob> JobTable::All() const {
  std::vector<cluster::BatchJob> jobs;
  jobs.reserve(jobs_.size());
  for (const auto& [uid, entry] : jobs_) {
    cluster::BatchJob job;
    job.uid = cluster::JobUid(uid);
    job.key = entry.key;
    job.ignores_evictions = entry.ignores_evictions;
    job.waits_for_the_end = entry.waits_for_the_end;
    job.run_times = entry.run_times;
    jobs.push_back(std::move(job));
  }
  std::sort(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) { return a.uid < b.uid; });
  return jobs;
}

bool JobTable::Remove(const cluster::JobUid& uid) { return jobs_.erase(uid.text()) > 0; }

// The pod's Job, where it counts evictions.
const JobTable::Entry* JobTable::Counting(const Pod& pod) const {
  const auto found = jobs_.find(pod.owner_uid);
  return found == jobs_.end() || found->second.ignores_evictions ? nullptr : &found->second;
}

const cluster::RunTimes* JobTable::RunTimesOf(const Pod& pod) const {
  const auto found = jobs_.find(pod.owner_uid);
  return found == jobs_.end() ? nullptr : &found->second.run_times;
}

bool JobTable::LosesByEviction(const Pod& pod) const {
  return pod.owner_uid.empty() || Counting(pod) != nullptr;
}

std::vector<cluster::ObjectKey> JobTable::TakeToWarn(const std::vector<const Pod*>& pods) {
  std::set<cluster::ObjectKey> keys;
  for (const Pod* pod : pods) {
    const Entry* counting = Counting(*pod);
    if (counting == nullptr || counting->warned) continue;
    keys.insert(counting->key);
    jobs_.at(pod->owner_uid).warned = true;
  }
  return {keys.begin(), keys.end()};
}

void JobTable::DeletionRequested(const Pod& pod) {
  if (pod.owner_uid.empty() || !owner_of_.emplace(pod.uid, pod.owner_uid).second) return;
  Leaving& leaving = leaving_[pod.owner_uid];
  leaving.pods.insert(pod.uid);
  const auto job = jobs_.find(pod.owner_uid);
  if (job != jobs_.end()) leaving.waited_for = job->second.waits_for_the_end;
}

void JobTable::Forget(const PodUid& pod) {
  const auto owner = owner_of_.find(pod);
  if (owner == owner_of_.end()) return;
  const auto leaving = leaving_.find(owner->second);
  leaving->second.pods.erase(pod);
  leaving->second.unconfirmed.erase(pod);
  if (leaving->second.pods.empty()) leaving_.erase(leaving);
  owner_of_.erase(owner);
}

bool JobTable::IsDone(const Pod& pod) {
  const auto leaving = leaving_.find(pod.owner_uid);
  if (leaving == leaving_.end()) return false;
  if (!leaving->second.waited_for) leaving->second.unconfirmed.insert(pod.uid);
  return leaving->second.waited_for;
}

std::vector<PodUid> JobTable::TakeDone(const cluster::JobUid& uid) {
  const auto leaving = leaving_.find(uid.text());
  if (leaving == leaving_.end() || !leaving->second.waited_for) return {};
  const std::set<PodUid> done = std::exchange(leaving->second.unconfirmed, {});
  return {done.begin(), done.end()};
}

}  // namespace muster::engine
