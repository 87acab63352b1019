#include "cli/pod_check.hpp"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "cli/gang_check.hpp"
#include "cli/yaml_path.hpp"
#include "config/manifest.hpp"
#include "config/yaml_json.hpp"
#include "engine/options.hpp"
#include "kube/decode.hpp"
#include "kube/dialect_fields.hpp"
#include "kube/dialect_keys.hpp"
#include "kube/grouping.hpp"
#include "kube/json.hpp"
#include "kube/json_view.hpp"
#include "kube/pod_requests.hpp"
#include "kube/resource_names.hpp"

namespace muster::cli {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using config::YamlNode;

constexpr const char* kNoGang =
    "its pods start one by one: a Job is a gang when it is Indexed with completions = parallelism, "
    "or has annotation muster.dev/min-member, or gangs.nonIndexedJobs of the policy says so";
constexpr const char* kArray =
    "its pods start one by one: an Indexed Job is a gang when completions = parallelism";
constexpr const char* kPerIndex =
    "its pods start one by one: with backoffLimitPerIndex each index may fail by itself";
constexpr const char* kContainerLists[] = {"containers", "initContainers"};

// A kind of Kubernetes' own that has pods.
struct Kind {
  std::string_view api_version;
  std::string_view name;
  const char* pod;  // the path to what is a pod; empty: the object
  const char* job;  // to what is a Job; null: it is none
};
constexpr Kind kKinds[] = {
    {"v1", "Pod", "", nullptr},
    {"v1", "PodTemplate", "template", nullptr},
    {"v1", "ReplicationController", "spec.template", nullptr},
    {"apps/v1", "DaemonSet", "spec.template", nullptr},
    {"apps/v1", "Deployment", "spec.template", nullptr},
    {"apps/v1", "ReplicaSet", "spec.template", nullptr},
    {"apps/v1", "StatefulSet", "spec.template", nullptr},
    {"batch/v1", "Job", "spec.template", ""},
    {"batch/v1", "CronJob", "spec.jobTemplate.spec.template", "spec.jobTemplate"}};

const Kind* FindKind(const YamlNode& object) {
  const auto found = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& kind) {
    return object.TextAt("apiVersion") == kind.api_version && object.TextAt("kind") == kind.name;
  });
  return found == std::end(kKinds) ? nullptr : found;
}

bool IsPod(const YamlNode& object) {
  const Kind* kind = FindKind(object);
  return kind != nullptr && *kind->pod == '\0';
}

// Of one object.
class ObjectCheck {
 public:
  // `place`: of the object in the document; empty: it is all of it.
  ObjectCheck(const config::ManifestDocument& document, std::string place, PodCheck* into)
      : document_(document), place_(std::move(place)), into_(*into) {}

  void Look(const YamlNode& object) {
    for (const Error& fault : UnknownMusterKeys(object)) Refuse(fault.place, fault.message);
    if (const Kind* kind = FindKind(object); kind != nullptr) {
      LookAtPod(Follow(object, kind->pod), kind->pod, kind->job != nullptr);
      if (kind->job != nullptr) LookAtJob(object, kind->job);
      for (const Error& fault : GangFaults(object, kind->pod, kind->job))
        Refuse(fault.place, fault.message);
    }
    if (object.TextAt("kind") == "PriorityClass") LookAtPreemption(object, "");
    if (const YamlNode* spec = Given(object, "spec"); spec != nullptr && !IsPod(object))
      owners_scheduler_ = spec->TextAt("schedulerName");
    LookAtTemplates(object, "");
    LookAtGroup(object);
    LookAtOwner(object);
    if (makes_pods_) LookAtOwnersKeys(object);
    if (const std::string unheeded = UnheededOf(object); !unheeded.empty()) Note("spec", unheeded);
  }

 private:
  void LookAtPod(const YamlNode* pod, const std::string& path, bool ends);
  void LookAtPreemption(const YamlNode& from, const std::string& path);
  void LookAtContainer(const YamlNode& container, const std::string& path,
                       std::set<std::string>& names);
  void LookAtTemplates(const YamlNode& value, const std::string& path);
  void LookAtWords(const YamlNode& pod, const std::string& path);
  void LookAtPlan(const cluster::Pod& pod, const YamlNode& written, const std::string& path);
  void LookAtGroup(const YamlNode& object);
  void LookAtOwner(const YamlNode& object);
  void LookAtOwnersKeys(const YamlNode& object);
  void LookAtLevels(const cluster::TopologyTerms& terms, const std::string& path);
  void LookAtLimits(const YamlNode& container, const std::string& path);
  void LookAtJob(const YamlNode& object, const char* path);

