#include "cli/checks/pod_check.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "cli/checks/file_context.hpp"
#include "cli/checks/gang_check.hpp"
#include "cli/checks/yaml_path.hpp"
#include "config/documents/manifest.hpp"
#include "config/yaml/yaml_json.hpp"
#include "kube/decode/decode.hpp"
#include "kube/dialects/dialect_fields.hpp"
#include "kube/dialects/dialect_keys.hpp"
#include "kube/dialects/pod_requests.hpp"
#include "kube/dialects/resource_names.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/owners/grouping.hpp"

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

// As DecodeJob names the pod.
constexpr const char* kTemplate = "Job.spec.template.";

// Of how long something runs; nothing: all of it can be read. `root`: with what its place begins.
std::optional<Error> FaultOf(const cluster::RunTimes& times, const std::string& root) {
  const std::size_t colon = times.fault.find(": ");
  if (!times.fault.starts_with(root) || colon == std::string::npos) return std::nullopt;
  return Error{Code::kInvalidArgument, times.fault.substr(colon + 2),
               times.fault.substr(root.size(), colon - root.size())};
}

bool IsPod(const YamlNode& object) {
  const Kind* kind = FindKind(object);
  return kind != nullptr && *kind->pod == '\0';
}

// Of one object.
class ObjectCheck {
 public:
  // `place`: of the object in the document; empty: it is all of it.
  ObjectCheck(const config::ManifestDocument& document, std::string place,
              const FileContext& context, PodCheck* into)
      : document_(document), place_(std::move(place)), context_(context), into_(*into) {}

