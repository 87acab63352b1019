#include "kube/declared_gangs.hpp"

#include <algorithm>
#include <utility>

namespace muster::kube {

using cluster::ObjectKey;
using engine::Fact;

std::vector<Fact> DeclaredGangs::Observe(const Fact& fact, const Roles* roles) {
  std::vector<Fact> facts;
  if (const auto* pod = std::get_if<cluster::Pod>(&fact)) {
    ObservePod(*pod, roles, facts);
  } else if (const auto* gone = std::get_if<engine::PodRemoved>(&fact)) {
    ForgetPod(gone->uid, facts);
  } else if (const auto* group = std::get_if<cluster::PodGroup>(&fact)) {
    if (key_of_.emplace(group->uid, group->key).second && ++objects_[group->key] == 1) {
      Tell(group->key, facts);
    }
  } else if (const auto* left = std::get_if<engine::PodGroupRemoved>(&fact)) {
    ForgetObject(left->uid, facts);
  } else if (const auto* unserved = std::get_if<engine::PodGroupUnserved>(&fact)) {
    ForgetObject(unserved->uid, facts);
  }
  return facts;
}

void DeclaredGangs::ForgetObject(const cluster::PodGroupUid& uid, std::vector<Fact>& facts) {
  const auto found = key_of_.find(uid);
  if (found == key_of_.end()) return;
  const ObjectKey key = found->second;
  key_of_.erase(found);
  if (--objects_[key] > 0) return;
  objects_.erase(key);
  Tell(key, facts);
}

void DeclaredGangs::ObservePod(const cluster::Pod& pod, const Roles* roles,
                               std::vector<Fact>& facts) {
  if (pod.declared_min_member == 0 || pod.pod_group.empty()) {
    ForgetPod(pod.uid, facts);
    return;
  }
  const ObjectKey key{pod.key.ns, pod.pod_group};
  const auto [at, is_new] = gang_of_.emplace(pod.uid, key);
  if (!is_new && at->second != key) {
    ForgetPod(pod.uid, facts);
    gang_of_.emplace(pod.uid, key);
  }
  Gang& gang = gangs_[key];
  Member& member = gang.members[pod.uid];
  const Member now{pod.declared_min_member, pod.created, pod.bound() && !pod.terminal(),
                   roles != nullptr, roles == nullptr ? Roles{} : *roles};
  const Member before = std::exchange(member, now);
  const bool same = before.min_member == now.min_member && before.created == now.created &&
                    before.by_owner == now.by_owner && before.roles == now.roles;
  if (!same || (before.runs != now.runs && !gang.agreed)) Tell(key, facts);
}

void DeclaredGangs::ForgetPod(const cluster::PodUid& uid, std::vector<Fact>& facts) {
  const auto found = gang_of_.find(uid);
  if (found == gang_of_.end()) return;
  const ObjectKey key = found->second;
  gang_of_.erase(found);
  gangs_.at(key).members.erase(uid);
  Tell(key, facts);
}

void DeclaredGangs::Tell(const ObjectKey& key, std::vector<Fact>& facts) {
  const auto found = gangs_.find(key);
  if (found == gangs_.end()) return;
  Gang& gang = found->second;
  if (gang.members.empty() || objects_.contains(key)) {
    if (!gang.told.empty()) facts.emplace_back(engine::PodGroupRemoved{gang.told});
    gang.told = {};
    if (gang.members.empty()) gangs_.erase(found);
    return;
  }
  if (gang.told.empty()) {
    gang.told =
        cluster::PodGroupUid(kDeclaredUidPrefix + key.ToString() + "/" + std::to_string(++last_));
  }
  cluster::PodGroup group;
  group.uid = gang.told;
  group.key = key;
  group.declared = true;
  SetMinimum(gang, group);
  facts.emplace_back(std::move(group));
}

void DeclaredGangs::SetMinimum(Gang& gang, cluster::PodGroup& group) {
  const Member& first = gang.members.begin()->second;
  const Member* least = &first;
  const Member* of_running = nullptr;
  int64_t most = 0;
  bool by_owner = false;
  group.created = first.created;
  for (const auto& [pod, member] : gang.members) {
    group.created = std::min(group.created, member.created);
    most = std::max(most, member.min_member);
    by_owner = by_owner || member.by_owner;
    if (member.min_member < least->min_member) least = &member;
    if (member.runs && (of_running == nullptr || member.min_member < of_running->min_member))
      of_running = &member;
  }
  gang.agreed = least->min_member == most;
  const Member& counts = of_running == nullptr || by_owner ? *least : *of_running;
  group.min_member = counts.min_member;
  group.roles = counts.roles;
  if (!gang.agreed && of_running == nullptr && !by_owner) {
    group.defect =
        "its pods disagree on how many members it needs: " + std::to_string(least->min_member) +
        " and " + std::to_string(most);
  }
}

}  // namespace muster::kube
