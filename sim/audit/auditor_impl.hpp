// Auditor's inside: what it has seen, and its checks. Internal to the auditor*.cpp files.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/api_server/watch.hpp"
#include "sim/audit/auditor.hpp"
#include "sim/audit/owner_audit.hpp"
#include "sim/audit/queue_audit.hpp"
#include "sim/audit/restart_audit.hpp"
#include "sim/audit/shape_audit.hpp"

namespace muster::sim {

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

  void Doubt(const cluster::ObjectKey& pod_group) { doubted_.insert(pod_group); }
  void DoubtJob(const std::string& job) { owner_audit_.Doubt(job); }

 private:
  struct NodeBook {
    NodePtr node;    // as it is at this event; null: there is none
    NodePtr before;  // as it was before changes that Muster may not know of; null: there was none
    cluster::Time news;                      // when the node was changed last
    std::map<cluster::PodUid, PodPtr> pods;  // live and bound
    cluster::Time changed;  // when somebody else last changed what Muster can count on
  };
  struct GangBook {
    std::set<cluster::PodUid> bound;                   // live, bound and not on their way out
    std::set<cluster::PodUid> ours;                    // of these, Muster's
    std::map<cluster::PodUid, cluster::Time> leaving;  // bound, until when they may stay
    std::map<cluster::PodUid, std::string>
        succeeded;                     // their names, whatever became of their objects
    std::set<cluster::PodUid> shown;   // of these, whose objects are there
    std::set<cluster::PodUid> remade;  // of these, whose names other pods have had since
    std::map<cluster::PodUid, cluster::Time>
        gone;                  // bound ones that went before they had ended, when
    bool started = false;      // had its minimum since it last showed nothing, old or new
    bool perhaps = false;      // as Muster may have seen it, who hears late of members that go
    bool surely = false;       // had both minima, old and new
    int64_t whole = 0;         // the minimum that it had then, or a lower one since
    bool near = false;         // its members must be near each other, as the last one bound has it
    bool lost = false;         // a member went since then that had not ended
    cluster::Time lost_until;  // when it had its minimum again
    cluster::Time news;  // when it had its minimum first, or a member ended last or went after that
    bool forgotten = false;  // Muster was restarted before it may have written that down
    cluster::Time empty_since = cluster::Time::Never();
    cluster::Time partial_since = cluster::Time::Never();
    cluster::Time joined;  // when one was bound last
  };

  // What a PodGroup asks for, and asked for before, until when: Muster may not have heard yet.
  struct Minimum {
    std::string uid;  // of the PodGroup; another one starts over
    int64_t now = 0;
    std::vector<std::pair<int64_t, cluster::Time>> before;  // the latest last
    bool of_roles = false;
    // Nobody can say then what its gang lacks: Invalid, it starts nothing and nobody is evicted.
    bool malformed = false;
    cluster::Time sound_until;  // when it became so
  };

  void See(const WatchEvent& event);
  // The least and the most that the gang may have to have, as far as Muster has heard.
  std::pair<int64_t, int64_t> NeedOf(const cluster::ObjectKey& gang, cluster::Time at) const;
  void SeeGroup(Change change, const PodGroupRecord& group, cluster::Time at);
  // What happened then, Muster may not have heard of now.
  bool InDoubt(cluster::Time then, cluster::Time now) const {
    return options_.node_slack.value() > 0 && then + options_.node_slack >= now;
  }
  bool Unseen(cluster::Time at) const;
  void NoteRestart(cluster::Time at);
  bool Outranked(const PodRecord& pod);
  bool Reclaimed() const;
  bool MayBeTakenBack(const PodRecord& pod) const;
  void SeePod(Change change, const PodPtr& pod, cluster::Time at);
  void SeePlace(const PodPtr& pod, bool live, cluster::Time at);
  void SeeMember(Change change, const PodRecord& record, bool live, cluster::Time at);
  void Judge(const cluster::ObjectKey& gang, cluster::Time at);
  void SetWhole(const cluster::ObjectKey& key, GangBook& gang, int64_t need, int64_t most,
                cluster::Time at);
  void SetPartial(const cluster::ObjectKey& key, GangBook& gang, bool partial, cluster::Time at);
  void CountFrom(const cluster::ObjectKey& key, GangBook& gang, cluster::Time at);
  void CheckEviction(const PodRecord& pod);
  bool MustBeNear(const cluster::Pod& member) const;
  bool MayFindNoRoom(const cluster::ObjectKey& key) const;
  bool HasRoles(const cluster::ObjectKey& key, const GangBook& gang) const;
  cluster::Duration PartialLimit(cluster::Time since) const;
  void CheckPartial(cluster::Time since, const cluster::ObjectKey& gang, cluster::Time until);
  void CheckBinding(const PodRecord& pod);
  void CheckGuarantee(const PodRecord& pod);
  void CheckShapes(const PodRecord& pod, cluster::Time at);
  void SeeTurn(const PodRecord& pod, bool live, cluster::Time at);
  void SeeNode(const NodePtr& node, Change change, cluster::Time at);
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
  std::unordered_map<cluster::PodUid, std::string> bound_to_;  // node of every live bound pod
  std::map<cluster::ObjectKey, GangBook> gangs_;               // with members that count
  std::map<cluster::ObjectKey, Minimum> minima_;               // of every PodGroup that was seen
  std::set<cluster::ObjectKey> ours_;  // gangs that have had a pod of Muster's
  QueueAudit queue_audit_{api_};
  OwnerAudit owner_audit_{api_, options_.node_slack};
  RestartAudit restart_audit_{api_, queue_audit_};
  ShapeAudit shape_audit_{api_, queue_audit_};
  std::map<int32_t, cluster::Time> waited_;  // by priority: until when a pod did
  cluster::Time lossy_;                      // when writes were lost last
  cluster::Time reclaimed_;                  // when a queue paused for it last
  std::set<cluster::PodUid> evicted_;        // by Muster, and judged
  std::set<cluster::ObjectKey> doubted_;     // PodGroups
  std::set<std::pair<cluster::Time, cluster::ObjectKey>> partial_;  // by since when
  int64_t restarts_ = 0;                                            // of Muster, seen so far
  struct Restart {
    cluster::Time at;
    cluster::Time written;  // what Muster had seen by then is surely on the objects
  };
  std::vector<Restart> restarted_;
  std::vector<std::string> found_;  // by the present Check
  std::vector<std::string> findings_;
};

}  // namespace muster::sim
