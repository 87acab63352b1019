#include "extender/embedded/manifests.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "config/dns_names.hpp"
#include "config/documents/kubernetes_fields.hpp"
#include "config/documents/manifest.hpp"
#include "config/documents/node_pool.hpp"
#include "config/fields/amounts.hpp"
#include "config/policies/grouping_file.hpp"
#include "config/yaml/yaml_json.hpp"
#include "config/yaml/yaml_text.hpp"
#include "extender/embedded/manifest_warnings.hpp"
#include "extender/embedded/priority_classes.hpp"
#include "kube/admission/admission_review.hpp"
#include "kube/decode/decode.hpp"
#include "kube/decode/optional_kinds.hpp"
#include "kube/dialects/resource_names.hpp"
#include "kube/owners/owner_chain.hpp"
#include "kube/watch/storage_kinds.hpp"
#include "sim/api_server/random.hpp"
#include "sim/world/cluster.hpp"

namespace muster::extender {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::ObjectKey;
using cluster::Ok;
using cluster::Result;
using cluster::Status;
using config::YamlNode;

constexpr int kDefaultNodes = 16;
constexpr int kDefaultGpus = 8;

const kube::DecodeOptions kManifest{.source = kube::Source::kManifest};

constexpr const char* kMadeHere =
    "expected a Node, NodePool, PodGroup, PodGang, Pod, Job, PriorityClass, NodeResourceTopology, "
    "ComputeDomain, ResourceSlice, PersistentVolumeClaim, PersistentVolume, StorageClass or "
    "CSINode";

kube::DecodeOptions With(const PriorityClasses* classes) {
  kube::DecodeOptions options = kManifest;
  options.priority_classes = classes;
  return options;
}

// What the simulator reads of a pod (or of a Job's template) beside what Muster does.
Status AddSimulated(const YamlNode& pod, sim::PodRecord& record) {
  const YamlNode* metadata = pod.Find("metadata");
  const YamlNode* annotations = metadata == nullptr ? nullptr : metadata->Find("annotations");
  if (annotations != nullptr) {
    for (const config::YamlEntry& entry : annotations->entries) {
      if (entry.value.scalar()) record.annotations[entry.key] = entry.value.text;
    }
  }
  if (const auto found = record.annotations.find(kRunsForAnnotation);
      found != record.annotations.end()) {
    record.runs_for = config::ParseDuration(found->second);
    if (!record.runs_for) {
      return Error{Code::kInvalidArgument,
                   "expected a duration such as 90s or 1h30m, found \"" + found->second + "\"",
                   std::string("metadata.annotations[") + kRunsForAnnotation + "]"};
    }
  }
  if (const YamlNode* spec = pod.Find("spec"); spec != nullptr) {
    const auto grace = config::ParseWhole(spec->TextAt("terminationGracePeriodSeconds"));
    if (grace) record.pod.grace = cluster::Seconds(*grace);
    if (spec->Find("resourceClaims") != nullptr) {
      const Result<std::string> json = config::ToJson(pod, "");
      if (json.ok()) record.claim_templates = kube::ReadClaimTemplates(*json);
    }
  }
  return Ok{};
}

// One object: its JSON for Muster's own decoders, its tree for the rest.
struct Source {
  const std::string& json;
  const YamlNode& tree;
  Malformed malformed;
  const PriorityClasses* classes;  // that pods may name; null: they are not known
};

// A defect reads "place: what is wrong".
Status CheckDefect(const std::string& defect, Malformed malformed) {
  if (defect.empty() || malformed == Malformed::kKept) return Ok{};
  const std::size_t colon = defect.find(": ");
  if (colon == std::string::npos) return Error{Code::kInvalidArgument, defect, ""};
  return Error{Code::kInvalidArgument, defect.substr(colon + 2), defect.substr(0, colon)};
}

Result<ManifestObject> ReadPodGroup(const Source& source, std::vector<std::string>& warnings) {
  Result<cluster::PodGroup> group = kube::DecodePodGroup(source.json, kManifest);
  if (!group.ok()) return group.error();
  if (Status fine = CheckDefect(group->defect, source.malformed); !fine.ok()) return fine.error();
  WarnOfUnheeded(*group, source.tree.TextAt("kind"), warnings);
  return ManifestObject(*std::move(group));
}

Result<ManifestObject> ReadPod(const Source& source) {
  Result<cluster::Pod> pod = kube::DecodePod(source.json, With(source.classes));
  if (!pod.ok()) return pod.error();
  if (Status fine = CheckDefect(pod->defect, source.malformed); !fine.ok()) return fine.error();
  sim::PodRecord record;
  record.pod = *std::move(pod);
  record.json = source.json;
  if (Status added = AddSimulated(source.tree, record); !added.ok()) return added.error();
  return ManifestObject(std::move(record));
}

Result<ManifestObject> ReadJob(const Source& source) {
  Result<kube::Job> job = kube::DecodeJob(source.json, With(source.classes));
  if (!job.ok()) return job.error();
  if (Status fine = CheckDefect(job->pod.defect, source.malformed); !fine.ok()) return fine.error();
  sim::JobRecord record;
  record.json = source.json;
  record.key = job->key;
  record.parallelism = job->suspend ? 0 : job->parallelism;
  record.completions = job->completions;
  record.pod.pod = std::move(job->pod);
  const YamlNode* spec = source.tree.Find("spec");
  if (spec == nullptr) return ManifestObject(std::move(record));
  if (const auto limit = config::ParseWhole(spec->TextAt("backoffLimit"))) {
    record.backoff_limit = *limit;
  }
  if (const YamlNode* pod = spec->Find("template"); pod != nullptr) {
    const Status added = AddSimulated(*pod, record.pod);
    if (!added.ok()) return added.error().At("spec.template");
  }
  return ManifestObject(std::move(record));
}

// What the API server refuses, or what would count as not said.
Status CheckOptional(const kube::DecodedOptional& object) {
  if (!object.ignored.empty()) return object.ignored.front();
  const auto* domain = std::get_if<kube::ComputeDomain>(&object.news);
  if (domain == nullptr || !domain->claim_template.name.empty()) return Ok{};
  return Error{Code::kInvalidArgument, "expected the name of a ResourceClaimTemplate",
               "spec.channel.resourceClaimTemplate.name"};
}

Result<ManifestObject> ReadOptional(kube::OptionalKind kind, const Source& source,
                                    std::vector<std::string>& warnings) {
  const Result<kube::DecodedOptional> object = kube::DecodeOptional(kind, source.json, kManifest);
  if (!object.ok()) return object.error();
  if (source.malformed == Malformed::kRefused) {
    if (Status fine = CheckOptional(*object); !fine.ok()) return fine.error();
  }
  for (const Error& ignored : object->ignored) warnings.push_back(ignored.ToString());
  sim::OtherRecord record;
  record.kind = kube::NamesOf(kind).object;
  record.key = object->key;
  record.json = source.json;
  return ManifestObject(std::move(record));
}

Result<ManifestObject> ReadStorage(cluster::StorageKind kind, const Source& source) {
  Result<cluster::StorageRecord> storage = kube::DecodeStorage(kind, source.json, kManifest);
  if (!storage.ok()) return storage.error();
  sim::OtherRecord record;
  record.kind = source.tree.TextAt("kind");
  record.key = kube::KeyOf(*storage);
  record.json = source.json;
  record.storage = std::make_shared<const cluster::StorageRecord>(*std::move(storage));
  return ManifestObject(std::move(record));
}

// A kind that grouping rules name.
bool IsOwner(const YamlNode& tree) {
  const kube::OwnerKey key{tree.TextAt("apiVersion"), tree.TextAt("kind"), "", "", ""};
  return kube::FindRule(config::ShippedGroupingRules(), key) != nullptr;
}

Result<ManifestObject> ReadOwner(const Source& source) {
  const YamlNode* metadata = source.tree.Find("metadata");
  sim::OtherRecord record;
  record.kind = source.tree.TextAt("kind");
  if (metadata != nullptr) record.key = {metadata->TextAt("namespace"), metadata->TextAt("name")};
  if (record.key.ns.empty()) record.key.ns = "default";
  record.json = source.json;
  return ManifestObject(std::move(record));
}

// A Job of Volcano is none of Kubernetes': groups with a dot are other projects'.
bool IsMadeHere(const YamlNode& object) {
  constexpr std::array<std::string_view, 6> kKinds = {"Node", "PodGroup", "PodGang",
                                                      "Pod",  "Job",      kPriorityClass};
  const std::string kind = object.TextAt("kind");
  const std::string version = object.TextAt("apiVersion");
  const std::size_t slash = version.find('/');
  const bool of_project = slash != std::string::npos && version.find('.') < slash;
  if (of_project && (kind == "Node" || kind == "Pod" || kind == "Job")) return false;
  return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end() ||
         kube::FindOptionalKind(kind) != nullptr || kube::FindStorageKind(kind).has_value();
}

Result<ManifestObject> ReadOne(const Source& source, std::vector<std::string>& warnings) {
  const std::string kind = source.tree.TextAt("kind");
  if (kind == "Node") {
    Result<kube::DecodedNode> node = kube::DecodeNode(source.json, kManifest);
    if (!node.ok()) return node.error();
    sim::NodeRecord record;
    record.node = std::move(node->node);
    record.own_numa_policy = node->says_numa_policy;
    warnings = std::move(node->warnings);
    return ManifestObject(std::move(record));
  }
  if (kind == "PodGroup" || kind == "PodGang") return ReadPodGroup(source, warnings);
  if (kind == "Pod") return ReadPod(source);
  if (kind == "Job") return ReadJob(source);
  if (kind == kPriorityClass) {
    Result<sim::OtherRecord> one = PriorityClassRecord(source.json);
    if (!one.ok()) return one.error();
    return ManifestObject(*std::move(one));
  }
  if (const auto* names = kube::FindOptionalKind(kind))
    return ReadOptional(names->kind, source, warnings);
  if (const auto storage = kube::FindStorageKind(kind)) return ReadStorage(*storage, source);
  // Nothing makes the pods of such an object here: handed in by itself it would do nothing.
  if (source.malformed == Malformed::kKept && IsOwner(source.tree)) return ReadOwner(source);
  return Error{Code::kInvalidArgument, std::string(kMadeHere) + ", found \"" + kind + "\"", "kind"};
}

// As the API server does.
Status CheckName(const ManifestObject& object) {
  const ObjectKey key = KeyOf(object);
  if (!config::IsDnsSubdomain(key.name)) {
    return Error{Code::kInvalidArgument,
                 "expected a DNS-1123 subdomain (lower-case letters, digits, '-' and '.', at most "
                 "253), found " +
                     config::Quoted(key.name),
                 "metadata.name"};
  }
  if (!key.ns.empty() && !config::IsDnsLabel(key.ns)) {
    return Error{Code::kInvalidArgument,
                 "expected a DNS-1123 label (lower-case letters, digits and '-', at most 63), "
                 "found " +
                     config::Quoted(key.ns),
                 "metadata.namespace"};
  }
  return Ok{};
}

// A decoder's paths begin with the kind ("Pod.spec"), a document's do not.
Error WithoutKind(Error error, const std::string& kind) {
  if (!kind.empty() && error.place.compare(0, kind.size(), kind) == 0) {
    error.place.erase(0, kind.size());
    if (!error.place.empty() && error.place.front() == '.') error.place.erase(0, 1);
  }
  return error;
}

// As the API server makes one of generateName; others for other numbers.
std::string GeneratedEnding(uint64_t number) {
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";  // as Kubernetes: no words
  std::string ending;
  sim::Random random(number);
  while (ending.size() < 5) ending.push_back(kLetters[random.Below(kLetters.size())]);
  return ending;
}

// With a name that is made; nothing: it has one, or is to get none.
std::optional<YamlNode> WithGeneratedName(const YamlNode& object, uint64_t number) {
  YamlNode named = object;
  for (config::YamlEntry& entry : named.entries) {
    if (entry.key != "metadata" || entry.value.Find("name") != nullptr) continue;
    const std::string prefix = entry.value.TextAt("generateName");
    if (prefix.empty()) continue;
    config::YamlEntry name;
    name.key = "name";
    name.mark = entry.mark;
    name.value.kind = YamlNode::Kind::kText;
    name.value.mark = entry.mark;
    name.value.text = prefix + GeneratedEnding(number);
    entry.value.entries.push_back(std::move(name));
    return named;
  }
  return std::nullopt;
}

// Reads documents and keeps all that is wrong with them.
class ManifestReader {
 public:
  // `classes`: nothing where they are not known. `version`: of the cluster.
  ManifestReader(Malformed malformed, std::optional<PriorityClasses> classes, int64_t version)
      : malformed_(malformed),
        classes_(std::move(classes)),
        names_(static_cast<uint64_t>(version) << 32U) {
    if (malformed == Malformed::kRefused) fields_.emplace(kube::WrongResource);
  }

