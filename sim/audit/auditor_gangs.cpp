// Gangs as an Auditor sees them: whether each has its minimum, and for how long it had not.
#include <algorithm>
#include <utility>

#include "policy/domains/fabric_wish.hpp"
#include "sim/audit/auditor_impl.hpp"

namespace muster::sim {

using cluster::ObjectKey;
using cluster::PodUid;
using cluster::Time;

namespace {

// As long as a status may be on its way where writes are lost: half of them were, say, ten times.
constexpr cluster::Duration kWrittenAgain = cluster::Seconds(20);

}  // namespace

void Auditor::Impl::SeeGroup(Change change, const PodGroupRecord& group, Time at) {
  const ObjectKey& key = group.group.key;
  const int64_t need = group.group.min_member;
  const auto [found, fresh] = minima_.try_emplace(key);
  Minimum& minimum = found->second;
  if (fresh) minimum.now = need;
  const bool raised = minimum.now < need;
  if (minimum.now != need) {
    std::erase_if(minimum.before, [&](const auto& entry) { return !InDoubt(entry.second, at); });
    minimum.before.emplace_back(minimum.now, at);
    minimum.now = need;
  }
  int64_t of_roles = 0;
  for (const cluster::RoleMinimum& role : group.group.roles) of_roles += role.min_member;
  minimum.of_roles = !group.group.roles.empty();
  const std::vector<cluster::TopologySegment>& segments = group.group.topology.segments;
  const bool in_part = !segments.empty() && need % segments.front().size != 0;
  const bool malformed = need < 1 || of_roles > need || in_part;
  if (std::exchange(minimum.malformed, malformed) < malformed) minimum.sound_until = at;
  const bool told = !group.state.empty() && !group.group.claimed;
  if (told && change != Change::kDeleted && !ours_.contains(key))
    Find("PodGroup " + key.ToString() + " has no pod of Muster's and is written");
  const auto gang = gangs_.find(key);
  const bool another = std::exchange(minimum.uid, group.group.uid.text()) != group.group.uid.text();
  if (gang == gangs_.end()) return;
  if (another) gang->second.surely = false;
  // Muster may have seen it before it saw the loss of a member that the gang could do without.
  if (raised && gang->second.lost_until > Time() && InDoubt(gang->second.lost_until, at))
    gang->second.lost = true;
  // Without one nothing is partial, and for the next one the time begins again.
  if (change == Change::kDeleted) SetPartial(key, gang->second, false, at);
  Judge(key, at);
}

void Auditor::Impl::SeeMember(Change change, const PodRecord& record, bool live, Time at) {
  const cluster::Pod& pod = record.pod;
  const PodUid& uid = pod.uid;
  const ObjectKey key{pod.key.ns, pod.pod_group};
  if (Musters(pod)) ours_.insert(key);
  const bool succeeded = change != Change::kDeleted && pod.phase == cluster::PodPhase::kSucceeded;
  const bool counts = live && !pod.deleting;
  if (!counts && !succeeded && !gangs_.contains(key)) return;
  GangBook& gang = gangs_[key];
  const bool was_bound = gang.bound.erase(uid) > 0;
  if (counts) gang.bound.insert(uid);
  if (counts && !was_bound) gang.joined = at;
  if (counts) gang.near = MustBeNear(pod);
  gang.leaving.erase(uid);
  if (live && pod.deleting) gang.leaving[uid] = pod.leaves_by;
  gang.ours.erase(uid);
  if (counts && Musters(pod)) gang.ours.insert(uid);
  if (was_bound && !counts && !succeeded) {
    gang.lost = true;
    gang.gone[uid] = at;
  }
  if (succeeded && gang.succeeded.try_emplace(uid, pod.key.name).second) gang.news = at;
  for (const auto& [other, name] : gang.succeeded) {
    if (name != pod.key.name || other == uid) continue;
    // Muster may have seen this one before it saw that the other had ended well.
    if (gang.remade.insert(other).second && InDoubt(gang.news, at)) gang.lost = true;
  }
  // The object tells of its success; when it goes Muster has to write it down.
  const bool shown = gang.shown.erase(uid) > 0;
  if (succeeded) gang.shown.insert(uid);
  if (shown && !succeeded) gang.news = at;
  Judge(key, at);
}

std::pair<int64_t, int64_t> Auditor::Impl::NeedOf(const ObjectKey& gang, Time at) const {
  const auto found = minima_.find(gang);
  if (api_.FindPodGroup(gang) == nullptr || found == minima_.end()) return {0, 0};
  const Minimum& minimum = found->second;
  std::pair<int64_t, int64_t> need{minimum.now, minimum.now};
  for (const auto& [before, until] : minimum.before) {
    if (InDoubt(until, at)) need = {std::min(need.first, before), std::max(need.second, before)};
  }
  return need;
}

// Muster was restarted about then, and may not know what happened: it had not seen it, or not
// written it down.
bool Auditor::Impl::Unseen(Time at) const {
  return std::any_of(restarted_.begin(), restarted_.end(), [&](const Restart& restart) {
    return at + options_.node_slack >= restart.written && restart.at + options_.node_slack >= at;
  });
}

void Auditor::Impl::NoteRestart(Time at) {
  restart_audit_.Restarted();
  const WriteFaults& writes = muster_->faults();
  const bool lossy = IsLossy(writes);
  restarted_.push_back({at, lossy ? at + cluster::Duration(-kWrittenAgain.value()) : at});
  const cluster::Duration to_write = (lossy ? kWrittenAgain : writes.latency + writes.jitter) +
                                     options_.slack + options_.node_slack;
  owner_audit_.NoteRestart(at + cluster::Duration(-to_write.value()));
  std::vector<ObjectKey> keys;
  for (auto& [key, gang] : gangs_) {
    // Of a gang that has never had its minimum nothing is written.
    const bool never = !gang.surely && gang.succeeded.size() > gang.shown.size();
    if (never || (gang.news > Time() && gang.news + to_write >= at)) gang.forgotten = true;
    if (!gang.gone.empty()) keys.push_back(key);
  }
  for (const ObjectKey& key : keys) Judge(key, at);
}

// Where the pod's turn at HAMi's plugin has passed: the time of gangs with a member that is planned
// there begins anew.
void Auditor::Impl::SeeTurn(const PodRecord& pod, bool live, Time at) {
  const auto known = bound_to_.find(pod.pod.uid);
  if (known == bound_to_.end()) return;
  const std::string& node = known->second;
  const PodPtr& before = nodes_[node].pods.at(pod.pod.uid);
  const bool ended = !live || pod.pod.hami_turn == cluster::HamiTurn::kNone;
  if (before->pod.hami_turn == cluster::HamiTurn::kNone || !ended) return;
  for (const PodPtr& other : api_.Pods()) {
    if (other->pod.bound() || other->pod.nominated_node != node) continue;
    const auto gang = gangs_.find({other->pod.key.ns, other->pod.pod_group});
    if (gang != gangs_.end()) CountFrom(gang->first, gang->second, at);
  }
}

// It is partially bound, and counts as such from then on.
void Auditor::Impl::CountFrom(const ObjectKey& key, GangBook& gang, Time at) {
  if (gang.partial_since == Time::Never() || at <= gang.partial_since) return;
  if (partial_.erase({gang.partial_since, key}) > 0) partial_.emplace(at, key);
  gang.partial_since = at;
}

void Auditor::Impl::SetPartial(const ObjectKey& key, GangBook& gang, bool partial, Time at) {
  if (partial == (gang.partial_since != Time::Never())) return;
  if (partial) {
    partial_.emplace(at, key);
  } else if (partial_.erase({gang.partial_since, key}) > 0) {
    CheckPartial(gang.partial_since, key, at);
  }
  gang.partial_since = partial ? at : Time::Never();
}

// So many members of each role are bound as it asks for. True without roles.
bool Auditor::Impl::HasRoles(const ObjectKey& key, const GangBook& gang) const {
  const PodGroupPtr group = api_.FindPodGroup(key);
  if (group == nullptr || group->group.roles.empty()) return true;
  std::map<std::string, int64_t> bound;
  for (const PodUid& uid : gang.bound) {
    if (const PodPtr pod = api_.FindPod(uid)) ++bound[pod->pod.role];
  }
  return std::all_of(
      group->group.roles.begin(), group->group.roles.end(),
      [&](const cluster::RoleMinimum& role) { return bound[role.name] >= role.min_member; });
}

// Brings up to date whether a gang has had its minimum, and which. `need`, `most`: see NeedOf.
void Auditor::Impl::SetWhole(const ObjectKey& key, GangBook& gang, int64_t need, int64_t most,
                             Time at) {
  const auto bound = static_cast<int64_t>(gang.bound.size());
  const auto succeeded = static_cast<int64_t>(gang.succeeded.size());
  gang.started = gang.started || (bound > 0 && bound + succeeded >= need);
  const auto unheard = std::count_if(gang.gone.begin(), gang.gone.end(),
                                     [&](const auto& entry) { return InDoubt(entry.second, at); });
  gang.perhaps = gang.perhaps || gang.started || bound + succeeded + unheard >= need;
  // Muster may have heard of the larger minimum first.
  if (gang.surely && bound + succeeded < most && at <= gang.news + options_.node_slack)
    gang.surely = false;
  if (!gang.surely && bound > 0 && bound + succeeded >= most && HasRoles(key, gang)) {
    gang.surely = true;
    gang.news = at;
  }
  const int64_t there = bound + static_cast<int64_t>(gang.shown.size());
  gang.whole = there >= most ? need : std::min(gang.whole, need);
}

// Brings up to date whether a gang is partially bound, and since when.
void Auditor::Impl::Judge(const ObjectKey& key, Time at) {
  const auto found = gangs_.find(key);
  GangBook& gang = found->second;
  const auto [need, most] = NeedOf(key, at);
  const auto bound = static_cast<int64_t>(gang.bound.size());
  const auto succeeded = static_cast<int64_t>(gang.succeeded.size());
  if (bound == 0 && gang.shown.empty()) {
    gang.empty_since = std::min(gang.empty_since, at);
  } else {
    // Muster may not have seen a short while without any.
    if (gang.empty_since + options_.node_slack < at) {
      gang.started = gang.perhaps = gang.surely = gang.lost = false;
      gang.forgotten = gang.forgotten && !gang.succeeded.empty();  // those count on
      gang.lost_until = gang.news = Time();
    }
    gang.empty_since = Time::Never();
  }
  const auto minimum = minima_.find(key);
  const bool of_roles = minimum != minima_.end() && minimum->second.of_roles;
  const bool malformed = minimum != minima_.end() && minimum->second.malformed;
  // Muster may not have heard that it is.
  const bool perhaps_sound = !malformed || InDoubt(minimum->second.sound_until, at);
  if (perhaps_sound) SetWhole(key, gang, need, most, at);
  // A gang of which nothing is bound may want again who ended well and was recreated.
  const int64_t surely = bound + succeeded - static_cast<int64_t>(gang.remade.size());
  if (gang.lost && !of_roles && !malformed && surely >= most) {
    gang.lost = false;
    gang.lost_until = at;
  }
  std::erase_if(gang.gone, [&](const auto& entry) {
    return entry.second + options_.node_slack < at && !Unseen(entry.second);
  });
  // Who went unseen may have ended.
  const int64_t unseen = std::count_if(gang.gone.begin(), gang.gone.end(),
                                       [&](const auto& entry) { return Unseen(entry.second); });
  const int64_t wanted = gang.started ? std::min(need, gang.whole) : need;
  const bool partial = !malformed && !gang.ours.empty() && bound + succeeded + unseen < wanted;
  // Where Muster has not heard of the last ones that went, it may see the gang whole when another
  // is bound for those before, and partial anew after that.
  const int64_t unheard = std::count_if(gang.gone.begin(), gang.gone.end(), [&](const auto& entry) {
    return InDoubt(entry.second, at) && !Unseen(entry.second);
  });
  if (gang.joined == at && bound + succeeded + unseen + unheard >= wanted)
    SetPartial(key, gang, false, at);
  SetPartial(key, gang, partial, at);
  for (const auto& [uid, leaves_by] : gang.leaving) {  // who may take its time
    if (partial) CountFrom(key, gang, leaves_by);
  }
  if (bound == 0 && succeeded == 0 && gang.gone.empty()) gangs_.erase(found);
}

// Its gang lost a member, or was never whole as far as Muster may know.
bool Auditor::Impl::MayBeTakenBack(const PodRecord& pod) const {
  if (doubted_.contains({pod.pod.key.ns, pod.pod.pod_group})) return true;
  const engine::Options options = muster_->scheduler().options();
  const bool moves = options.lost_member == engine::LostMember::kMoveSegment ||
                     options.lost_member == engine::LostMember::kMoveGang;
  if (options.partial_gang == engine::PartialGang::kHold && !moves) return false;
  const auto found = gangs_.find({pod.pod.key.ns, pod.pod.pod_group});
  if (pod.pod.pod_group.empty() || found == gangs_.end()) return false;
  const GangBook& gang = found->second;
  const bool just_whole = gang.lost_until > Time() &&
                          gang.lost_until + options_.slack + options_.node_slack >= loop_.now();
  return gang.lost || just_whole || gang.forgotten || !gang.surely;
}

bool Auditor::Impl::MustBeNear(const cluster::Pod& member) const {
  const PodGroupPtr group = api_.FindPodGroup({member.key.ns, member.pod_group});
  const cluster::TopologyTerms& terms =
      policy::TermsOf(group == nullptr ? nullptr : &group->group, member);
  return !terms.required.empty() || !terms.segments.empty() || !terms.subgroups.empty();
}

// It has run, and lost members of it may find no room where they have to be.
bool Auditor::Impl::MayFindNoRoom(const ObjectKey& key) const {
  const auto found = gangs_.find(key);
  if (found == gangs_.end() || !found->second.perhaps) return false;
  const GangBook& gang = found->second;
  // The last one has just gone, or the PodGroup.
  if (gang.bound.empty() || api_.FindPodGroup(key) == nullptr) return gang.near;
  return std::any_of(gang.bound.begin(), gang.bound.end(), [&](const PodUid& uid) {
    const PodPtr pod = api_.FindPod(uid);
    return pod != nullptr && MustBeNear(pod->pod);
  });
}

// Whom nobody takes back at three tries may become whole for as long again, and a while.
cluster::Duration Auditor::Impl::PartialLimit(Time since) const {
  const int64_t times = lossy_ > Time() && lossy_ >= since ? 3 : 1;
  return cluster::Duration(options_.partial_limit.value() * times) + options_.slack;
}

void Auditor::Impl::CheckPartial(Time since, const ObjectKey& gang, Time until) {
  if (doubted_.contains(gang)) return;
  if (api_.HasBudget(gang)) return;  // it may keep what is left of it
  if (muster_ != nullptr) {
    const engine::Options options = muster_->scheduler().options();
    const bool waits =
        options.lost_member != engine::LostMember::kPartialGang && MayFindNoRoom(gang);
    if (waits || options.partial_gang == engine::PartialGang::kHold) return;
  }
  if (!restarted_.empty()) since = std::max(since, restarted_.back().at);
  if (since + PartialLimit(since) >= until) return;
  Find("gang " + gang.ToString() + " is partially bound from " +
       std::to_string(since.milliseconds()) + " to " + std::to_string(until.milliseconds()) +
       " ms at least");
}

}  // namespace muster::sim
