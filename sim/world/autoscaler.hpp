// Autoscaler: adds nodes for pods that kube-scheduler has marked Unschedulable and takes idle ones
// away, as cluster-autoscaler does (and Karpenter, as far as this goes).
//
//   every scan:  Unschedulable pods, without gates and nominations
//                  ─▶ packed on nodes that are there or on their way, as kube-scheduler counts
//                  ─▶ what is left: nodes of the first pool whose nodes fit it
//                  ─▶ there after `boot`
//                nodes of pools on which nothing runs, idle for `idle` ─▶ deleted
//
// ProvisioningRequests are answered at every scan, in order of their names:
//
//   check-capacity  there is room for all of its pods on nodes that are there or on their way
//   other classes   that, or nodes of pools are ordered for the rest, all of them or none
//
// Either is Provisioned, and its room is booked for `booking`: other requests and pods do not have
// it, and its nodes are not idle. What has no room stays Accepted, and is tried at the next scan.
//
// It knows nothing of gangs, of Muster's reservations and of what Muster keeps free. Nodes that are
// in use stay.
//
// Owned by its test or scenario, driven by the cluster's loop; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/base/units.hpp"
#include "cluster/records/node.hpp"
#include "sim/api_server/api_server.hpp"
#include "sim/api_server/event_loop.hpp"
#include "sim/schedulers/scheduler_cache.hpp"

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
  cluster::Duration booking = cluster::Seconds(600);
};

// What becomes of ProvisioningRequests that are new or accepted.
enum class Requests { kAnswered, kFailed, kIgnored };

class Autoscaler {
 public:
  Autoscaler(EventLoop& loop, ApiServer& api, AutoscalerOptions options);
  Autoscaler(const Autoscaler&) = delete;
  Autoscaler& operator=(const Autoscaler&) = delete;
  ~Autoscaler() = default;

  // It does nothing more; what is on its way never comes.
  void Stop();
  void SetRequests(Requests requests) { requests_ = requests; }

  int64_t added() const { return added_; }      // nodes, ever
  int64_t removed() const { return removed_; }  // likewise

 private:
  void Scan();
  // Nodes that are there or on their way, with what bound and nominated pods and bookings hold.
  void Fill(SchedulerCache& nodes);
  void ExpireBookings();
  void AnswerRequests();
  void Answer(const RequestRecord& record);
  // The pod's room among these, else on one more of a pool, which is added to `made`.
  bool Find(SchedulerCache& nodes, const cluster::Pod& pod, std::vector<std::string>& made);
  void Order(const std::string& name);    // it is on its way
  void Abandon(const std::string& name);  // it was never ordered
  void AddNodes();
  void RemoveIdle();
  int64_t CountOf(const Pool& pool) const;  // with those on their way

  ApiServer& api_;
  EventLoop& loop_;
  const AutoscalerOptions options_;
  Timer timer_;
  Requests requests_ = Requests::kAnswered;
  std::map<std::string, cluster::Node> coming_;      // by name
  std::map<std::string, std::string> pool_of_;       // of nodes that are there or on their way
  std::map<std::string, cluster::Time> idle_since_;  // nodes of pools
  std::map<std::string, int64_t> named_;             // so many, by pool
  std::set<std::string> booked_;                     // nodes, as of the last scan
  int64_t added_ = 0;
  int64_t removed_ = 0;
};

}  // namespace muster::sim
