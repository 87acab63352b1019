#include "engine/machines/volume_table.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "cluster/holdings/cluster_state.hpp"

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
  if (const auto* drivers = std::get_if<cluster::NodeDrivers>(&record))
    return SetLimits(drivers->node, drivers->limits);
  return UpsertClass(std::get<StorageClass>(record));
}

VolumeTable::PodUids VolumeTable::UpsertClaim(const cluster::VolumeClaim& claim) {
  Claim& known = claims_[claim.key];
  known.volume = claim.volume;
  known.volume.shrink_to_fit();
  known.storage_class = texts_.Share(claim.storage_class);
  Rest rest{claim.owner_pod, claim.selected_node, {}};
  if (!claim.bound) rest.wish = {claim.terms, claim.selector};
  known.rest = rest == Rest() ? nullptr : std::make_unique<Rest>(std::move(rest));
  known.bound = claim.bound;
  known.lost = claim.lost;
  known.deleting = claim.deleting;
  known.single_pod = claim.single_pod;
  PodUids concerned = UsersOf(claim.key);
  if (const auto volume = volumes_.find(claim.volume); claim.bound && volume != volumes_.end()) {
    const std::string& pool = volume->second.kind->storage_class;
    if (pools_.Remove(pool, claim.volume)) Join(concerned, UsersOfPool(pool));
  }
  return concerned;
}

// A claim may be bound to it, as far as is known.
bool VolumeTable::Offers(const cluster::Volume& volume) const {
  if (volume.phase == cluster::Volume::Phase::kSpent) return false;
  const bool free = volume.phase == cluster::Volume::Phase::kFree;
  if (volume.claim.name.empty()) return free;
  const auto claim = claims_.find(volume.claim);
  return claim == claims_.end() ? free : !claim->second.bound;
}

VolumeTable::PodUids VolumeTable::UpsertVolume(const cluster::Volume& volume) {
  Volume& known = volumes_[volume.name];
  PodUids concerned;
  if (known.kind != nullptr) {
    concerned = UsersOfClaimOf(known);
    const std::string& before = known.kind->storage_class;
    if (before != volume.storage_class && pools_.Remove(before, volume.name))
      Join(concerned, UsersOfPool(before));
  }
  known.kind = kinds_.Share({volume.storage_class, volume.driver, volume.places});
  known.claim = volume.claim.name.empty() ? "" : volume.claim.ToString();
  known.handle = volume.handle.empty() ? nullptr : std::make_unique<std::string>(volume.handle);
  Join(concerned, UsersOfClaimOf(known));
  const bool other =
      Offers(volume)
          ? pools_.Put(
                volume.storage_class, volume.name,
                {volume.terms, volume.labels, known.claim, {known.kind, &known.kind->places}})
          : pools_.Remove(volume.storage_class, volume.name);
  if (other) Join(concerned, UsersOfPool(volume.storage_class));
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
  PodUids concerned = UsersOfClaimOf(found->second);
  const std::string pool = found->second.kind->storage_class;
  volumes_.erase(found);
  if (pools_.Remove(pool, name)) Join(concerned, UsersOfPool(pool));
  return concerned;
}

VolumeTable::PodUids VolumeTable::SetLimits(const std::string& node, Limits limits) {
  std::map<std::string, int64_t> change;
  for (const cluster::AttachLimit& limit : limits) ++change[limit.driver];
  if (const auto known = limits_.find(node); known != limits_.end()) {
    for (const cluster::AttachLimit& limit : *known->second) --change[limit.driver];
  }
  std::set<std::string> others;  // the first node limits them, or the last one no more
  for (const auto& [driver, by] : change) {
    int64_t& nodes = limited_[driver];
    if ((nodes == 0) != (nodes + by == 0)) others.insert(driver);
    nodes += by;
    if (nodes == 0) limited_.erase(driver);
  }
  if (limits.empty()) {
    limits_.erase(node);
  } else {
    limits_[node] = limit_lists_.Share(std::move(limits));
  }
  return UsersOfDrivers(others);
}

const std::vector<cluster::AttachLimit>& VolumeTable::LimitsOf(const std::string& node) const {
  const auto found = limits_.find(node);
  return found == limits_.end() ? no_limits_ : *found->second;
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
    case StorageKind::kNodeDrivers:
      return SetLimits(key.name, {});
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
  return RivalsOf(pod.uid, use, fresh ? 2 : 0);
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
  return RivalsOf(pod, use, 1);
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
    if (!claim->second.bound) concerned.insert(concerned.end(), users.begin(), users.end());
  }
  Join(concerned, {});
  return concerned;
}