  void Read(Result<std::vector<config::ManifestDocument>> parsed) {
    if (!parsed.ok()) return Refuse(parsed.error());
    const Result<std::vector<config::ManifestDocument>> documents =
        config::ExpandNodePools(*std::move(parsed));
    if (!documents.ok()) return Refuse(documents.error());
    if (classes_) AddClasses(*documents, *classes_);
    for (const config::ManifestDocument& document : *documents) ReadDocument(document);
  }

  const std::vector<Error>& faults() const { return faults_; }
  const std::set<std::string>& others() const { return others_; }
  int64_t objects() const { return objects_; }
  // What was left out, each with its place and kind.
  const std::vector<Error>& left_out() const { return left_out_; }
  Manifests TakeManifests() { return std::move(manifests_); }

 private:
  void ReadDocument(const config::ManifestDocument& document);
  void ReadObject(const config::ManifestDocument& document, const Source& source,
                  const std::string& path);
  void LookAtNamespace(const config::ManifestDocument& document, const YamlNode& object,
                       const std::string& path);
  void LeaveOut(const config::ManifestDocument& document, const YamlNode& object,
                const std::string& path, const std::string& what = {});
  // What is to be created may leave its name to the API server; what exists has one.
  Result<ManifestObject> ReadNamed(const Source& source, std::vector<std::string>& warnings) const {
    const auto named =
        malformed_ == Malformed::kRefused
            ? WithGeneratedName(source.tree, names_ + static_cast<uint64_t>(objects_))
            : std::nullopt;
    if (!named) return ReadOne(source, warnings);
    const Result<std::string> json = config::ToJson(*named, "");
    return json.ok() ? ReadOne(SourceOf(*json, *named), warnings) : ReadOne(source, warnings);
  }
  Source SourceOf(const std::string& json, const YamlNode& tree) const {
    return {json, tree, malformed_, classes_ ? &*classes_ : nullptr};
  }
  // The nodes of a pool have the same faults.
  void Refuse(const Error& fault) {
    if (told_.insert(fault.ToString()).second) faults_.push_back(fault);
  }

