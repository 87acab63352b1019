#include "kube/decode/kept_fields.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "cluster/records/hami_devices.hpp"
#include "kube/decode/node_links.hpp"
#include "kube/dialects/hami_choice.hpp"
#include "kube/dialects/koordinator_gang.hpp"
#include "kube/dialects/label_names.hpp"
#include "kube/dialects/pod_requests.hpp"
#include "kube/dialects/run_times.hpp"
#include "kube/dialects/topology_terms.hpp"

namespace muster::kube {

namespace {

using Fields = std::span<const Kept>;

// What the API server takes as the annotations of one object, all together, and some for escapes.
constexpr size_t kAnnotations = JsonSieve::kMaxMember;

constexpr Kept Value(std::string_view name) { return {.name = name}; }
constexpr Kept Value(std::string_view name, size_t longest) {
  return {.name = name, .longest = longest};
}
constexpr Kept Object(std::string_view name, Fields members) {
  return {.name = name, .kind = Kept::Kind::kObject, .members = members};
}
// Any name with a value.
constexpr Kept Map(std::string_view name) { return {.name = name, .kind = Kept::Kind::kMap}; }
constexpr Kept List(std::string_view name, Fields members) {
  return {.name = name, .kind = Kept::Kind::kList, .members = members};
}
constexpr Kept Values(std::string_view name) { return List(name, {}); }

// Who an object is and when it was what (object_meta.cpp).
constexpr Kept kName = Value("name");
constexpr Kept kNamespace = Value("namespace");
constexpr Kept kUid = Value("uid");
constexpr Kept kVersion = Value("resourceVersion");
constexpr Kept kCreated = Value("creationTimestamp");
constexpr Kept kDeleted = Value("deletionTimestamp");
constexpr Kept kKind = Value("kind");
constexpr Kept kApiVersion = Value("apiVersion");

constexpr Kept kIdentityMeta[] = {kName, kNamespace, kUid, kVersion, kCreated, kDeleted};
constexpr Kept kIdentity[] = {kKind, kApiVersion, Object("metadata", kIdentityMeta)};

// Muster's own, on objects of any kind.
constexpr Kept kOwn = Value("muster.dev/*", kAnnotations);

// Keys for other schedulers on pods and PodGroups: those that Muster reads, and those that it
// reports as not honoured (dialect_keys.cpp).
constexpr Kept kDialectKeys[] = {
    Value("scheduling.k8s.io/group-name"),
    Value("scheduling.volcano.sh/*", kAnnotations),
    Value("volcano.sh/*", kAnnotations),
    Value("pod-group-name"),
    Value("kai.scheduler/*", kAnnotations),
    Value("gpu-fraction*", kAnnotations),
    Value("mps"),
    Value(kKaiPriorityLabel),
    Value("quota.scheduling.koordinator.sh/name"),
    Value("quota.scheduling.koordinator.sh/preemptible"),
    Value("gang.scheduling.koordinator.sh/*", kAnnotations),
    Value("pod-group.scheduling.sigs.k8s.io/*", kAnnotations),
    Value("scheduling.koordinator.sh/*", kAnnotations),
    Value("koordinator.sh/priority"),
    Value("kueue.x-k8s.io/*", kAnnotations),
    Value("nvidia.com/numa-bind"),
    Value("hami.io/device-scoring-weights"),
};

template <size_t kFirst, size_t kSecond>
constexpr std::array<Kept, kFirst + kSecond> Join(const Kept (&a)[kFirst],
                                                  const Kept (&b)[kSecond]) {
  std::array<Kept, kFirst + kSecond> joined{};
  std::copy(std::begin(a), std::end(a), joined.begin());
  std::copy(std::begin(b), std::end(b), joined.begin() + kFirst);
  return joined;
}

// Selectors (pod_constraints.cpp).
constexpr Kept kRequirement[] = {Value("key"), Value("operator"), Values("values")};
constexpr Kept kTerm[] = {List("matchExpressions", kRequirement),
                          List("matchFields", kRequirement)};
constexpr Kept kTerms[] = {List("nodeSelectorTerms", kTerm)};
constexpr Kept kNodeAffinity[] = {Object("requiredDuringSchedulingIgnoredDuringExecution", kTerms)};
constexpr Kept kLabelSelector[] = {Map("matchLabels"), List("matchExpressions", kRequirement)};
constexpr Kept kPodTerm[] = {Object("labelSelector", kLabelSelector),
                             Values("namespaces"),
                             Object("namespaceSelector", kLabelSelector),
                             Value("topologyKey"),
                             Values("matchLabelKeys"),
                             Values("mismatchLabelKeys")};
constexpr Kept kPodAffinity[] = {List("requiredDuringSchedulingIgnoredDuringExecution", kPodTerm)};
constexpr Kept kAffinity[] = {Object("nodeAffinity", kNodeAffinity),
                              Object("podAffinity", kPodAffinity),
                              Object("podAntiAffinity", kPodAffinity)};
constexpr Kept kSpreadConstraint[] = {Value("maxSkew"),
                                      Value("minDomains"),
                                      Value("topologyKey"),
                                      Value("whenUnsatisfiable"),
                                      Object("labelSelector", kLabelSelector),
                                      Values("matchLabelKeys"),
                                      Value("nodeAffinityPolicy"),
                                      Value("nodeTaintsPolicy")};
constexpr Kept kToleration[] = {Value("key"), Value("value"), Value("operator"), Value("effect")};

// Pods (pod_decoder.cpp, pod_requests.cpp, grouping_book.cpp).
constexpr Kept kSomePodAnnotations[] = {
    kOwn,
    // Labels, which are told where they are annotations.
    Value("scheduling.x-k8s.io/pod-group"),
    Value("scheduling.k8s.io/pod-group"),
    Value("grove.io/podgang"),
    Value("fluence.group-size"),
    Value("kubernetes.io/config.mirror"),
    Value(kCompletionIndex),
    Value(kJobIndex),
    Value(kHamiUseType),
    Value(kHamiNoUseType),
    Value(kHamiUseUuid),
    Value(kHamiNoUseUuid),
    Value(kHamiMode),
    Value(kHamiNodePolicy),
    Value(kHamiGpuPolicy),
    Value(kGpuMemoryAnnotation),
    Value(cluster::kDoNotDisrupt),
    Value(cluster::kSafeToEvict),
    Value(cluster::kHamiPhaseAnnotation),
    Value(cluster::kHamiNodeAnnotation),
    Value(cluster::kHamiBindTimeAnnotation),
    Value("alpha.jobset.sigs.k8s.io/exclusive-topology"),
    Value("alpha.jobset.sigs.k8s.io/node-selector"),
    Value("leaderworkerset.sigs.k8s.io/size"),
};
constexpr auto kPodAnnotations = Join(kSomePodAnnotations, kDialectKeys);
constexpr Kept kOwner[] = {Value("controller"), kUid, kKind, kApiVersion, kName};
constexpr Kept kPodMeta[] = {kName,
                             kNamespace,
                             kUid,
                             kVersion,
                             kCreated,
                             kDeleted,
                             Map("labels"),  // grouping rules name any of them
                             Object("annotations", kPodAnnotations),
                             List("ownerReferences", kOwner)};
constexpr Kept kResources[] = {Map("requests"), Map("limits")};
constexpr Kept kPort[] = {Value("containerPort"), Value("hostPort"), Value("hostIP"),
                          Value("protocol")};
constexpr Kept kContainer[] = {kName, Object("resources", kResources), Value("restartPolicy"),
                               List("ports", kPort)};
constexpr Kept kGroup[] = {Value("podGroupName")};
constexpr Kept kGate[] = {kName};
constexpr Kept kClaim[] = {kName, Value("resourceClaimTemplateName")};
constexpr Kept kPodClaim[] = {Value("claimName")};
constexpr Kept kPodVolume[] = {kName, Object("persistentVolumeClaim", kPodClaim),
                               Object("ephemeral", {})};
constexpr Kept kPodSpec[] = {
    List("containers", kContainer),
    List("initContainers", kContainer),
    Object("resources", kResources),
    Map("overhead"),
    Value("nodeName"),
    Value("terminationGracePeriodSeconds"),
    Value("schedulerName"),
    Object("schedulingGroup", kGroup),
    List("schedulingGates", kGate),
    List("resourceClaims", kClaim),
    List("volumes", kPodVolume),
    Value("priority"),
    Value("priorityClassName"),
    Value("preemptionPolicy"),
    Value("activeDeadlineSeconds"),
    Map("nodeSelector"),
    Object("affinity", kAffinity),
    List("tolerations", kToleration),
    List("topologySpreadConstraints", kSpreadConstraint),
    Value("hostNetwork"),
};
constexpr Kept kPodCondition[] = {Value("type"), Value("status"), Value("lastTransitionTime"),
                                  Value("reason"), Value("message")};
constexpr Kept kTerminated[] = {Value("exitCode"), Value("reason"), Value("startedAt"),
                                Value("finishedAt")};
constexpr Kept kRunning[] = {Value("startedAt")};
constexpr Kept kContainerState[] = {Object("terminated", kTerminated), Object("running", kRunning)};
constexpr Kept kInForce[] = {Map("requests")};
constexpr Kept kContainerStatus[] = {kName,
                                     Value("restartCount"),
                                     Object("state", kContainerState),
                                     Object("lastState", kContainerState),
                                     Map("allocatedResources"),
                                     Object("resources", kInForce)};
constexpr Kept kPodStatus[] = {Value("phase"),
                               Value("reason"),
                               Value("startTime"),
                               Value("nominatedNodeName"),
                               List("conditions", kPodCondition),
                               Map("allocatedResources"),
                               Object("resources", kInForce),
                               List("containerStatuses", kContainerStatus),
                               List("initContainerStatuses", kContainerStatus)};
constexpr Kept kPod[] = {kKind, kApiVersion, Object("metadata", kPodMeta), Object("spec", kPodSpec),
                         Object("status", kPodStatus)};

// Nodes (node_decoder.cpp, node_devices.cpp, node_links.cpp).
constexpr Kept kNodeAnnotations[] = {kOwn, Value("hami.io/node-nvidia-register", kAnnotations),
                                     Value("hami.io/device-cordon", kAnnotations),
                                     Value(kHamiScoresAnnotation, kAnnotations),
                                     Value(cluster::kHamiLockAnnotation)};
constexpr Kept kNodeMeta[] = {
    kName,    kNamespace, kUid,          kVersion,
    kCreated, kDeleted,   Map("labels"), Object("annotations", kNodeAnnotations)};
constexpr Kept kTaint[] = {Value("key"), Value("value"), Value("effect")};
constexpr Kept kNodeSpec[] = {List("taints", kTaint), Value("unschedulable")};
constexpr Kept kCondition[] = {Value("type"), Value("status")};
constexpr Kept kNodeStatus[] = {List("conditions", kCondition), Map("allocatable"),
                                Map("capacity")};
constexpr Kept kNode[] = {kKind, kApiVersion, Object("metadata", kNodeMeta),
                          Object("spec", kNodeSpec), Object("status", kNodeStatus)};

// PodGroups of every flavour (pod_group_decoder.cpp).
constexpr Kept kSomePodGroupLabels[] = {kOwn, Value(kLeaderWorkerSetLabel)};
constexpr auto kPodGroupLabels = Join(kSomePodGroupLabels, kDialectKeys);
constexpr Kept kOwnKeys[] = {kOwn};
constexpr auto kPodGroupAnnotations = Join(kOwnKeys, kDialectKeys);
constexpr Kept kPodGroupMeta[] = {kName,
                                  kNamespace,
                                  kUid,
                                  kVersion,
                                  kCreated,
                                  kDeleted,
                                  Object("labels", kPodGroupLabels),
                                  Object("annotations", kPodGroupAnnotations)};
constexpr Kept kGang[] = {Value("minCount")};
constexpr Kept kPolicy[] = {Object("gang", kGang), Object("basic", {})};
constexpr Kept kNetworkTopology[] = {Value("mode"), Value("highestTierAllowed"),
                                     Value("highestTierName")};
constexpr Kept kPackConstraint[] = {Value("required"), Value("preferred")};
constexpr Kept kTopologyConstraint[] = {Value("requiredTopologyLevel"),
                                        Value("preferredTopologyLevel"),
                                        Object("packConstraint", kPackConstraint)};
constexpr Kept kSubGroup[] = {kName, Value("parent"), Value("minMember"), Value("minSubGroup"),
                              Object("topologyConstraint", kTopologyConstraint)};
constexpr Kept kTaskSelector[] = {Map("matchLabels"), Values("matchExpressions")};
constexpr Kept kSubGroupPolicy[] = {kName,
                                    Value("subGroupSize"),
                                    Value("minSubGroups"),
                                    Values("matchLabelKeys"),
                                    Object("labelSelector", kTaskSelector),
                                    Object("networkTopology", kNetworkTopology)};
constexpr Kept kPodClique[] = {kName, Value("minReplicas"),
                               Object("topologyConstraint", kTopologyConstraint)};
constexpr Kept kPodCliques[] = {kName, Values("podGroupNames"),
                                Object("topologyConstraint", kTopologyConstraint)};
constexpr Kept kDisruption[] = {Object("all", {}), Object("single", {})};
constexpr Kept kTopologyKey[] = {Value("key")};
constexpr Kept kConstraints[] = {List("topology", kTopologyKey)};
constexpr Kept kPodGroupSpec[] = {
    Object("schedulingPolicy", kPolicy), Value("minMember"), Map("minTaskMember"),
    List("subGroups", kSubGroup), List("subGroupPolicy", kSubGroupPolicy),
    List("podgroups", kPodClique), List("topologyConstraintGroupConfigs", kPodCliques),
    Value("scheduleTimeoutSeconds"), Value("queue"), Value("preemptibility"), Value("priority"),
    Value("priorityClassName"), Value("preemptionPolicy"), Object("disruptionMode", kDisruption),
    Object("networkTopology", kNetworkTopology), Object("topologyConstraint", kTopologyConstraint),
    Object("schedulingConstraints", kConstraints),
    // Read to be told that they are not honoured.
    Value("minSubGroup"), Value("parentCompositePodGroupName"), Values("resourceClaims"),
    Object("reuseReservationRef", {})};
constexpr Kept kPodGroup[] = {kKind, kApiVersion, Object("metadata", kPodGroupMeta),
                              Object("spec", kPodGroupSpec)};

// The rest (record_decoders.cpp).
constexpr Kept kLabelledMeta[] = {kName,    kNamespace, kUid,         kVersion,
                                  kCreated, kDeleted,   Map("labels")};
constexpr Kept kNamespaceObject[] = {kKind, kApiVersion, Object("metadata", kLabelledMeta)};
constexpr Kept kPriorityClass[] = {kKind,
                                   kApiVersion,
                                   Object("metadata", kIdentityMeta),
                                   Value("value"),
                                   Value("preemptionPolicy"),
                                   Value("activeDeadlineSeconds"),
                                   Value("globalDefault")};
constexpr Kept kSelector[] = {Map("matchLabels"), List("matchExpressions", kRequirement)};
constexpr Kept kBudgetSpec[] = {Object("selector", kSelector)};
constexpr Kept kBudgetStatus[] = {Value("disruptionsAllowed")};
constexpr Kept kScopeTerm[] = {Value("scopeName"), Value("operator"), Values("values")};
constexpr Kept kScopeSelector[] = {List("matchExpressions", kScopeTerm)};
constexpr Kept kQuotaSpec[] = {Values("scopes"), Object("scopeSelector", kScopeSelector)};
constexpr Kept kQuotaStatus[] = {Map("hard"), Map("used")};
constexpr Kept kQuota[] = {kKind, kApiVersion, Object("metadata", kIdentityMeta),
                           Object("spec", kQuotaSpec), Object("status", kQuotaStatus)};
constexpr Kept kBudget[] = {kKind, kApiVersion, Object("metadata", kIdentityMeta),
                            Object("spec", kBudgetSpec), Object("status", kBudgetStatus)};

// Jobs (batch_job_decoder.cpp).
constexpr Kept kOnCondition[] = {Value("type"), Value("status")};
constexpr Kept kOnExitCodes[] = {Value("containerName"), Value("operator"), Values("values")};
constexpr Kept kFailureRule[] = {Value("action"), List("onPodConditions", kOnCondition),
                                 Object("onExitCodes", kOnExitCodes)};
constexpr Kept kFailurePolicy[] = {List("rules", kFailureRule)};
constexpr Kept kJobSpec[] = {Object("podFailurePolicy", kFailurePolicy),
                             Value("podReplacementPolicy"), Value("activeDeadlineSeconds")};
constexpr Kept kJobTimes[] = {kOwn, Value(kMaxExecTime)};
constexpr Kept kJobMeta[] = {kName,
                             kNamespace,
                             kUid,
                             kVersion,
                             kCreated,
                             kDeleted,
                             Object("labels", kJobTimes),
                             Object("annotations", kJobTimes)};
constexpr Kept kJobStatus[] = {List("conditions", kCondition), Value("startTime")};
constexpr Kept kBatchJob[] = {kKind, kApiVersion, Object("metadata", kJobMeta),
                              Object("spec", kJobSpec), Object("status", kJobStatus)};

// NodeResourceTopologies (node_topology_decoder.cpp).
constexpr Kept kAttribute[] = {kName, Value("value")};
constexpr Kept kNodeTopology[] = {kKind, kApiVersion, Object("metadata", kIdentityMeta),
                                  List("attributes", kAttribute), Values("topologyPolicies")};

// ComputeDomains (compute_domain_decoder.cpp).
constexpr Kept kClaimTemplate[] = {kName};
constexpr Kept kChannel[] = {Object("resourceClaimTemplate", kClaimTemplate)};
constexpr Kept kComputeDomainSpec[] = {Object("channel", kChannel)};
constexpr Kept kComputeDomain[] = {kKind, kApiVersion, Object("metadata", kIdentityMeta),
                                   Object("spec", kComputeDomainSpec)};

// ProvisioningRequests (provisioning_request_decoder.cpp).
constexpr Kept kOwnAnnotations[] = {kOwn};
constexpr Kept kRequestMeta[] = {
    kName, kNamespace, kUid, kVersion, kCreated, kDeleted, Object("annotations", kOwnAnnotations)};
constexpr Kept kPodSet[] = {Value("count")};
constexpr Kept kRequestSpec[] = {Value("provisioningClassName"), List("podSets", kPodSet)};
constexpr Kept kRequestCondition[] = {Value("type"), Value("status"), Value("reason"),
                                      Value("message"), Value("lastTransitionTime")};
constexpr Kept kRequestStatus[] = {List("conditions", kRequestCondition)};
constexpr Kept kProvisioningRequest[] = {kKind, kApiVersion, Object("metadata", kRequestMeta),
                                         Object("spec", kRequestSpec),
                                         Object("status", kRequestStatus)};

// ResourceSlices (resource_slice_decoder.cpp).
constexpr Kept kText[] = {Value("string")};
constexpr Kept kNumber[] = {Value("int"), Values("ints")};
constexpr Kept kSliceAttributes[] = {Object("type", kText),
                                     Object("gpu.nvidia.com/type", kText),
                                     Object("uuid", kText),
                                     Object("gpu.nvidia.com/uuid", kText),
                                     Object("resource.kubernetes.io/pcieRoot", kText),
                                     Object("resource.kubernetes.io/pciBusID", kText),
                                     Object("pciBusID", kText),
                                     Object("gpu.nvidia.com/pciBusID", kText),
                                     Object("pcieBusID", kText),
                                     Object("gpu.nvidia.com/pcieBusID", kText),
                                     Object("resource.kubernetes.io/numaNode", kNumber)};
constexpr Kept kBasicDevice[] = {Object("attributes", kSliceAttributes)};
constexpr Kept kSliceDevice[] = {Object("attributes", kSliceAttributes),
                                 Object("basic", kBasicDevice)};
constexpr Kept kSlicePool[] = {kName, Value("generation"), Value("resourceSliceCount")};
constexpr Kept kSliceSpec[] = {Value("driver"), Object("pool", kSlicePool), Value("nodeName"),
                               List("devices", kSliceDevice)};
constexpr Kept kResourceSlice[] = {kKind, kApiVersion, Object("metadata", kIdentityMeta),
                                   Object("spec", kSliceSpec)};

// PersistentVolumeClaims, PersistentVolumes, StorageClasses, CSINodes (storage_kinds.cpp).
constexpr Kept kPodOwner[] = {Value("kind"), Value("uid"), Value("controller")};
constexpr Kept kClaimAnnotations[] = {Value("volume.kubernetes.io/selected-node"),
                                      Value("pv.kubernetes.io/bind-completed")};
constexpr Kept kClaimMeta[] = {kName,
                               kNamespace,
                               kUid,
                               kVersion,
                               kCreated,
                               kDeleted,
                               Object("annotations", kClaimAnnotations),
                               List("ownerReferences", kPodOwner)};
constexpr Kept kStorageAmount[] = {Value("storage")};
constexpr Kept kClaimAmounts[] = {Object("requests", kStorageAmount)};
constexpr Kept kClaimSpec[] = {Value("volumeName"),
                               Value("storageClassName"),
                               Values("accessModes"),
                               Value("volumeMode"),
                               Value("volumeAttributesClassName"),
                               Object("resources", kClaimAmounts),
                               Object("selector", kLabelSelector)};
constexpr Kept kClaimStatus[] = {Value("phase")};
constexpr Kept kVolumeClaim[] = {kKind, kApiVersion, Object("metadata", kClaimMeta),
                                 Object("spec", kClaimSpec), Object("status", kClaimStatus)};
constexpr Kept kClaimRef[] = {kNamespace, kName};
constexpr Kept kVolumeAffinity[] = {Object("required", kTerms)};
constexpr Kept kVolumeCsi[] = {Value("driver"), Value("volumeHandle")};
constexpr Kept kVolumeSpec[] = {
    Value("storageClassName"), Object("claimRef", kClaimRef),
    Object("nodeAffinity", kVolumeAffinity), Object("capacity", kStorageAmount),
    Values("accessModes"), Value("volumeMode"), Value("volumeAttributesClassName"),
    Object("csi", kVolumeCsi),
    // Of these only that they are there counts.
    Object("awsElasticBlockStore", {}), Object("azureDisk", {}), Object("azureFile", {}),
    Object("cinder", {}), Object("gcePersistentDisk", {}), Object("portworxVolume", {}),
    Object("vsphereVolume", {})};
constexpr Kept kVolumeMeta[] = {kName, kUid, kVersion, kCreated, kDeleted, Map("labels")};
constexpr Kept kVolume[] = {kKind, kApiVersion, Object("metadata", kVolumeMeta),
                            Object("spec", kVolumeSpec), Object("status", kClaimStatus)};
constexpr Kept kAllowedLabel[] = {Value("key"), Values("values")};
constexpr Kept kAllowedTopology[] = {List("matchLabelExpressions", kAllowedLabel)};
constexpr Kept kStorageClass[] = {kKind,
                                  kApiVersion,
                                  Object("metadata", kIdentityMeta),
                                  Value("provisioner"),
                                  Value("volumeBindingMode"),
                                  List("allowedTopologies", kAllowedTopology)};
constexpr Kept kDriverAllocatable[] = {Value("count")};
constexpr Kept kNodeDriver[] = {kName, Object("allocatable", kDriverAllocatable)};
constexpr Kept kNodeDriversSpec[] = {List("drivers", kNodeDriver)};
constexpr Kept kNodeDrivers[] = {kKind, kApiVersion, Object("metadata", kIdentityMeta),
                                 Object("spec", kNodeDriversSpec)};

// What a message says more than this is of no use in a log.
constexpr size_t kMessage = size_t{64} << 10;
constexpr Kept kStatus[] = {Value("code"), Value("message", kMessage)};

}  // namespace

std::span<const Kept> PodFields() { return kPod; }
bool KeepsPodAnnotation(std::string_view name) {
  return FindKept(kPodAnnotations, name) != nullptr;
}
std::span<const Kept> NodeFields() { return kNode; }
std::span<const Kept> PodGroupFields() { return kPodGroup; }
std::span<const Kept> NamespaceFields() { return kNamespaceObject; }
std::span<const Kept> PriorityClassFields() { return kPriorityClass; }
std::span<const Kept> DisruptionBudgetFields() { return kBudget; }
std::span<const Kept> ResourceQuotaFields() { return kQuota; }
std::span<const Kept> BatchJobFields() { return kBatchJob; }
std::span<const Kept> NodeTopologyFields() { return kNodeTopology; }
std::span<const Kept> ResourceSliceFields() { return kResourceSlice; }
std::span<const Kept> ComputeDomainFields() { return kComputeDomain; }
std::span<const Kept> ProvisioningRequestFields() { return kProvisioningRequest; }
std::span<const Kept> VolumeClaimFields() { return kVolumeClaim; }
std::span<const Kept> VolumeFields() { return kVolume; }
std::span<const Kept> StorageClassFields() { return kStorageClass; }
std::span<const Kept> NodeDriversFields() { return kNodeDrivers; }
std::span<const Kept> IdentityFields() { return kIdentity; }
std::span<const Kept> StatusFields() { return kStatus; }

}  // namespace muster::kube
