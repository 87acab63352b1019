// What of PersistentVolumeClaims, PersistentVolumes and StorageClasses says which nodes
// may take a pod, and how they are read.
#include "kube/storage_kinds.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cluster/check.hpp"
#include "kube/json_view.hpp"
#include "kube/kept_fields.hpp"
#include "kube/kept_object.hpp"
#include "kube/object_meta.hpp"
#include "kube/pod_constraints.hpp"

namespace muster::kube {

using cluster::NodeSelectorTerm;
using cluster::ObjectKey;
using cluster::Result;
using cluster::StorageKind;
using cluster::StorageRecord;

namespace {

constexpr StorageKindNames kKinds[] = {
    {StorageKind::kClaim, "PersistentVolumeClaim", "persistentvolumeclaims",
     "/api/v1/persistentvolumeclaims"},
    {StorageKind::kVolume, "PersistentVolume", "persistentvolumes", "/api/v1/persistentvolumes"},
    {StorageKind::kClass, "StorageClass", "storageclasses",
     "/apis/storage.k8s.io/v1/storageclasses"},
};

const StorageKindNames& NamesOf(StorageKind kind) {
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const auto& names) { return names.kind == kind; });
  MUSTER_CHECK(found != std::end(kKinds));
  return *found;
}

std::span<const Kept> FieldsOf(StorageKind kind) {
  switch (kind) {
    case StorageKind::kClaim:
      return VolumeClaimFields();
    case StorageKind::kVolume:
      return VolumeFields();
    case StorageKind::kClass:
      break;
  }
  return StorageClassFields();
}

// The pod that controls it.
std::string OwnerPod(const JsonView& metadata) {
  std::string uid;
  const JsonView owners = metadata.Get("ownerReferences");
  owners.Items([&](const JsonView& owner) {
    if (owner.Get("kind").Text() == "Pod" && owner.Get("controller").Flag(false))
      uid = owner.Get("uid").Text();
  });
  return uid;
}

cluster::VolumeClaim ReadClaim(const JsonView& object, const ObjectMeta& meta) {
  cluster::VolumeClaim claim;
  claim.key = meta.key;
  claim.deleting = meta.deleting;
  const JsonView metadata = object.Get("metadata");
  const JsonView annotations = metadata.Get("annotations");
  const JsonView spec = object.Get("spec");
  const JsonView status = object.Get("status");
  const JsonView completed = annotations.Get("pv.kubernetes.io/bind-completed");
  const std::string_view phase = status.Get("phase").Text();
  claim.owner_pod = OwnerPod(metadata);
  claim.selected_node = annotations.Get("volume.kubernetes.io/selected-node").Text();
  claim.volume = spec.Get("volumeName").Text();
  claim.storage_class = spec.Get("storageClassName").Text();
  claim.bound = !claim.volume.empty() && (completed.present() || phase == "Bound");
  claim.lost = phase == "Lost";
  const JsonView modes = spec.Get("accessModes");
  modes.Items([&](const JsonView& mode) {
    if (mode.Text() == "ReadWriteOncePod") claim.single_pod = true;
  });
  return claim;
}

cluster::Volume ReadVolume(const JsonView& object, const ObjectMeta& meta) {
  cluster::Volume volume;
  volume.name = meta.key.name;
  const JsonView spec = object.Get("spec");
  const JsonView claim = spec.Get("claimRef");
  const JsonView affinity = spec.Get("nodeAffinity");
  const JsonView required = affinity.Get("required");
  volume.storage_class = spec.Get("storageClassName").Text();
  if (claim.present())
    volume.claim = {std::string(claim.Get("namespace").Text()),
                    std::string(claim.Get("name").Text())};
  volume.places = ReadNodeSelectorTerms(required.Get("nodeSelectorTerms"));
  return volume;
}

