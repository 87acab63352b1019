#include "kube/dialects/dialect_fields.hpp"

#include <algorithm>

#include "kube/json/json_writer.hpp"

namespace muster::kube {

namespace {

using enum Heed;

constexpr size_t kMaxPlace = 256;  // bytes
constexpr size_t kMaxWord = 40;    // likewise

constexpr std::string_view kByItsPods =
    "Muster plans the whole gang by what its pods request, and charges its queue for that";
constexpr std::string_view kAlone =
    "each PodGroup starts by itself, whatever its CompositePodGroup needs";
constexpr std::string_view kClaims =
    "Muster reads no ResourceClaims: kube-scheduler allocates them on the node that was planned";
constexpr std::string_view kFromWorkload =
    "the PodGroup has all that the template of its Workload says";
constexpr std::string_view kOneByOne = "its pods start one by one";
constexpr std::string_view kLevel = "the level of the policy's fabric with that node label";
constexpr std::string_view kTaskLabel = "only volcano.sh/task-spec selects the pods of a subgroup";
constexpr std::string_view kAllSubgroups = "all subgroups are needed";
constexpr std::string_view kOfTheWorkload = "it describes the workload, not its scheduling";

// Kubernetes, as of 1.37.
constexpr std::string_view kNativeKinds[] = {"scheduling.k8s.io/v1beta1/PodGroup",
                                             "scheduling.k8s.io/v1alpha3/PodGroup"};
constexpr DialectField kNative[] = {
    {"spec.parentCompositePodGroupName", kNotHonoured, kAlone},
    {"spec.workloadRef", kMeaningless, kFromWorkload},
    {"spec.schedulingPolicy.basic", kHonoured, kOneByOne},
    {"spec.schedulingPolicy.gang.minCount"},
    {"spec.schedulingConstraints.topology[].key", kHonoured, kLevel},
    {"spec.resourceClaims", kNotHonoured, kClaims},
    {"spec.disruptionMode.single", kHonoured, "members beyond the minimum are evicted alone"},
    {"spec.disruptionMode.all", kHonoured, "all of its pods are evicted, or none"},
    {"spec.priorityClassName", kHonoured, "if spec.priority is not set"},
    {"spec.priority", kHonoured, "the priority of all of its pods, in place of theirs"},
    {"spec.preemptionPolicy", kHonoured, "of all of its pods, in place of theirs",
     "Never|PreemptLowerPriority"},
};

// Kubernetes 1.36.
constexpr std::string_view kFirstKinds[] = {"scheduling.k8s.io/v1alpha2/PodGroup"};
constexpr DialectField kFirst[] = {
    {"spec.podGroupTemplateRef", kMeaningless, kFromWorkload},
    {"spec.schedulingPolicy.basic", kHonoured, kOneByOne},
    {"spec.schedulingPolicy.gang.minCount"},
    {"spec.schedulingConstraints.topology[].key", kHonoured, kLevel},
    {"spec.resourceClaims", kNotHonoured, kClaims},
    {"spec.disruptionMode", kHonoured,
     "PodGroup: all of its pods are evicted, or none; Pod: members beyond the minimum alone",
     "PodGroup|Pod"},
    {"spec.priorityClassName", kHonoured, "if spec.priority is not set"},
    {"spec.priority", kHonoured, "the priority of all of its pods, in place of theirs"},
};

constexpr std::string_view kPlainKinds[] = {"scheduling.x-k8s.io/v1alpha1/PodGroup",
                                            "scheduling.sigs.k8s.io/v1alpha1/PodGroup",
                                            "scheduling.k8s.io/v1alpha1/PodGroup"};
constexpr DialectField kPlain[] = {
    {"spec.minMember"},
    {"spec.minResources", kMeaningless, kByItsPods},
    {"spec.scheduleTimeoutSeconds", kHonoured, "how long its Bind calls may take"},
};

constexpr std::string_view kHardOrSoft = "hard|soft";
constexpr std::string_view kAsHard = "what is neither hard nor soft is hard";
constexpr std::string_view kVolcanoKinds[] = {"scheduling.volcano.sh/v1beta1/PodGroup"};
constexpr DialectField kVolcano[] = {
    {"spec.minMember"},
    {"spec.minTaskMember.*", kHonoured, "if minMember is at least their sum"},
    {"spec.queue"},
    {"spec.priorityClassName", kHonoured, "the priority of all of its pods, in place of theirs"},
    {"spec.minResources", kMeaningless, kByItsPods},
    {"spec.networkTopology.mode", kHonoured, kAsHard, kHardOrSoft},
    {"spec.networkTopology.highestTierAllowed"},
    {"spec.networkTopology.highestTierName"},
    {"spec.subGroupPolicy[].name"},
    {"spec.subGroupPolicy[].networkTopology.mode", kHonoured, kAsHard, kHardOrSoft},
    {"spec.subGroupPolicy[].networkTopology.highestTierAllowed"},
    {"spec.subGroupPolicy[].networkTopology.highestTierName"},
    {"spec.subGroupPolicy[].subGroupSize", kHonoured,
     "with networkTopology and matchLabelKeys: the size of the segments"},
    {"spec.subGroupPolicy[].minSubGroups", kNotHonoured,
     "spec.minMember and spec.minTaskMember say what is needed"},
    {"spec.subGroupPolicy[].labelSelector.matchLabels.*", kNotHonoured, kTaskLabel},
    {"spec.subGroupPolicy[].labelSelector.matchLabels.volcano.sh/task-spec"},
    {"spec.subGroupPolicy[].labelSelector.matchExpressions", kNotHonoured, kTaskLabel},
    {"spec.subGroupPolicy[].matchLabelKeys", kHonoured,
     "makes segments; ranks say which pods are in each"},
};

constexpr std::string_view kKaiKinds[] = {"scheduling.run.ai/v2alpha2/PodGroup"};
constexpr DialectField kKai[] = {
    {"spec.minMember", kHonoured, "if there are no subgroups"},
    {"spec.minSubGroup", kNotHonoured, kAllSubgroups},
    {"spec.queue"},
    {"spec.priorityClassName", kHonoured,
     "the priority of all of its pods, in place of theirs. KAI evicts nobody of 100 and more: use "
     "preemptibility for that"},
    {"spec.preemptibility", kHonoured, {}, "preemptible|non-preemptible|semi-preemptible"},
    {"spec.parallelism", kMeaningless, kOfTheWorkload},
    {"spec.completions", kMeaningless, kOfTheWorkload},
    {"spec.backoffLimit", kMeaningless, kOfTheWorkload},
    {"spec.markUnschedulable", kMeaningless, "its pods and Events say why it waits in any case"},
    {"spec.schedulingBackoff", kMeaningless,
     "Muster has no pools of nodes, and tries again whenever there may be room"},
    {"spec.topologyConstraint.topology", kMeaningless,
     "the levels are node labels, and the policy's fabric has the tree"},
    {"spec.topologyConstraint.requiredTopologyLevel"},
    {"spec.topologyConstraint.preferredTopologyLevel"},
    {"spec.subGroups[].name"},
    {"spec.subGroups[].parent"},
    {"spec.subGroups[].minMember"},
    {"spec.subGroups[].minSubGroup", kNotHonoured, kAllSubgroups},
    {"spec.subGroups[].topologyConstraint.topology", kMeaningless,
     "the levels are node labels, and the policy's fabric has the tree"},
    {"spec.subGroups[].topologyConstraint.requiredTopologyLevel"},
    {"spec.subGroups[].topologyConstraint.preferredTopologyLevel"},
};

constexpr std::string_view kGroveKinds[] = {"scheduler.grove.io/v1alpha1/PodGang"};
constexpr DialectField kGrove[] = {
    {"spec.podgroups[].name"},
    {"spec.podgroups[].podReferences", kMeaningless,
     "pods are known by their label grove.io/podgang"},
    {"spec.podgroups[].minReplicas"},
    {"spec.podgroups[].topologyConstraint.packConstraint.required"},
    {"spec.podgroups[].topologyConstraint.packConstraint.preferred"},
    {"spec.topologyConstraintGroupConfigs[].name"},
    {"spec.topologyConstraintGroupConfigs[].podGroupNames"},
    {"spec.topologyConstraintGroupConfigs[].topologyConstraint.packConstraint.required"},
    {"spec.topologyConstraintGroupConfigs[].topologyConstraint.packConstraint.preferred"},
    {"spec.topologyConstraint.packConstraint.required"},
    {"spec.topologyConstraint.packConstraint.preferred"},
    {"spec.priorityClassName", kHonoured, "the priority of all of its pods, in place of theirs"},
    {"spec.reuseReservationRef", kNotHonoured, "no room of another PodGang is kept for it"},
};

constexpr Dialect kDialects[] = {
    {"Kubernetes 1.37", kNativeKinds, kNative},
    {"Kubernetes 1.36", kFirstKinds, kFirst},
    {"scheduler-plugins, Koordinator", kPlainKinds, kPlain},
    {"Volcano", kVolcanoKinds, kVolcano},
    {"KAI", kKaiKinds, kKai},
    {"Grove", kGroveKinds, kGrove},
};

// Owners, where no PodGroup is made of what they say.
constexpr std::string_view kInPodGroup =
    "it counts in the PodGroup that Kubernetes makes of the Job with gate WorkloadWithJob";
constexpr std::string_view kJobKinds[] = {"batch/v1/Job"};
constexpr DialectField kJob[] = {
    {"spec.scheduling.schedulingPolicy.basic", kHonoured, kOneByOne},
    {"spec.scheduling.schedulingPolicy.gang.minCount"},
    {"spec.scheduling.schedulingConstraints", kNotHonoured, kInPodGroup},
    {"spec.scheduling.disruptionMode", kNotHonoured, kInPodGroup},
    {"spec.scheduling.resourceClaims", kNotHonoured, kClaims},
};

constexpr std::string_view kKubeflowKinds[] = {
    "kubeflow.org/v1/JAXJob",     "kubeflow.org/v1/MPIJob", "kubeflow.org/v1/PaddleJob",
    "kubeflow.org/v1/PyTorchJob", "kubeflow.org/v1/TFJob",  "kubeflow.org/v1/XGBoostJob",
    "kubeflow.org/v2beta1/MPIJob"};
constexpr DialectField kKubeflow[] = {
    {"spec.runPolicy.schedulingPolicy.minAvailable"},
    {"spec.runPolicy.schedulingPolicy.queue", kHonoured, "if its pods name none"},
    {"spec.runPolicy.schedulingPolicy.priorityClass", kHonoured,
     "the priority of all of its pods, in place of theirs"},
    {"spec.runPolicy.schedulingPolicy.minResources", kMeaningless, kByItsPods},
    {"spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds", kNotHonoured,
     "the policy's reservationTimeout says how long a plan is valid"},
};

constexpr Dialect kOwnerDialects[] = {
    {"Kubernetes' Jobs", kJobKinds, kJob},
    {"Kubeflow's jobs", kKubeflowKinds, kKubeflow},
};

const Dialect* FindIn(std::span<const Dialect> dialects, std::string_view api_version,
                      std::string_view kind) {
  const std::string name = std::string(api_version) + "/" + std::string(kind);
  const auto found = std::find_if(dialects.begin(), dialects.end(), [&](const Dialect& one) {
    return std::find(one.kinds.begin(), one.kinds.end(), name) != one.kinds.end();
  });
  return found == dialects.end() ? nullptr : &*found;
}

// Goes through an object, and knows where it is in the table.
class Walk {
 public:
  explicit Walk(const Dialect& dialect)
      : fields_(dialect.fields), told_(dialect.fields.size(), false) {}

