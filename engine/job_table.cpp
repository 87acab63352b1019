#include "engine/job_table.hpp"

namespace muster::engine {

using cluster::Pod;

bool JobTable::Upsert(const cluster::BatchJob& job) {
  const auto [at, added] = jobs_.try_emplace(job.uid.text());
  Entry& entry = at->second;
  entry.key = job.key;
  if (!added && entry.ignores_evictions == job.ignores_evictions) return false;
  entry.ignores_evictions = job.ignores_evictions;
  entry.warned = false;
  return true;
}

bool JobTable::Remove(const cluster::JobUid& uid) { return jobs_.erase(uid.text()) > 0; }

// The pod's Job, where it counts evictions.
const JobTable::Entry* JobTable::Counting(const Pod& pod) const {
  const auto found = jobs_.find(pod.owner_uid);
  return found == jobs_.end() || found->second.ignores_evictions ? nullptr : &found->second;
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

}  // namespace muster::engine
