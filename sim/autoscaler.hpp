// Autoscaler: adds nodes for pods that kube-scheduler has marked Unschedulable and takes idle ones
// away, as cluster-autoscaler does (and Karpenter, as far as this goes).
//
//   every scan:  Unschedulable pods, without gates and nominations ─▶ packed on nodes that are
//   there
//                or on their way, as kube-scheduler counts ─▶ what is left: nodes of the first pool
//                whose nodes fit it ─▶ there after `boot`
//                nodes of pools on which nothing runs, idle for `idle` ─▶ deleted
//
// It knows nothing of gangs, of Muster's reservations and of what Muster keeps free. Nodes that are
// in use stay.
//
// Owned by its test or scenario, driven by the cluster's loop; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cluster/node.hpp"
#include "cluster/units.hpp"
#include "sim/api_server.hpp"
#include "sim/event_loop.hpp"

namespace muster::sim {

struct Pool {
  std::string name;
  cluster::Node node;  // what one of its nodes is like; named <pool>-0, -1, … as they come
  int64_t most = 0;
};

struct AutoscalerOptions {
  std::vector<Pool> pools;
  cluster::Duration scan = cluster::Seconds(10);
  cluster::Duration boot = cluster::Seconds(60);
  cluster::Duration idle = cluster::Seconds(600);
};

class Autoscaler {
 public:
  Autoscaler(EventLoop& loop, ApiServer& api, AutoscalerOptions options);
  Autoscaler(const Autoscaler&) = delete;
  Autoscaler& operator=(const Autoscaler&) = delete;
  ~Autoscaler() = default;

  int64_t added() const { return added_; }      // nodes, ever
  int64_t removed() const { return removed_; }  // likewise

 private:
  void Scan();
  void AddNodes();
  void RemoveIdle();
  int64_t CountOf(const Pool& pool) const;  // with those on their way

  ApiServer& api_;
  EventLoop& loop_;
  const AutoscalerOptions options_;
  Timer timer_;
  std::map<std::string, cluster::Node> coming_;      // by name
  std::map<std::string, std::string> pool_of_;       // of nodes that are there or on their way
  std::map<std::string, cluster::Time> idle_since_;  // nodes of pools
  std::map<std::string, int64_t> named_;             // so many, by pool
  int64_t added_ = 0;
  int64_t removed_ = 0;
};

}  // namespace muster::sim
