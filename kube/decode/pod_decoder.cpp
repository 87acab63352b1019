#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/records/hami_devices.hpp"
#include "kube/decode/decode.hpp"
#include "kube/decode/kept_fields.hpp"
#include "kube/decode/kept_object.hpp"
#include "kube/decode/node_devices.hpp"
#include "kube/decode/object_meta.hpp"
#include "kube/decode/pod_constraints.hpp"
#include "kube/decode/pod_holds.hpp"
#include "kube/decode/pod_reader.hpp"
#include "kube/decode/pod_start.hpp"
#include "kube/dialects/dialect_keys.hpp"
#include "kube/dialects/gang_record.hpp"
#include "kube/dialects/hami_choice.hpp"
#include "kube/dialects/koordinator_gang.hpp"
#include "kube/dialects/pod_group_link.hpp"
#include "kube/dialects/pod_requests.hpp"
#include "kube/dialects/preemptibility.hpp"
#include "kube/dialects/queue_name.hpp"
#include "kube/dialects/run_times.hpp"
#include "kube/dialects/topology_terms.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"
#include "kube/json/timestamp.hpp"

namespace muster::kube {

using cluster::GpuIndex;
using cluster::Pod;
using cluster::PodPhase;
using cluster::PodSpec;
using cluster::Result;

namespace {

constexpr const char* kVolcanoTask = "volcano.sh/task-spec";
// Of one pod's record.
constexpr size_t kMaxGates = 64;
constexpr int64_t kMostGrace = 1'000'000'000;  // seconds; a longer one is as good as this
constexpr size_t kMaxDefect = 1024;            // bytes of what an annotation says
constexpr size_t kMaxWords = 600;              // bytes of what kube-scheduler says

// The gang's size where a pod carries it, by whatever name its ecosystem gives that.
int64_t ReadDeclaredMinMember(const JsonView& labels, const JsonView& annotations) {
  for (const auto& [texts, key] :
       {std::pair(&annotations, kMinMemberAnnotation),
        std::pair(&annotations, "scheduling.volcano.sh/group-min-member"),
        std::pair(&annotations, "kueue.x-k8s.io/pod-group-total-count"),
        std::pair(&annotations, "gang.scheduling.koordinator.sh/min-available"),
        std::pair(&labels, "pod-group.scheduling.sigs.k8s.io/min-available"),
        std::pair(&labels, "fluence.group-size")}) {
    const JsonView size = texts->Get(key);
    const std::string_view text = size.Text();
    if (text.empty()) continue;
    int64_t count = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), count);
    if (read.ec == std::errc() && read.ptr == text.data() + text.size() && count > 0) return count;
    size.Problem("expected how many members the gang needs, 1 or more");
    return 0;
  }
  return 0;
}

std::string ReadRole(const JsonView& labels, const JsonView& annotations) {
  std::string role(labels.Get(kRoleLabel).Text());
  if (role.empty()) role = annotations.Get(kVolcanoTask).Text();
  if (role.empty()) role = labels.Get(kVolcanoTask).Text();
  if (role.empty()) role = labels.Get("kai.scheduler/subgroup-name").Text();
  if (role.empty()) role = labels.Get("grove.io/podclique").Text();
  return role;
}

// A whole number that a controller wrote; kNoIndex where it is missing or none.
int32_t IndexIn(const JsonView& texts, const char* key) {
  const std::string_view text = texts.Get(key).Text();
  int32_t index = Pod::kNoIndex;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), index);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole && index >= 0 ? index : Pod::kNoIndex;
}

void ReadIndices(const JsonView& labels, const JsonView& annotations, Pod& record) {
  for (const auto& [texts, key] :
       {std::pair(&labels, kCompletionIndex), std::pair(&annotations, kCompletionIndex),
        std::pair(&labels, "leaderworkerset.sigs.k8s.io/worker-index"),
        std::pair(&labels, "grove.io/podclique-pod-index"),
        std::pair(&labels, "training.kubeflow.org/replica-index"),
        std::pair(&labels, "ray.io/replica-host-index"),
        std::pair(&labels, "kueue.x-k8s.io/pod-group-pod-index"),
        std::pair(&labels, "apps.kubernetes.io/pod-index")}) {
    if (record.index == Pod::kNoIndex) record.index = IndexIn(*texts, key);
  }
  record.job_index = IndexIn(labels, kJobIndex);
  if (record.job_index == Pod::kNoIndex) record.job_index = IndexIn(annotations, kJobIndex);
  if (record.job_index == Pod::kNoIndex)
    record.job_index = IndexIn(labels, "ray.io/worker-group-replica-index");
}

