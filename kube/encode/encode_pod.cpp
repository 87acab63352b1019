#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "cluster/base/check.hpp"
#include "cluster/records/hami_devices.hpp"
#include "kube/decode/decode.hpp"
#include "kube/dialects/gang_record.hpp"
#include "kube/dialects/hami_choice.hpp"
#include "kube/dialects/koordinator_gang.hpp"
#include "kube/dialects/pod_requests.hpp"
#include "kube/dialects/run_times.hpp"
#include "kube/encode/encode.hpp"
#include "kube/encode/encode_constraints.hpp"
#include "kube/json/json_writer.hpp"
#include "kube/json/timestamp.hpp"

namespace muster::kube {

using cluster::ContainerGpus;
using cluster::ContainerKind;
using cluster::GpuMilli;
using cluster::GpuRequest;
using cluster::HamiTurn;
using cluster::MiB;
using cluster::Pod;
using cluster::PodSpec;
using cluster::StartFailure;

namespace {

// A number with a suffix, as a JSON text; on the stack, because requests have several.
class NumberText {
 public:
  explicit NumberText(int64_t value, std::string_view suffix = {}) {
    char* end = std::to_chars(text_, text_ + 24, value).ptr;
    end += suffix.copy(end, 4);
    length_ = static_cast<size_t>(end - text_);
  }
  // NOLINTNEXTLINE(google-explicit-constructor): it stands for its text
  operator std::string_view() const { return {text_, length_}; }

