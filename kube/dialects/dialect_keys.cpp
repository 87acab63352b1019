#include "kube/dialects/dialect_keys.hpp"

#include <algorithm>
#include <array>

#include "cluster/records/pod_group.hpp"
#include "cluster/records/run_times.hpp"
#include "cluster/records/topology_terms.hpp"
#include "kube/dialects/label_names.hpp"
#include "kube/dialects/pod_requests.hpp"
#include "kube/dialects/run_times.hpp"

namespace muster::kube {

namespace {

using enum Heed;
using enum Place;

constexpr std::string_view kWritten = "that scheduler writes it itself";
constexpr std::string_view kOfNodes = "a key of nodes, queues or other objects";
constexpr std::string_view kOfController = "a controller uses it";
constexpr std::string_view kOfAgent = "an agent on the node uses it";
constexpr std::string_view kResource = "a resource: Muster refuses pods that request it";
constexpr std::string_view kQueue = "the gang's queue, unless muster.dev/queue is set";
constexpr std::string_view kPreempted = "unless muster.dev/preemptible is set";
constexpr std::string_view kByPriority = "members start together, whatever order they are given";
constexpr std::string_view kNoReservations = "Muster reads no Reservations";
constexpr std::string_view kNoHints = "Muster chooses the devices by the topology of the node";
constexpr std::string_view kByKubelet =
    "the Topology Manager and the CPU Manager of the node decide it, and Muster plans by them";
constexpr std::string_view kOfKueue = "Kueue's own: it counts before Kueue releases the pods";

constexpr std::string_view kYesOrNo = "true|false";
constexpr std::string_view kGoBool = "true|false|True|False|TRUE|FALSE|t|f|T|F|1|0";

constexpr DialectField kVolcanoKeys[] = {
    {"scheduling.k8s.io/group-name", kHonoured, "the name of its PodGroup", {}, kAnnotation},
    {"scheduling.volcano.sh/group-name", kHonoured, "the name of its PodGroup", {}, kAnnotation},
    {"scheduling.volcano.sh/group-min-member",
     kHonoured,
     "without a PodGroup object",
     {},
     kAnnotation},
    {"scheduling.volcano.sh/group-min-resources", kMeaningless,
     "Muster plans the whole gang by what its pods request"},
    {"scheduling.volcano.sh/queue-name", kHonoured, kQueue},
    {"scheduling.volcano.sh/queue-allocation-gate", kMeaningless,
     "Muster waits for this gate as for any other"},
    {"volcano.sh/preemptable", kHonoured, kPreempted, kGoBool},
    {"volcano.sh/cooldown-time", kNotHonoured,
     "preemption.minRuntime of its queue says for how long a gang is not evicted"},
    {"volcano.sh/revocable-zone", kNotHonoured, "use a toleration or a nodeSelector"},
    {"volcano.sh/jdb-min-available", kNotHonoured,
     "minMember and PodDisruptionBudgets say what may be evicted"},
    {"volcano.sh/jdb-max-unavailable", kNotHonoured,
     "minMember and PodDisruptionBudgets say what may be evicted"},
    {"volcano.sh/sla-waiting-time", kNotHonoured,
     "gangs wait in the order of their queue, by priority and age"},
    {"volcano.sh/numa-topology-policy", kNotHonoured, kByKubelet},
    {"volcano.sh/topology-decision", kMeaningless, kWritten},
    {"volcano.sh/network-topology-mode", kHonoured, "what is neither hard nor soft is hard",
     "hard|soft", kAnnotation},
    {"volcano.sh/network-topology-highest-tier",
     kHonoured,
     "a level of the policy's fabric",
     {},
     kAnnotation},
    {"volcano.sh/task-spec", kHonoured, "its role"},
    {"volcano.sh/task-priority", kNotHonoured, kByPriority},
    {"volcano.sh/task-topology", kNotHonoured, "use topology terms, or pod affinity"},
    {"volcano.sh/task-topology-affinity", kNotHonoured, "use topology terms, or pod affinity"},
    {"volcano.sh/task-topology-anti-affinity", kNotHonoured, "use pod anti-affinity"},
    {"volcano.sh/task-topology-task-order", kNotHonoured, kByPriority},
    {"volcano.sh/job-version", kHonoured, "the attempt of the Volcano Job"},
    {"volcano.sh/job-*", kMeaningless, kOfController},
    {"volcano.sh/task-index", kMeaningless, kOfController},
    {"volcano.sh/partition-id", kMeaningless, kOfController},
    {"volcano.sh/template-uid", kMeaningless, kOfController},
    {"volcano.sh/cronjob-scheduled-timestamp", kMeaningless, kOfController},
    {"volcano.sh/forward-cluster", kMeaningless, kOfController},
    {"volcano.sh/burst-name", kMeaningless, kOfController},
    {"volcano.sh/silo-resource", kMeaningless, kOfController},
    {"volcano.sh/queue-name", kMeaningless, kOfController},
    {"volcano.sh/qos-level", kMeaningless, kOfAgent},
    {"volcano.sh/offline-job-evicting", kMeaningless, kOfNodes},
    {"volcano.sh/oversubscription*", kMeaningless, kOfNodes},
    {"volcano.sh/hierarchy*", kMeaningless, kOfNodes},
    {"volcano.sh/nodegroup-*", kMeaningless, kOfNodes},
    {"volcano.sh/node-vgpu-register", kMeaningless, kOfNodes},
    {"volcano.sh/gpu-unhealthy-ids", kMeaningless, kOfNodes},
    {"volcano.sh/resource-strategy-scoring-type", kNotHonoured,
     "the policy's placement says how nodes fill"},
    {"volcano.sh/resource-strategy-weight", kNotHonoured,
     "the policy's placement says how nodes fill"},
    {"volcano.sh/vgpu-*", kMeaningless, kResource},
    {"volcano.sh/gpu-*", kMeaningless, kResource},
    {"volcano.sh/devices-to-allocate", kMeaningless, kWritten},
    {"volcano.sh/predicate-time", kMeaningless, kWritten},
    {"volcano.sh/bind-phase", kMeaningless, kWritten},
    {"volcano.sh/bind-time", kMeaningless, kWritten},
};

constexpr DialectField kKaiKeys[] = {
    {"pod-group-name", kHonoured, "the name of its PodGroup", {}, kAnnotation},
    {"kai.scheduler/queue", kHonoured, kQueue, {}, kLabel},
    {"kai.scheduler/subgroup-name", kHonoured, "its role", {}, kLabel},
    {"kai.scheduler/preemptibility", kHonoured, kPreempted,
     "preemptible|non-preemptible|semi-preemptible"},
    {"priorityClassName", kHonoured, "the priority of the gang", {}, kLabel},
    {"kai.scheduler/task-priority", kNotHonoured, kByPriority},
    {"kai.scheduler/node-pool", kNotHonoured,
     "its pods may go to any node: use a nodeSelector with that label"},
    {"kai.scheduler/topology", kMeaningless, "the levels are those of the policy's fabric"},
    {"kai.scheduler/topology-required-placement", kHonoured, {}, {}, kAnnotation},
    {"kai.scheduler/topology-preferred-placement", kHonoured, {}, {}, kAnnotation},
    {"kai.scheduler/segment-size", kHonoured, {}, {}, kAnnotation},
    {"kai.scheduler/segment-topology-required-placement", kHonoured, {}, {}, kAnnotation},
    {"kai.scheduler/segment-topology-preferred-placement", kHonoured, {}, {}, kAnnotation},
    {"gpu-fraction", kHonoured, {}, {}, kAnnotation},
    {"gpu-memory", kHonoured, "MiB", {}, kAnnotation},
    {"gpu-fraction-num-devices", kHonoured, {}, {}, kAnnotation},
    {"gpu-fraction-container-name", kNotHonoured, "the share is the pod's, whichever container"},
    {"mps", kNotHonoured, "Muster starts no MPS server"},
    {"project", kMeaningless, "it names nothing that is scheduled"},
    {"user", kMeaningless, "it names nothing that is scheduled"},
    {"received-resource-type", kMeaningless, kWritten},
    {"runai-gpu-group", kMeaningless, kWritten},
    {"runai/shared-gpu-configmap", kMeaningless, kWritten},
    {"kai.scheduler/accounting", kMeaningless, kOfNodes},
    {"kai.scheduler/top-owner-metadata", kMeaningless, kWritten},
    {"kai.scheduler/stale-podgroup-timestamp", kMeaningless, kWritten},
    {"kai.scheduler/last-start-timestamp", kMeaningless, kWritten},
};

constexpr DialectField kKoordinatorKeys[] = {
    {"pod-group.scheduling.sigs.k8s.io/name", kHonoured, "the name of its gang", {}, kLabel},
    {"pod-group.scheduling.sigs.k8s.io/min-available",
     kHonoured,
     "without a PodGroup object",
     {},
     kLabel},
    {"pod-group.scheduling.sigs.k8s.io/match-policy",
     kHonoured,
     "as gang.scheduling.koordinator.sh/match-policy",
     {},
     kAnnotation},
    {"gang.scheduling.koordinator.sh/name", kHonoured, "the name of its gang", {}, kAnnotation},
    {"gang.scheduling.koordinator.sh/min-available",
     kHonoured,
     "without a PodGroup object",
     {},
     kAnnotation},
    {"gang.scheduling.koordinator.sh/waiting-time",
     kHonoured,
     "the time limit of a plan",
     {},
     kAnnotation},
    {"gang.scheduling.koordinator.sh/mode",
     kHonoured,
     "as Strict; NonStrict is reported",
     {},
     kAnnotation},
    {"gang.scheduling.koordinator.sh/groups",
     kHonoured,
     "gangs of one namespace, named on their pods; Muster refuses others",
     {},
     kAnnotation},
    {"gang.scheduling.koordinator.sh/match-policy",
     kHonoured,
     "as once-satisfied; other values are reported",
     {},
     kAnnotation},
    {"gang.scheduling.koordinator.sh/network-topology-spec", kHonoured, {}, {}, kAnnotation},
    {"gang.scheduling.koordinator.sh/network-topology-index", kNotHonoured,
     "pods are placed in the order of the indices that their controllers give them"},
    {"gang.scheduling.koordinator.sh/total-number", kMeaningless,
     "a gang starts with min-available; further pods start one by one"},
    {"gang.scheduling.koordinator.sh/timeout", kMeaningless, kWritten},
    {"quota.scheduling.koordinator.sh/name", kHonoured, kQueue, {}, kLabel},
    {"quota.scheduling.koordinator.sh/preemptible", kHonoured, kPreempted, kYesOrNo, kLabel},
    {"quota.scheduling.koordinator.sh/*", kMeaningless, kOfNodes},
    {"scheduling.koordinator.sh/disable-preemptible", kHonoured, kPreempted, kYesOrNo, kLabel},
    {"scheduling.koordinator.sh/preemption-policy", kNotHonoured,
     "preemptionPolicy of the pod or of its PodGroup counts"},
    {"scheduling.koordinator.sh/eviction-cost", kNotHonoured,
     "victims are chosen by priority, and so that the least GPU-hours are lost"},
    {"scheduling.koordinator.sh/device-allocate-hint", kNotHonoured, kNoHints},
    {"scheduling.koordinator.sh/device-joint-allocate", kNotHonoured, kNoHints},
    {"scheduling.koordinator.sh/gpu-partition-spec", kNotHonoured, kNoHints},
    {"scheduling.koordinator.sh/numa-topology-spec", kNotHonoured, kByKubelet},
    {"scheduling.koordinator.sh/resource-spec", kNotHonoured, kByKubelet},
    {"scheduling.koordinator.sh/network-topology-selector", kNotHonoured,
     "use topology terms, or a nodeSelector"},
    {"scheduling.koordinator.sh/reservation-affinity", kNotHonoured, kNoReservations},
    {"scheduling.koordinator.sh/exact-match-reservation", kNotHonoured, kNoReservations},
    {"scheduling.koordinator.sh/reservation-ignored", kMeaningless, kNoReservations},
    {"scheduling.koordinator.sh/reservation-*", kMeaningless, "for Reservations"},
    {"scheduling.koordinator.sh/pre-allocation-required", kMeaningless, "for Reservations"},
    {"scheduling.koordinator.sh/operating-mode", kMeaningless, "for Reservations"},
    {"scheduling.koordinator.sh/scheduling-hint", kMeaningless, kWritten},
    {"scheduling.koordinator.sh/device-allocated", kMeaningless, kWritten},
    {"scheduling.koordinator.sh/resource-status", kMeaningless, kWritten},
    {"scheduling.koordinator.sh/bind-gang-*", kMeaningless, kWritten},
    {"scheduling.koordinator.sh/topology-key-to-explain", kMeaningless, kWritten},
    {"scheduling.koordinator.sh/questioned-object-key", kMeaningless, kWritten},
    {"scheduling.koordinator.sh/scheduler-name", kMeaningless, "spec.schedulerName counts"},
    {"scheduling.koordinator.sh/soft-eviction", kMeaningless, kOfController},
    {"scheduling.koordinator.sh/gpu-partitions", kMeaningless, kOfNodes},
    {"scheduling.koordinator.sh/usage-thresholds", kMeaningless, kOfNodes},
    {"scheduling.koordinator.sh/load-estimated-*", kMeaningless,
     "Muster places by what pods request, not by load"},
    {"koordinator.sh/priority", kNotHonoured, "spec.priority and its PriorityClass count"},
    {"koordinator.sh/priority-class", kMeaningless, kOfAgent},
    {"koordinator.sh/gpu-isolation-provider", kMeaningless, kResource},
    {"koordinator.sh/gpu*", kMeaningless, kResource},
    {"koordinator.sh/*", kMeaningless, kOfAgent},
    {"internal.scheduling.koordinator.sh/*", kMeaningless, kWritten},
    {"config.koordinator.sh/*", kMeaningless, kOfController},
    {"node.koordinator.sh/*", kMeaningless, kOfNodes},
    {"kubelet.koordinator.sh/*", kMeaningless, kOfNodes},
    {"pod.koordinator.sh/*", kMeaningless, kOfController},
};

constexpr DialectField kKueueKeys[] = {
    {"kueue.x-k8s.io/queue-name", kHonoured, kQueue, {}, kLabel},
    {"kueue.x-k8s.io/priority-class", kNotHonoured,
     "a WorkloadPriorityClass is Kueue's: the priority of the pods counts here"},
    {"kueue.x-k8s.io/priority-boost", kNotHonoured, "the priority of the pods counts"},
    {"kueue.x-k8s.io/max-exec-time-seconds", kHonoured, "how long it runs at most"},
    {"kueue.x-k8s.io/pod-group-name", kHonoured, "the name of its gang", {}, kLabel},
    {"kueue.x-k8s.io/pod-group-total-count",
     kHonoured,
     "how many pods its gang needs",
     {},
     kAnnotation},
    {"kueue.x-k8s.io/pod-group-serving", kHonoured, "true: its pods start one by one", kYesOrNo,
     kAnnotation},
    {"kueue.x-k8s.io/pod-group-pod-index",
     kHonoured,
     "its index among its gang's pods",
     {},
     kLabel},
    {"kueue.x-k8s.io/pod-group-pod-index-label", kNotHonoured,
     "the index is read from kueue.x-k8s.io/pod-group-pod-index"},
    {"kueue.x-k8s.io/pod-index-offset", kMeaningless, "the order of the indices counts"},
    {"kueue.x-k8s.io/pod-group-fast-admission", kMeaningless,
     "a gang starts when all of its pods exist"},
    {"kueue.x-k8s.io/retriable-in-group", kMeaningless, kOfKueue},
    {"kueue.x-k8s.io/podset-required-topology", kHonoured, {}, {}, kAnnotation},
    {"kueue.x-k8s.io/podset-preferred-topology", kHonoured, {}, {}, kAnnotation},
    {"kueue.x-k8s.io/podset-unconstrained-topology", kMeaningless, "it requests nothing"},
    {"kueue.x-k8s.io/podset-slice-required-topology", kHonoured, {}, {}, kAnnotation},
    {"kueue.x-k8s.io/podset-slice-required-topology-constraints", kHonoured, {}, {}, kAnnotation},
    {"kueue.x-k8s.io/podset-slice-size", kHonoured, {}, {}, kAnnotation},
    {"kueue.x-k8s.io/podset-group-name", kNotHonoured, "each PodSet is placed by itself"},
    {"kueue.x-k8s.io/*", kMeaningless, kOfKueue},
};

constexpr DialectField kHamiKeys[] = {
    {"nvidia.com/use-gputype", kHonoured, {}, {}, kAnnotation},
    {"nvidia.com/nouse-gputype", kHonoured, {}, {}, kAnnotation},
    {"nvidia.com/use-gpuuuid", kHonoured, {}, {}, kAnnotation},
    {"nvidia.com/nouse-gpuuuid", kHonoured, {}, {}, kAnnotation},
    {"nvidia.com/vgpu-mode", kHonoured, "hami-core, mig, mps", {}, kAnnotation},
    {"nvidia.com/numa-bind", kNotHonoured, "Muster does not place by this word of HAMi"},
    {"hami.io/device-scoring-weights", kNotHonoured, "Muster does not place by this word of HAMi"},
    {"hami.io/node-scheduler-policy",
     kHonoured,
     "binpack, spread; other values are reported",
     {},
     kAnnotation},
    {"hami.io/gpu-scheduler-policy",
     kHonoured,
     "binpack, spread, mutex, topology-aware; other values are reported",
     {},
     kAnnotation},
    {"hami.io/bind-phase", kHonoured, "HAMi writes it on a pod that it binds"},
    {"hami.io/bind-time", kHonoured, "HAMi writes it on a pod that it binds"},
    {"hami.io/vgpu-node", kHonoured, "HAMi writes it on a pod that it binds"},
    {"hami.io/vgpu-time", kMeaningless, kWritten},
    {"hami.io/vgpu-devices-allocated", kMeaningless, kWritten},
    {"hami.io/vgpu-devices-to-allocate", kMeaningless, kWritten},
    {"hami.io/scheduler-role", kMeaningless, kOfController},
    {"hami.io/device-cordon", kHonoured, "of nodes: these devices are not used"},
    {"hami.io/node-nvidia-register", kHonoured, "of nodes: their devices"},
    {"hami.io/node-nvidia-score", kHonoured, "of nodes: the links of their devices"},
    {"hami.io/mutex.lock", kHonoured, "of nodes: the pod that HAMi's plugin serves now"},
    {"hami.io/node-handshake", kMeaningless, kOfNodes},
};

constexpr DialectField kMusterWords[] = {
    {cluster::kTopologyRequiredAnnotation, kHonoured, {}, {}, kAnnotation},
    {cluster::kTopologyPreferredAnnotation, kHonoured, {}, {}, kAnnotation},
    {cluster::kSegmentsRequiredAnnotation, kHonoured, {}, {}, kAnnotation},
    {cluster::kSegmentsPreferredAnnotation, kHonoured, {}, {}, kAnnotation},
    {cluster::kRolesRequiredAnnotation, kHonoured, {}, {}, kAnnotation},
    {cluster::kRolesPreferredAnnotation, kHonoured, {}, {}, kAnnotation},
    {cluster::kTopologyBalanceAnnotation, kHonoured, {}, {}, kAnnotation},
    {cluster::kTopologySpreadAnnotation, kHonoured, {}, {}, kAnnotation},
    {cluster::kSpreadGroupAnnotation, kHonoured, {}, {}, kAnnotation},
    {kComputeDomainAnnotation, kHonoured, {}, {}, kAnnotation},
    {kRoleLabel, kHonoured, {}, {}, kLabel},
    {cluster::kExpectedDuration, kHonoured, {}, {}, kAnnotation},
    {cluster::kCheckpoint, kHonoured, {}, kYesOrNo, kAnnotation},
    {cluster::kQueueName},
    {cluster::kPreemptible},
};

// The names of PodGroups that no table has.
constexpr DialectField kLinks[] = {
    {"scheduling.x-k8s.io/pod-group", kHonoured, {}, {}, kLabel},
    {"scheduling.k8s.io/pod-group", kHonoured, {}, {}, kLabel},
    {"grove.io/podgang", kHonoured, {}, {}, kLabel},
    {"fluence.group-size", kHonoured, {}, {}, kLabel},
};

constexpr Dialect kKeyDialects[] = {
    {"Volcano", {}, kVolcanoKeys},
    {"KAI Scheduler", {}, kKaiKeys},
    {"Koordinator", {}, kKoordinatorKeys},
    {"Kueue", {}, kKueueKeys},
    {"HAMi", {}, kHamiKeys},
};

// All of which some values, or places, are told.
template <typename Take>
constexpr void ForEachToTell(const Take& take) {
  const auto go = [&](std::span<const DialectField> fields) {
    for (const DialectField& field : fields) {
      if (field.heed == kNotHonoured || !field.words.empty() || field.place != kEither) take(field);
    }
  };
  for (const Dialect& dialect : kKeyDialects) go(dialect.fields);
  go(kMusterWords);
  go(kLinks);
}

constexpr size_t CountToTell() {
  size_t count = 0;
  ForEachToTell([&](const DialectField&) { ++count; });
  return count;
}

constexpr std::array<DialectField, CountToTell()> SortToTell() {
  std::array<DialectField, CountToTell()> fields{};
  size_t next = 0;
  ForEachToTell([&](const DialectField& field) { fields[next++] = field; });
  std::sort(fields.begin(), fields.end(),
            [](const DialectField& a, const DialectField& b) { return a.path < b.path; });
  return fields;
}

constexpr std::array<DialectField, CountToTell()> kToTell = SortToTell();

// Empty: nothing.
std::string ToldOf(const DialectField& field, std::string_view text) {
  if (field.heed != kNotHonoured) return OddWord(field, text);
  return text == "false" ? std::string() : std::string(field.note);
}

}  // namespace

std::span<const Dialect> DialectsOfKeys() { return kKeyDialects; }

std::span<const DialectField> MusterWords() { return kMusterWords; }

std::vector<std::string> KeysNotHonoured(const JsonView& labels, const JsonView& annotations) {
  std::vector<std::string> told;
  for (const JsonView* texts : {&labels, &annotations}) {
    const bool label = texts == &labels;
    texts->Members([&](std::string_view key, const JsonView& value) {
      const auto field = std::lower_bound(
          kToTell.begin(), kToTell.end(), key,
          [](const DialectField& one, std::string_view sought) { return one.path < sought; });
      if (field == kToTell.end() || field->path != key || value.Text().empty()) return;
      std::string what;
      if (field->place == (label ? kAnnotation : kLabel)) {
        // Where it counts it may be as well.
        if (!(label ? annotations : labels).Get(key).Text().empty()) return;
        what = label ? "as a label it does not count; write it as an annotation"
                     : "as an annotation it does not count; write it as a label";
      } else {
        what = ToldOf(*field, value.Text());
      }
      if (!what.empty()) told.push_back(std::string(key) + ": " + what);
    });
  }
  std::sort(told.begin(), told.end());
  told.erase(std::unique(told.begin(), told.end()), told.end());
  return told;
}

std::vector<std::string> KeysOfPods(std::span<const DialectField> words, std::string_view kind,
                                    const JsonView& metadata) {
  constexpr std::array<std::string_view, 2> kOfJobs = {cluster::kExpectedDuration,
                                                       cluster::kCheckpoint};
  constexpr std::array<std::string_view, 2> kReadByKueue = {"kueue.x-k8s.io/queue-name",
                                                            kMaxExecTime};
  const auto has = [](const auto& keys, std::string_view key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  const JsonView labels = metadata.Get("labels");
  const JsonView annotations = metadata.Get("annotations");
  std::vector<std::string> told;
  for (const DialectField& word : words) {
    const bool counts = word.heed == kMeaningless || has(kReadByKueue, word.path) ||
                        (kind == "Job" && has(kOfJobs, word.path));
    const std::string_view label = labels.Get(word.path).Text();
    const std::string_view annotation = annotations.Get(word.path).Text();
    if (counts || (label.empty() && annotation.empty())) continue;
    told.push_back(std::string(word.path) +
                   (word.heed == kNotHonoured
                        ? ": " + std::string(word.note)
                        : ": it counts on pods; write it into their template"));
  }
  return told;
}

}  // namespace muster::kube