  void Value(const JsonView& value, const std::string& path);
  std::vector<std::string> Take() { return std::move(found_); }

 private:
  // Position in the table; its end: it is not there.
  size_t Find(std::string_view path) const {
    const auto at = std::find_if(fields_.begin(), fields_.end(),
                                 [&](const DialectField& field) { return field.path == path; });
    return static_cast<size_t>(at - fields_.begin());
  }
  bool HasWithin(std::string_view path) const {
    return std::any_of(fields_.begin(), fields_.end(), [&](const DialectField& field) {
      return field.path.size() > path.size() && field.path.starts_with(path) &&
             (field.path[path.size()] == '.' || field.path[path.size()] == '[');
    });
  }
  void Tell(size_t at, const JsonView& value);

  const std::span<const DialectField> fields_;
  std::vector<bool> told_;
  std::vector<std::string> found_;
};

void Walk::Tell(size_t at, const JsonView& value) {
  const DialectField& field = fields_[at];
  if (told_[at] || value.blank()) return;
  const bool honoured = field.heed != kNotHonoured;
  if (honoured && !value.text()) return;
  const std::string what = honoured ? OddWord(field, value.Text()) : std::string(field.note);
  if (what.empty()) return;
  told_[at] = true;
  std::string place = value.Place();  // begins with the kind
  place.erase(0, place.find('.') + 1);
  found_.push_back(std::string(CutText(place, kMaxPlace)) + ": " + what);
}

void Walk::Value(const JsonView& value, const std::string& path) {
  if (const size_t at = Find(path); at < fields_.size()) return Tell(at, value);
  if (!HasWithin(path)) return;
  if (value.list()) {
    value.Items([&](const JsonView& item) { Value(item, path + "[]"); });
  } else if (value.object()) {
    value.Members([&](std::string_view name, const JsonView& member) {
      const std::string inner = path + "." + std::string(name);
      const size_t any = Find(inner) < fields_.size() ? fields_.size() : Find(path + ".*");
      any < fields_.size() ? Tell(any, member) : Value(member, inner);
    });
  }
}

}  // namespace

std::span<const Dialect> Dialects() { return kDialects; }

std::span<const Dialect> DialectsOfOwners() { return kOwnerDialects; }

const Dialect* FindDialect(std::string_view api_version, std::string_view kind) {
  return FindIn(kDialects, api_version, kind);
}

const Dialect* FindOwnerDialect(std::string_view api_version, std::string_view kind) {
  return FindIn(kOwnerDialects, api_version, kind);
}

std::string OddWord(const DialectField& field, std::string_view value) {
  if (field.words.empty()) return {};
  std::string text = "expected ";
  std::string_view rest = field.words;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find('|'));
    if (word == value) return {};
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const bool last = rest.find('|') == std::string_view::npos;
    text.append(word).append(rest.empty() ? "" : last ? " or " : ", ");
  }
  return text.append(", got \"").append(CutText(value, kMaxWord)).append("\"");
}

std::vector<std::string> FieldsNotHonoured(const Dialect& dialect, const JsonView& object) {
  Walk walk(dialect);
  const JsonView spec = object.Get("spec");
  if (spec.object()) walk.Value(spec, "spec");
  return walk.Take();
}

}  // namespace muster::kube