void ReadOwner(const JsonView& metadata, const JsonView& annotations, Pod& record) {
  const JsonView owners = metadata.Get("ownerReferences");
  owners.Items([&](const JsonView& owner) {
    if (!owner.Get("controller").Flag(false)) return;
    record.owner_uid = owner.Get("uid").Text();
    record.daemon = owner.Get("kind").Text() == "DaemonSet";
  });
  if (annotations.Get("kubernetes.io/config.mirror").present()) record.daemon = true;
}

// When the API server bound it: the Binding itself sets the condition PodScheduled.
cluster::Time ReadBoundAt(const JsonView& status) {
  cluster::Time bound_at;
  const JsonView conditions = status.Get("conditions");
  conditions.Items([&](const JsonView& condition) {
    if (condition.Get("type").Text() != "PodScheduled") return;
    if (condition.Get("status").Text() != "True") return;
    const Result<cluster::Time> since = ParseTimestamp(condition.Get("lastTransitionTime").Text());
    if (since.ok()) bound_at = *since;
  });
  return bound_at;
}

// Why kube-scheduler found no node for it. Of a pod with a gate the reason is SchedulingGated,
// after an error of an extender SchedulerError.
std::shared_ptr<const std::string> ReadUnschedulable(const JsonView& status) {
  std::shared_ptr<const std::string> words;
  const JsonView conditions = status.Get("conditions");
  conditions.Items([&](const JsonView& condition) {
    if (condition.Get("type").Text() != "PodScheduled") return;
    if (condition.Get("status").Text() != "False") return;
    if (condition.Get("reason").Text() != "Unschedulable") return;
    words =
        std::make_shared<const std::string>(CutText(condition.Get("message").Text(), kMaxWords));
  });
  return words;
}

cluster::HamiTurn ReadHamiTurn(const JsonView& annotations, const JsonView& status,
                               const Pod& record) {
  const JsonView phase = annotations.Get(cluster::kHamiPhaseAnnotation);
  const JsonView node = annotations.Get(cluster::kHamiNodeAnnotation);
  const JsonView bind_time = annotations.Get(cluster::kHamiBindTimeAnnotation);
  return cluster::HamiTurnOf(record, {.phase = phase.Text(),
                                      .node = node.Text(),
                                      .bind_time = bind_time.Text(),
                                      .acknowledged = status.Get("startTime").present()});
}

std::shared_ptr<const cluster::GangRecord> ReadGangRecord(const JsonView& annotations) {
  const std::string_view text = annotations.Get(cluster::kGangRecordAnnotation).Text();
  if (text.empty()) return nullptr;
  const Result<cluster::GangRecord> record = ParseGangRecord(text);
  return record.ok() ? std::make_shared<const cluster::GangRecord>(*record) : nullptr;
}

cluster::Duration ReadGrace(const JsonView& seconds) {
  constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
  const int64_t grace = seconds.Integer(Pod().grace.value() / 1000, 0, kLargest);
  return cluster::Seconds(std::min(grace, kMostGrace));
}

PodPhase PhaseOf(std::string_view text) {
  if (text.empty() || text == "Pending") return PodPhase::kPending;
  if (text == "Running") return PodPhase::kRunning;
  if (text == "Succeeded") return PodPhase::kSucceeded;
  if (text == "Failed") return PodPhase::kFailed;
  return PodPhase::kUnknown;
}

// spec.priority; in a manifest, where admission has not resolved it yet, what the class stands for.
int32_t ReadPriority(const JsonView& spec, const DecodeOptions& options) {
  const JsonView priority = spec.Get("priority");
  const JsonView class_name = spec.Get("priorityClassName");
  const std::string name(class_name.Text());
  if (priority.present() || options.source == Source::kApiServer || name.empty()) {
    return static_cast<int32_t>(priority.Integer(0, std::numeric_limits<int32_t>::min(),
                                                 std::numeric_limits<int32_t>::max()));
  }
  if (name == "system-cluster-critical") return 2'000'000'000;
  if (name == "system-node-critical") return 2'000'001'000;
  if (options.priority_classes == nullptr) return 0;
  const auto found = options.priority_classes->find(name);
  if (found != options.priority_classes->end()) return found->second;
  class_name.Problem("there is no such PriorityClass: create it first, or in the same file");
  return 0;
}

