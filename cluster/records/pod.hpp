// Pod and PodSpec: what Muster keeps of a pod. Plain values; a PodSpec is shared by the pods it
// describes and immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/amounts/container_gpus.hpp"
#include "cluster/amounts/resources.hpp"
#include "cluster/base/ids.hpp"
#include "cluster/base/units.hpp"
#include "cluster/records/gang_record.hpp"
#include "cluster/records/pod_rules.hpp"
#include "cluster/records/run_times.hpp"
#include "cluster/records/selector.hpp"
#include "cluster/records/topology_terms.hpp"
#include "cluster/records/volume_demand.hpp"

namespace muster::cluster {

// Muster's own scheduling gate (pod.spec.schedulingGates[].name).
inline constexpr const char* kGangGate = "muster.dev/gang";
// Annotation written with the Binding: comma-separated GPU indices, e.g. "0,3".
inline constexpr const char* kGpusAnnotation = "muster.dev/gpus";
// The same GPUs by UUID, in the same order, where the UUIDs of all of them are known. For people
// and containers; Muster does not read it.
inline constexpr const char* kGpuUuidsAnnotation = "muster.dev/gpu-uuids";
// Annotations written with the Binding, for people and frameworks: the pod's rank among its gang's
// pods, from 0 (gangs of several pods); where its node is in the fabric, "block/rack/node" (where
// the policy names one). Muster does not read them.
inline constexpr const char* kRankAnnotation = "muster.dev/rank";
inline constexpr const char* kTopologyPathAnnotation = "muster.dev/topology-path";

// Annotation written with every Binding, also of pods without GPUs: Muster bound the pod, whatever
// its schedulerName is, and knows it as its own after a restart.
inline constexpr const char* kBoundByAnnotation = "muster.dev/bound-by";
inline constexpr const char* kBoundByMuster = "muster";
// Annotation written with the Binding of a pod whose gang its owner says: the name of that gang. A
// pod without it was bound by itself, before its owner was known, say.
inline constexpr const char* kBoundInAnnotation = "muster.dev/bound-in";
// Annotation of every pod that a leader of Muster's lets kube-scheduler bring to Bind, written with
// what does so: the term and the identity of that leader, or of the one that took the pod over. A
// pod without it has no Binding of Muster's under way.
inline constexpr const char* kEpochAnnotation = "muster.dev/epoch";

// Annotations by which Karpenter and cluster-autoscaler leave a pod, and its node, where it is.
inline constexpr const char* kDoNotDisrupt = "karpenter.sh/do-not-disrupt";
inline constexpr const char* kSafeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict";

// In PodSpec::unplanned_devices: by spec.resourceClaims.
inline constexpr const char* kResourceClaims = "spec.resourceClaims";

enum class PodPhase { kPending, kRunning, kSucceeded, kFailed, kUnknown };
// As the API writes it: "Pending".
const char* ToString(PodPhase phase);

// What pods of one template share. Two pods of a gang with equal PodSpecs play the same role.
struct PodSpec {
  // Effective request, as kube-scheduler computes it:
  //   max(Σ containers + Σ restartable init containers,
  //       max over i of (init container i + Σ restartable ones before it)) + overhead,
  // with pod-level resources in place of the aggregate where they are given. `pods` is 1.
  Resources requests;
  GpuRequest gpus;
  // What each container asks of them, init containers first, as the pod lists them. Empty: the pod
  // has one container, which asks for whole devices, or an annotation asks for all of it.
  std::vector<ContainerGpus> gpu_containers;
  // By what it asks for devices that are not in `gpus`, because there is no planning of them: the
  // name of a resource, or kResourceClaims. Empty: by nothing.
  std::string unplanned_devices;
  NodeConstraints constraints;
  PodRules rules;
  int32_t priority = 0;  // spec.priority as the Priority admission plugin resolved it
  bool preempts = true;  // false: preemptionPolicy Never
  // KAI's label priorityClassName: its gang counts as that PriorityClass says, unless its PodGroup
  // says it. Empty: it is not there.
  std::string gang_class;
  std::string scheduler_name;
  // Where its gang wants to be, unless its PodGroup says so.
  TopologyTerms topology;
  auto operator<=>(const PodSpec&) const = default;
  // All of its devices are handed out together.
  bool one_gpu_container() const {
    int asking = 0;
    for (const ContainerGpus& container : gpu_containers) asking += container.count > 0 ? 1 : 0;
    return gpu_containers.empty() || asking == 1;
  }
};

// A PersistentVolumeClaim that a pod names, or one that is made for it.
struct ClaimUse {
  std::string name;  // of the claim, or of a generic ephemeral volume
  bool own = false;  // such a volume: its claim is made for the pod, after it
  // The claim's name.
  std::string Of(const std::string& pod) const { return own ? pod + "-" + name : name; }
  auto operator<=>(const ClaimUse&) const = default;
};

// What a pod needs of volumes that outlive it.
struct PodVolumes {
  std::vector<ClaimUse> claims;
  // By who knows the claims: what the pod itself says, of which Pod::spec is more; null: it is all.
  std::shared_ptr<const PodSpec> declared;
  // Likewise, why no node can take the pod for now; empty: it may start.
  std::string bar;
  // Likewise, what they ask of nodes beside `spec`; null: nothing.
  std::shared_ptr<const VolumeDemand> demand = nullptr;
};

// That a pod's start failed on its node, as the kubelet's status says.
struct StartFailure {
  // The kubelet did not admit it, else a container failed in its first run.
  bool admission = false;
  std::string reason;  // "UnexpectedAdmissionError", "OutOfcpu", …; "Error", "StartError", …
  Time at;             // when, milliseconds since 1970
  Duration ran;        // how long that container ran, 0 at admission
  auto operator<=>(const StartFailure&) const = default;
};

// What HAMi's device plugin makes of a pod of its node, as long as that is pending
// (hami_devices.hpp): it hands out the pod's devices to whoever the kubelet asks about next, or it
// has handed them out and may still take the pod for the next one.
enum class HamiTurn : uint8_t { kNone, kAllocating, kServed };

// What annotations of other schedulers say of a pod's gang, beside its name and its minimum.
struct GangWords {
  // Names of gangs that start together, its own one of them; rising. Empty: its own alone. They are
  // one gang (Pod::pod_group), of which each is a role (Pod::role).
  std::vector<std::string> together;
  Duration schedule_timeout;  // 0: unsaid
  std::string unheeded;       // which of their words do not count, and why; empty: all do
  auto operator<=>(const GangWords&) const = default;
};

struct Pod {
  PodUid uid;
  ObjectKey key;
  std::shared_ptr<const PodSpec> spec;
  // What it holds while it is bound, where its status says another amount than `spec` (it is being
  // resized in place, or that was refused); null: what `spec` requests.
  std::shared_ptr<const Resources> resized;
  std::string pod_group;  // name of its PodGroup in the same namespace; empty: a gang of one
  // How many members its gang needs, as the pod itself says where there may be no PodGroup; 0: it
  // says nothing.
  int64_t declared_min_member = 0;
  std::string alone;      // why its owner makes it no member of a gang; empty: nobody says
  std::string queue;      // to which what it holds is charged; empty: the only one, or none
  std::string role;       // name of its role in the gang (muster.dev/role), may be empty
  std::string owner_uid;  // controller owner reference, may be empty
  // Its number among its owner's pods, as their controller counts them (a Job's completion index),
  // and that of its Job in its JobSet, of its replica in its Ray worker group; from 0, kNoIndex:
  // nothing says it.
  int32_t index = kNoIndex;
  int32_t job_index = kNoIndex;
  bool daemon = false;  // owned by a DaemonSet or a mirror (static) pod: never gated
  PodPhase phase = PodPhase::kPending;
  bool deleting = false;  // deletionTimestamp is set
  // deletionTimestamp, milliseconds since 1970: when its grace is over. 0: not known.
  Time leaves_by;
  Duration grace = Seconds(30);      // spec.terminationGracePeriodSeconds
  std::vector<std::string> gates;    // schedulingGates still present
  std::string nominated_node;        // status.nominatedNodeName
  std::string node_name;             // spec.nodeName; empty: not bound
  std::vector<GpuIndex> bound_gpus;  // from kGpusAnnotation, only meaningful when bound
  bool bound_by_muster = false;      // kBoundByAnnotation says so
  std::string bound_in;              // kBoundInAnnotation; empty: it says nothing
  Time created;                      // creationTimestamp, milliseconds since 1970
  Time bound_at;                     // when it was bound, likewise; 0: not known
  int64_t resource_version = 0;      // 0: not known. Within one UID a lower one is older news
  // Why the record cannot be scheduled as it is (a malformed request, say). Empty: fine. The pod is
  // kept, so that its gang can say why it waits.
  std::string defect;
  // Of its gang; null: it carries none.
  std::shared_ptr<const GangRecord> gang_record;
  std::shared_ptr<const StartFailure> start_failure;  // null: none is known of
  // Since when all its containers have run, or ran until they succeeded; milliseconds since 1970,
  // 0: they do not, or it is not known.
  Time running_since;
  bool handed_over = false;  // kEpochAnnotation is there
  std::string asked_queue;   // kQueueName or another system's word for it; empty: it names none
  HamiTurn hami_turn = HamiTurn::kNone;
  bool says_disruption = false;  // kDoNotDisrupt or kSafeToEvict is there, whatever it says
  std::shared_ptr<const RunTimes> run_times;  // null: nothing says how long it runs
  std::optional<bool> preemptible;  // kPreemptible or another system's word; nothing: unsaid
  PodLabels labels;
  std::shared_ptr<const GangWords> gang_words;  // null: there are none
  // Its gang is nobody's victim: what it holds counts against the guarantee of its queue.
  bool non_preemptible = false;
  // Condition PodScheduled is False for Unschedulable: its message. Null: it is not.
  std::shared_ptr<const std::string> unschedulable;
  std::shared_ptr<const PodVolumes> volumes;  // null: it names no claims

  static constexpr int32_t kNoIndex = -1;

  bool bound() const { return !node_name.empty(); }
  // Of a bound pod: what kube-scheduler counts for it on its node.
  const Resources& held() const { return resized == nullptr ? spec->requests : *resized; }
  bool terminal() const { return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed; }
  // It has ended or is being deleted.
  bool ending() const { return terminal() || deleting; }
  bool gated_by_muster() const;
  // Another controller's gate is still on it: not ours to schedule yet.
  bool gated_by_others() const;
  // What its volumes ask of nodes beside `spec`; null: nothing.
  std::shared_ptr<const VolumeDemand> volume_demand() const {
    return volumes == nullptr ? nullptr : volumes->demand;
  }
  // Its volumes are not ready for it.
  bool awaits_volumes() const { return volumes != nullptr && !volumes->bar.empty(); }
};

}  // namespace muster::cluster