  const Malformed malformed_;
  std::optional<PriorityClasses> classes_;
  const uint64_t names_;  // the first number of names that are made
  std::optional<config::KubernetesFields> fields_;
  Manifests manifests_;
  std::vector<Error> faults_;
  std::set<std::string> told_;
  std::set<std::string> others_;
  std::vector<Error> left_out_;
  int64_t objects_ = 0;
};

void ManifestReader::ReadObject(const config::ManifestDocument& document, const Source& source,
                                const std::string& path) {
  const std::string kind = source.tree.TextAt("kind");
  const auto refuse = [&](const Error& error) {
    Refuse(document.Locate(path.empty() ? error : error.At(path)));
  };
  ++objects_;
  const std::vector<Error> wrong = fields_ ? fields_->FaultsOf(source.tree) : std::vector<Error>();
  for (const Error& fault : wrong) refuse(fault);
  if (fields_ && !fields_->Knows(source.tree)) others_.insert(kind);
  if (!wrong.empty()) return;
  if (kind == "Namespace") return LookAtNamespace(document, source.tree, path);
  if (fields_ && !IsMadeHere(source.tree)) return LeaveOut(document, source.tree, path);
  std::vector<std::string> warnings;
  Result<ManifestObject> object = ReadNamed(source, warnings);
  if (!object.ok()) return refuse(WithoutKind(object.error(), kind));
  if (Status named = CheckName(*object); !named.ok()) return refuse(named.error());
  for (const std::string& warning : warnings)
    manifests_.warnings.push_back(LocatedWarning(document, source.tree, path, warning));
  manifests_.objects.push_back(*std::move(object));
}

void ManifestReader::LeaveOut(const config::ManifestDocument& document, const YamlNode& object,
                              const std::string& path, const std::string& what) {
  const YamlNode* metadata = object.Find("metadata");
  const std::string kind = object.TextAt("kind");
  left_out_.push_back(document.Locate(
      {Code::kInvalidArgument,
       kind + " " + (metadata == nullptr ? std::string() : metadata->TextAt("name")) + ": " +
           (what.empty() ? object.TextAt("apiVersion") + " " + kind : what) + " is not simulated",
       path}));
}

// It is there with its objects; what its label does is the webhook's business.
void ManifestReader::LookAtNamespace(const config::ManifestDocument& document,
                                     const YamlNode& object, const std::string& path) {
  const YamlNode* metadata = object.Find("metadata");
  const YamlNode* labels = metadata == nullptr ? nullptr : metadata->Find("labels");
  if (labels != nullptr && labels->Find(kube::kScheduleLabel) != nullptr)
    LeaveOut(document, object, path, std::string("label ") + kube::kScheduleLabel);
}

void ManifestReader::ReadDocument(const config::ManifestDocument& document) {
  const YamlNode& root = document.source();
  if (document.kind() != "List") return ReadObject(document, SourceOf(document.json(), root), "");
  const YamlNode* items = root.Find("items");
  if (items == nullptr) return;
  for (std::size_t i = 0; i < items->items.size(); ++i) {
    const Result<std::string> json = config::ToJson(items->items[i], document.file_name());
    if (!json.ok()) return Refuse(json.error());
    ReadObject(document, SourceOf(*json, items->items[i]), "items[" + std::to_string(i) + "]");
  }
}

Result<Manifests> ReadDocuments(Result<std::vector<config::ManifestDocument>> parsed,
                                Malformed malformed, PriorityClasses classes = {},
                                int64_t version = 0) {
  ManifestReader reader(malformed, std::move(classes), version);
  reader.Read(std::move(parsed));
  const std::vector<Error>& faults = reader.faults();
  if (faults.empty()) {
    Manifests manifests = reader.TakeManifests();
    const std::vector<Error>& left_out = reader.left_out();
    if (manifests.objects.empty() && !left_out.empty()) {
      Error none = left_out.front();
      none.message += ", and the file has nothing else: " + std::string(kMadeHere);
      return none;
    }
    for (const Error& one : left_out)
      manifests.warnings.push_back(one.ToString() + " and left out");
    CutWarnings(manifests.warnings);
    return manifests;
  }
  Error first = faults.front();
  if (faults.size() > 1)
    first.message +=
        " (the first fault of " + std::to_string(faults.size()) + "; muster check tells all)";
  return first;
}

bool Exists(const sim::ApiServer& api, const ManifestObject& object) {
  const ObjectKey key = KeyOf(object);
  return std::visit(
      [&](const auto& one) {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, sim::NodeRecord>) {
          return api.FindNode(key.name) != nullptr;
        } else if constexpr (std::is_same_v<T, sim::OtherRecord>) {
          return api.FindOther(one.kind, key) != nullptr;
        } else if constexpr (std::is_same_v<T, cluster::PodGroup>) {
          return api.FindPodGroup(key) != nullptr;
        } else if constexpr (std::is_same_v<T, sim::PodRecord>) {
          return api.FindPod(key) != nullptr;
        } else {
          return api.FindJob(key) != nullptr;
        }
      },
      object);
}

