// RestartAudit: checks gangs that preempted others and died early. Only a gang of a higher priority
// in its queue may get such a gang's devices, and the gang may not preempt again within the hour
// (docs/design/restart-window.md). Judges by the API server's objects, by other means than
// Muster's. It finds starts that no rule allows, not each that a rule forbids: it skips gangs whose
// PodGroup changed while they ran, for example.
// Part of the Auditor; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "queues/queue_spec.hpp"
#include "sim/api_server/api_server.hpp"
#include "sim/audit/queue_audit.hpp"

namespace muster::sim {

class RestartAudit {
 public:
  // `queues` says what a pod's queue and priority are. Both must outlive it.
  RestartAudit(ApiServer& api, const QueueAudit& queues) : api_(api), queues_(queues) {}

  // `live`: bound, and it has not ended. `queues`: the policy's. Empty: it may be evicted, if it
  // is.
  std::string See(const PodPtr& pod, bool live, const std::vector<queues::QueueSpec>& queues,
                  cluster::Time at);
  void SeeGroup(Change change, const PodGroupRecord& group);
  // Another one of its name, or none any more.
  void NodeGone(const std::string& node);
  // Muster forgets all of it.
  void Restarted();
  // The pod is bound by Muster just now. Empty: it is nobody else's place.
  std::string Fault(const cluster::Pod& pod, cluster::Time at) const;
  int64_t windows() const { return windows_; }  // opened so far

 private:
  using Devices = std::set<std::pair<std::string, cluster::GpuIndex>>;  // node, GPU
  struct Run {
    bool paid = false;                        // it preempted another gang's pod
    bool odd = false;                         // it is not judged
    bool started = false;                     // it had its minimum
    cluster::Time since;                      // then
    std::string asked;                        // the queue that its members name
    int32_t lowest = INT32_MAX;               // of their priorities
    std::optional<cluster::Time> told_to_go;  // the first of them
    std::map<cluster::PodUid, Devices> live;
    Devices had;  // of members that went since it started
  };
  struct Window {
    Devices devices;
    std::string queue;
    int32_t lowest = 0;  // priority that it may have had
    cluster::Time opened;
    cluster::Time until;
  };
  std::string NoteEviction(const PodRecord& pod, cluster::Time at);
  void SeeMember(const PodRecord& pod, bool live, const std::vector<queues::QueueSpec>& queues,
                 cluster::Time at);
  bool Whole(const cluster::ObjectKey& key, const Run& run) const;
  void Judge(const cluster::ObjectKey& key, Run& run, const std::string& queue,
             const std::vector<queues::QueueSpec>& queues, cluster::Time at);
  // It may go before the gang in its queue.
  bool Outranks(const cluster::Pod& pod, const cluster::ObjectKey& gang,
                const Window& window) const;
  bool Cancelled(const cluster::ObjectKey& gang, cluster::Time since) const;

  ApiServer& api_;
  const QueueAudit& queues_;
  std::map<cluster::ObjectKey, Run> runs_;
  std::map<cluster::ObjectKey, Window> windows_of_;
  std::map<cluster::ObjectKey, cluster::Time> ended_early_;               // when, last
  std::map<cluster::ObjectKey, std::pair<std::string, int64_t>> groups_;  // UID, minMember
  std::set<cluster::PodUid> evicted_;                                     // and noted
  int64_t windows_ = 0;
};

}  // namespace muster::sim
