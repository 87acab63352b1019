#include "sim/auditor.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "policy/fabric_wish.hpp"
#include "sim/hami_audit.hpp"
#include "sim/node_audit.hpp"
#include "sim/queue_audit.hpp"
#include "sim/restart_audit.hpp"
#include "sim/shape_audit.hpp"
#include "sim/watch.hpp"

namespace muster::sim {

using cluster::ObjectKey;
using cluster::PodUid;
using cluster::Time;

namespace {

// As long as a status may be on its way where writes are lost: half of them were, say, ten times.
constexpr cluster::Duration kWrittenAgain = cluster::Seconds(20);

bool Live(const cluster::Pod& pod) { return pod.bound() && !pod.terminal(); }

}  // namespace

class Auditor::Impl {
 public:
  Impl(EventLoop& loop, ApiServer& api, MusterLink* muster, AuditorOptions options)
      : loop_(loop), api_(api), muster_(muster), options_(std::move(options)) {
    const Kinds kinds{.nodes = true, .pods = true, .pod_groups = true};
    watch_ = api_.OpenWatch(kinds, {});
    for (const WatchEvent& event : api_.List(kinds)) See(event);
    found_.clear();  // what was there before is not Muster's doing
  }

  std::vector<std::string> Check();
  const std::vector<std::string>& findings() const { return findings_; }
  int64_t restart_windows() const { return restart_audit_.windows(); }

 private:
  struct NodeBook {
    std::map<PodUid, PodPtr> pods;  // live and bound
    Time changed;                   // when somebody else last changed what Muster can count on
  };
  struct GangBook {
    std::set<PodUid> bound;                   // live, bound and not on their way out
    std::set<PodUid> ours;                    // of these, Muster's
    std::map<PodUid, Time> leaving;           // bound, until when they may stay
    std::map<PodUid, std::string> succeeded;  // their names, whatever became of their objects
    std::set<PodUid> shown;                   // of these, whose objects are there
    std::set<PodUid> remade;                  // of these, whose names other pods have had since
    std::map<PodUid, Time> gone;              // bound ones that went before they had ended, when
    bool started = false;  // had its minimum since it last showed nothing, old or new
    bool perhaps = false;  // as Muster may have seen it, who hears late of members that go
    bool surely = false;   // had both minima, old and new
    int64_t whole = 0;     // the minimum that it had then, or a lower one since
    bool near = false;     // its members must be near each other, as the last one bound has it
    bool lost = false;     // a member went since then that had not ended
    Time lost_until;       // when it had its minimum again
    Time news;  // when it had its minimum first, or a member ended last or went after that
    bool forgotten = false;  // Muster was restarted before it may have written that down
    Time empty_since = Time::Never();
    Time partial_since = Time::Never();
    Time joined;  // when one was bound last
  };

  // What a PodGroup asks for, and asked for before, until when: Muster may not have heard yet.
  struct Minimum {
    std::string uid;  // of the PodGroup; another one starts over
    int64_t now = 0;
    std::vector<std::pair<int64_t, Time>> before;  // the latest last
    bool of_roles = false;
    // Nobody can say then what its gang lacks: Invalid, it starts nothing and nobody is evicted.
    bool malformed = false;
    Time sound_until;  // when it became so
  };

  void See(const WatchEvent& event);
  // The least and the most that the gang may have to have, as far as Muster has heard.
  std::pair<int64_t, int64_t> NeedOf(const ObjectKey& gang, Time at) const;
  void SeeGroup(Change change, const PodGroupRecord& group, Time at);
  // What happened then, Muster may not have heard of now.
  bool InDoubt(Time then, Time now) const {
    return options_.node_slack.value() > 0 && then + options_.node_slack >= now;
  }
  bool Unseen(Time at) const;
  void NoteRestart(Time at);
  bool Outranked(const PodRecord& pod);
  bool Reclaimed() const;
  bool MayBeTakenBack(const PodRecord& pod) const;
  void SeePod(Change change, const PodPtr& pod, Time at);
  void SeePlace(const PodPtr& pod, bool live, Time at);
  void SeeMember(Change change, const PodRecord& record, bool live, Time at);
  void Judge(const ObjectKey& gang, Time at);
  void SetWhole(const ObjectKey& key, GangBook& gang, int64_t need, int64_t most, Time at);
  void SetPartial(const ObjectKey& key, GangBook& gang, bool partial, Time at);
  void CountFrom(const ObjectKey& key, GangBook& gang, Time at);
  void CheckEviction(const PodRecord& pod);
  bool MustBeNear(const cluster::Pod& member) const;
  bool MayFindNoRoom(const ObjectKey& key) const;
  bool HasRoles(const ObjectKey& key, const GangBook& gang) const;
  void CheckPartial(Time since, const ObjectKey& gang, Time until);
  void CheckBinding(const PodRecord& pod);
  void CheckGuarantee(const PodRecord& pod);
  void CheckShapes(const PodRecord& pod, Time at);
  void SeeTurn(const PodRecord& pod, bool live, Time at);
  void CheckDevices(const PodRecord& fresh, const NodeBook& book);
  bool Musters(const cluster::Pod& pod) const;
  // Empty: nothing.
  void Find(std::string what) {
    if (!what.empty()) found_.push_back(std::move(what));
  }

