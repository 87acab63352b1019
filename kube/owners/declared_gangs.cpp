#include "kube/owners/declared_gangs.hpp"

#include <algorithm>
#include <utility>

namespace muster::kube {

using cluster::ObjectKey;
using engine::Fact;

std::vector<Fact> DeclaredGangs::Observe(const Fact& fact, const Grouping* owner) {
  std::vector<Fact> facts;
  if (const auto* pod = std::get_if<cluster::Pod>(&fact)) {
    ObservePod(*pod, owner, facts);
  } else if (const auto* gone = std::get_if<engine::PodRemoved>(&fact)) {
    ForgetPod(gone->uid, facts);
  } else if (const auto* withdrawn = std::get_if<engine::PodWithdrawn>(&fact)) {
    ForgetPod(withdrawn->uid, facts);
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

void DeclaredGangs::Leave(Gang& gang, const cluster::PodUid& uid) {
  const auto found = gang.members.find(uid);
  if (found == gang.members.end()) return;
  const Member& member = found->second;
  if (member.runs) --member.said->second.running;
  if (--member.said->second.pods == 0) gang.sayings.erase(member.said);
  gang.created.erase(gang.created.find(member.created));
  gang.members.erase(found);
}

void DeclaredGangs::ObservePod(const cluster::Pod& pod, const Grouping* owner,
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
  Said said{pod.declared_min_member};
  if (owner != nullptr) {
    said.roles = owner->roles;
    said.ended = owner->ended;
    said.by_owner = true;
    if (owner->kind != Grouping::Kind::kGang) said.unreadable = owner->reason;
    said.attempts_of = owner->attempts_of;
    said.since = owner->since;
    said.keeps_rest = owner->keeps_rest;
    said.starts_with = owner->starts_with;
    said.first_roles = owner->first_roles;
    said.units = owner->units;
    said.unheeded = owner->unheeded;
    said.not_honoured = owner->not_honoured;
    said.names_queue = !pod.asked_queue.empty();
    said.queue = owner->queue;
    said.priority_class = owner->priority_class;
  }
  if (pod.gang_words != nullptr) {
    said.schedule_timeout = pod.gang_words->schedule_timeout;
    said.together = pod.gang_words->together;
    if (!said.together.empty()) said.part = pod.role;
  }
  Gang& gang = gangs_[key];
  Leave(gang, pod.uid);
  const bool runs = pod.bound() && !pod.terminal();
  const auto saying = gang.sayings.try_emplace(std::move(said)).first;
  ++saying->second.pods;
  if (runs) ++saying->second.running;
  gang.created.insert(pod.created);
  gang.members.emplace(pod.uid, Member{saying, pod.created, runs});
  Tell(key, facts);
}

void DeclaredGangs::ForgetPod(const cluster::PodUid& uid, std::vector<Fact>& facts) {
  const auto found = gang_of_.find(uid);
  if (found == gang_of_.end()) return;
  const ObjectKey key = found->second;
  gang_of_.erase(found);
  Leave(gangs_.at(key), uid);
  Tell(key, facts);
}

void DeclaredGangs::Tell(const ObjectKey& key, std::vector<Fact>& facts) {
  const auto found = gangs_.find(key);
  if (found == gangs_.end()) return;
  Gang& gang = found->second;
  if (gang.members.empty() || objects_.contains(key)) {
    if (!gang.told.group.uid.empty())
      facts.emplace_back(engine::PodGroupRemoved{gang.told.group.uid});
    gang.told = {};
    if (gang.members.empty()) gangs_.erase(found);
    return;
  }
  Declared declared;
  cluster::PodGroup& group = declared.group;
  group.uid = gang.told.group.uid;
  if (group.uid.empty()) {
    group.uid =
        cluster::PodGroupUid(kDeclaredUidPrefix + key.ToString() + "/" + std::to_string(++last_));
  }
  group.key = key;
  group.declared = true;
  SetMinimum(gang, declared);
  if (declared == gang.told) return;
  gang.told = declared;
  group.roles = declared.roles.Copy();
  group.first_roles = declared.first_roles.Copy();
  group.units = declared.units.Copy();
  facts.emplace_back(std::move(group));
}

DeclaredGangs::Verdict DeclaredGangs::Judge(const Sayings& sayings, const std::string& part) {
  Verdict verdict;
  const Said* of_running = nullptr;
  bool by_owner = false;
  int64_t most = 0;
  for (const auto& [said, count] : sayings) {
    if (said.part != part) continue;
    if (verdict.counts == nullptr) verdict.counts = &said;
    if (of_running == nullptr && count.running > 0) of_running = &said;
    by_owner = by_owner || said.by_owner;
    most = said.min_member;
  }
  if (verdict.counts == nullptr || by_owner) return verdict;
  if (of_running != nullptr) {
    verdict.counts = of_running;
  } else if (const int64_t least = verdict.counts->min_member; least != most) {
    verdict.defect = (part.empty() ? "its pods" : "the pods of " + part) +
                     " disagree on how many members it needs: " + std::to_string(least) + " and " +
                     std::to_string(most);
  }
  return verdict;
}

// Its pods' words for a queue count before their owner's.
void DeclaredGangs::SetOwnersWords(const Sayings& sayings, cluster::PodGroup& group) {
  bool names_queue = false;
  for (const auto& [said, count] : sayings) {
    names_queue = names_queue || said.names_queue;
    if (group.queue.empty()) group.queue = said.queue;
    std::string& priority_class = group.priority.class_name;
    if (priority_class.empty()) priority_class = said.priority_class;
    if (group.not_honoured.empty()) group.not_honoured = said.not_honoured;
    if (group.unheeded.empty()) group.unheeded = said.unheeded;
  }
  if (names_queue) group.queue.clear();
}

void DeclaredGangs::SetMinimum(const Gang& gang, Declared& declared) {
  cluster::PodGroup& group = declared.group;
  SetOwnersWords(gang.sayings, group);
  group.created = *gang.created.begin();
  for (const auto& [said, count] : gang.sayings) {
    if (said.since) group.created = std::min(group.created, *said.since);
    group.by_owner = group.by_owner || said.by_owner;
    if (group.unreadable.empty()) group.unreadable = said.unreadable;
    if (group.attempts_of.empty()) group.attempts_of = said.attempts_of;
    group.ended = std::max(group.ended, said.ended);
    const cluster::Duration timeout = said.schedule_timeout;
    const bool sooner =
        group.schedule_timeout == cluster::Duration(0) || timeout < group.schedule_timeout;
    if (timeout > cluster::Duration(0) && sooner) group.schedule_timeout = timeout;
  }
  const Said& first = gang.sayings.begin()->first;
  if (!first.together.empty()) {
    group.min_member = 0;
    std::vector<cluster::RoleMinimum> roles;
    for (const std::string& part : first.together) {
      const Verdict verdict = Judge(gang.sayings, part);
      const int64_t minimum = verdict.counts == nullptr ? 1 : verdict.counts->min_member;
      roles.push_back({part, minimum});
      group.min_member = cluster::SaturatingAdd(group.min_member, minimum);
      if (group.defect.empty()) group.defect = verdict.defect;
    }
    declared.roles = std::move(roles);
    return;
  }
  const Verdict verdict = Judge(gang.sayings, first.part);
  const Said& counts = *verdict.counts;
  group.defect = verdict.defect;
  group.min_member = counts.min_member;
  declared.roles = counts.roles;
  declared.units = counts.units;
  group.keeps_rest = counts.keeps_rest;
  if (!group.unreadable.empty()) group.min_member = static_cast<int64_t>(gang.members.size());
  if (counts.starts_with < counts.min_member) {
    group.starts_with = counts.starts_with;
    declared.first_roles = counts.first_roles;
  }
}

}  // namespace muster::kube