cluster::StorageClass ReadClass(const JsonView& object, const ObjectMeta& meta) {
  cluster::StorageClass one;
  one.name = meta.key.name;
  one.provisioner = object.Get("provisioner").Text();
  one.waits_for_pod = object.Get("volumeBindingMode").Text() == "WaitForFirstConsumer";
  const JsonView topologies = object.Get("allowedTopologies");
  topologies.Items([&](const JsonView& topology) {
    NodeSelectorTerm term;
    const JsonView expressions = topology.Get("matchLabelExpressions");
    expressions.Items([&](const JsonView& wants) {
      cluster::SelectorRequirement requirement;
      requirement.key = wants.Get("key").RequiredText();
      const JsonView values = wants.Get("values");
      values.Items([&](const JsonView& value) { requirement.values.emplace_back(value.Text()); });
      term.match_expressions.push_back(std::move(requirement));
    });
    // One without expressions allows every node.
    if (!term.match_expressions.empty()) one.places.push_back(std::move(term));
  });
  return one;
}

}  // namespace

std::span<const StorageKindNames> StorageKinds() { return kKinds; }

std::optional<StorageKind> FindStorageKind(std::string_view object) {
  const auto* found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const auto& names) { return names.object == object; });
  return found == std::end(kKinds) ? std::nullopt : std::optional(found->kind);
}

ObjectKey KeyOf(const StorageRecord& record) {
  if (const auto* claim = std::get_if<cluster::VolumeClaim>(&record)) return claim->key;
  if (const auto* volume = std::get_if<cluster::Volume>(&record)) return {"", volume->name};
  return {"", std::get<cluster::StorageClass>(record).name};
}

Result<StorageRecord> DecodeStorage(StorageKind kind, const JsonNode& json,
                                    const DecodeOptions& options) {
  JsonProblems problems;
  const std::string_view name = NamesOf(kind).object;
  const JsonView object(json, name, problems);
  const Scope scope = kind == StorageKind::kClaim ? Scope::kNamespace : Scope::kCluster;
  const ObjectMeta meta = ReadObjectMeta(object, name, scope, options.source);
  StorageRecord record;
  switch (kind) {
    case StorageKind::kClaim:
      record = ReadClaim(object, meta);
      break;
    case StorageKind::kVolume:
      record = ReadVolume(object, meta);
      break;
    case StorageKind::kClass:
      record = ReadClass(object, meta);
      break;
  }
  if (!problems.none()) return problems.first();
  return record;
}

Result<StorageRecord> DecodeStorage(StorageKind kind, std::string_view json,
                                    const DecodeOptions& options) {
  const Result<KeptObject> kept =
      KeptObject::Read(json, FieldsOf(kind), NamesOf(kind).object, options);
  if (!kept.ok()) return kept.error();
  return DecodeStorage(kind, kept->node(), kept->With(options));
}

// Known by their names, so that the UIDs need not be kept of each.
Resource StorageResource(StorageKind kind) {
  const StorageKindNames& names = NamesOf(kind);
  const auto removed = [kind](const std::string& name) -> News {
    const size_t slash = name.find('/');
    ObjectKey key{"", name};
    if (slash != std::string::npos) key = {name.substr(0, slash), name.substr(slash + 1)};
    return engine::Fact(engine::StorageRemoved{kind, std::move(key)});
  };
  return {std::string(names.resource),
          std::string(names.path),
          names.object,
          FieldsOf(kind),
          [kind](const KeptObject& object) -> Result<Observed> {
            Result<StorageRecord> record = DecodeStorage(kind, object.node(), object.With({}));
            if (!record.ok()) return record.error();
            const ObjectKey key = KeyOf(*record);
            std::vector<std::string> warnings;
            if (object.left_out() != nullptr) warnings.push_back(object.left_out()->ToString());
            return Observed{"", key.ns.empty() ? key.name : key.ToString(),
                            engine::Fact(*std::move(record)), std::move(warnings)};
          },
          removed,
          removed};
}

}  // namespace muster::kube