  EventLoop& loop_;
  ApiServer& api_;
  MusterLink* const muster_;
  const AuditorOptions options_;
  std::unique_ptr<Watch> watch_;
  std::unordered_map<std::string, NodeBook> nodes_;
  std::unordered_map<PodUid, std::string> bound_to_;  // node of every live bound pod
  std::map<ObjectKey, GangBook> gangs_;               // with members that count
  std::map<ObjectKey, Minimum> minima_;               // of every PodGroup that was seen
  std::set<ObjectKey> ours_;                          // gangs that have had a pod of Muster's
  QueueAudit queue_audit_{api_};
  RestartAudit restart_audit_{api_};
  ShapeAudit shape_audit_{api_, queue_audit_};
  std::map<int32_t, Time> waited_;                // by priority: until when a pod did
  Time reclaimed_;                                // when a queue paused for it last
  std::set<PodUid> evicted_;                      // by Muster, and judged
  std::set<std::pair<Time, ObjectKey>> partial_;  // by since when
  int64_t restarts_ = 0;                          // of Muster, seen so far
  std::vector<Time> restarted_;                   // when
  std::vector<std::string> found_;                // by the present Check
  std::vector<std::string> findings_;
};

bool Auditor::Impl::Musters(const cluster::Pod& pod) const {
  return std::find(options_.scheduler_names.begin(), options_.scheduler_names.end(),
                   pod.spec->scheduler_name) != options_.scheduler_names.end();
}

void Auditor::Impl::See(const WatchEvent& event) {
  if (const NodePtr* node = std::get_if<NodePtr>(&event.object)) {
    nodes_[(*node)->node.name].changed = event.at;
    if (event.change == Change::kDeleted) restart_audit_.NodeGone((*node)->node.name);
    if (event.change != Change::kAdded) shape_audit_.Disturbed(event.at);
  } else if (const PodPtr* pod = std::get_if<PodPtr>(&event.object)) {
    SeePod(event.change, *pod, event.at);
  } else if (const PodGroupPtr* group = std::get_if<PodGroupPtr>(&event.object)) {
    restart_audit_.SeeGroup(event.change, **group);
    SeeGroup(event.change, **group, event.at);
  }
}

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

void Auditor::Impl::SeePod(Change change, const PodPtr& pod, Time at) {
  const PodUid& uid = pod->pod.uid;
  const bool live = change != Change::kDeleted && Live(pod->pod);
  const auto known = bound_to_.find(uid);
  const bool waited = known == bound_to_.end() && (live || change == Change::kDeleted);
  if (waited && Musters(pod->pod)) {
    waited_[pod->pod.spec->priority] = at;
    queue_audit_.Waited(pod->pod, at);
  }
  if (known != bound_to_.end() && !live) {
    queue_audit_.Gone(pod, at);
    shape_audit_.Disturbed(at);
  }
  SeeTurn(*pod, live, at);
  SeePlace(pod, live, at);
  CheckEviction(*pod);
  if (!pod->pod.pod_group.empty()) SeeMember(change, *pod, live, at);
}

// The node that it comes to, or leaves.
void Auditor::Impl::SeePlace(const PodPtr& pod, bool live, Time at) {
  const PodUid& uid = pod->pod.uid;
  const auto known = bound_to_.find(uid);
  if (muster_ != nullptr) restart_audit_.See(pod, live, muster_->scheduler().options().queues, at);
  const bool fresh = live && known == bound_to_.end() && pod->pod.bound_by_muster;
  if (fresh && !InDoubt(at, at)) Find(restart_audit_.Fault(pod->pod, at));
  if (live) {
    queue_audit_.Runs(pod);
    NodeBook& book = nodes_[pod->pod.node_name];
    book.pods[uid] = pod;
    if (known == bound_to_.end()) {
      bound_to_[uid] = pod->pod.node_name;
      if (Musters(pod->pod)) {
        CheckBinding(*pod);
        CheckGuarantee(*pod);
        CheckShapes(*pod, at);
      } else {
        book.changed = at;  // others bind as they please
      }
      CheckDevices(*pod, book);
    }
    Find(HamiGaveOther(*pod));
  } else if (known != bound_to_.end()) {
    nodes_[known->second].pods.erase(uid);
    bound_to_.erase(known);
  }
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
    if (name == pod.key.name && other != uid) gang.remade.insert(other);
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

// Muster was restarted about then, and may not know what happened.
bool Auditor::Impl::Unseen(Time at) const {
  return std::any_of(restarted_.begin(), restarted_.end(), [&](Time restarted) {
    return at + options_.node_slack >= restarted && restarted + options_.node_slack >= at;
  });
}

void Auditor::Impl::NoteRestart(Time at) {
  restart_audit_.Restarted();
  restarted_.push_back(at);
  const WriteFaults& writes = muster_->faults();
  const bool lossy = writes.lost_per_mille + writes.unclear_per_mille > 0;
  const cluster::Duration to_write = (lossy ? kWrittenAgain : writes.latency + writes.jitter) +
                                     options_.slack + options_.node_slack;
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

void Auditor::Impl::CheckBinding(const PodRecord& pod) {
  const NodeBook& book = nodes_[pod.pod.node_name];
  if (InDoubt(book.changed, loop_.now())) return;
  const NodePtr node = api_.FindNode(pod.pod.node_name);
  for (std::string& fault : BindingFaults(pod, node, book.pods)) Find(std::move(fault));
}

// Lost members come back whatever their queue has.
void Auditor::Impl::CheckGuarantee(const PodRecord& pod) {
  if (muster_ == nullptr) return;
  const auto gang = gangs_.find({pod.pod.key.ns, pod.pod.pod_group});
  const bool ran = !pod.pod.pod_group.empty() && gang != gangs_.end() && gang->second.perhaps;
  if (ran || !queue_audit_.IsKeptBeyond(pod.pod, muster_->scheduler().options().queues)) return;
  Find("pod " + pod.pod.key.ToString() +
       " is bound, is not preemptible, and its queue's guarantee is used up");
}

void Auditor::Impl::CheckShapes(const PodRecord& pod, Time at) {
  if (muster_ == nullptr) return;
  std::string fault = shape_audit_.FaultOf(pod.pod, muster_->scheduler().options().queues, at);
  if (!fault.empty()) Find(std::move(fault));
}

void Auditor::Impl::CheckDevices(const PodRecord& fresh, const NodeBook& book) {
  const NodePtr node = api_.FindNode(fresh.pod.node_name);
  if (node == nullptr) return;
  for (std::string& fault : DeviceFaults(fresh, node->node, book.pods)) Find(std::move(fault));
}

// A pod of Muster's of higher priority waits, or did a moment ago.
bool Auditor::Impl::Outranked(const PodRecord& pod) {
  const int32_t priority = pod.pod.spec->priority;
  for (const PodPtr& other : api_.Pods()) {
    const cluster::Pod& waiting = other->pod;
    if (waiting.spec->priority > priority && Musters(waiting) && !waiting.bound()) return true;
  }
  return std::any_of(waited_.upper_bound(priority), waited_.end(), [&](const auto& entry) {
    return entry.second + options_.slack + options_.node_slack >= loop_.now();
  });
}

// Its gang lost a member, or was never whole as far as Muster may know.
bool Auditor::Impl::MayBeTakenBack(const PodRecord& pod) const {
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

// An operator had GPUs reclaimed: victims are asked to go until they have had their time.
bool Auditor::Impl::Reclaimed() const {
  return reclaimed_ > Time() && reclaimed_ + muster_->scheduler().options().victim_timeout +
                                        options_.slack + options_.node_slack >=
                                    loop_.now();
}

void Auditor::Impl::CheckEviction(const PodRecord& pod) {
  if (!pod.evicted_by_muster || !evicted_.insert(pod.pod.uid).second) return;
  const std::string what = "pod " + pod.pod.key.ToString() + " is evicted and ";
  if (!Musters(pod.pod) && !pod.pod.bound_by_muster) Find(what + "is not Muster's");
  if (muster_ == nullptr) return;
  const engine::Options options = muster_->scheduler().options();
  if (MayBeTakenBack(pod)) return;
  if (queue_audit_.IsKept(pod.pod)) Find(what + "its gang is not preemptible");
  if (Reclaimed()) return;
  if (!options.queues.empty()) {
    const cluster::Duration doubt = options_.slack + options_.node_slack + options.victim_timeout;
    const bool lawful = queue_audit_.MayGo(pod.pod, options.queues,
                                           Time(loop_.now().milliseconds() - doubt.value()));
    if (!lawful) Find(what + "its gang has lost nobody, and its queue lets nobody have it");
    return;
  }
  const bool preempts = options.preemption == engine::Preemption::kLowerPriority;
  if (preempts && Outranked(pod)) return;
  Find(what + "its gang has lost nobody" + (preempts ? ", and nobody outranks it" : ""));
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

void Auditor::Impl::CheckPartial(Time since, const ObjectKey& gang, Time until) {
  if (muster_ != nullptr) {
    const engine::Options options = muster_->scheduler().options();
    const bool waits =
        options.lost_member != engine::LostMember::kPartialGang && MayFindNoRoom(gang);
    if (waits || options.partial_gang == engine::PartialGang::kHold) return;
  }
  if (!restarted_.empty()) since = std::max(since, restarted_.back());
  if (since + options_.partial_limit + options_.slack >= until) return;
  Find("gang " + gang.ToString() + " is partially bound from " +
       std::to_string(since.milliseconds()) + " to " + std::to_string(until.milliseconds()) +
       " ms at least");
}

std::vector<std::string> Auditor::Impl::Check() {
  if (muster_ != nullptr) {
    const engine::StandingOrders orders = muster_->scheduler().Orders();
    const bool pauses =
        std::any_of(orders.queues.begin(), orders.queues.end(),
                    [](const auto& entry) { return entry.second.paused_until.has_value(); });
    if (pauses) reclaimed_ = std::max(loop_.now(), Time(1));
  }
  while (const WatchEvent* next = watch_->Peek()) {
    const WatchEvent event = *next;
    watch_->Pop();
    See(event);
  }
  if (muster_ != nullptr && muster_->stats().restarts != restarts_) {
    restarts_ = muster_->stats().restarts;
    NoteRestart(loop_.now());
  }
  const cluster::Duration limit = options_.partial_limit + options_.slack;
  const Time restarted = restarted_.empty() ? Time() : restarted_.back();
  while (!partial_.empty() && std::max(partial_.begin()->first, restarted) + limit < loop_.now()) {
    const auto [since, key] = *partial_.begin();
    CheckPartial(since, key, loop_.now());
    partial_.erase(partial_.begin());  // said once
  }
  if (muster_ != nullptr && options_.ask_engine) {
    for (std::string& finding : muster_->scheduler().Audit(loop_.now())) {
      Find("engine: " + std::move(finding));
    }
  }
  std::vector<std::string> found;
  found.swap(found_);
  constexpr size_t kKept = 1000;
  for (const std::string& one : found) {
    if (findings_.size() < kKept) findings_.push_back(one);
  }
  return found;
}

std::vector<ObjectKey> PartialGangs(const ApiServer& api) {
  std::map<ObjectKey, int64_t> counted;
  for (const PodPtr& pod : api.Pods()) {
    if (pod->pod.pod_group.empty() || !pod->pod.bound() || pod->pod.deleting) continue;
    if (pod->pod.phase == cluster::PodPhase::kFailed) continue;
    ++counted[{pod->pod.key.ns, pod->pod.pod_group}];
  }
  std::vector<ObjectKey> partial;
  for (const auto& [key, bound] : counted) {
    const PodGroupPtr group = api.FindPodGroup(key);
    if (group != nullptr && bound < group->group.min_member) partial.push_back(key);
  }
  return partial;
}

Auditor::Auditor(EventLoop& loop, ApiServer& api, MusterLink* muster, AuditorOptions options)
    : impl_(std::make_unique<Impl>(loop, api, muster, std::move(options))) {}
Auditor::~Auditor() = default;

std::vector<std::string> Auditor::Check() { return impl_->Check(); }
const std::vector<std::string>& Auditor::findings() const { return impl_->findings(); }
int64_t Auditor::restart_windows() const { return impl_->restart_windows(); }

}  // namespace muster::sim
