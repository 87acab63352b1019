// Auditor: checks the design's invariants from API objects alone, so that an error in Muster's own
// books cannot hide itself; then asks the engine about its own.
//
//   1. No GPU is owned twice: per device, Σ shares of the live pods bound by Muster ≤ 1000.
//   2. A pod that Muster binds fits: whole GPUs, CPU, memory and pod slots of its node, at the time
//   of the Binding.
//   3. A gang with bound pods of Muster's has fewer than it wants for 60 s + slack at most: until
//   it has run its minMember, then the lowest minMember since. Members that went about a restart of
//   Muster may have ended with success for all that it knows, and the time begins again then; so it
//   does when a turn at HAMi's plugin passes on a node where a member waits to be bound. Three
//   times as long where writes are lost: an eviction that fails three times is refused. Not judged
//   where the policy holds partial gangs, nor while the PodGroup is malformed: the gang is Invalid
//   then, and Muster evicts nobody for an edit that says nothing.
//   4. Nobody is evicted without a cause: the gang lost a member (failed, evicted, deleted before
//   it ended) that was not replaced, or a pod of higher priority waits and the policy lets it
//   preempt. Only Muster's pods are evicted. What Muster had no time to write down before it was
//   restarted, it does not know.
//   5. Nothing is written about a PodGroup that never had a pod of Muster's.
//   6. Where HAMi's device plugin serves the node, it receives the planned devices, and serves no
//   other pod at that time: each pod gets just those devices.
//   7. Nobody else gets the devices of a gang that preempted others and died early, as long as they
//   are kept for its restart. Not judged where news takes time.
//   8. What nobody may evict takes no whole node that another queue is guaranteed (ShapeAudit).
//   9. An Indexed Job that Muster binds as a gang starts whole, and is not taken back for one of
//   its pods (OwnerAudit).
//   10. engine::Scheduler::Audit finds nothing.
//
// Owned by sim::Cluster or a test; one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/base/units.hpp"
#include "sim/api_server/api_server.hpp"
#include "sim/calls/muster_link.hpp"

namespace muster::sim {

struct AuditorOptions {
  std::vector<std::string> scheduler_names = {"muster"};  // whose pods rules 2 and 3 are for
  cluster::Duration partial_limit = cluster::Seconds(60);
  cluster::Duration slack = cluster::Seconds(30);  // evictions take their time
  // A Binding may be under way while its node changes, or while another scheduler's pod takes room
  // there: for this long afterwards rule 2 is not judged on that node.
  cluster::Duration node_slack{};
  bool ask_engine = true;
};

class Auditor {
 public:
  // `muster` may be null.
  Auditor(EventLoop& loop, ApiServer& api, MusterLink* muster, AuditorOptions options);
  ~Auditor();
  Auditor(const Auditor&) = delete;
  Auditor& operator=(const Auditor&) = delete;

  // Checks what changed since the last call, and what time has made wrong. One sentence for each
  // broken rule.
  std::vector<std::string> Check();
  // Somebody else has written the past of the pod's gang: what it lacks and loses from then on is
  // its own matter (rules 3, 4 and 9).
  void Doubt(const cluster::ObjectKey& pod_group);
  void Doubt(const PodRecord& pod);
  // Everything that Check has found so far.
  const std::vector<std::string>& findings() const;
  // Restart windows that rule 7 has seen open so far.
  int64_t restart_windows() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Gangs partially bound now (0 < bound or succeeded members < minMember), by key, no matter who
// bound them.
std::vector<cluster::ObjectKey> PartialGangs(const ApiServer& api);

}  // namespace muster::sim