Status CreateOne(sim::ApiServer& api, const ManifestObject& object) {
  const sim::Actor user = sim::Actor::kUser;
  const auto status = [](const auto& result) -> Status {
    if (!result.ok()) return result.error();
    return Ok{};
  };
  return std::visit(
      [&](const auto& one) {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, sim::NodeRecord>) {
          return status(api.CreateNode(user, one.node, one.own_numa_policy));
        } else if constexpr (std::is_same_v<T, sim::OtherRecord>) {
          return status(api.CreateOther(user, one));
        } else if constexpr (std::is_same_v<T, cluster::PodGroup>) {
          return status(api.CreatePodGroup(user, one));
        } else if constexpr (std::is_same_v<T, sim::PodRecord>) {
          return status(api.CreatePod(user, one));
        } else {
          return status(api.CreateJob(user, one));
        }
      },
      object);
}

// Undoes CreateOne for an object that was created a moment ago.
void DeleteOne(sim::ApiServer& api, const ManifestObject& object) {
  const sim::Actor user = sim::Actor::kUser;
  const ObjectKey key = KeyOf(object);
  const Status deleted = std::visit(
      [&](const auto& one) {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, sim::NodeRecord>) {
          return api.DeleteNode(user, key.name);
        } else if constexpr (std::is_same_v<T, sim::OtherRecord>) {
          return api.DeleteOther(user, one.kind, key);
        } else if constexpr (std::is_same_v<T, cluster::PodGroup>) {
          return api.DeletePodGroup(user, key);
        } else if constexpr (std::is_same_v<T, sim::PodRecord>) {
          return api.DeletePod(user, engine::PodRef{key, {}}, cluster::Duration(0));
        } else {
          return api.DeleteJob(user, key);
        }
      },
      object);
  MUSTER_CHECK(deleted.ok());
}

