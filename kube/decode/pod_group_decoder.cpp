// PodGroups of every flavour that has minMember, minCount or their like:
//   scheduling.x-k8s.io/v1alpha1, scheduling.k8s.io/v1alpha1,    minMember, scheduleTimeoutSeconds
//   scheduling.sigs.k8s.io/v1alpha1
//   scheduling.k8s.io/v1alpha2 and later     schedulingPolicy.gang.minCount, or .basic
//   scheduling.volcano.sh/v1beta1            minMember, minTaskMember{task: n}
//   scheduling.run.ai/v2alpha2               minMember, subGroups[]{name, minMember, parent}
//   scheduler.grove.io/v1alpha1 (PodGang)    podgroups[]{name, minReplicas}
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/decode/decode.hpp"
#include "kube/decode/kept_fields.hpp"
#include "kube/decode/kept_object.hpp"
#include "kube/decode/object_meta.hpp"
#include "kube/dialects/dialect_fields.hpp"
#include "kube/dialects/dialect_keys.hpp"
#include "kube/dialects/gang_record.hpp"
#include "kube/dialects/koordinator_gang.hpp"
#include "kube/dialects/pod_group_flavours.hpp"
#include "kube/dialects/preemptibility.hpp"
#include "kube/dialects/queue_name.hpp"
#include "kube/dialects/run_times.hpp"
#include "kube/dialects/topology_terms.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"