 private:
  char text_[32];
  size_t length_ = 0;
};

// Thousandths as percent, rounded up.
NumberText PercentText(GpuMilli share) { return NumberText((share.value() + 9) / 10); }

// Thousandths as a decimal: 460 -> "0.46".
std::string ShareText(GpuMilli share) {
  std::string digits = std::to_string(1000 + share.value()).substr(1);
  while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
  return "0." + digits;
}

// How the request is written: see pod_requests.hpp.
enum class GpuForm { kNone, kWhole, kFraction, kMemory, kHami };

GpuForm FormOf(const GpuRequest& gpus) {
  if (gpus.none()) return GpuForm::kNone;
  if (gpus.memory_each.value() == 0) {
    if (!gpus.fractional()) return GpuForm::kWhole;
    const bool alike = gpus.each.compute() == gpus.each.memory();
    return alike ? GpuForm::kFraction : GpuForm::kHami;
  }
  return gpus.each.none() ? GpuForm::kMemory : GpuForm::kHami;
}

std::string BalanceText(cluster::Balance balance) {
  switch (balance) {
    case cluster::Balance::kUnsaid:
      return {};
    case cluster::Balance::kEven:
      return "even";
    case cluster::Balance::kPack:
      return "pack";
  }
  return {};
}

// LEVEL=ROLE+ROLE,… of the level that `level` is. A pod's subgroups have no segments.
std::string RolesText(const std::vector<cluster::TopologySubgroup>& subgroups,
                      std::string cluster::TopologySubgroup::*level) {
  std::string text;
  for (const cluster::TopologySubgroup& subgroup : subgroups) {
    if ((subgroup.*level).empty()) continue;
    text += (text.empty() ? "" : ",") + subgroup.*level;
    for (const std::string& role : subgroup.roles)
      text += (&role == subgroup.roles.data() ? '=' : '+') + role;
  }
  return text;
}

void WriteTopology(const cluster::TopologyTerms& said, JsonWriter& json) {
  cluster::TopologyTerms topology = said;
  if (said.said_by == kComputeDomainAnnotation) topology.preferred.clear();
  const auto write = [&](const char* annotation, const std::string& text) {
    if (!text.empty()) json.Key(annotation).Text(text);
  };
  std::string required;
  std::string preferred;
  for (const cluster::TopologySegment& segment : topology.segments) {
    std::string& list = segment.required ? required : preferred;
    list += (list.empty() ? "" : ",") + segment.level + "=" + std::to_string(segment.size);
  }
  write(cluster::kTopologyRequiredAnnotation, topology.required);
  write(cluster::kTopologyPreferredAnnotation, topology.preferred);
  write(cluster::kSegmentsRequiredAnnotation, required);
  write(cluster::kSegmentsPreferredAnnotation, preferred);
  using cluster::TopologySubgroup;
  write(cluster::kRolesRequiredAnnotation,
        RolesText(topology.subgroups, &TopologySubgroup::required));
  write(cluster::kRolesPreferredAnnotation,
        RolesText(topology.subgroups, &TopologySubgroup::preferred));
  write(cluster::kTopologyBalanceAnnotation, BalanceText(topology.balance));
  write(cluster::kTopologySpreadAnnotation, topology.spread);
  write(cluster::kSpreadGroupAnnotation, topology.spread_group);
}

void AppendAnnotations(JsonWriter& json, const Pod& pod) {
  const GpuRequest& gpus = pod.spec->gpus;
  const GpuForm form = FormOf(gpus);
  const bool annotated =
      pod.spec->gpu_containers.empty() && (form == GpuForm::kFraction || form == GpuForm::kMemory);
  const bool mirror = pod.daemon && pod.owner_uid.empty();
  if (!annotated && !mirror && !pod.bound_by_muster && !pod.handed_over && pod.bound_gpus.empty() &&
      pod.defect.empty() && pod.declared_min_member == 0 && !pod.gang_record &&
      pod.spec->topology.none() && pod.spec->requests.channels == 0 && pod.asked_queue.empty() &&
      !pod.preemptible && pod.hami_turn == HamiTurn::kNone && pod.run_times == nullptr &&
      pod.gang_words == nullptr && pod.spec->gpus.choice.words() == nullptr) {
    return;
  }
  json.Key("annotations").BeginObject();
  if (annotated && form == GpuForm::kFraction)
    json.Key(kGpuFractionAnnotation).Text(ShareText(gpus.each.most()));
  if (annotated && form == GpuForm::kMemory) {
    json.Key(kGpuMemoryAnnotation).Text(NumberText(gpus.memory_each.value()));
  }
  if (annotated && gpus.count != 1) {
    json.Key(kGpuFractionDevicesAnnotation).Text(NumberText(gpus.count));
  }
  if (mirror) json.Key("kubernetes.io/config.mirror").Text("static");
  if (pod.declared_min_member > 0) {
    json.Key(kMinMemberAnnotation).Text(NumberText(pod.declared_min_member));
  }
  if (pod.gang_words != nullptr) AppendKoordinatorGang(json, pod);
  if (const cluster::GpuWords* words = gpus.choice.words()) AppendHamiChoice(json, *words);
  if (pod.spec->requests.channels > 0) json.Key(kComputeDomainAnnotation).Text("true");
  if (!pod.asked_queue.empty()) json.Key(cluster::kQueueName).Text(pod.asked_queue);
  if (pod.preemptible) json.Key(cluster::kPreemptible).Text(*pod.preemptible ? "true" : "false");
  if (pod.run_times != nullptr && pod.run_times->declared > cluster::Duration(0))
    json.Key(cluster::kExpectedDuration).Text(FormatGoDuration(pod.run_times->declared));
  if (pod.run_times != nullptr && pod.run_times->checkpoints)
    json.Key(cluster::kCheckpoint).Text("true");
  WriteTopology(pod.spec->topology, json);
  if (!pod.defect.empty()) json.Key(kDefectAnnotation).Text(pod.defect);
  if (pod.bound_by_muster) json.Key(cluster::kBoundByAnnotation).Text(cluster::kBoundByMuster);
  if (!pod.bound_in.empty()) json.Key(cluster::kBoundInAnnotation).Text(pod.bound_in);
  if (pod.gang_record) {
    json.Key(cluster::kGangRecordAnnotation).Text(FormatGangRecord(*pod.gang_record));
  }
  if (pod.handed_over) json.Key(cluster::kEpochAnnotation).Text("0");
  if (pod.says_disruption) json.Key(cluster::kSafeToEvict).Text("false");
  if (pod.hami_turn != HamiTurn::kNone) {
    const bool served = pod.hami_turn == HamiTurn::kServed;
    json.Key(cluster::kHamiNodeAnnotation).Text(pod.node_name);
    json.Key(cluster::kHamiBindTimeAnnotation).Text("0");
    json.Key(cluster::kHamiPhaseAnnotation)
        .Text(served ? cluster::kHamiSuccess : cluster::kHamiAllocating);
  }
  if (!pod.bound_gpus.empty()) {
    std::string indices;
    for (const cluster::GpuIndex index : pod.bound_gpus) {
      if (!indices.empty()) indices += ',';
      indices += NumberText(index.value);
    }
    json.Key(cluster::kGpusAnnotation).Text(indices);
  }
  json.EndObject();
}

constexpr const char* kPodGroupLabel = "scheduling.x-k8s.io/pod-group";

// A field of its own says what this label is.
bool WrittenFor(const Pod& pod, const std::string& label) {
  return (label == kCompletionIndex && pod.index != Pod::kNoIndex) ||
         (label == kJobIndex && pod.job_index != Pod::kNoIndex) ||
         (label == kRoleLabel && !pod.role.empty()) ||
         (label == kPodGroupLabel && !pod.pod_group.empty());
}

void AppendMetadata(JsonWriter& json, const Pod& pod) {
  json.Key("metadata").BeginObject();
  json.Key("name").Text(pod.key.name).Key("namespace").Text(pod.key.ns);
  if (!pod.uid.empty()) json.Key("uid").Text(pod.uid.text());
  if (pod.resource_version != 0) json.Key("resourceVersion").Text(NumberText(pod.resource_version));
  json.Key("creationTimestamp");
  if (pod.created == cluster::Time()) {
    json.Null();
  } else {
    json.Text(FormatTimestamp(pod.created));
  }
  if (pod.deleting) json.Key("deletionTimestamp").Text(FormatTimestamp(pod.leaves_by));
  const bool indexed = pod.index != Pod::kNoIndex || pod.job_index != Pod::kNoIndex;
  if (!pod.pod_group.empty() || !pod.role.empty() || indexed || !pod.labels.empty()) {
    json.Key("labels").BeginObject();
    for (const auto& label : pod.labels.list()) {
      if (!WrittenFor(pod, label->first)) json.TextKey(label->first).Text(label->second);
    }
    if (pod.index != Pod::kNoIndex) json.Key(kCompletionIndex).Text(NumberText(pod.index));
    if (pod.job_index != Pod::kNoIndex) json.Key(kJobIndex).Text(NumberText(pod.job_index));
    if (!pod.role.empty()) json.Key(kRoleLabel).Text(pod.role);
    if (!pod.pod_group.empty() && (pod.gang_words == nullptr || pod.gang_words->together.empty()))
      json.Key(kPodGroupLabel).Text(pod.pod_group);
    json.EndObject();
  }
  AppendAnnotations(json, pod);
  if (!pod.owner_uid.empty()) {
    json.Key("ownerReferences").BeginArray().BeginObject();
    json.Key("apiVersion").Text(pod.daemon ? "apps/v1" : "batch/v1");
    json.Key("kind").Text(pod.daemon ? "DaemonSet" : "Job").Key("name").Text("owner");
    json.Key("uid").Text(pod.owner_uid).Key("controller").Flag(true);
    json.EndObject().EndArray();
  }
  json.EndObject();
}

// Of one container among several, or of one that asks for a share in HAMi's words.
void AppendGpuResources(JsonWriter& json, const ContainerGpus& asks) {
  if (asks.count > 0) json.Key(kGpuResource).Text(NumberText(asks.count));
  if (asks.cores > 0) json.Key(kGpuCoresResource).Text(NumberText(asks.cores));
  if (asks.memory_mib > 0) json.Key(kGpuMemoryResource).Text(NumberText(asks.memory_mib));
  if (asks.memory_percent > 0)
    json.Key(kGpuMemoryPercentResource).Text(NumberText(asks.memory_percent));
}

void AppendGpuResources(JsonWriter& json, const GpuRequest& gpus) {
  const GpuForm form = FormOf(gpus);
  if (form == GpuForm::kWhole || form == GpuForm::kHami) {
    json.Key(kGpuResource).Text(NumberText(gpus.count));
  }
  if (form == GpuForm::kHami) {
    const GpuMilli cores = gpus.each.compute();
    const GpuMilli memory = gpus.each.memory();
    if (cores > GpuMilli(0)) json.Key(kGpuCoresResource).Text(PercentText(cores));
    if (gpus.memory_each > MiB(0))
      json.Key(kGpuMemoryResource).Text(NumberText(gpus.memory_each.value()));
    if (memory > GpuMilli(0)) json.Key(kGpuMemoryPercentResource).Text(PercentText(memory));
  }
}

// `asks`: null where the pod's request is all there is to say. `pays`: the pod's CPU and memory are
// written here.
void AppendContainer(JsonWriter& json, const PodSpec& spec, const ContainerGpus* asks, bool pays) {
  const auto gpus = [&] {
    if (asks != nullptr) {
      AppendGpuResources(json, *asks);
    } else {
      AppendGpuResources(json, spec.gpus);
    }
  };
  const GpuForm form = FormOf(spec.gpus);
  const bool wants =
      asks != nullptr ? asks->planned() > 0 : form == GpuForm::kWhole || form == GpuForm::kHami;
  const bool unplanned =
      pays && !spec.unplanned_devices.empty() && spec.unplanned_devices != cluster::kResourceClaims;
  const auto named = [&] {
    if (!pays) return;
    for (const cluster::NamedAmount& one : spec.requests.named.list())
      json.TextKey(one.name).Text(NumberText(one.amount));
  };
  json.Key("resources").BeginObject();
  if (wants || unplanned || (pays && !spec.requests.named.empty())) {
    json.Key("limits").BeginObject();
    gpus();
    named();
    if (unplanned) json.Key(spec.unplanned_devices).Text("1");
    json.EndObject();
  }
  json.Key("requests").BeginObject();
  if (pays && spec.requests.cpu.value() != 0) {
    json.Key("cpu").Text(NumberText(spec.requests.cpu.value(), "m"));
  }
  if (pays && spec.requests.memory.value() != 0) {
    json.Key("memory").Text(NumberText(spec.requests.memory.value(), "Mi"));
  }
  gpus();
  named();
  json.EndObject().EndObject();
  if (pays) AppendHostPorts(json, spec.rules);
}

void AppendContainers(JsonWriter& json, const PodSpec& spec) {
  const auto& containers = spec.gpu_containers;
  const auto is_main = [](const ContainerGpus& one) { return one.kind == ContainerKind::kMain; };
  const auto mains = std::find_if(containers.begin(), containers.end(), is_main);
  if (mains != containers.begin()) {
    json.Key("initContainers").BeginArray();
    for (auto one = containers.begin(); one != mains; ++one) {
      json.BeginObject().Key("name").Text("init-" + std::to_string(one - containers.begin()));
      if (one->kind == ContainerKind::kSidecar) json.Key("restartPolicy").Text("Always");
      AppendContainer(json, spec, &*one, false);
      json.EndObject();
    }
    json.EndArray();
  }
  json.Key("containers").BeginArray();
  if (containers.empty()) {
    json.BeginObject().Key("name").Text("main");
    AppendContainer(json, spec, nullptr, true);
    json.EndObject();
  }
  for (auto one = mains; one != containers.end(); ++one) {
    json.BeginObject().Key("name").Text("main-" + std::to_string(one - mains));
    AppendContainer(json, spec, &*one, one == mains);
    json.EndObject();
  }
  json.EndArray();
}

void AppendVolumes(JsonWriter& json, const cluster::PodVolumes& volumes) {
  json.Key("volumes").BeginArray();
  for (size_t i = 0; i < volumes.claims.size(); ++i) {
    const cluster::ClaimUse& use = volumes.claims[i];
    json.BeginObject().Key("name").Text(use.own ? use.name : "volume-" + std::to_string(i));
    if (use.own) {
      json.Key("ephemeral").BeginObject().EndObject();
    } else {
      json.Key("persistentVolumeClaim").BeginObject().Key("claimName").Text(use.name).EndObject();
    }
    json.EndObject();
  }
  json.EndArray();
}

void AppendSpec(JsonWriter& json, const Pod& pod) {
  const PodSpec& spec = *pod.spec;
  json.Key("spec").BeginObject();
  if (pod.spec->unplanned_devices == cluster::kResourceClaims) {
    json.Key("resourceClaims").BeginArray().BeginObject();
    json.Key("name").Text("devices").EndObject().EndArray();
  }
  AppendContainers(json, spec);
  if (pod.volumes != nullptr) AppendVolumes(json, *pod.volumes);
  if (!pod.node_name.empty()) json.Key("nodeName").Text(pod.node_name);
  AppendConstraints(json, spec);
  if (pod.grace != Pod().grace)
    json.Key("terminationGracePeriodSeconds").Integer(pod.grace.value() / 1000);
  if (!spec.scheduler_name.empty()) json.Key("schedulerName").Text(spec.scheduler_name);
  json.Key("priority").Integer(spec.priority);
  if (pod.run_times != nullptr && pod.run_times->enforced > cluster::Duration(0))
    json.Key("activeDeadlineSeconds").Integer(pod.run_times->enforced.value() / 1000);
  if (!pod.gates.empty()) {
    json.Key("schedulingGates").BeginArray();
    for (const std::string& gate : pod.gates) json.BeginObject().Key("name").Text(gate).EndObject();
    json.EndArray();
  }
  json.EndObject();
}

void AppendEnded(JsonWriter& json, const StartFailure& failure) {
  json.BeginObject().Key("terminated").BeginObject().Key("exitCode").Integer(1);
  json.Key("reason").Text(failure.reason);
  json.Key("startedAt").Text(FormatTimestamp(failure.at + failure.ran * -1));
  json.Key("finishedAt").Text(FormatTimestamp(failure.at)).EndObject().EndObject();
}

// What ReadResized reads: what its first container has, and that it gets no more.
void AppendResized(JsonWriter& json, const Pod& pod) {
  json.Key("name").Text(pod.spec->gpu_containers.empty() ? "main" : "main-0");
  json.Key("allocatedResources").BeginObject();
  json.Key("cpu").Text(NumberText(pod.resized->cpu.value(), "m"));
  json.Key("memory").Text(NumberText(pod.resized->memory.value(), "Mi"));
  json.EndObject();
}

void AppendConditions(JsonWriter& json, const Pod& pod) {
  const bool says_when = pod.bound() && pod.bound_at > cluster::Time(0);
  const bool unschedulable = !pod.bound() && pod.unschedulable != nullptr;
  if (!says_when && !unschedulable && pod.resized == nullptr) return;
  json.Key("conditions").BeginArray();
  if (says_when) {
    json.BeginObject().Key("type").Text("PodScheduled").Key("status").Text("True");
    json.Key("lastTransitionTime").Text(FormatTimestamp(pod.bound_at)).EndObject();
  }
  if (unschedulable) {
    json.BeginObject().Key("type").Text("PodScheduled").Key("status").Text("False");
    json.Key("reason").Text("Unschedulable").Key("message").Text(*pod.unschedulable).EndObject();
  }
  if (pod.resized != nullptr) {
    json.BeginObject().Key("type").Text("PodResizePending").Key("status").Text("True");
    json.Key("reason").Text("Infeasible").EndObject();
  }
  json.EndArray();
}

// What ReadStart reads, as the status of one container.
void AppendStart(JsonWriter& json, const Pod& pod) {
  const StartFailure* failure = pod.start_failure.get();
  const bool admission = failure != nullptr && failure->admission;
  if (admission) {
    json.Key("reason").Text(failure->reason);
    json.Key("startTime").Text(FormatTimestamp(failure->at));
  }
  const bool started = !admission && (failure != nullptr || pod.running_since != cluster::Time());
  if (!started && pod.resized == nullptr) return;
  json.Key("containerStatuses").BeginArray().BeginObject();
  if (pod.resized != nullptr) AppendResized(json, pod);
  if (started && failure != nullptr) {
    json.Key("restartCount").Integer(pod.terminal() ? 0 : 1);
    AppendEnded(json.Key(pod.terminal() ? "state" : "lastState"), *failure);
  } else if (started) {
    const bool runs = pod.phase == cluster::PodPhase::kRunning;
    json.Key("state").BeginObject().Key(runs ? "running" : "terminated").BeginObject();
    if (!runs) json.Key("exitCode").Integer(0);
    json.Key("startedAt").Text(FormatTimestamp(pod.running_since)).EndObject().EndObject();
  }
  json.EndObject().EndArray();
}

}  // namespace

void AppendPod(std::string& out, const Pod& pod) {
  MUSTER_CHECK(pod.spec != nullptr);
  JsonWriter json(out);
  json.BeginObject();
  AppendMetadata(json, pod);
  AppendSpec(json, pod);
  json.Key("status").BeginObject().Key("phase").Text(cluster::ToString(pod.phase));
  if (!pod.nominated_node.empty()) json.Key("nominatedNodeName").Text(pod.nominated_node);
  AppendConditions(json, pod);
  AppendStart(json, pod);
  json.EndObject().EndObject();
}

}  // namespace muster::kube
