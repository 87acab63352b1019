// JobTable: the Jobs that have not ended, and what an eviction means to the pods of each (internal
// to engine/). Owned and guarded by Scheduler.
//
// Nobody has to tell of Jobs: an owner that is not known, of whatever kind, is taken for one that
// makes its pods anew. Grows and shrinks with the Jobs that are told of.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/batch_job.hpp"
#include "cluster/pod.hpp"

namespace muster::engine {

class JobTable {
 public:
  // True when evictions mean something else now.
  bool Upsert(const cluster::BatchJob& job);
  bool Remove(const cluster::JobUid& uid);
  size_t size() const { return jobs_.size(); }

  // An eviction of the pod loses more than the time since it started: nobody makes it anew, or its
  // Job counts it as a failure.
  bool LosesByEviction(const cluster::Pod& pod) const;
  // Jobs that count evictions of these pods as failures, ordered. Each is given once for as long as
  // it is known and does so; nothing when all were given before.
  std::vector<cluster::ObjectKey> TakeToWarn(const std::vector<const cluster::Pod*>& pods);

 private:
  struct Entry {
    cluster::ObjectKey key;
    bool ignores_evictions = false;
    bool warned = false;
  };
  const Entry* Counting(const cluster::Pod& pod) const;

  std::unordered_map<std::string, Entry> jobs_;  // by UID; looked up, never walked
};

}  // namespace muster::engine