namespace muster::kube {

using cluster::PodGroup;
using cluster::Result;
using cluster::RoleMinimum;

namespace {

// Of one gang; more are a defect, and small.
constexpr size_t kMaxRoles = 1024;

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

enum class Flavour { kPlain, kNative, kVolcano, kKai, kGrove };

std::optional<Flavour> FlavourOf(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  const std::string_view group = api_version.substr(0, slash);
  if (group == "scheduling.x-k8s.io" || group == "scheduling.sigs.k8s.io") return Flavour::kPlain;
  if (group == "scheduling.volcano.sh") return Flavour::kVolcano;
  if (group == "scheduling.run.ai") return Flavour::kKai;
  if (group == "scheduler.grove.io") return Flavour::kGrove;
  if (group != "scheduling.k8s.io") return std::nullopt;
  return api_version == "scheduling.k8s.io/v1alpha1" ? Flavour::kPlain : Flavour::kNative;
}

// Kept as it is written, however odd: the engine judges it.
std::optional<int64_t> ReadMemberCount(const JsonView& count) {
  if (!count.present()) return std::nullopt;
  return count.Integer(1, -kAny, kAny);
}

int64_t ReadNative(const JsonView& spec) {
  const JsonView policy = spec.Get("schedulingPolicy");
  const JsonView gang = policy.Get("gang");
  const JsonView basic = policy.Get("basic");
  if (gang.present() == basic.present()) {
    policy.Problem("expected either gang or basic");
    return 1;
  }
  if (basic.present()) return 1;
  const JsonView count = gang.Get("minCount");
  if (!count.present()) count.Problem("is missing");
  return ReadMemberCount(count).value_or(1);
}

// `role` at least `minimum` times; 0 and nothing are no minimum.
void AddRole(std::string_view role, const JsonView& minimum, std::vector<RoleMinimum>& roles) {
  const int64_t count = minimum.Integer(0, 0, kAny);
  if (roles.size() == kMaxRoles) {
    minimum.Problem("more than " + std::to_string(kMaxRoles) + " roles");
  } else if (count > 0) {
    roles.push_back({std::string(role), count});
  }
}

int64_t Together(const std::vector<RoleMinimum>& roles) {
  int64_t sum = 0;
  for (const RoleMinimum& role : roles) sum = cluster::SaturatingAdd(sum, role.min_member);
  return sum;
}

// Volcano does not look at roles whose minima are together more than minMember (CheckTaskValid,
// CheckTaskReady and CheckTaskPipelined in pkg/scheduler/api/job_info.go of volcano.sh/volcano
// v1.15.1). Its job controller makes such PodGroups: a task without minAvailable gets its replicas
// as its minimum (getMinTaskMember in pkg/controllers/job/job_controller_actions.go). minMember 0
// means one by one, as where it is missing.
void ReadVolcano(const JsonView& spec, PodGroup& record) {
  const JsonView tasks = spec.Get("minTaskMember");
  tasks.Members(
      [&](std::string_view name, const JsonView& count) { AddRole(name, count, record.roles); });
  const int64_t written = ReadMemberCount(spec.Get("minMember")).value_or(1);
  if (Together(record.roles) > written) record.roles.clear();
  record.min_member = written == 0 ? 1 : written;
}

// A subgroup of KAI, as it is written.
struct Subgroup {
  std::string name;
  std::string parent;
  bool has_children = false;
  bool under_root = false;
};

// A parent has the pods of its children and none of its own. Nobody can say which of two subgroups
// with one name a pod is in. KAI refuses these, too: validateSubGroups in
// pkg/apis/scheduling/v2alpha2/podgroup_webhook.go, FromPodGroup in
// pkg/scheduler/api/podgroup_info/subgroup_info/factory.go of kai-scheduler/KAI-Scheduler d5bc503a.
std::vector<Subgroup> ReadSubgroups(const JsonView& list) {
  std::vector<Subgroup> groups;
  std::map<std::string, size_t> by_name;
  list.Items([&](const JsonView& group) {
    const JsonView name = group.Get("name");
    const JsonView parent = group.Get("parent");
    groups.push_back({std::string(name.RequiredText()), std::string(parent.Text())});
    if (!by_name.emplace(groups.back().name, groups.size() - 1).second)
      name.Problem("another subgroup has the same name");
  });
  std::map<std::string, std::vector<size_t>> below;
  for (size_t i = 0; i < groups.size(); ++i) below[groups[i].parent].push_back(i);
  std::vector<std::string> reached{""};
  while (!reached.empty()) {
    const auto children = below.find(reached.back());
    reached.pop_back();
    if (children == below.end()) continue;
    for (const size_t child : children->second) {
      if (std::exchange(groups[child].under_root, true)) continue;
      reached.push_back(groups[child].name);
    }
  }
  for (Subgroup& group : groups) group.has_children = below.contains(group.name);
  size_t i = 0;
  list.Items([&](const JsonView& group) {
    const Subgroup& read = groups[i++];
    if (read.under_root) return;
    const bool known = by_name.contains(read.parent);
    const JsonView parent = group.Get("parent");
    parent.Problem(known ? "does not lead to a subgroup without parent"
                         : "no subgroup has that name");
  });
  return groups;
}

// Each subgroup without children has its minimum, and where there are subgroups these are all that
// counts: KAI does not look at minMember then (setSubGroups in
// pkg/scheduler/api/podgroup_info/job_info.go). minMember 0 means one by one (PodGroupSpec in
// pkg/apis/scheduling/v2alpha2/podgroup_types.go). minSubGroup, how many subgroups are enough, is
// not honoured: all are needed.
void ReadKai(const JsonView& spec, PodGroup& record) {
  const JsonView list = spec.Get("subGroups");
  const std::vector<Subgroup> groups = ReadSubgroups(list);
  size_t i = 0;
  list.Items([&](const JsonView& group) {
    const Subgroup& read = groups[i++];
    if (!read.has_children) AddRole(read.name, group.Get("minMember"), record.roles);
  });
  const int64_t written = ReadMemberCount(spec.Get("minMember")).value_or(1);
  record.min_member = groups.empty() ? written : Together(record.roles);
  if (record.min_member == 0) record.min_member = 1;
}

// Every PodClique of a PodGang has its minimum: PodGroup in scheduler/api/core/v1alpha1/podgang.go
// of ai-dynamo/grove. It lists its pods, too; they are known by their labels. Grove guarantees
// minReplicas and does the rest as far as there is room, so with 0 the pods start one by one.
void ReadGrove(const JsonView& spec, PodGroup& record) {
  const JsonView list = spec.Get("podgroups");
  list.Items([&](const JsonView& group) {
    const JsonView name = group.Get("name");
    AddRole(name.RequiredText(), group.Get("minReplicas"), record.roles);
  });
  record.min_member = std::max<int64_t>(Together(record.roles), 1);
}

// These have no roles. scheduling.k8s.io: PreEnqueue and Permit in
// pkg/scheduler/framework/plugins/gangscheduling of k8s.io/kubernetes v1.36.3, and gang.minCount in
// v1alpha2, v1alpha3 and v1beta1 alike. scheduler-plugins: PreFilter and Permit in
// pkg/coscheduling/core/core.go. Koordinator: tryInitByPodGroup in
// pkg/scheduler/plugins/coscheduling/core/gang.go.
void ReadMembers(const JsonView& spec, Flavour flavour, PodGroup& record) {
  switch (flavour) {
    case Flavour::kNative:
      record.min_member = ReadNative(spec);
      return;
    case Flavour::kPlain:
      record.min_member = ReadMemberCount(spec.Get("minMember")).value_or(1);
      return;
    case Flavour::kVolcano:
      return ReadVolcano(spec, record);
    case Flavour::kKai:
      return ReadKai(spec, record);
    case Flavour::kGrove:
      return ReadGrove(spec, record);
  }
}

// Whose pods go together: v1alpha2 has a text, PodGroup or Pod; later versions an object, with
// `all` or `single` in it (DisruptionMode in scheduling/v1beta1/types.go of k8s.io/api v0.37.0).
bool ReadDisruption(const JsonView& spec) {
  const JsonView mode = spec.Get("disruptionMode");
  if (mode.text()) return mode.Text() == "PodGroup";
  return mode.Get("all").present();
}

// Of each of these there is one, and what else is said has no effect. API servers refuse it.
std::vector<std::string> ReadSurplus(const JsonView& spec) {
  std::vector<std::string> told;
  const JsonView mode = spec.Get("disruptionMode");
  if (mode.object() && mode.Get("all").present() && mode.Get("single").present())
    told.emplace_back("spec.disruptionMode.single: expected either all or single, all counts");
  const JsonView constraints = spec.Get("schedulingConstraints");
  size_t keys = 0;
  constraints.Get("topology").Items([&](const JsonView&) { ++keys; });
  if (keys > 1)
    told.emplace_back("spec.schedulingConstraints.topology[1]: expected one key, the first counts");
  return told;
}

// Kubernetes: the value that the Priority admission plugin made of the class, for which a manifest
// may give both. Volcano: JobInfo.Priority, from the class of the PodGroup (Snapshot in
// pkg/scheduler/cache/cache.go of volcano.sh/volcano v1.15.1); whether it preempts is up to its
// pods. KAI and Grove likewise; KAI's pod grouper takes the class from the label of the workload
// (calcPodGroupPriorityClass in
// pkg/podgrouper/podgrouper/plugins/defaultgrouper/default_grouper.go).
void ReadPriority(const JsonView& group, Flavour flavour, PodGroup& record) {
  const JsonView spec = group.Get("spec");
  cluster::GroupPriority& priority = record.priority;
  if (flavour != Flavour::kPlain) priority.class_name = spec.Get("priorityClassName").Text();
  if (flavour == Flavour::kKai && priority.class_name.empty()) {
    const JsonView metadata = group.Get("metadata");
    const JsonView labels = metadata.Get("labels");
    priority.class_name = labels.Get(kKaiPriorityLabel).Text();
  }
  if (flavour != Flavour::kNative) return;
  using Limits = std::numeric_limits<int32_t>;
  const JsonView value = spec.Get("priority");
  if (value.present())
    priority.value = static_cast<int32_t>(value.Integer(0, Limits::min(), Limits::max()));
  const JsonView policy = spec.Get("preemptionPolicy");
  if (policy.present()) priority.preempts = policy.Text() != "Never";
  priority.policy_of_class = true;
}

void ReadSpec(const JsonView& group, Flavour flavour, PodGroup& record) {
  const JsonView spec = group.Get("spec");
  if (!spec.ExpectObject()) return;
  ReadMembers(spec, flavour, record);
  ReadPriority(group, flavour, record);
  if (flavour == Flavour::kNative) record.disrupted_whole = ReadDisruption(spec);
  if (flavour == Flavour::kNative) return;
  if (!record.preemptible && flavour == Flavour::kKai)
    record.preemptible = ReadPreemptibility(spec.Get("preemptibility"));
  if (record.queue.empty() && (flavour == Flavour::kVolcano || flavour == Flavour::kKai))
    record.queue = ReadSpecQueue(spec);
  record.schedule_timeout =
      cluster::Seconds(spec.Get("scheduleTimeoutSeconds").Integer(0, 0, kAny));
}

}  // namespace

Result<PodGroup> DecodePodGroup(const JsonNode& json, std::string_view api_version,
                                const DecodeOptions& options) {
  JsonProblems identity;
  const JsonView any(json, "PodGroup", identity);
  const JsonView own_version = any.Get("apiVersion");
  const std::string_view version = own_version.present() ? own_version.Text() : api_version;
  const std::string_view kind = KindOfPodGroups(version.substr(0, version.find('/')));
  const JsonView object(json, kind, identity);
  const ObjectMeta meta = ReadObjectMeta(object, kind, Scope::kNamespace, options.source);
  const std::optional<Flavour> flavour = FlavourOf(version);
  if (!flavour) own_version.Problem("not an API group of PodGroups that Muster knows");
  if (!identity.none()) return identity.first();
  PodGroup record;
  record.uid = cluster::PodGroupUid(meta.uid);
  record.key = meta.key;
  record.created = meta.created;
  record.resource_version = meta.resource_version;
  const JsonView metadata = object.Get("metadata");
  const JsonView annotations = metadata.Get("annotations");
  record.queue = ReadQueueName(metadata.Get("labels"), annotations);
  record.run_times = ReadRunTimes(metadata, metadata.Get("activeDeadlineSeconds"));
  record.claimed = annotations.Get(cluster::kClaimAnnotation).Text() == "true";
  const Result<cluster::GangRecord> past =
      ParseGangRecord(annotations.Get(cluster::kGangRecordAnnotation).Text());
  if (past.ok()) record.record = *past;
  JsonProblems defects;
  if (options.left_out != nullptr) defects.Add(*options.left_out);
  const JsonView group(json, kind, defects);
  const JsonView said = group.Get("metadata");
  record.preemptible = ReadPreemptible(said.Get("labels"), said.Get("annotations"));
  ReadSpec(group, *flavour, record);
  RefuseKoordinatorGroups(said.Get("annotations"), record.key.ToString());
  record.topology = ReadTopologyTerms(group.Get("metadata"), group.Get("spec"));
  // From 1.37 on, which serves it as v1alpha3 and v1beta1: runPreEnqueuePlugins in
  // pkg/scheduler/backend/queue/scheduling_queue.go of k8s.io/kubernetes v1.37.0.
  record.gates_together = *flavour == Flavour::kNative && version != "scheduling.k8s.io/v1alpha2";
  if (const Dialect* dialect = FindDialect(version, kind))
    record.not_honoured = FieldsNotHonoured(*dialect, group);
  const auto tell = [&](std::vector<std::string> told) {
    std::move(told.begin(), told.end(), std::back_inserter(record.not_honoured));
  };
  if (*flavour == Flavour::kNative) tell(ReadSurplus(group.Get("spec")));
  tell(KeysNotHonoured(said.Get("labels"), said.Get("annotations")));
  tell(UnheededOfKoordinator(said.Get("annotations")));
  if (!defects.none()) record.defect = defects.first().ToString();
  return record;
}

Result<PodGroup> DecodePodGroup(std::string_view json, const DecodeOptions& options) {
  const Result<KeptObject> kept = KeptObject::Read(json, PodGroupFields(), "PodGroup", options);
  if (!kept.ok()) return kept.error();
  return DecodePodGroup(kept->node(), {}, kept->With(options));
}

}  // namespace muster::kube