  void Look(const YamlNode& object) {
    taken_ = TakenOf(context_, object);
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
  void LookAtClass(const YamlNode& spec, const std::string& path);
  void LookAtPlan(const cluster::Pod& pod, bool planned, const std::string& path);
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
  const FileContext& context_;
  PodCheck& into_;
  kube::TakenPods taken_ = kube::TakenPods::kNone;
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
  LookAtClass(*Given(pod, "spec"), Joined(path, "spec"));
  const bool unsaid =
      owners_scheduler_.empty() && Given(*Given(pod, "spec"), "schedulerName") == nullptr;
  const bool planned = IsMusters(
      *json, owners_scheduler_.empty() ? job->pod.spec->scheduler_name : owners_scheduler_, taken_);
  if (planned || unsaid) LookAtPlan(job->pod, planned, path);
  if (job->pod.gang_words == nullptr || job->pod.gang_words->unheeded.empty()) return;
  Note(Joined(path, "metadata.annotations"), job->pod.gang_words->unheeded);
}

// Which classes a cluster has is not known here.
void ObjectCheck::LookAtClass(const YamlNode& spec, const std::string& path) {
  const std::string name = spec.TextAt("priorityClassName");
  if (name.empty() || context_.classes.contains(name)) return;
  Note(Joined(path, "priorityClassName"),
       "PriorityClass " + name + " is not in the file: the cluster must have it");
}

// What the engine would refuse a pod for, or go without. `planned`: the pod is Muster's; otherwise
// nothing says whose it is.
void ObjectCheck::LookAtPlan(const cluster::Pod& pod, bool planned, const std::string& path) {
  const std::string at = Joined(path, "spec");
  const auto tell = [&](const std::string& place, std::string message) {
    if (planned) return Refuse(place, std::move(message));
    Note(place, std::move(message));
  };
  if (!pod.spec->unplanned_devices.empty()) {
    tell(at, "Muster does not plan " + pod.spec->unplanned_devices +
                 " and refuses the pod: request nvidia.com/gpu, or use another scheduler");
  }
  if (pod.run_times != nullptr) {
    if (const auto fault = FaultOf(*pod.run_times, kTemplate))
      tell(Joined(path, fault->place), fault->message);
  }
  if (!planned && !pod.spec->gpus.none()) {
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
  if (!group.ok()) return;
  LookAtLevels(group->topology, "");
  if (const auto fault = FaultOf(group->run_times, object.TextAt("kind") + "."))
    Refuse(fault->place, fault->message);
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

// A Job, or what a CronJob makes one of, if its pods are Muster's.
std::optional<kube::Job> MustersJob(const YamlNode& job, kube::TakenPods taken) {
  const YamlNode* spec = Given(job, "spec");
  const YamlNode* pod = spec == nullptr ? nullptr : Given(*spec, "template");
  if (pod == nullptr) return std::nullopt;
  std::string text = R"({"metadata":{"name":"job")";
  for (const char* map : {"annotations", "labels"}) {
    const YamlNode* texts = Follow(job, std::string("metadata.") + map);
    const Result<std::string> json = config::ToJson(texts == nullptr ? YamlNode() : *texts, "");
    if (json.ok()) text.append(",\"").append(map).append("\":").append(*json);
  }
  const Result<std::string> json = config::ToJson(*spec, "");
  const Result<std::string> pod_json = config::ToJson(*pod, "");
  if (!json.ok() || !pod_json.ok()) return std::nullopt;
  Result<kube::Job> decoded = kube::DecodeJob(
      text + R"(},"spec":)" + *json + "}", kube::DecodeOptions{.source = kube::Source::kManifest});
  if (!decoded.ok() || !IsMusters(*pod_json, decoded->pod.spec->scheduler_name, taken))
    return std::nullopt;
  return *std::move(decoded);
}

// Noted is what may be a slip. An Indexed Job is a gang, or an array of more pods than run at a
// time; with spec.scheduling it says itself what it is (config/grouping/kubernetes.yaml).
void ObjectCheck::LookAtJob(const YamlNode& object, const char* path) {
  const YamlNode* job = Follow(object, path);
  const std::optional<kube::Job> decoded = job == nullptr ? std::nullopt : MustersJob(*job, taken_);
  if (!decoded) return;
  const YamlNode* spec = Given(*job, "spec");
  if (decoded->pod.run_times != nullptr) {
    if (const auto fault = FaultOf(*decoded->pod.run_times, "Job.");
        fault && !fault->place.starts_with("spec.template."))
      Refuse(Joined(path, fault->place), fault->message);
  }
  if (Given(*spec, "scheduling") != nullptr) return;
  if (SaysGang(&object) || SaysGang(job) || SaysGang(Given(*spec, "template"))) return;
  if (decoded->parallelism < 2 || !decoded->pod.pod_group.empty()) return;
  const bool indexed = spec->TextAt("completionMode") == "Indexed";
  if (Given(*spec, "backoffLimitPerIndex") != nullptr) {
    Note(Joined(path, "spec.backoffLimitPerIndex"), kPerIndex);
  } else if (!indexed) {
    Note(Joined(path, "spec.parallelism"), kNoGang);
  } else if (spec->TextAt("completions") != spec->TextAt("parallelism")) {
    Note(Joined(path, "spec.completions"), kArray);
  }
}

// `look`: at the object and its place in the document.
void ForEachObject(const std::vector<config::ManifestDocument>& documents,
                   const std::function<void(const config::ManifestDocument&, const YamlNode&,
                                            const std::string&)>& look) {
  for (const config::ManifestDocument& document : documents) {
    const YamlNode& root = document.source();
    if (document.kind() != "List") {
      look(document, root, "");
      continue;
    }
    const YamlNode* items = root.Find("items");
    for (std::size_t i = 0; items != nullptr && i < items->items.size(); ++i)
      look(document, items->items[i], Item("items", i));
  }
}

}  // namespace

PodCheck CheckPods(std::string_view text, const std::string& file_name) {
  PodCheck check;
  const Result<std::vector<config::ManifestDocument>> documents =
      config::ParseManifests(text, file_name);
  if (!documents.ok()) return check;
  FileContext context;
  ForEachObject(*documents, [&](const config::ManifestDocument&, const YamlNode& object,
                                const std::string&) { AddToContext(context, object); });
  ForEachObject(*documents, [&](const config::ManifestDocument& document, const YamlNode& object,
                                const std::string& place) {
    ObjectCheck(document, place, context, &check).Look(object);
  });
  return check;
}

}  // namespace muster::cli