std::string Named(const ManifestObject& object) {
  const ObjectKey key = KeyOf(object);
  return KindOf(object) + " " + (key.ns.empty() ? key.name : key.ToString());
}

}  // namespace

std::string KindOf(const ManifestObject& object) {
  constexpr const char* kKinds[] = {"Node", "PodGroup", "Pod", "Job"};
  static_assert(std::variant_size_v<ManifestObject> == std::size(kKinds) + 1);
  if (const auto* other = std::get_if<sim::OtherRecord>(&object)) return other->kind;
  return kKinds[object.index()];
}

ObjectKey KeyOf(const ManifestObject& object) {
  return std::visit(
      [](const auto& one) {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, sim::NodeRecord>) {
          return ObjectKey{"", one.node.name};
        } else if constexpr (std::is_same_v<T, sim::PodRecord>) {
          return one.pod.key;
        } else {
          return one.key;
        }
      },
      object);
}

Result<Manifests> ReadManifests(std::string_view text, const std::string& file_name,
                                Malformed malformed, PriorityClasses classes, int64_t version) {
  return ReadDocuments(config::ParseManifests(text, file_name), malformed, std::move(classes),
                       version);
}

ManifestCheck CheckManifests(std::string_view text, const std::string& file_name) {
  ManifestReader reader(Malformed::kRefused, std::nullopt, 0);
  reader.Read(config::ParseManifests(text, file_name));
  std::vector<std::string> warnings = reader.TakeManifests().warnings;
  CutWarnings(warnings);
  return {reader.faults(), std::move(warnings), reader.objects(), reader.others()};
}

Result<Manifests> ReadManifestFile(const std::string& path, Malformed malformed) {
  return ReadDocuments(config::ParseManifestFile(path), malformed);
}

Manifests DefaultCluster() {
  std::vector<ManifestObject> nodes;
  for (int i = 0; i < kDefaultNodes; ++i) {
    cluster::Node node = sim::GpuNode(kDefaultGpus);
    node.name = (i < 10 ? "node-0" : "node-") + std::to_string(i);
    nodes.emplace_back(sim::NodeRecord{.node = std::move(node)});
  }
  return {std::move(nodes)};
}

Status CreateObjects(sim::ApiServer& api, const std::vector<ManifestObject>& objects) {
  std::set<std::pair<std::string, ObjectKey>> named;
  for (const ManifestObject& object : objects) {
    if (!named.emplace(KindOf(object), KeyOf(object)).second) {
      return Error{Code::kConflict, Named(object) + " is in the request twice", ""};
    }
    if (Exists(api, object)) return Error{Code::kConflict, Named(object) + " exists already", ""};
  }
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (Status created = CreateOne(api, objects[i]); !created.ok()) {
      while (i-- > 0) DeleteOne(api, objects[i]);
      return created.error();
    }
  }
  return Ok{};
}

}  // namespace muster::extender
