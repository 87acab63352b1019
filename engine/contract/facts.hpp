// Facts: what the engine learns about the cluster. Each is idempotent and keyed by UID (see
// cluster/holdings/cluster_state.hpp).
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "cluster/records/batch_job.hpp"
#include "cluster/records/disruption_budget.hpp"
#include "cluster/records/namespace.hpp"
#include "cluster/records/node.hpp"
#include "cluster/records/pod.hpp"
#include "cluster/records/pod_group.hpp"
#include "cluster/records/priority_class.hpp"
#include "cluster/records/provisioning_request.hpp"
#include "cluster/records/resource_quota.hpp"
#include "cluster/records/storage.hpp"
#include "engine/contract/orders.hpp"
#include "queues/usage_record.hpp"

namespace muster::engine {

struct NodeRemoved {
  cluster::NodeUid uid;
};
struct PodRemoved {
  cluster::PodUid uid;
  // It is missing from a list: that it ended was not seen, nor how.
  bool unseen = false;
  bool succeeded = false;  // so says its last record, which may not have been told
};
// It exists, and which gang it is in is not known any more: it comes back under that UID.
struct PodWithdrawn {
  cluster::PodUid uid;
};
struct PodGroupRemoved {
  cluster::PodGroupUid uid;
};
// It is not served any more, and not known to be deleted: it may come back under that UID.
struct PodGroupUnserved {
  cluster::PodGroupUid uid;
};
struct NamespaceRemoved {
  cluster::NamespaceUid uid;
};
struct PriorityClassRemoved {
  cluster::PriorityClassUid uid;
};
struct DisruptionBudgetRemoved {
  cluster::DisruptionBudgetUid uid;
};
struct ResourceQuotaRemoved {
  cluster::ResourceQuotaUid uid;
};
struct ProvisioningRequestRemoved {
  cluster::ProvisioningRequestUid uid;
};
struct StorageRemoved {
  cluster::StorageKind kind = cluster::StorageKind::kClaim;
  cluster::ObjectKey key;  // `ns` of claims only
};
// Whether claims, volumes and classes are all read: else no pod is kept off nodes, or from its
// start, for what is not known of them.
struct StorageReadable {
  bool readable = false;
};
// It is gone, or has ended.
struct BatchJobRemoved {
  cluster::JobUid uid;
};
// The resources of which nothing was heard for too long, for people. Empty: all are current. While
// any is stale no gang is planned; plans that exist are carried out.
struct WatchStale {
  std::string resources;
};

// A leader before this one may still bind the pod, on `node` as far as is known. Until it is Fenced
// its gang is not planned, and nothing else on that node.
struct Unfenced {
  cluster::PodUid pod;
  std::string node;
  std::string why;  // it could not be written, for people
};
struct Fenced {
  cluster::PodUid pod;
};

// How long gangs of a template ran (RunHistory). In place of what was learnt before.
struct LearntRun {
  std::string of;  // the template
  cluster::Duration last;
  cluster::Duration before;  // 0: there was one only
};
struct LearntRuns {
  std::vector<LearntRun> runs;  // the one that is longest without a run first
};

// An upserted record, the removal of one, or how far they can be trusted.
using Fact = std::variant<
    cluster::Node, NodeRemoved, cluster::Pod, PodRemoved, PodWithdrawn, cluster::PodGroup,
    PodGroupRemoved, PodGroupUnserved, cluster::Namespace, NamespaceRemoved, cluster::PriorityClass,
    PriorityClassRemoved, cluster::DisruptionBudget, DisruptionBudgetRemoved, cluster::BatchJob,
    BatchJobRemoved, WatchStale, Unfenced, Fenced, StandingOrders, cluster::ResourceQuota,
    ResourceQuotaRemoved, LearntRuns, queues::UsageRecord, cluster::ProvisioningRequest,
    ProvisioningRequestRemoved, cluster::StorageRecord, StorageRemoved, StorageReadable>;

}  // namespace muster::engine
