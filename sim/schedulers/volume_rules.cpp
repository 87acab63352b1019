#include "sim/schedulers/volume_rules.hpp"

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
    case cluster::StorageKind::kNodeDrivers:
      return Keep(drivers_, record.key.name, *record.storage, gone);
  }
}

VolumeRules::Claims VolumeRules::ClaimsOf(const Pod& pod) {
  Claims claims;
  if (pod.volumes == nullptr) return claims;
  for (const cluster::ClaimUse& use : pod.volumes->claims)
    claims.push_back({pod.key.ns, use.own ? pod.key.name + "-" + use.name : use.name});
  return claims;
}

void VolumeRules::Hold(const Pod& pod, const Node* node) {
  if (pod.volumes == nullptr) return;
  held_[pod.uid] = ClaimsOf(pod);
  if (node == nullptr || assumed_.contains(pod.uid)) return;
  if (std::optional<Matches> found = Match(pod, *node)) assumed_[pod.uid] = *std::move(found);
}

void VolumeRules::Release(const cluster::PodUid& pod) {
  held_.erase(pod);
  assumed_.erase(pod);
}

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
    if (!claim.bound) continue;
    const std::vector<NodeSelectorTerm>& places = volumes_.at(claim.volume).places;
    if (!places.empty() && !AnyMatches(places, node)) return false;
  }
  return true;
}

bool VolumeRules::Binds(const Pod& pod, const Node& node) const {
  return !any_ || Match(pod, node).has_value();
}

std::string VolumeRules::Find(const VolumeClaim& claim, const Node& node,
                              const Matches& chosen) const {
  const auto is_in = [](const Matches& matches, const std::string& volume) {
    return std::any_of(matches.begin(), matches.end(),
                       [&](const auto& match) { return match.second == volume; });
  };
  const cluster::Volume* smallest = nullptr;
  for (const auto& [name, volume] : volumes_) {
    if (volume.storage_class != claim.storage_class || is_in(chosen, name)) continue;
    bool elsewhere = false;
    bool own = volume.claim == claim.key;
    for (const auto& [uid, matches] : assumed_) {
      const auto match = matches.find(claim.key);
      const bool its = match != matches.end() && match->second == name;
      own = own || its;
      elsewhere = elsewhere || (!its && is_in(matches, name));
    }
    if (elsewhere || (!volume.claim.name.empty() && !own)) continue;
    if (volume.terms.bytes < claim.terms.bytes || volume.terms.block != claim.terms.block ||
        volume.terms.attributes_class != claim.terms.attributes_class ||
        volume.phase == cluster::Volume::Phase::kSpent)
      continue;
    const bool near = volume.places.empty() || AnyMatches(volume.places, node);
    if (own) return near ? name : "";
    if (!near || volume.phase != cluster::Volume::Phase::kFree) continue;
    bool suits = (volume.terms.modes & claim.terms.modes) == claim.terms.modes;
    for (const cluster::SelectorRequirement& one : claim.selector)
      suits = suits && cluster::Matches(one, volume.labels);
    if (suits && (smallest == nullptr || volume.terms.bytes < smallest->terms.bytes))
      smallest = &volume;
  }
  return smallest == nullptr ? "" : smallest->name;
}

std::optional<VolumeRules::Matches> VolumeRules::Match(const Pod& pod, const Node& node) const {
  Matches chosen;
  std::vector<const VolumeClaim*> wanted;
  for (const ObjectKey& key : ClaimsOf(pod)) {
    const auto claim = claims_.find(key);
    if (claim == claims_.end()) return std::nullopt;
    if (!claim->second.bound) wanted.push_back(&claim->second);
  }
  std::stable_sort(wanted.begin(), wanted.end(), [](const VolumeClaim* a, const VolumeClaim* b) {
    return a->terms.bytes < b->terms.bytes;
  });
  for (const VolumeClaim* claim : wanted) {
    if (!claim->selected_node.empty()) {
      if (claim->selected_node != node.name) return std::nullopt;
      continue;
    }
    if (std::string volume = Find(*claim, node, chosen); !volume.empty()) {
      chosen[claim->key] = std::move(volume);
      continue;
    }
    const auto of = classes_.find(claim->storage_class);
    if (of == classes_.end() || of->second.provisioner.empty() ||
        of->second.provisioner == cluster::kNoProvisioner)
      return std::nullopt;
    if (!of->second.places.empty() && !AnyMatches(of->second.places, node)) return std::nullopt;
  }
  return chosen;
}

std::map<std::string, std::string> VolumeRules::AttachmentsOf(const Pod& pod) const {
  std::map<std::string, std::string> attachments;
  for (const ObjectKey& key : ClaimsOf(pod)) {
    const auto claim = claims_.find(key);
    if (claim == claims_.end()) continue;
    const auto volume = volumes_.find(claim->second.volume);
    if (volume != volumes_.end()) {
      const std::string& driver = volume->second.driver;
      const std::string& handle = volume->second.handle;
      if (!driver.empty())
        attachments[driver + "/" + (handle.empty() ? volume->first : "h/" + handle)] = driver;
      continue;
    }
    const auto of = classes_.find(claim->second.storage_class);
    if (of == classes_.end()) continue;
    attachments["new/" + key.ns + "/" + key.name] = of->second.provisioner;
  }
  return attachments;
}

bool VolumeRules::Attaches(const Pod& pod, const Node& node,
                           const std::vector<const Pod*>& there) const {
  const auto limits = drivers_.find(node.name);
  if (limits == drivers_.end()) return true;
  std::map<std::string, std::string> fresh = AttachmentsOf(pod);
  std::map<std::string, std::string> attached;
  for (const Pod* other : there) attached.merge(AttachmentsOf(*other));
  for (const auto& [volume, driver] : attached) fresh.erase(volume);
  for (const cluster::AttachLimit& limit : limits->second.limits) {
    const auto of_it = [&](const auto& entry) { return entry.second == limit.driver; };
    const auto more = std::count_if(fresh.begin(), fresh.end(), of_it);
    const auto has = std::count_if(attached.begin(), attached.end(), of_it);
    if (more > 0 && has + more > limit.count) return false;
  }
  return true;
}

}  // namespace muster::sim
