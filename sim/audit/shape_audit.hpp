// ShapeAudit: whether Muster took a whole node from a queue that is guaranteed it (R14), as the API
// server's objects show it, and by other means than Muster's. Part of the Auditor; one thread.
//
// A pod is bound whose gang nobody may evict, on a node that was empty before. Then at least as
// many nodes as another queue is guaranteed are without such gangs of others, if there were as many
// with this one. What ends, fails or changes meanwhile may have been otherwise when the gang was
// planned: for kQuiet afterwards nothing is judged.
#pragma once

#include <string>
#include <vector>

#include "queues/queue_spec.hpp"
#include "sim/api_server/api_server.hpp"
#include "sim/audit/queue_audit.hpp"

namespace muster::sim {

class ShapeAudit {
 public:
  static constexpr cluster::Duration kQuiet = cluster::Seconds(900);

  ShapeAudit(ApiServer& api, const QueueAudit& queues) : api_(api), queues_(queues) {}

  // A pod is gone or has ended, or a node changed or is gone.
  void Disturbed(cluster::Time at) { disturbed_ = at; }
  // A pod of Muster's was bound. Empty: nothing is wrong.
  std::string FaultOf(const cluster::Pod& pod, const std::vector<queues::QueueSpec>& queues,
                      cluster::Time at);

 private:
  bool WasEmpty(const cluster::Pod& pod) const;

  ApiServer& api_;
  const QueueAudit& queues_;
  cluster::Time disturbed_ = cluster::Time(INT64_MIN / 2);
  std::vector<queues::QueueSpec> policy_;  // as of the last pod
};

}  // namespace muster::sim