std::shared_ptr<const PodSpec> ReadSpec(const JsonView& spec, const JsonView& metadata,
                                        const Pod& pod, const DecodeOptions& options) {
  auto record = std::make_shared<PodSpec>();
  PodRequests requests = ReadPodRequests(spec, metadata.Get("annotations"));
  if (options.source == Source::kManifest) RequireLimits(spec);
  record->requests = requests.resources;
  record->gpus = requests.gpus;
  record->gpu_containers = std::move(requests.gpu_containers);
  record->unplanned_devices = CutText(requests.unplanned_devices, kMaxDefect);
  record->constraints = ReadNodeConstraints(spec);
  record->rules = ReadPodRules(spec, pod.key.ns, pod.labels);
  record->priority = ReadPriority(spec, options);
  const JsonView labels = metadata.Get("labels");
  record->gang_class = CutText(labels.Get(kKaiPriorityLabel).Text(), kMaxDefect);
  record->preempts = spec.Get("preemptionPolicy").Text() != "Never";
  record->topology = ReadTopologyTerms(metadata);
  record->scheduler_name = spec.Get("schedulerName").Text();
  if (record->scheduler_name.empty() && options.source == Source::kManifest) {
    record->scheduler_name = "default-scheduler";
  }
  return record;
}

// `ns`: see ReadKoordinatorGang.
void ReadGangWords(const JsonView& metadata, std::string_view ns, Pod& record) {
  const JsonView annotations = metadata.Get("annotations");
  cluster::GangWords words;
  const JsonView labels = metadata.Get("labels");
  const std::vector<std::string> odd = UnheededOfKoordinator(labels, annotations, record.pod_group);
  ReadKoordinatorGang(labels, annotations, ns, record, words);
  const auto add = [&](const std::string& text) {
    if (!text.empty()) words.unheeded += (words.unheeded.empty() ? "" : "; ") + text;
  };
  for (const std::string& told : odd) add(told);
  if (!record.spec->gpus.none()) add(UnheededOfHami(annotations));
  for (const std::string& told : KeysNotHonoured(labels, annotations)) add(told);
  // Of pods that name no gang it is read of either (grouping.hpp).
  const bool label = !labels.Get(kMinMemberAnnotation).Text().empty() && !record.pod_group.empty();
  if (label && annotations.Get(kMinMemberAnnotation).Text().empty())
    add(std::string(kMinMemberAnnotation) +
        ": as a label it does not count where the pod names its gang; write it as an annotation");
  if (words != cluster::GangWords{})
    record.gang_words = std::make_shared<const cluster::GangWords>(std::move(words));
}

// Of volumes that outlive their pods; null: it has none.
std::shared_ptr<const cluster::PodVolumes> ReadVolumes(const JsonView& spec) {
  cluster::PodVolumes read;
  const JsonView volumes = spec.Get("volumes");
  volumes.Items([&](const JsonView& volume) {
    const JsonView claim = volume.Get("persistentVolumeClaim");
    if (claim.present()) {
      read.claims.push_back({std::string(claim.Get("claimName").Text()), false});
    } else if (volume.Get("ephemeral").present()) {
      read.claims.push_back({std::string(volume.Get("name").Text()), true});
    }
  });
  if (read.claims.empty()) return nullptr;
  return std::make_shared<const cluster::PodVolumes>(std::move(read));
}

}  // namespace

std::vector<GpuIndex> ParseGpuIndices(std::string_view text) {
  std::vector<GpuIndex> indices;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (at != end) {
    GpuIndex index;
    const auto read = std::from_chars(at, end, index.value);
    if (read.ec != std::errc() || indices.size() == static_cast<size_t>(kMaxGpusPerNode) ||
        std::find(indices.begin(), indices.end(), index) != indices.end()) {
      return {};
    }
    indices.push_back(index);
    at = read.ptr;
    if (at == end) return indices;
    if (*at != ',') return {};
    ++at;
  }
  return {};  // nothing, or a comma at the end
}

