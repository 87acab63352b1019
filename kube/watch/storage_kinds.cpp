// What of PersistentVolumeClaims, PersistentVolumes, StorageClasses and CSINodes says which nodes
// may take a pod, and how they are read.
#include "kube/watch/storage_kinds.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cluster/base/check.hpp"
#include "cluster/base/quantity.hpp"
#include "kube/decode/kept_fields.hpp"
#include "kube/decode/kept_object.hpp"
#include "kube/decode/object_meta.hpp"
#include "kube/decode/pod_constraints.hpp"
#include "kube/json/json_view.hpp"

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
    {StorageKind::kNodeDrivers, "CSINode", "csinodes", "/apis/storage.k8s.io/v1/csinodes"},
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
      return StorageClassFields();
    case StorageKind::kNodeDrivers:
      break;
  }
  return NodeDriversFields();
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

// Of a claim's request and of a volume's capacity alike. What cannot be read is 0.
int64_t ReadBytes(const JsonView& amounts) {
  const JsonView storage = amounts.Get("storage");
  const std::string text = storage.QuantityText();
  if (const auto whole = cluster::ParseCount(text); whole.ok()) return *whole;
  const auto memory = cluster::ParseMemory(text, cluster::Round::kUp);
  constexpr int64_t kBytesPerMiB = int64_t{1} << 20;
  return memory.ok() ? memory->value() * kBytesPerMiB : 0;
}

// `spec` of either; but for how large it is.
cluster::VolumeTerms ReadTerms(const JsonView& spec) {
  cluster::VolumeTerms terms;
  const JsonView modes = spec.Get("accessModes");
  modes.Items([&](const JsonView& given) {
    const std::string_view mode = given.Text();
    if (mode == "ReadWriteOnce") terms.modes |= cluster::kOneNode;
    if (mode == "ReadOnlyMany") terms.modes |= cluster::kManyRead;
    if (mode == "ReadWriteMany") terms.modes |= cluster::kManyWrite;
    if (mode == "ReadWriteOncePod") terms.modes |= cluster::kOnePod;
  });
  terms.block = spec.Get("volumeMode").Text() == "Block";
  terms.attributes_class = spec.Get("volumeAttributesClassName").Text();
  return terms;
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
  claim.terms = ReadTerms(spec);
  claim.single_pod = (claim.terms.modes & cluster::kOnePod) != 0;
  const JsonView resources = spec.Get("resources");
  claim.terms.bytes = ReadBytes(resources.Get("requests"));
  const JsonView selector = spec.Get("selector");
  if (selector.present()) claim.selector = ReadLabelSelector(selector);
  return claim;
}

// A volume that the controller has not seen yet has no phase, or waits for it.
cluster::Volume::Phase PhaseOf(std::string_view phase, bool claimed, bool deleting) {
  using Phase = cluster::Volume::Phase;
  if (deleting) return Phase::kSpent;
  if (phase == "Bound") return Phase::kBound;
  const bool ready = phase.empty() || phase == "Available" || (claimed && phase == "Pending");
  return ready ? Phase::kFree : Phase::kSpent;
}

// Volumes of the plugins that Kubernetes once had in itself are attached by CSI drivers now, and
// count with theirs (kubernetes/csi-translation-lib, plugins/).
struct MigratedPlugin {
  std::string_view field;        // of a PersistentVolume's spec
  std::string_view provisioner;  // of a StorageClass
  std::string_view driver;
};
constexpr MigratedPlugin kMigrated[] = {
    {"awsElasticBlockStore", "kubernetes.io/aws-ebs", "ebs.csi.aws.com"},
    {"azureDisk", "kubernetes.io/azure-disk", "disk.csi.azure.com"},
    {"azureFile", "kubernetes.io/azure-file", "file.csi.azure.com"},
    {"cinder", "kubernetes.io/cinder", "cinder.csi.openstack.org"},
    {"gcePersistentDisk", "kubernetes.io/gce-pd", "pd.csi.storage.gke.io"},
    {"portworxVolume", "kubernetes.io/portworx-volume", "pxd.portworx.com"},
    {"vsphereVolume", "kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"},
};

std::string DriverOf(const JsonView& spec) {
  const JsonView csi = spec.Get("csi");
  if (csi.present()) return std::string(csi.Get("driver").Text());
  const auto* found = std::find_if(std::begin(kMigrated), std::end(kMigrated),
                                   [&](const auto& one) { return spec.Get(one.field).present(); });
  return found == std::end(kMigrated) ? std::string() : std::string(found->driver);
}

