#include "kube/declared_gangs.hpp"

#include <algorithm>
#include <utility>

namespace muster::kube {

using cluster::ObjectKey;
using engine::Fact;

std::vector<Fact> DeclaredGangs::Observe(const Fact& fact) {
  std::vector<Fact> facts;
  if (const auto* pod = std::get_if<cluster::Pod>(&fact)) {
    ObservePod(*pod, facts);
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

void DeclaredGangs::ObservePod(const cluster::Pod& pod, std::vector<Fact>& facts) {
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
  const Member now{pod.declared_min_member, pod.created, pod.bound() && !pod.terminal()};
  const Member before = std::exchange(member, now);
  const bool same = before.min_member == now.min_member && before.created == now.created;
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
  group.created = gang.members.begin()->second.created;
  int64_t least = INT64_MAX;
  int64_t most = 0;
  int64_t of_running = INT64_MAX;
  for (const auto& [pod, member] : gang.members) {
    group.created = std::min(group.created, member.created);
    least = std::min(least, member.min_member);
    most = std::max(most, member.min_member);
    if (member.runs) of_running = std::min(of_running, member.min_member);
  }
  gang.agreed = least == most;
  group.min_member = of_running == INT64_MAX ? least : of_running;
  if (!gang.agreed && of_running == INT64_MAX) {
    group.defect = "its pods disagree on how many members it needs: " + std::to_string(least) +
                   " and " + std::to_string(most);
  }
  facts.emplace_back(std::move(group));
}

}  // namespace muster::kube
