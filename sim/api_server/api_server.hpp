// ApiServer: the simulated API server. Holds nodes, pods, PodGroups, Jobs, Events and, without
// reading them, objects of other kinds; numbers every write; tells its watchers. What it refuses, a
// real one refuses too, with the same meaning: kConflict is 409, kNotFound 404, kInvalidArgument
// 422.
//
// Owned by sim::Cluster. One thread at a time. Records returned as pointers stay as they are (see
// records.hpp).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/base/result.hpp"
#include "engine/contract/actions.hpp"
#include "sim/api_server/decision_log.hpp"
#include "sim/api_server/event_loop.hpp"
#include "sim/api_server/records.hpp"
#include "sim/api_server/watch.hpp"

namespace muster::sim {

// Who writes; writes are counted by writer and verb.
enum class Actor { kUser, kController, kKubelet, kKubeScheduler, kMuster };
inline constexpr int kActors = 5;
enum class Verb { kCreate, kUpdate, kDelete, kPatch, kPatchStatus, kBind, kEvict, kEvent };
inline constexpr int kVerbs = 8;
const char* ToString(Actor actor);
const char* ToString(Verb verb);

// The pods that Muster's admission policy puts behind cluster::kGangGate when they are created.
enum class Gating { kNone, kGangs, kAll };

// How it answers who reads an owner of pods: as it is, with 5xx or 429, with 403.
enum class OwnerReads { kServed, kFail, kRefused };

struct ApiServerOptions {
  uint64_t seed = 1;               // of the UIDs
  Gating gating = Gating::kGangs;  // kGangs: pods of a PodGroup; kAll: gangs of one as well
  std::vector<std::string> gated_schedulers = {"muster"};  // schedulerNames that the policy is for
  size_t max_events = 10'000;                              // Event objects kept, oldest go first
};

// POST pods/{name}/binding.
struct Binding {
  engine::PodRef pod;  // an empty uid: no precondition
  std::string node;
  cluster::Labels annotations;  // merged into the pod's in the same write
};

// PATCH pods/{name}/status. Absent fields stay.
struct PodStatusPatch {
  std::optional<std::string> nominated_node;
  std::optional<cluster::PodPhase> phase;
  std::optional<std::string> reason;
  std::optional<std::string> message;
  std::optional<ResizeStatus> resize = {};
  // It was admitted where HAMi's plugin hands out devices, with these; see PodRecord.
  std::optional<std::vector<cluster::HamiDevice>> admitted_with = {};
  cluster::Labels annotations = {};  // merged into the pod's in the same write
};

class ApiServer {
 public:
  ApiServer(EventLoop& loop, ApiServerOptions options);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  // Create: sets uid, creation time and version. kConflict when the name is taken.
  // `own_numa_policy` as in NodeRecord.
  cluster::Result<NodePtr> CreateNode(Actor actor, cluster::Node node,
                                      bool own_numa_policy = false);
  cluster::Result<PodPtr> CreatePod(Actor actor, PodRecord pod);
  cluster::Result<PodGroupPtr> CreatePodGroup(Actor actor, cluster::PodGroup group);
  cluster::Result<JobPtr> CreateJob(Actor actor, JobRecord job);
  cluster::Result<OtherPtr> CreateOther(Actor actor, OtherRecord other);
  cluster::Result<RequestPtr> CreateRequest(Actor actor, RequestRecord request);
  // Update by name; identity and creation time stay. A write that changes nothing makes no new
  // version.
  cluster::Status UpdateNode(Actor actor, cluster::Node node);
  cluster::Status UpdatePodGroup(Actor actor, cluster::PodGroup group);
  cluster::Status UpdateJob(Actor actor, JobRecord job);
  // A condition of the ProvisioningRequest; one in that state with that message stays as it is.
  cluster::Status SetRequestState(Actor actor, const cluster::ObjectKey& key,
                                  cluster::RequestState state, const std::string& message);
  // A Job's pods go with it (garbage collection by the JobController); a node's pods are the
  // Kubelet's business.
  cluster::Status DeleteNode(Actor actor, const std::string& name);
  cluster::Status DeletePodGroup(Actor actor, const cluster::ObjectKey& key);
  cluster::Status DeleteJob(Actor actor, const cluster::ObjectKey& key);
  cluster::Status DeleteOther(Actor actor, const std::string& kind, const cluster::ObjectKey& key);
  cluster::Status DeleteRequest(Actor actor, const cluster::ObjectKey& key);
  // A bound pod that has not ended gets a deletionTimestamp and goes when its kubelet says so;
  // others go at once, and so does any with a grace of zero.
  // `whose`: of Muster, as in EvictPod.
  cluster::Status DeletePod(Actor actor, const engine::PodRef& pod,
                            std::optional<cluster::Duration> grace = {},
                            const cluster::ObjectKey& whose = {});
  // The eviction subresource: as DeletePod. kConflict when the budget of its gang lets no more go.
  cluster::Status EvictPod(Actor actor, const engine::PodRef& pod,
                           const cluster::ObjectKey& whose = {},
                           std::optional<cluster::Duration> grace = {});
  // A PodDisruptionBudget of a PodGroup's pods: so many may be evicted from now on. Pods that do
  // not run or are being deleted are not held to it.
  void SetBudget(const cluster::ObjectKey& group, int64_t allowed);
  bool HasBudget(const cluster::ObjectKey& group) const;
  // The first of these that their budgets do not let go beside those before it; null: all may go.
  const engine::EvictPod* OverBudget(const std::vector<engine::EvictPod>& evictions) const;

