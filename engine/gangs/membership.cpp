#include "engine/gangs/membership.hpp"

#include <algorithm>
#include <utility>

namespace muster::engine {

using cluster::Pod;
using cluster::PodUid;

GangId Membership::IdFor(const Pod& pod) {
  if (pod.pod_group.empty()) return {pod.key, true};
  return {{pod.key.ns, pod.pod_group}, false};
}

bool Membership::Claimed(const Pod& pod) const {
  return std::find(options_.scheduler_names.begin(), options_.scheduler_names.end(),
                   pod.spec->scheduler_name) != options_.scheduler_names.end() ||
         seen_in_filter_.contains(pod.uid) || (pod.bound() && pod.bound_by_muster);
}

bool Membership::WouldAsk(const Pod& pod) const {
  return pod.unschedulable != nullptr && !pod.bound() && !pod.ending() && !pod.daemon &&
         !pod.spec->gpus.none() && !Claimed(pod) && served_.contains(pod.spec->scheduler_name);
}

bool Membership::Managed(const Pod& pod) const {
  if (Claimed(pod)) return true;
  const Gang* gang = pod.pod_group.empty() ? nullptr : Find(IdFor(pod));
  return gang != nullptr &&
         std::any_of(gang->members.begin(), gang->members.end(),
                     [&](const auto& entry) { return Claimed(*entry.second.pod); });
}

Gang* Membership::Find(const GangId& id) {
  const auto found = gangs_.find(id);
  return found == gangs_.end() ? nullptr : &found->second;
}

const Gang* Membership::Find(const GangId& id) const {
  const auto found = gangs_.find(id);
  return found == gangs_.end() ? nullptr : &found->second;
}

PlacedMember Membership::Find(const PodUid& uid) {
  const auto found = gang_of_.find(uid);
  if (found == gang_of_.end()) return {};
  return {found->second, &found->second->members.at(uid)};
}

const Member* Membership::FindMember(const PodUid& uid) const {
  const auto found = gang_of_.find(uid);
  return found == gang_of_.end() ? nullptr : &found->second->members.at(uid);
}

const Gang* Membership::GangOf(const PodUid& uid) const {
  const auto found = gang_of_.find(uid);
  return found == gang_of_.end() ? nullptr : found->second;
}

const cluster::PodGroup* Membership::GroupOf(const Gang& gang) const {
  return gang.id.solo ? nullptr : cluster_.FindPodGroup(gang.id.key);
}

std::vector<const Gang*> Membership::AttemptsOf(const GangId& across) const {
  std::vector<const Gang*> found;
  for (auto at = gangs_.lower_bound({{across.key.ns, ""}, false});
       at != gangs_.end() && at->first.key.ns == across.key.ns; ++at) {
    if (AcrossAttempts(at->second) == across) found.push_back(&at->second);
  }
  return found;
}

Gang& Membership::Make(const GangId& id) {
  Gang& gang = gangs_[id];
  gang.id = id;
  return gang;
}

PlacedMember Membership::Add(const Pod& pod) {
  Gang& gang = Make(IdFor(pod));
  Member& member = gang.members[pod.uid];
  member.uid = pod.uid;
  member.key = pod.key;
  member.pod = cluster_.FindPod(pod.uid);
  member.holding = cluster_.FindHolding(pod.uid);
  gang_of_[pod.uid] = &gang;
  return {&gang, &member};
}

void Membership::Remove(const PodUid& uid) {
  const auto found = gang_of_.find(uid);
  if (found == gang_of_.end()) return;
  deferred_.erase(uid);
  found->second->members.erase(uid);
  gang_of_.erase(found);
}

bool Membership::Ended(const Gang& gang) const {
  return gang.members.empty() && GroupOf(gang) == nullptr;
}

void Membership::Erase(const GangId& id) {
  if (Gang* gang = Find(id)) SetSpreadGroup(*gang, "");
  gangs_.erase(id);
}

void Membership::SetSpreadGroup(Gang& gang, const std::string& name) {
  std::string& now = gang.spread_group.value_;
  if (now == name) return;
  const auto before = spread_groups_.find({gang.id.key.ns, now});
  if (before != spread_groups_.end()) {
    before->second.erase(gang.id);
    if (before->second.empty()) spread_groups_.erase(before);
  }
  now = name;
  if (!name.empty()) spread_groups_[{gang.id.key.ns, name}].emplace(gang.id, &gang);
}

const Membership::SpreadGroup& Membership::SpreadGroupOf(const Gang& gang) const {
  const auto found = spread_groups_.find({gang.id.key.ns, *gang.spread_group});
  return found == spread_groups_.end() ? no_spread_group_ : found->second;
}

void Membership::AddUnmanaged(const Pod& pod) {
  if (pod.pod_group.empty() || gang_of_.contains(pod.uid)) return;
  unmanaged_[IdFor(pod).key].insert(pod.uid);
}

bool Membership::RemoveUnmanaged(const cluster::ObjectKey& group, const PodUid& pod) {
  const auto found = unmanaged_.find(group);
  if (found == unmanaged_.end()) return false;
  const bool was = found->second.erase(pod) > 0;
  if (found->second.empty()) unmanaged_.erase(found);
  return was;
}

const std::set<PodUid>* Membership::UnmanagedOf(const cluster::ObjectKey& group) const {
  const auto found = unmanaged_.find(group);
  return found == unmanaged_.end() ? nullptr : &found->second;
}

std::set<PodUid> Membership::TakeUnmanaged(const cluster::ObjectKey& group) {
  auto found = unmanaged_.extract(group);
  return found.empty() ? std::set<PodUid>{} : std::move(found.mapped());
}

std::vector<PodUid> Membership::Unconfirmed(cluster::Duration wait, cluster::Time now) const {
  std::vector<PodUid> pods;
  for (const auto& [uid, since] : unconfirmed_) {
    if (since + wait <= now) pods.push_back(uid);
  }
  return pods;
}

void Membership::Forget(const PodUid& pod) {
  seen_in_filter_.erase(pod);
  unconfirmed_.erase(pod);
}

std::optional<GangId> Membership::GangOfGroup(const cluster::PodGroupUid& uid) const {
  const auto found = group_keys_.find(uid);
  if (found == group_keys_.end()) return std::nullopt;
  return GangId{found->second, false};
}

std::vector<std::string> Membership::Audit() const {
  std::vector<std::string> broken;
  size_t members = 0;
  size_t in_groups = 0;
  for (const auto& [id, gang] : gangs_) {
    members += gang.members.size();
    if (!gang.spread_group->empty()) ++in_groups;
    for (const auto& [uid, member] : gang.members) {
      const std::string who = "pod " + member.key.ToString();
      const Pod* pod = cluster_.FindPod(uid);
      if (pod == nullptr) broken.push_back(who + " is a member but not known");
      if (pod != nullptr && member.pod != pod)
        broken.push_back(who + " is remembered by another record than its own");
      const auto found = gang_of_.find(uid);
      if (found == gang_of_.end() || found->second != &gang)
        broken.push_back(who + " is a member of a gang and does not know it");
    }
  }
  if (members != gang_of_.size()) broken.emplace_back("members and their index differ");
  size_t spread = 0;
  for (const auto& [key, group] : spread_groups_) {
    spread += group.size();
    for (const auto& [id, gang] : group) {
      if (Find(id) != gang || gang->id.key.ns != key.first || *gang->spread_group != key.second)
        broken.push_back("gang " + id.key.ToString() + " is in a spread group that it is not in");
    }
  }
  if (spread != in_groups) broken.emplace_back("spread groups and their gangs differ");
  if (seen_in_filter_.size() > cluster_.pod_count())
    broken.emplace_back("pods from Filter calls are remembered for ever");
  for (const auto& [key, pods] : unmanaged_) {
    for (const PodUid& uid : pods) {
      if (cluster_.FindPod(uid) == nullptr || gang_of_.contains(uid))
        broken.push_back("a pod of PodGroup " + key.ToString() +
                         " is a member, or gone, and apart");
    }
  }
  return broken;
}

}  // namespace muster::engine
