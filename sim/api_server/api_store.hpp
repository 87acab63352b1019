// ApiStore: what the ApiServer keeps: the objects, their versions, the log that watches read.
// Internal to ApiServer.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/base/ids.hpp"
#include "sim/api_server/event_loop.hpp"
#include "sim/api_server/random.hpp"
#include "sim/api_server/records.hpp"
#include "sim/api_server/watch.hpp"

namespace muster::sim {

struct ObjectKeyHash {
  size_t operator()(const cluster::ObjectKey& key) const {
    const std::hash<std::string> hash;
    return hash(key.name) * 31 + hash(key.ns);
  }
};

template <typename T>
using ByKey = std::unordered_map<cluster::ObjectKey, T, ObjectKeyHash>;

class ApiStore {
 public:
  ApiStore(EventLoop& loop, uint64_t seed) : loop_(loop), uids_(seed) {}

  std::string NewUid();
  int64_t NextVersion() { return ++version_; }
  int64_t version() const { return version_; }

  // Logs a change for the watches and tells them.
  void Log(Change change, Object object);
  WatchLog& log() { return log_; }

  std::unordered_map<std::string, NodePtr> nodes;
  ByKey<PodPtr> pods;
  std::unordered_map<cluster::PodUid, PodPtr*> pods_by_uid;  // into `pods`
  ByKey<PodGroupPtr> pod_groups;
  ByKey<JobPtr> jobs;
  ByKey<int64_t> budgets;  // of PodGroups: how many of their pods may be evicted
  std::map<std::pair<std::string, cluster::ObjectKey>, OtherPtr> others;  // by kind and key
  std::map<cluster::ObjectKey, RequestPtr> requests;

 private:
  EventLoop& loop_;
  Random uids_;
  int64_t version_ = 0;
  WatchLog log_;
};

}  // namespace muster::sim