  // kConflict when the pod is being deleted, has a node already (also this one), has gates, or the
  // UID differs. Capacity is not checked. Clears nominatedNodeName.
  cluster::Status BindPod(Actor actor, const Binding& binding);
  // PATCH pods/{name}/resize: its spec requests this CPU and memory from now on (resize.hpp).
  // kInvalidArgument when it does not run.
  cluster::Status ResizePod(Actor actor, const engine::PodRef& pod, cluster::MilliCpu cpu,
                            cluster::MiB memory);
  // With `pin`, the pod's required node affinity names that node alone from then on.
  cluster::Status RemoveGate(Actor actor, const engine::PodRef& pod, const std::string& gate,
                             const std::string& pin = {}, const cluster::Labels& annotations = {});
  cluster::Status Annotate(Actor actor, const engine::PodRef& pod,
                           const cluster::Labels& annotations);
  cluster::Status Unannotate(Actor actor, const engine::PodRef& pod, const std::string& annotation);
  cluster::Status RecordPod(Actor actor, const engine::PodRef& pod,
                            const cluster::GangRecord& record);
  cluster::Status PatchPodStatus(Actor actor, const engine::PodRef& pod,
                                 const PodStatusPatch& patch);
  // kNotFound when the PodGroup does not exist under that UID (any more).
  cluster::Status PatchPodGroupStatus(Actor actor, const engine::PatchGang& patch);
  void RecordEvent(Actor actor, const engine::EmitEvent& event);

  void SetOwnerReads(const std::string& ns, OwnerReads reads);
  OwnerReads owner_reads(const std::string& ns) const;
  cluster::Time owner_reads_since(const std::string& ns) const;

  NodePtr FindNode(const std::string& name) const;
  PodPtr FindPod(const cluster::ObjectKey& key) const;
  PodPtr FindPod(const cluster::PodUid& uid) const;
  PodGroupPtr FindPodGroup(const cluster::ObjectKey& key) const;
  RequestPtr FindRequest(const cluster::ObjectKey& key) const;
  JobPtr FindJob(const cluster::ObjectKey& key) const;
  OtherPtr FindOther(const std::string& kind, const cluster::ObjectKey& key) const;
  // Ordered by name.
  std::vector<NodePtr> Nodes() const;
  std::vector<PodPtr> Pods() const;
  std::vector<PodGroupPtr> PodGroups() const;
  std::vector<JobPtr> Jobs() const;
  std::vector<OtherPtr> Others() const;  // by kind first
  std::vector<RequestPtr> Requests() const;
  const std::deque<EventRecord>& Events() const;  // all that there have been
  std::vector<EventRecord> LivingEvents() const;  // that can be read now
  size_t node_count() const;
  size_t pod_count() const;

  // Events from now on; `on_event` may be empty.
  std::unique_ptr<Watch> OpenWatch(Kinds kinds, std::function<void()> on_event);
  // Everything of these kinds as kAdded: others, requests, nodes, PodGroups, Jobs, pods, each
  // ordered by name.
  std::vector<WatchEvent> List(Kinds kinds) const;

  int64_t resource_version() const;
  // Successful writes.
  int64_t Writes(Actor actor, Verb verb) const;
  int64_t Writes(Actor actor) const;
  // Every successful Binding, in order.
  const DecisionLog& decisions() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::sim