  Error Located(const std::string& path, std::string message) const {
    const Error error{Code::kInvalidArgument, std::move(message), path};
    return document_.Locate(place_.empty() ? error : error.At(place_));
  }
  void Refuse(const std::string& path, std::string message) {
    into_.faults.push_back(Located(path, std::move(message)));
  }

  void Note(const std::string& path, std::string message) {
    into_.notes.push_back(Located(path, std::move(message)).ToString());
  }

  const config::ManifestDocument& document_;
  const std::string place_;
  PodCheck& into_;
  bool makes_pods_ = false;       // there is a pod template in it
  std::string owners_scheduler_;  // of all of its pods, as Volcano's Job says it; empty: they say
};

// `pod`: null where the object has none. `ends`: it is a Job's.
void ObjectCheck::LookAtPod(const YamlNode* pod, const std::string& path, bool ends) {
  const YamlNode* spec = pod == nullptr ? nullptr : Given(*pod, "spec");
  const std::string at = Joined(path, "spec");
  const YamlNode* mains = spec == nullptr ? nullptr : Given(*spec, "containers");
  if (mains == nullptr || (mains->kind == YamlNode::Kind::kSequence && mains->items.empty()))
    Refuse(at + ".containers", "expected at least one container, found none");
  if (spec == nullptr) return;
  std::set<std::string> names;
  for (const char* list : kContainerLists) {
    const YamlNode* containers = Given(*spec, list);
    if (containers == nullptr) continue;
    for (std::size_t i = 0; i < containers->items.size(); ++i)
      LookAtContainer(containers->items[i], Item(Joined(at, list), i), names);
  }
  LookAtPreemption(*spec, at);
  const std::string restart = spec->TextAt("restartPolicy");
  if (!ends || restart == "Never" || restart == "OnFailure") return;
  Refuse(at + ".restartPolicy", "expected Never or OnFailure, as the pods of a Job end, found " +
                                    (restart.empty() ? "nothing" : config::Quoted(restart)));
}

// Of a pod's spec, or of a PriorityClass.
void ObjectCheck::LookAtPreemption(const YamlNode& from, const std::string& path) {
  const std::string policy = from.TextAt("preemptionPolicy");
  if (policy.empty() || policy == "Never" || policy == "PreemptLowerPriority") return;
  Refuse(Joined(path, "preemptionPolicy"),
         "expected Never or PreemptLowerPriority, found " + config::Quoted(policy));
}

// `names`: of the pod's containers before it.
void ObjectCheck::LookAtContainer(const YamlNode& container, const std::string& path,
                                  std::set<std::string>& names) {
  if (container.kind != YamlNode::Kind::kMap) return;
  const std::string name = container.TextAt("name");
  if (name.empty()) {
    Refuse(path + ".name", "expected a name, found nothing");
  } else if (!names.insert(name).second) {
    Refuse(path + ".name", "another container of the pod is called " + config::Quoted(name) +
                               ", too: give it another name");
  }
  if (container.TextAt("image").empty())
    Refuse(path + ".image", "expected an image, found nothing");
}

// Whatever makes pods of them, no API server takes those without limits.
void ObjectCheck::LookAtTemplates(const YamlNode& value, const std::string& path) {
  const YamlNode* spec = Given(value, "spec");
  const YamlNode* mains = spec == nullptr ? nullptr : Given(*spec, "containers");
  if (mains != nullptr && mains->kind == YamlNode::Kind::kSequence) {
    makes_pods_ = makes_pods_ || !path.empty();
    LookAtWords(value, path);
    for (const char* list : kContainerLists) {
      const YamlNode* containers = Given(*spec, list);
      if (containers == nullptr) continue;
      for (std::size_t i = 0; i < containers->items.size(); ++i)
        LookAtLimits(containers->items[i], Item(Joined(path, "spec") + "." + list, i));
    }
    return;
  }
  for (std::size_t i = 0; i < value.items.size(); ++i)
    LookAtTemplates(value.items[i], Item(path, i));
  for (const config::YamlEntry& entry : value.entries)
    LookAtTemplates(entry.value, Joined(path, entry.key));
}

