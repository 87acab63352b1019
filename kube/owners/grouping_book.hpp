// GroupingBook: the gangs of pods that name no PodGroup, kept up to date as pods, owners and rules
// change. It has Muster's pods only: those with its schedulerName, its gate or its marks, and those
// about which a Filter call asks.
//
//   pod as read ──▶ Join ──▶ pod as reported: pod_group, role, declared_min_member, defect
//                    │ its owners are not read yet: withheld, until Learn or Start
//                    │ one of them cannot be read: reported in a gang of all pods that wait for it,
//                    │ with the reason
//   owner as read ──▶ Learn ──▶ its pods, where that makes a difference: GoOn, slice by slice
//
// 1. A pod that is bound, or that another leader may be binding, is withheld only before Start: it
//    holds something, and is reported as a gang of one until its owners are known.
// 2. A pod keeps its gang while its owners are deleted or read again, as long as it names them. A
//    pod that no longer names an owner (--cascade=orphan) is alone. A pod that was reported and is
//    withheld again, because rules or owners changed, is withdrawn.
// 3. If a gang can never start, its pods say so in their defect, except those that are bound.
// 4. A pod whose owner cannot be read is not started: it is reported in a gang that waits, with the
//    reason (Grouping::Kind::kUnreadable), until the owner can be read, unless the settings say
//    otherwise. A bound pod is reported in the gang in which it was bound, if the pod names it, and
//    else alone.
// 5. A restart forgets all of it; it follows from the objects again.
// 6. Pods of one owner are judged together if they fit into a slice. Of a larger gang some are
//    reported before others, as if the others had been created later: the smallest minimum of its
//    pods counts (DeclaredGangs), and further pods join a gang that was planned already.
//
// Pure; one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/records/grouping_rule.hpp"
#include "cluster/records/pod.hpp"
#include "kube/owners/grouping.hpp"
#include "kube/owners/owner_table.hpp"

namespace muster::kube {

struct GroupingSettings {
  cluster::GroupingRules rules;
  std::vector<std::string> scheduler_names;  // of Muster's pods
  bool by_owner = true;                      // false: every pod is alone, and no owner is read
  cluster::UnreadableOwners unreadable = cluster::UnreadableOwners::kWait;
};

// What grouping rules may read of a pod, as JSON: its labels, its owners, its node, and those
// annotations that PodFields keeps. Empty: the pod names a PodGroup, or no rule could say anything
// about it. `owners`: its ownerReferences, where `pod` is a template and has none.
std::string GroupingText(const JsonNode& pod, const cluster::Pod& record,
                         std::string_view owners = {});

// Whether such a text can have the member at a path of a pod; else it is always absent.
bool IsInGroupingText(const cluster::GroupingPath& path);

class GroupingBook {
 public:
  struct Told {
    std::vector<cluster::Pod> pods;   // to be reported again
    std::vector<cluster::Pod> first;  // withheld until now
    std::vector<std::string> warnings;
  };

  // How many pods are judged at a time: `least`, and further ones of the same owner up to `most`.
  struct Slice {
    size_t least = 32;
    size_t most = 128;
  };

  explicit GroupingBook(OwnerTable::Options options = {}) : GroupingBook(options, Slice()) {}
  GroupingBook(OwnerTable::Options options, Slice slice) : slice_(slice), owners_(options) {}

  // Set, Learn and Start judge a slice of the pods that they concern; as long as the book is
  // behind, GoOn judges the next slice. The caller may do other things in between.
  bool behind() const { return !to_judge_.empty(); }
  Told GoOn();

  // Until it is called no pod is in a gang by its owners, and no owner is read.
  Told Set(GroupingSettings settings);
  // The text by which the pod is judged from now on; called before Join.
  void Keep(const cluster::PodUid& pod, std::shared_ptr<const std::string> text);
  // Nothing: it is withheld.
  std::optional<cluster::Pod> Join(cluster::Pod pod, cluster::Time now);
  // It is gone, or names a PodGroup.
  void Forget(const cluster::PodUid& pod, cluster::Time now);
  Told Learn(const OwnerKey& key, OwnerAnswer answer, cluster::Time now);
  // From here on decisions are made.
  Told Start();
  // Adds to a pod about which kube-scheduler asks what is known of its gang. `why`: why that is not
  // known yet, for people; empty: it is known.
  struct Asked {
    std::string why;
    Told told;
  };
  Asked Ask(cluster::Pod& pod);

  // Pods that were reported, and withheld since the last call: report this before any other fact.
  std::vector<cluster::PodUid> TakeWithdrawn() { return std::exchange(withdrawn_, {}); }
  // The pod's grouping; null: nobody asked for it, or it names its PodGroup.
  const Grouping* Find(const cluster::PodUid& pod) const;
  size_t withheld() const { return withheld_; }
  OwnerTable& owners() { return owners_; }

 private:
  struct Entry {
    std::shared_ptr<const std::string> text;
    std::optional<cluster::Pod> pod;  // as it was read last
    bool asked = false;               // by a Filter call
    bool judged = false;              // by `text`
    bool withheld = false;
    bool told = false;
    Grouping grouping;
    std::vector<OwnerKey> owners;  // that were looked at
  };

  bool Mine(const Entry& entry) const;
  // True: the judgement has changed.
  bool Judge(const cluster::PodUid& uid, Entry& entry);
  bool KeepsJudgement(const Entry& entry, const Grouping& grouping);
  Grouping LookAt(const cluster::PodUid& uid, const JsonNode& pod, Entry& entry);
  void Use(const cluster::PodUid& uid, const Entry& entry);
  std::optional<cluster::Pod> Tell(Entry& entry);
  void TellAgain(Entry& entry, Told& told);
  void JudgeAgain(const cluster::PodUid& uid, Told& told);
  void JudgeLater(const cluster::PodUid& uid);

  const Slice slice_;
  OwnerTable owners_;
  std::optional<GroupingSettings> settings_;
  bool started_ = false;
  size_t withheld_ = 0;
  std::vector<cluster::PodUid> withdrawn_;
  std::unordered_map<cluster::PodUid, Entry> pods_;
  // Ordered by the outermost owner that is known of each: pods of one gang follow each other.
  std::set<std::pair<std::string, cluster::PodUid>> to_judge_;
};

}  // namespace muster::kube
