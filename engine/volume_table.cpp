#include "engine/volume_table.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "cluster/cluster_state.hpp"

namespace muster::engine {

using cluster::ClaimUse;
using cluster::NodeSelectorTerm;
using cluster::ObjectKey;
using cluster::Pod;
using cluster::PodUid;
using cluster::SelectorOperator;
using cluster::SelectorRequirement;
using cluster::StorageClass;
using cluster::StorageKind;
using cluster::StorageRecord;

namespace {

std::string Named(const ObjectKey& claim) { return "persistentvolumeclaim \"" + claim.name + "\""; }

// Terms that name one value of one label each are one term with all of these values: a class of
// local volumes has a term for each node.
VolumeTable::Places Merged(const std::set<const VolumeTable::Places*>& all) {
  std::map<std::string, std::set<std::string>> values;
  std::set<NodeSelectorTerm> others;
  for (const VolumeTable::Places* places : all) {
    for (const NodeSelectorTerm& term : *places) {
      const bool simple = term.match_fields.empty() && term.match_expressions.size() == 1 &&
                          term.match_expressions.front().op == SelectorOperator::kIn;
      if (!simple) {
        others.insert(term);
        continue;
      }
      const SelectorRequirement& one = term.match_expressions.front();
      values[one.key].insert(one.values.begin(), one.values.end());
    }
  }
  VolumeTable::Places merged(others.begin(), others.end());
  for (auto& [key, of] : values) {
    NodeSelectorTerm& term = merged.emplace_back();
    term.match_expressions.push_back({key, SelectorOperator::kIn, {of.begin(), of.end()}});
  }
  return merged;
}

void Join(VolumeTable::PodUids& to, VolumeTable::PodUids more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  std::sort(to.begin(), to.end());
  to.erase(std::unique(to.begin(), to.end()), to.end());
}

// Where its claims may be bound follows from the volumes that there are.
bool LooksForVolumes(const StorageClass& of) {
  return of.waits_for_pod && (of.provisioner == cluster::kNoProvisioner || !of.places.empty());
}

bool Holds(const Pod& pod) { return pod.bound() && !pod.terminal(); }

}  // namespace

VolumeTable::PodUids VolumeTable::SetReadable(bool readable) {
  PodUids concerned;
  if (std::exchange(readable_, readable) == readable) return concerned;
  for (const auto& [uid, use] : uses_) concerned.push_back(uid);
  return concerned;
}

VolumeTable::PodUids VolumeTable::Upsert(const StorageRecord& record) {
  if (const auto* claim = std::get_if<cluster::VolumeClaim>(&record)) return UpsertClaim(*claim);
  if (const auto* volume = std::get_if<cluster::Volume>(&record)) return UpsertVolume(*volume);
  return UpsertClass(std::get<StorageClass>(record));
}

VolumeTable::PodUids VolumeTable::UpsertClaim(const cluster::VolumeClaim& claim) {
  Claim& known = claims_[claim.key];
  known.volume = claim.volume;
  known.volume.shrink_to_fit();
  known.storage_class = texts_.Share(claim.storage_class);
  known.rest.reset();
  if (!claim.owner_pod.empty() || !claim.selected_node.empty())
    known.rest = std::make_unique<Rest>(Rest{claim.owner_pod, claim.selected_node});
  known.bound = claim.bound;
  known.lost = claim.lost;
  known.deleting = claim.deleting;
  known.single_pod = claim.single_pod;
  return UsersOf(claim.key);
}

VolumeTable::PodUids VolumeTable::UpsertVolume(const cluster::Volume& volume) {
  Volume& known = volumes_[volume.name];
  PodUids concerned = known.places == nullptr ? PodUids() : UsersOfVolume(known);
  known.storage_class = texts_.Share(volume.storage_class);
  known.claim = volume.claim.name.empty() ? "" : volume.claim.ToString();
  known.places = places_.Share(volume.places);
  Join(concerned, UsersOfVolume(known));
  return concerned;
}

VolumeTable::PodUids VolumeTable::UpsertClass(const StorageClass& one) {
  StorageClass& known = classes_[one.name];
  if (known == one) return {};
  known = one;
  return UsersOfClass(one.name);
}

VolumeTable::PodUids VolumeTable::RemoveVolume(const std::string& name) {
  const auto found = volumes_.find(name);
  if (found == volumes_.end()) return {};
  PodUids concerned = UsersOfVolume(found->second);
  volumes_.erase(found);
  return concerned;
}

VolumeTable::PodUids VolumeTable::Remove(StorageKind kind, const ObjectKey& key) {
  switch (kind) {
    case StorageKind::kClaim:
      return claims_.erase(key) > 0 ? UsersOf(key) : PodUids();
    case StorageKind::kVolume:
      return RemoveVolume(key.name);
    case StorageKind::kClass: {
      PodUids concerned = UsersOfClass(key.name);
      return classes_.erase(key.name) > 0 ? concerned : PodUids();
    }
  }
  return {};
}

VolumeTable::PodUids VolumeTable::Follow(const Pod& pod) {
  if (pod.volumes == nullptr) return {};
  if (pod.terminal()) return Forget(pod.uid);
  const auto [at, fresh] = uses_.try_emplace(pod.uid);
  Use& use = at->second;
  const bool held = std::exchange(use.holds, Holds(pod));
  if (!fresh && held == use.holds) return {};
  use.claims.clear();
  for (const ClaimUse& one : pod.volumes->claims) {
    use.claims.push_back({pod.key.ns, one.Of(pod.key.name)});
    users_[use.claims.back()].insert(pod.uid);
  }
  return RivalsOf(pod.uid, use);
}

VolumeTable::PodUids VolumeTable::Forget(const PodUid& pod) {
  const auto found = uses_.find(pod);
  if (found == uses_.end()) return {};
  const Use use = std::move(found->second);
  uses_.erase(found);
  for (const ObjectKey& claim : use.claims) {
    const auto users = users_.find(claim);
    if (users == users_.end()) continue;
    users->second.erase(pod);
    if (users->second.empty()) users_.erase(users);
  }
  return RivalsOf(pod, use);
}

VolumeTable::PodUids VolumeTable::UsersOf(const ObjectKey& claim) const {
  const auto found = users_.find(claim);
  return found == users_.end() ? PodUids() : PodUids(found->second.begin(), found->second.end());
}

VolumeTable::PodUids VolumeTable::UsersOfClass(const std::string& storage_class) const {
  PodUids concerned;
  for (const auto& [key, users] : users_) {
    const auto claim = claims_.find(key);
    if (claim == claims_.end() || *claim->second.storage_class != storage_class) continue;
    if (!claim->second.bound) Join(concerned, PodUids(users.begin(), users.end()));
  }
  return concerned;
}

VolumeTable::PodUids VolumeTable::UsersOfVolume(const Volume& volume) const {
  const size_t slash = volume.claim.find('/');
  PodUids concerned;
  if (slash != std::string::npos)
    concerned = UsersOf({volume.claim.substr(0, slash), volume.claim.substr(slash + 1)});
  const auto of = classes_.find(*volume.storage_class);
  if (of != classes_.end() && LooksForVolumes(of->second)) Join(concerned, UsersOfClass(of->first));
  return concerned;
}

// Other pods that name a claim of this one's which only one pod may have.
VolumeTable::PodUids VolumeTable::RivalsOf(const PodUid& pod, const Use& use) const {
  PodUids rivals;
  for (const ObjectKey& key : use.claims) {
    const auto claim = claims_.find(key);
    if (claim != claims_.end() && claim->second.single_pod) Join(rivals, UsersOf(claim->first));
  }
  std::erase(rivals, pod);
  return rivals;
}

// The pod that has the claim, or of its own gang the one that is to have it; null: none.
const Pod* VolumeTable::PodBefore(const Pod& pod, const ObjectKey& claim) const {
  const auto found = users_.find(claim);
  if (found == users_.end()) return nullptr;
  const auto age = [](const Pod& one) { return std::tie(one.created, one.key.name, one.uid); };
  const Pod* before = nullptr;
  for (const PodUid& uid : found->second) {
    const Pod* other = uid == pod.uid ? nullptr : cluster_.FindPod(uid);
    if (other == nullptr || other->terminal()) continue;
    if (other->bound()) return other;
    const bool beside = !pod.pod_group.empty() && pod.pod_group == other->pod_group;
    if (beside && !other->deleting && age(*other) < age(pod)) before = other;
  }
  return before;
}

VolumeTable::Needs VolumeTable::NeedsOf(const Pod& pod) const {
  Needs needs;
  if (!readable_ || pod.volumes == nullptr || pod.terminal()) return needs;
  for (const ClaimUse& use : pod.volumes->claims) {
    const std::string why = Add(pod, use, needs);
    if (needs.bar.empty() && !why.empty()) needs.bar = "pod " + pod.key.name + ": " + why;
  }
  std::sort(needs.places.begin(), needs.places.end());
  needs.places.erase(std::unique(needs.places.begin(), needs.places.end()), needs.places.end());
  // What runs has its volumes.
  if (pod.bound()) needs.bar.clear();
  return needs;
}

std::string VolumeTable::Add(const Pod& pod, const ClaimUse& use, Needs& needs) const {
  const ObjectKey key{pod.key.ns, use.Of(pod.key.name)};
  const auto found = claims_.find(key);
  if (found == claims_.end()) {
    return use.own ? "waiting for ephemeral volume controller to create the " + Named(key)
                   : Named(key) + " not found; create it in namespace " + key.ns;
  }
  const Claim& claim = found->second;
  if (use.own && (claim.rest == nullptr || claim.rest->owner_pod != pod.uid.text()))
    return Named(key) + " was not created for the pod; delete it, so that it is made anew";
  if (claim.lost) {
    return Named(key) + " bound to non-existent persistentvolume \"" + claim.volume +
           "\"; delete the claim and create it again";
  }
  if (claim.deleting) return Named(key) + " is being deleted; create it again when it is gone";
  if (const Pod* before = claim.single_pod ? PodBefore(pod, key) : nullptr) {
    return Named(key) + " is used by pod " + before->key.name +
           ", and with ReadWriteOncePod by no other; wait until that ends, or give each pod a "
           "claim of its own";
  }
  // The watches of claims and of volumes are two: a volume may be told next.
  if (const auto volume = volumes_.find(claim.volume); volume != volumes_.end()) {
    if (!volume->second.places->empty()) needs.places.push_back(*volume->second.places);
  }
  if (claim.bound) return {};
  const auto of = classes_.find(*claim.storage_class);
  if (of == classes_.end() || !of->second.waits_for_pod) {
    return "pod has unbound immediate PersistentVolumeClaims: " + Named(key) +
           " waits for its volume; kubectl describe pvc " + key.name + " says why";
  }
  return claim.volume.empty() ? AddUnbound(key, claim, needs) : std::string();
}

// Its volume is made, or chosen of those that there are, when the pod has its node.
std::string VolumeTable::AddUnbound(const ObjectKey& key, const Claim& claim, Needs& needs) const {
  const StorageClass& of = classes_.at(*claim.storage_class);
  if (claim.rest != nullptr && !claim.rest->selected_node.empty()) {
    NodeSelectorTerm term;
    term.match_fields.push_back(
        {"metadata.name", SelectorOperator::kIn, {claim.rest->selected_node}});
    needs.places.push_back({std::move(term)});
    return {};
  }
  if (!LooksForVolumes(of)) return {};
  const std::string own = key.ToString();
  std::set<const Places*> places;
  if (!of.places.empty()) places.insert(&of.places);
  for (const auto& [name, volume] : volumes_) {
    const bool free = volume.claim.empty() || volume.claim == own;
    if (!free || *volume.storage_class != of.name) continue;
    if (volume.places->empty()) return {};  // every node reaches that one
    places.insert(volume.places.get());
  }
  if (places.empty()) {
    return "didn't find available persistent volumes to bind to " + Named(key) +
           "; create one of class " + of.name;
  }
  needs.places.push_back(Merged(places));
  return {};
}

std::vector<StorageRecord> VolumeTable::All() const {
  std::vector<StorageRecord> all;
  for (const auto& [name, one] : classes_) all.emplace_back(one);
  for (const auto& [name, volume] : volumes_) {
    cluster::Volume told{name, *volume.storage_class, {}, *volume.places};
    if (const size_t slash = volume.claim.find('/'); slash != std::string::npos)
      told.claim = {volume.claim.substr(0, slash), volume.claim.substr(slash + 1)};
    all.emplace_back(std::move(told));
  }
  for (const auto& [key, claim] : claims_) {
    cluster::VolumeClaim told;
    told.key = key;
    told.volume = claim.volume;
    told.storage_class = *claim.storage_class;
    if (claim.rest != nullptr) {
      told.owner_pod = claim.rest->owner_pod;
      told.selected_node = claim.rest->selected_node;
    }
    told.bound = claim.bound;
    told.lost = claim.lost;
    told.deleting = claim.deleting;
    told.single_pod = claim.single_pod;
    all.emplace_back(std::move(told));
  }
  return all;
}

}  // namespace muster::engine