void ReadPod(const JsonView& pod, const DecodeOptions& options, Pod& record) {
  const JsonView metadata = pod.Get("metadata");
  const JsonView labels = metadata.Get("labels");
  const JsonView annotations = metadata.Get("annotations");
  const JsonView spec = pod.Get("spec");
  const JsonView status = pod.Get("status");
  spec.ExpectObject();
  record.labels = ReadPodLabels(labels);
  record.spec = ReadSpec(spec, metadata, record, options);
  record.volumes = ReadVolumes(spec);
  record.pod_group = ReadPodGroupLink(spec, labels, annotations);
  if (!record.pod_group.empty()) {
    record.declared_min_member = ReadDeclaredMinMember(labels, annotations);
  }
  record.role = ReadRole(labels, annotations);
  const bool placed = options.source == Source::kApiServer || metadata.Get("namespace").present();
  ReadGangWords(metadata, placed ? record.key.ns : std::string_view(), record);
  record.asked_queue = ReadQueueName(labels, annotations);
  record.preemptible = ReadPreemptible(labels, annotations);
  if (const cluster::RunTimes times = ReadRunTimes(metadata, spec.Get("activeDeadlineSeconds"));
      !times.none())
    record.run_times = std::make_shared<const cluster::RunTimes>(times);
  ReadOwner(metadata, annotations, record);
  ReadIndices(labels, annotations, record);
  record.phase = PhaseOf(status.Get("phase").Text());
  ReadStart(status, record);
  const JsonView gates = spec.Get("schedulingGates");
  gates.Items([&](const JsonView& gate) {
    const std::string_view name = gate.Get("name").Text();
    // That others' are on it is said by one of them.
    if (record.gates.size() < kMaxGates || name == cluster::kGangGate)
      record.gates.emplace_back(name);
  });
  record.nominated_node = status.Get("nominatedNodeName").Text();
  record.node_name = spec.Get("nodeName").Text();
  record.grace = ReadGrace(spec.Get("terminationGracePeriodSeconds"));
  if (record.bound()) record.bound_at = ReadBoundAt(status);
  if (record.bound()) record.resized = ReadResized(spec, status, record.spec->requests);
  if (!record.bound()) record.unschedulable = ReadUnschedulable(status);
  record.gang_record = ReadGangRecord(annotations);
  record.bound_by_muster =
      annotations.Get(cluster::kBoundByAnnotation).Text() == cluster::kBoundByMuster;
  record.bound_in = CutText(annotations.Get(cluster::kBoundInAnnotation).Text(), kMaxDefect);
  record.handed_over = !annotations.Get(cluster::kEpochAnnotation).Text().empty();
  record.says_disruption = annotations.Get(cluster::kDoNotDisrupt).present() ||
                           annotations.Get(cluster::kSafeToEvict).present();
  record.hami_turn = ReadHamiTurn(annotations, status, record);
  record.bound_gpus = ParseGpuIndices(annotations.Get(cluster::kGpusAnnotation).Text());
  record.defect = CutText(annotations.Get(kDefectAnnotation).Text(), kMaxDefect);
}

Result<Pod> DecodePod(const JsonNode& json, const DecodeOptions& options) {
  JsonProblems identity;
  const ObjectMeta meta =
      ReadObjectMeta(JsonView(json, "Pod", identity), "Pod", Scope::kNamespace, options.source);
  if (!identity.none()) return identity.first();
  Pod record;
  record.uid = cluster::PodUid(meta.uid);
  record.key = meta.key;
  record.created = meta.created;
  record.deleting = meta.deleting;
  record.leaves_by = meta.leaves_by;
  record.resource_version = meta.resource_version;
  JsonProblems defects;
  if (options.left_out != nullptr) defects.Add(*options.left_out);
  ReadPod(JsonView(json, "Pod", defects), options, record);
  if (record.defect.empty() && !defects.none()) record.defect = defects.first().ToString();
  return record;
}

Result<Pod> DecodePod(std::string_view json, const DecodeOptions& options) {
  const Result<KeptObject> kept = KeptObject::Read(json, PodFields(), "Pod", options);
  if (!kept.ok()) return kept.error();
  return DecodePod(kept->node(), kept->With(options));
}

}  // namespace muster::kube