std::string ProvisionerOf(std::string_view told) {
  const auto* found = std::find_if(std::begin(kMigrated), std::end(kMigrated),
                                   [&](const auto& one) { return one.provisioner == told; });
  return std::string(found == std::end(kMigrated) ? told : found->driver);
}

struct ZoneLabel {
  std::string_view of_volume;
  std::string_view of_node;
};
constexpr std::string_view kZone = "topology.kubernetes.io/zone";
constexpr std::string_view kRegion = "topology.kubernetes.io/region";
constexpr ZoneLabel kZoneLabels[] = {{"failure-domain.beta.kubernetes.io/zone", kZone},
                                     {"failure-domain.beta.kubernetes.io/region", kRegion},
                                     {kZone, kZone},
                                     {kRegion, kRegion}};

// "a__b" are two.
std::vector<std::string> SplitZones(std::string_view text) {
  std::vector<std::string> zones;
  constexpr std::string_view kBetween = "__";
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(kBetween, at), text.size());
    zones.emplace_back(text.substr(at, end - at));
    at = end + kBetween.size();
  }
  return zones;
}

// A volume that has labels of zones is reached by the nodes of these, and by nodes that have no
// such label at all (kube-scheduler's plugin VolumeZone).
std::vector<NodeSelectorTerm> WithinZones(std::vector<NodeSelectorTerm> places,
                                          const cluster::Labels& labels) {
  NodeSelectorTerm inside;
  for (const ZoneLabel& label : kZoneLabels) {
    const auto found = labels.find(std::string(label.of_volume));
    if (found == labels.end()) continue;
    inside.match_expressions.push_back(
        {std::string(label.of_node), cluster::SelectorOperator::kIn, SplitZones(found->second)});
  }
  if (inside.match_expressions.empty()) return places;
  NodeSelectorTerm nowhere;
  for (const ZoneLabel& label : kZoneLabels)
    nowhere.match_expressions.push_back(
        {std::string(label.of_volume), cluster::SelectorOperator::kDoesNotExist, {}});
  if (places.empty()) return {std::move(inside), std::move(nowhere)};
  std::vector<NodeSelectorTerm> both;
  for (const NodeSelectorTerm& place : places) {
    for (const NodeSelectorTerm& zone : {inside, nowhere}) {
      NodeSelectorTerm& term = both.emplace_back(place);
      term.match_expressions.insert(term.match_expressions.end(), zone.match_expressions.begin(),
                                    zone.match_expressions.end());
    }
  }
  return both;
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
  const JsonView status = object.Get("status");
  volume.phase = PhaseOf(status.Get("phase").Text(), claim.present(), meta.deleting);
  volume.terms = ReadTerms(spec);
  volume.terms.bytes = ReadBytes(spec.Get("capacity"));
  const JsonView metadata = object.Get("metadata");
  const JsonView labels = metadata.Get("labels");
  volume.labels = labels.TextMap();
  volume.places =
      WithinZones(ReadNodeSelectorTerms(required.Get("nodeSelectorTerms")), volume.labels);
  const JsonView csi = spec.Get("csi");
  volume.driver = DriverOf(spec);
  if ((volume.terms.modes & (cluster::kManyRead | cluster::kManyWrite)) != 0)
    volume.handle = csi.Get("volumeHandle").Text();
  return volume;
}

cluster::StorageClass ReadClass(const JsonView& object, const ObjectMeta& meta) {
  cluster::StorageClass one;
  one.name = meta.key.name;
  one.provisioner = ProvisionerOf(object.Get("provisioner").Text());
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

// Drivers that do not say how many volumes the node takes are none.
cluster::NodeDrivers ReadNodeDrivers(const JsonView& object, const ObjectMeta& meta) {
  cluster::NodeDrivers read;
  read.node = meta.key.name;
  const JsonView spec = object.Get("spec");
  const JsonView drivers = spec.Get("drivers");
  drivers.Items([&](const JsonView& driver) {
    const JsonView allocatable = driver.Get("allocatable");
    const JsonView count = allocatable.Get("count");
    if (!count.present()) return;
    const JsonView name = driver.Get("name");
    read.limits.push_back({std::string(name.RequiredText()), count.Integer(0, 0, INT32_MAX)});
  });
  std::sort(read.limits.begin(), read.limits.end());
  return read;
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
  if (const auto* drivers = std::get_if<cluster::NodeDrivers>(&record)) return {"", drivers->node};
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
    case StorageKind::kNodeDrivers:
      record = ReadNodeDrivers(object, meta);
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
