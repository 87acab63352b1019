// Records: the API objects as the simulated API server stores them. Plain values; once stored they
// are immutable and shared (a change stores a new record), so watchers hold them without copying.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cluster/records/hami_devices.hpp"
#include "cluster/records/node.hpp"
#include "cluster/records/pod.hpp"
#include "cluster/records/pod_group.hpp"
#include "cluster/records/provisioning_request.hpp"
#include "cluster/records/storage.hpp"
#include "engine/contract/node_ask.hpp"

namespace muster::sim {

struct NodeRecord {
  cluster::Node node;
  bool own_numa_policy = false;  // the node itself says it, so that no other object does
  int64_t resource_version = 0;
};

// Reason of the condition PodResizePending.
enum class ResizePending { kNo, kDeferred, kInfeasible };

// Of a pod that is resized in place: what its kubelet says.
struct ResizeStatus {
  cluster::Resources allocated;
  cluster::Resources in_force;
  ResizePending pending = ResizePending::kNo;
};

struct PodRecord {
  cluster::Pod pod;  // uid, created and resource_version are set by the API server
  cluster::Labels annotations;
  std::optional<cluster::Duration>
      runs_for;  // simulated run time once Running; absent: until it is deleted
  // Names of the ResourceClaimTemplates of its claims, where no annotation says what they are for.
  std::vector<std::string> claim_templates;
  std::string json;     // as it was submitted; empty: a controller made it
  std::string job_uid;  // the Job that made it; empty: none
  int64_t job_index = 0;

  // Times on the loop's clock, as far as it has come.
  std::optional<cluster::Time> bound_at;
  std::optional<cluster::Time> running_at;
  std::optional<cluster::Time> finished_at;
  std::optional<cluster::Time> deleted_at;  // when it was asked for first
  std::optional<cluster::Time> delete_at;   // deletionTimestamp: that, and its grace
  bool evicted_by_muster = false;
  cluster::ObjectKey evicted_for = {};  // then: the gang for which it was
  bool over_budget = false;             // then: its budget did not let it go
  bool acknowledged = false;            // by its kubelet, which has admitted it: status.startTime
  std::optional<ResizeStatus> resize = {};      // nothing: it has what its spec requests
  std::vector<cluster::HamiDevice> hami_given;  // by HAMi's plugin, in order
  std::string status_reason;  // "Unschedulable", "SchedulerError", "UnexpectedAdmissionError", …
  std::string status_message;
};

struct PodGroupRecord {
  cluster::PodGroup group;
  // What Muster wrote into the status (engine::PatchGang).
  std::string state;
  std::string reason;
  std::string message;
  int64_t bound = 0;
  int64_t succeeded = 0;
  int64_t failed = 0;
};

// batch/v1 Job, as far as the controller below needs it. Pods are named <job>-<index>; the n-th
// replacement of an index is <job>-<index>-<n>.
struct JobRecord {
  std::string json;  // as it was submitted: without uid
  std::string uid;
  cluster::ObjectKey key;
  int64_t resource_version = 0;
  int64_t parallelism = 1;
  int64_t completions = 1;
  int64_t backoff_limit = 6;  // failed or lost pods that are replaced before the Job fails
  PodRecord pod;              // template: spec, pod_group, role, annotations, claims, runs_for
  // Status, written by the JobController.
  int64_t active = 0;
  int64_t succeeded = 0;
  int64_t failed = 0;
  bool complete = false;
  bool gave_up = false;
};

// An object of a kind of which the simulation knows nothing, storage aside: who watches it can read
// it.
struct OtherRecord {
  std::string kind;  // "NodeResourceTopology"
  cluster::ObjectKey key;
  std::string json;  // as it was submitted: without uid
  std::string uid;
  int64_t resource_version = 0;
  std::shared_ptr<const cluster::StorageRecord> storage = nullptr;  // it is a claim, a volume, …
};

// What Muster asks cluster-autoscaler for. It names its pods' specs here, not PodTemplates.
struct RequestRecord {
  cluster::ProvisioningRequest
      request;  // uid, resource_version and since are set by the API server
  std::vector<engine::AskedPods> sets;
};

// An Event object, aggregated over equal (object, reason, message).
struct EventRecord {
  cluster::Time first_seen;
  cluster::Time last_seen;
  int64_t count = 1;
  cluster::ObjectKey key;
  std::string uid;
  bool on_pod = false;  // else on the PodGroup
  bool warning = false;
  std::string reason;
  std::string message;
  bool on_node = false;    // `key` and `uid` are a node's
  bool on_orders = false;  // of operators: `key` has the queue's name
};

using NodePtr = std::shared_ptr<const NodeRecord>;
using PodPtr = std::shared_ptr<const PodRecord>;
using PodGroupPtr = std::shared_ptr<const PodGroupRecord>;
using JobPtr = std::shared_ptr<const JobRecord>;
using OtherPtr = std::shared_ptr<const OtherRecord>;
using RequestPtr = std::shared_ptr<const RequestRecord>;
using Object = std::variant<NodePtr, PodPtr, PodGroupPtr, JobPtr, OtherPtr, RequestPtr>;

}  // namespace muster::sim