// Of other schedulers' annotations those that Muster does not heed.
void ObjectCheck::LookAtWords(const YamlNode& pod, const std::string& path) {
  const Result<std::string> json = config::ToJson(pod, document_.file_name());
  if (!json.ok()) return;
  const Result<kube::Job> job =
      kube::DecodeJob(R"({"metadata":{"name":"job"},"spec":{"template":)" + *json + "}}",
                      kube::DecodeOptions{.source = kube::Source::kManifest});
  if (!job.ok()) return;
  LookAtLevels(job->pod.spec->topology, path);
  LookAtPlan(job->pod, pod, path);
  if (job->pod.gang_words == nullptr || job->pod.gang_words->unheeded.empty()) return;
  Note(Joined(path, "metadata.annotations"), job->pod.gang_words->unheeded);
}

// What the engine would refuse a pod for, or go without.
void ObjectCheck::LookAtPlan(const cluster::Pod& pod, const YamlNode& written,
                             const std::string& path) {
  const bool unsaid =
      owners_scheduler_.empty() && Given(*Given(written, "spec"), "schedulerName") == nullptr;
  const std::string scheduler =
      owners_scheduler_.empty() ? pod.spec->scheduler_name : owners_scheduler_;
  const std::vector<std::string> ours = engine::Options().scheduler_names;
  const bool planned = std::find(ours.begin(), ours.end(), scheduler) != ours.end();
  if (!planned && !unsaid) return;
  const std::string at = Joined(path, "spec");
  const auto tell = [&](const std::string& place, std::string message) {
    if (planned) return Refuse(place, std::move(message));
    Note(place, std::move(message));
  };
  if (!pod.spec->unplanned_devices.empty()) {
    tell(at, "Muster does not plan " + pod.spec->unplanned_devices +
                 " and refuses the pod: request nvidia.com/gpu, or use another scheduler");
  }
  if (pod.run_times != nullptr && !pod.run_times->fault.empty()) {
    // As DecodeJob names the pod.
    constexpr std::string_view kTemplate = "Job.spec.template.";
    const std::string& fault = pod.run_times->fault;
    const std::size_t colon = fault.find(": ");
    const bool placed = fault.starts_with(kTemplate) && colon != std::string::npos;
    tell(placed ? Joined(path, fault.substr(kTemplate.size(), colon - kTemplate.size())) : path,
         placed ? fault.substr(colon + 2) : fault);
  }
  if (unsaid && !pod.spec->gpus.none()) {
    Note(at,
         "schedulerName is not said: Muster plans these pods only in a namespace with the label " +
             std::string("muster.dev/schedule"));
  }
}

void ObjectCheck::LookAtGroup(const YamlNode& object) {
  if (kube::FindDialect(object.TextAt("apiVersion"), object.TextAt("kind")) == nullptr) return;
  const Result<std::string> json = config::ToJson(object, document_.file_name());
  if (!json.ok()) return;
  const Result<cluster::PodGroup> group =
      kube::DecodePodGroup(*json, kube::DecodeOptions{.source = kube::Source::kManifest});
  if (group.ok()) LookAtLevels(group->topology, "");
}

// What it says of the gang of its pods.
void ObjectCheck::LookAtOwner(const YamlNode& object) {
  const kube::Dialect* dialect =
      kube::FindOwnerDialect(object.TextAt("apiVersion"), object.TextAt("kind"));
  const Result<std::string> text = config::ToJson(object, document_.file_name());
  if (dialect == nullptr || !text.ok()) return;
  const Result<kube::Json> json = kube::Json::Parse(*text, config::kMaxManifestBytes, "");
  if (!json.ok()) return;
  kube::JsonProblems ignored;
  const kube::JsonView owner(json->root(), "owner", ignored);
  for (const std::string& told : kube::FieldsNotHonoured(*dialect, owner)) {
    const std::size_t colon = told.find(": ");
    Note(told.substr(0, colon), "has no effect: " + told.substr(colon + 2));
  }
}

// Labels and annotations that count on pods alone. A Job says of itself how long it runs.
void ObjectCheck::LookAtOwnersKeys(const YamlNode& object) {
  const YamlNode* metadata = Given(object, "metadata");
  const Result<std::string> text =
      config::ToJson(metadata == nullptr ? YamlNode() : *metadata, document_.file_name());
  if (!text.ok()) return;
  const Result<kube::Json> json = kube::Json::Parse(*text, config::kMaxManifestBytes, "");
  if (!json.ok()) return;
  kube::JsonProblems ignored;
  const kube::JsonView view(json->root(), "metadata", ignored);
  const auto look = [&](std::span<const kube::DialectField> words) {
    for (std::string& told : kube::KeysOfPods(words, object.TextAt("kind"), view))
      Note("metadata", std::move(told));
  };
  look(kube::MusterWords());
  for (const kube::Dialect& dialect : kube::DialectsOfKeys()) look(dialect.fields);
}

