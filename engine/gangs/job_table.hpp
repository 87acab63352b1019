// JobTable: the Jobs that have not ended, and what an eviction means to the pods of each (internal
// to engine/). Owned and guarded by Scheduler.
//
// 1. An owner that is not known, of whatever kind, is taken for one that recreates its pods, and at
//    once: Muster may not be allowed to read Jobs.
// 2. It has one entry for each Job that is known and has not ended, and one for each pod of such
//    a Job whose deletion was requested; an entry goes with its Job or pod.
// 3. A restart forgets it; the list of Jobs fills it again.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/records/batch_job.hpp"
#include "cluster/records/pod.hpp"

namespace muster::engine {

class JobTable {
 public:
  // True when evictions mean something else now.
  bool Upsert(const cluster::BatchJob& job);
  // What is known of pods that were told to go stays until they are forgotten: their Job may be
  // over, and that known, before it is known how they ended.
  bool Remove(const cluster::JobUid& uid);
  size_t size() const { return jobs_.size(); }
  // As they were told, in no order.
  std::vector<cluster::BatchJob> All() const;

  // What the pod's Job says of how long it runs; null: nothing is known.
  const cluster::RunTimes* RunTimesOf(const cluster::Pod& pod) const;
  // An eviction of the pod loses more than the time since it started: no controller recreates it,
  // or its Job counts it as a failure.
  bool LosesByEviction(const cluster::Pod& pod) const;
  // Jobs that count evictions of these pods as failures, ordered. Each is given once for as long as
  // it is known and does so; nothing when all were given before.
  std::vector<cluster::ObjectKey> TakeToWarn(const std::vector<const cluster::Pod*>& pods);

  // The pod was told to go before it had ended.
  void DeletionRequested(const cluster::Pod& pod);
  void Forget(const cluster::PodUid& pod);
  // Such a pod has ended with success: it is done for its Job, as far as is known. Else it is lost
  // until TakeDone gives it.
  bool IsDone(const cluster::Pod& pod);
  // Pods of the Job that are done after all.
  std::vector<cluster::PodUid> TakeDone(const cluster::JobUid& uid);

 private:
  struct Entry {
    cluster::ObjectKey key;
    cluster::RunTimes run_times;
    bool ignores_evictions = false;
    bool waits_for_the_end = false;
    bool warned = false;
  };
  struct Leaving {
    std::set<cluster::PodUid> pods;
    std::set<cluster::PodUid> unconfirmed;  // of these: succeeded, and the Job may not count it
    bool waited_for = false;                // the Job waits for their end
  };
  const Entry* Counting(const cluster::Pod& pod) const;

  std::unordered_map<std::string, Entry> jobs_;                // by UID
  std::unordered_map<std::string, Leaving> leaving_;           // by the owner's UID; none is empty
  std::unordered_map<cluster::PodUid, std::string> owner_of_;  // of all in leaving_
};

}  // namespace muster::engine
