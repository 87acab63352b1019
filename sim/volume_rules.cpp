#include "sim/volume_rules.hpp"

#include <algorithm>

namespace muster::sim {

using cluster::Node;
using cluster::NodeSelectorTerm;
using cluster::ObjectKey;
using cluster::Pod;
using cluster::VolumeClaim;

namespace {

bool AnyMatches(const std::vector<NodeSelectorTerm>& terms, const Node& node) {
  for (const NodeSelectorTerm& term : terms) {
    if (cluster::Matches(term, node.name, node.labels)) return true;
  }
  return false;
}

// One that is not given, or was deleted, forgets what it was.
template <typename Key, typename Record>
void Keep(std::map<Key, Record>& all, const Key& key, const cluster::StorageRecord& given,
          bool gone) {
  if (gone) {
    all.erase(key);
  } else {
    all[key] = std::get<Record>(given);
  }
}

}  // namespace

void VolumeRules::OnStorage(Change change, const OtherRecord& record) {
  any_ = true;
  const bool gone = change == Change::kDeleted;
  switch (cluster::KindOf(*record.storage)) {
    case cluster::StorageKind::kClaim:
      return Keep(claims_, record.key, *record.storage, gone);
    case cluster::StorageKind::kVolume:
      return Keep(volumes_, record.key.name, *record.storage, gone);
    case cluster::StorageKind::kClass:
      return Keep(classes_, record.key.name, *record.storage, gone);
  }
}

VolumeRules::Claims VolumeRules::ClaimsOf(const Pod& pod) {
  Claims claims;
  if (pod.volumes == nullptr) return claims;
  for (const cluster::ClaimUse& use : pod.volumes->claims)
    claims.push_back({pod.key.ns, use.own ? pod.key.name + "-" + use.name : use.name});
  return claims;
}

void VolumeRules::Hold(const Pod& pod) {
  if (pod.volumes != nullptr) held_[pod.uid] = ClaimsOf(pod);
}

void VolumeRules::Release(const cluster::PodUid& pod) { held_.erase(pod); }

std::string VolumeRules::Refuses(const Pod& pod) const {
  if (!any_) return "";
  for (const ObjectKey& key : ClaimsOf(pod)) {
    const auto found = claims_.find(key);
    if (found == claims_.end()) return "persistentvolumeclaim \"" + key.name + "\" not found";
    const VolumeClaim& claim = found->second;
    if (claim.lost) {
      return "persistentvolumeclaim \"" + key.name +
             "\" bound to non-existent persistentvolume \"" + claim.volume + "\"";
    }
    if (claim.deleting) return "persistentvolumeclaim \"" + key.name + "\" is being deleted";
    if (claim.single_pod) {
      for (const auto& [uid, held] : held_) {
        if (uid != pod.uid && std::find(held.begin(), held.end(), key) != held.end()) {
          return "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod "
                 "access mode";
        }
      }
    }
    const auto of = classes_.find(claim.storage_class);
    const bool waits = of != classes_.end() && of->second.waits_for_pod;
    if (!claim.bound && !waits) return "pod has unbound immediate PersistentVolumeClaims";
    if (claim.bound && !volumes_.contains(claim.volume))
      return "persistentvolume \"" + claim.volume + "\" not found";
  }
  return "";
}

bool VolumeRules::Reaches(const Pod& pod, const Node& node) const {
  if (!any_) return true;
  for (const ObjectKey& key : ClaimsOf(pod)) {
    const VolumeClaim& claim = claims_.at(key);
    if (!claim.bound && !ReachesUnbound(claim, node)) return false;
    if (!claim.bound) continue;
    const std::vector<NodeSelectorTerm>& places = volumes_.at(claim.volume).places;
    if (!places.empty() && !AnyMatches(places, node)) return false;
  }
  return true;
}

// A volume that is there is taken before one is made.
bool VolumeRules::ReachesUnbound(const VolumeClaim& claim, const Node& node) const {
  if (!claim.selected_node.empty() && claim.selected_node != node.name) return false;
  for (const auto& [name, volume] : volumes_) {
    const bool free = volume.claim.name.empty() || volume.claim == claim.key;
    if (!free || volume.storage_class != claim.storage_class) continue;
    if (volume.places.empty() || AnyMatches(volume.places, node)) return true;
  }
  const cluster::StorageClass& of = classes_.at(claim.storage_class);
  if (of.provisioner.empty() || of.provisioner == cluster::kNoProvisioner) return false;
  return of.places.empty() || AnyMatches(of.places, node);
}

}  // namespace muster::sim