// There is no policy here that would say which levels there are.
void ObjectCheck::LookAtLevels(const cluster::TopologyTerms& terms, const std::string& path) {
  if (terms.said_by.empty() || terms.said_by == kube::kComputeDomainAnnotation) return;
  Note(Joined(path, terms.said_by.starts_with("annotation") ? "metadata.annotations" : "spec"),
       terms.said_by + ": it counts where fabric.trees of the policy has such a level");
}

void ObjectCheck::LookAtLimits(const YamlNode& container, const std::string& path) {
  // A pattern of a policy, say, is no container.
  if (Given(container, "name") == nullptr && Given(container, "image") == nullptr) return;
  const YamlNode* resources = Given(container, "resources");
  const YamlNode* requests = resources == nullptr ? nullptr : Given(*resources, "requests");
  if (requests == nullptr) return;
  const YamlNode* limits = Given(*resources, "limits");
  for (const config::YamlEntry& request : requests->entries) {
    if (request.value.kind == YamlNode::Kind::kNull || kube::MayOvercommit(request.key)) continue;
    if (limits != nullptr && Given(*limits, request.key) != nullptr) continue;
    // As the decoders write it.
    const std::string step = kube::PathStep(request.key);
    const std::string list = path + ".resources.requests";
    Refuse(step.front() == '[' ? list + step : Joined(list, step), kube::kNeedsLimit);
  }
}

// The pods of a Job with this spec are Muster's, several at a time, and in no PodGroup.
bool HasPodsSideBySide(const YamlNode& spec, const std::string& file_name) {
  const Result<std::string> json = config::ToJson(spec, file_name);
  if (!json.ok()) return false;
  const Result<kube::Job> job =
      kube::DecodeJob(R"({"metadata":{"name":"job"},"spec":)" + *json + "}",
                      kube::DecodeOptions{.source = kube::Source::kManifest});
  if (!job.ok() || job->parallelism < 2 || !job->pod.pod_group.empty()) return false;
  const std::vector<std::string> ours = engine::Options().scheduler_names;
  return std::find(ours.begin(), ours.end(), job->pod.spec->scheduler_name) != ours.end();
}

// Noted is what may be a slip. An Indexed Job is a gang, or an array of more pods than run at a
// time; with spec.scheduling it says itself what it is (config/grouping/kubernetes.yaml).
void ObjectCheck::LookAtJob(const YamlNode& object, const char* path) {
  const YamlNode* job = Follow(object, path);
  const YamlNode* spec = job == nullptr ? nullptr : Given(*job, "spec");
  if (spec == nullptr || Given(*spec, "scheduling") != nullptr) return;
  if (SaysGang(&object) || SaysGang(job) || SaysGang(Given(*spec, "template"))) return;
  if (!HasPodsSideBySide(*spec, document_.file_name())) return;
  const bool indexed = spec->TextAt("completionMode") == "Indexed";
  if (Given(*spec, "backoffLimitPerIndex") != nullptr) {
    Note(Joined(path, "spec.backoffLimitPerIndex"), kPerIndex);
  } else if (!indexed) {
    Note(Joined(path, "spec.parallelism"), kNoGang);
  } else if (spec->TextAt("completions") != spec->TextAt("parallelism")) {
    Note(Joined(path, "spec.completions"), kArray);
  }
}

}  // namespace

PodCheck CheckPods(std::string_view text, const std::string& file_name) {
  PodCheck check;
  const Result<std::vector<config::ManifestDocument>> documents =
      config::ParseManifests(text, file_name);
  if (!documents.ok()) return check;
  for (const config::ManifestDocument& document : *documents) {
    const YamlNode& root = document.source();
    if (document.kind() != "List") {
      ObjectCheck(document, "", &check).Look(root);
      continue;
    }
    const YamlNode* items = root.Find("items");
    for (std::size_t i = 0; items != nullptr && i < items->items.size(); ++i)
      ObjectCheck(document, Item("items", i), &check).Look(items->items[i]);
  }
  return check;
}

}  // namespace muster::cli