// Its volumes that claims may be bound to are others now.
VolumeTable::PodUids VolumeTable::UsersOfPool(const std::string& storage_class) const {
  const auto of = classes_.find(storage_class);
  const bool looked_for = of != classes_.end() && LooksForVolumes(of->second);
  return looked_for ? UsersOfClass(storage_class) : PodUids();
}

VolumeTable::PodUids VolumeTable::UsersOfClaimOf(const Volume& volume) const {
  const size_t slash = volume.claim.find('/');
  if (slash == std::string::npos) return {};
  return UsersOf({volume.claim.substr(0, slash), volume.claim.substr(slash + 1)});
}

VolumeTable::PodUids VolumeTable::UsersOfDrivers(const std::set<std::string>& drivers) const {
  PodUids concerned;
  if (drivers.empty()) return concerned;
  for (const auto& [key, users] : users_) {
    const auto claim = claims_.find(key);
    if (claim == claims_.end()) continue;
    const std::string* driver = DriverOf(claim->second);
    if (driver != nullptr && drivers.contains(*driver))
      concerned.insert(concerned.end(), users.begin(), users.end());
  }
  Join(concerned, {});
  return concerned;
}

// Other pods that name a claim of this one's which only one pod may have, or which has `alone`
// users now: it was, or is again, one pod's alone.
VolumeTable::PodUids VolumeTable::RivalsOf(const PodUid& pod, const Use& use, size_t alone) const {
  PodUids rivals;
  for (const ObjectKey& key : use.claims) {
    const auto claim = claims_.find(key);
    const auto users = users_.find(key);
    if (claim == claims_.end() || users == users_.end()) continue;
    const bool shared = users->second.size() == alone;
    if (claim->second.single_pod || shared) Join(rivals, UsersOf(key));
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

VolumeTable::Needs VolumeTable::NeedsOf(const Pod& pod) {
  Needs needs;
  if (!readable_ || pod.volumes == nullptr || pod.terminal()) return needs;
  std::set<std::string> seen;
  for (const ClaimUse& use : pod.volumes->claims) {
    if (!seen.insert(use.Of(pod.key.name)).second) continue;
    const std::string why = Add(pod, use, needs);
    if (needs.bar.empty() && !why.empty()) needs.bar = "pod " + pod.key.name + ": " + why;
  }
  std::sort(needs.places.begin(), needs.places.end());
  needs.places.erase(std::unique(needs.places.begin(), needs.places.end()), needs.places.end());
  // What runs has its volumes.
  if (pod.bound()) needs.bar.clear();
  std::vector<cluster::AttachedVolume>& attached = needs.demand.attached;
  std::sort(attached.begin(), attached.end());
  // One that is shared counts once.
  const auto same = [](const auto& a, const auto& b) { return !a.shared_as.empty() && a == b; };
  attached.erase(std::unique(attached.begin(), attached.end(), same), attached.end());
  return needs;
}

const std::string* VolumeTable::DriverOf(const Claim& claim) const {
  if (const auto volume = volumes_.find(claim.volume); volume != volumes_.end())
    return &volume->second.kind->driver;
  const auto of = classes_.find(*claim.storage_class);
  return of == classes_.end() ? nullptr : &of->second.provisioner;
}

bool VolumeTable::UsedByOthers(const Pod& pod, const ObjectKey& claim) const {
  const auto users = users_.find(claim);
  return users != users_.end() && users->second.size() > users->second.count(pod.uid);
}

void VolumeTable::AddAttached(const Pod& pod, const ObjectKey& key, const Claim& claim,
                              Needs& needs) const {
  const std::string* driver = limited_.empty() ? nullptr : DriverOf(claim);
  if (driver == nullptr || !limited_.contains(*driver)) return;
  const auto volume = volumes_.find(claim.volume);
  std::string shared_as;
  if (volume != volumes_.end() && volume->second.handle != nullptr) {
    shared_as = "volume " + *volume->second.handle;
  } else if (UsedByOthers(pod, key)) {
    shared_as = "claim " + key.ToString();
  }
  needs.demand.attached.push_back({*driver, std::move(shared_as)});
}

std::string VolumeTable::Add(const Pod& pod, const ClaimUse& use, Needs& needs) {
  const ObjectKey key{pod.key.ns, use.Of(pod.key.name)};
  const auto found = claims_.find(key);
  if (found == claims_.end()) {
    return use.own ? "waiting for ephemeral volume controller to create the " + Named(key)
                   : Named(key) + " not found; create it in namespace " + key.ns;
  }
  const Claim& claim = found->second;
  if (use.own && (claim.rest == nullptr || claim.rest->owner_pod != pod.uid.text()))
    return Named(key) + " was not created for the pod; delete it, so that it is made anew";
  AddAttached(pod, key, claim, needs);
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
    const Places& places = volume->second.kind->places;
    if (!places.empty()) needs.places.push_back(places);
  }
  if (claim.bound) return {};
  const auto of = classes_.find(*claim.storage_class);
  if (of == classes_.end() || !of->second.waits_for_pod) {
    return "pod has unbound immediate PersistentVolumeClaims: " + Named(key) +
           " waits for its volume; kubectl describe pvc " + key.name + " says why";
  }
  return claim.volume.empty() ? AddUnbound(pod, key, claim, needs) : std::string();
}

// Its volume is made, or chosen of those that there are, when the pod has its node.
std::string VolumeTable::AddUnbound(const Pod& pod, const ObjectKey& key, const Claim& claim,
                                    Needs& needs) {
  const StorageClass& of = classes_.at(*claim.storage_class);
  if (claim.rest != nullptr && !claim.rest->selected_node.empty()) {
    NodeSelectorTerm term;
    term.match_fields.push_back(
        {"metadata.name", SelectorOperator::kIn, {claim.rest->selected_node}});
    needs.places.push_back({std::move(term)});
    return {};
  }
  if (!LooksForVolumes(of)) return {};
  const VolumePools::Wish wish = claim.rest == nullptr ? VolumePools::Wish() : claim.rest->wish;
  const auto list = pools_.For(key.ToString(), of.name, wish);
  std::set<const Places*> places;
  if (of.provisioner == cluster::kNoProvisioner) {
    if (list->volumes.empty()) {
      return "didn't find available persistent volumes to bind to " + Named(key) +
             "; create one of class " + of.name +
             (pools_.HasAny(of.name) ? " that suits it: size, selector, access modes, volumeMode"
                                     : "");
    }
    // kube-scheduler takes the smallest claims first.
    const auto at = std::upper_bound(needs.asked.begin(), needs.asked.end(), wish.terms.bytes);
    auto& choices = needs.demand.choices;
    choices.insert(choices.begin() + (at - needs.asked.begin()),
                   {list, UsedByOthers(pod, key) ? key.ToString() : ""});
    needs.asked.insert(at, wish.terms.bytes);
  } else if (!of.places.empty()) {
    places.insert(&of.places);
  }
  for (const cluster::FreeVolume& volume : list->volumes) {
    if (volume.places->empty()) return {};  // every node reaches that one
    places.insert(volume.places.get());
  }
  needs.places.push_back(Merged(places));
  return {};
}

std::vector<StorageRecord> VolumeTable::All() const {
  std::vector<StorageRecord> all;
  for (const auto& [name, one] : classes_) all.emplace_back(one);
  for (const auto& [name, volume] : volumes_) {
    const VolumeKind& kind = *volume.kind;
    cluster::Volume told{name, kind.storage_class, {}, kind.places, kind.driver};
    if (volume.handle != nullptr) told.handle = *volume.handle;
    const VolumePools::Offer* offer = pools_.Find(told.storage_class, name);
    told.phase = offer == nullptr ? cluster::Volume::Phase::kSpent : cluster::Volume::Phase::kFree;
    if (offer != nullptr) {
      told.terms = offer->terms;
      told.labels = offer->labels;
    }
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
      told.terms = claim.rest->wish.terms;
      told.selector = claim.rest->wish.selector;
    }
    told.bound = claim.bound;
    told.lost = claim.lost;
    told.deleting = claim.deleting;
    told.single_pod = claim.single_pod;
    all.emplace_back(std::move(told));
  }
  for (const auto& [node, limits] : limits_) all.emplace_back(cluster::NodeDrivers{node, *limits});
  return all;
}

}  // namespace muster::engine
