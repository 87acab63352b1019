// Refusals: gangs that kube-scheduler did not take, what it said, and what has happened since that
// could help (internal to engine/). Owned and guarded by Scheduler.
//
//   plan ──▶ released ──▶ a member is Unschedulable, or nobody asked about it
//                           │ the plan is given back
//                           ▼
//                         waits ──evidence──▶ planned anew ──▶ refused again, or it runs
//                         (forgotten)
//                           ▲                     │ no room without evictions
//                           └─────────────────────┘
//
// 1. A gang that is refused waits for evidence, at most once in kRetryApart:
//      asked   kube-scheduler asks Filter about a member that it had refused, or has another
//              sentence for it, in which something is missing that nobody makes room for
//      change  a node came or changed; a pod left, or a volume, a quota or the policy changed.
//              That may mean nothing, so after each vain try the next one is later.
//    Where it was silent only the first and a node are evidence, and the pause ends by itself.
// 2. What kube-scheduler says of a nominated pod speaks of every node. So pods of that template are
//    kept off all nodes but those that it has named since, and those that came or changed; when
//    something else changed, off none.
// 3. For a gang that it has refused by words nobody is evicted again before evidence by `asked`.
// 4. An entry ends with its gang, when that runs, or when none of the refused pods is left. A pause
//    after silence goes on for other pods of the same templates, also of the owner's next gang.
//
// A restart forgets it. The pod's condition tells it again: of a pod that was handed over once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/base/units.hpp"
#include "cluster/records/pod.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::engine {

// kube-scheduler's sentence on a pod that fits nowhere; null: there is none, or in it Filter has
// had its say, so that some nodes passed its checks.
const std::string* WordsOn(const cluster::Pod& pod);
// Something that kube-scheduler held against a node is in `before` and not in `now`, other than
// that there is no room.
bool Relents(std::string_view before, std::string_view now);
// It names what Muster does not plan by.
bool NamesUnplanned(std::string_view words);

struct Refusal {
  std::string words;                  // with the pod's name; empty: it was silent
  std::set<cluster::PodUid> members;  // that it did not take
  cluster::Time since;                // the plan was given back
  cluster::Time until;                // the pause ends by itself
  int64_t times = 0;                  // in a row
  bool waits = true;                  // the pause has not ended
  bool asked = false;                 // evidence by kube-scheduler itself
  bool may_evict = true;              // see rule 3
  uint64_t seen = 0;                  // the last change that is no evidence
  uint64_t learnt = 0;                // the last one before it was refused by words
  struct Template {
    std::shared_ptr<const cluster::PodSpec> spec;
    std::set<std::string> passed;  // nodes that it has named since
  };
  std::map<const cluster::PodSpec*, Template> templates;
  std::set<std::shared_ptr<const cluster::PodSpec>> silent;  // of members about which it was silent
};

class Refusals {
 public:
  static constexpr cluster::Duration kRetryApart = cluster::Seconds(5);
  static constexpr cluster::Duration kMostApart = cluster::Seconds(300);
  // A refusal stands when kube-scheduler has not changed its mind for so long: what it knew may
  // have been older than the plan.
  static constexpr cluster::Duration kStands = cluster::Seconds(3);
  // A pod that it refused before and that was woken is tried within so long, or was refused again:
  // the same sentence is not written twice. Longer than its backoff.
  static constexpr cluster::Duration kAnswers = cluster::Seconds(12);

  using Members = std::vector<const Member*>;
  // By words.
  void Refuse(const GangId& gang, const Members& members, std::string words, cluster::Time now);
  // By silence: nobody asked to bind these.
  void Await(const GangId& gang, const Members& members, cluster::Time until, cluster::Time now);
  // The same, of an earlier gang of its owner.
  void Resume(const GangId& gang, Refusal silence);
  // No room was found for it without evictions: it waits for the next evidence.
  void FoundNoRoom(const GangId& gang, cluster::Time now);
  // What is learnt of nodes is forgotten: there may be room where kube-scheduler names none,
  // because it is full. False: nothing is learnt.
  bool Lift(const GangId& gang);
  // The pause is over.
  void Retry(const GangId& gang);
  void Forget(const GangId& gang);

  // Evidence. True: the gang is to be looked at.
  bool Asked(const GangId& gang, const Member& member, const std::vector<std::string>& nodes);
  bool Relented(const GangId& gang, const cluster::PodUid& pod);
  void NodeChanged(const std::string& node);
  void Changed();
  // Gangs for which there is evidence by a change that there was none for before.
  std::vector<GangId> TakeStirred();

  bool none() const { return refused_.empty(); }
  const Refusal* Of(const GangId& gang) const;  // null: it is none
  // When its pause ends, by what is known now.
  cluster::Time RetryFrom(const Refusal& refusal) const;
  // Pods of that template are kept off the node.
  bool KeepsOff(const Refusal& refusal, const cluster::PodSpec& spec,
                const std::string& node) const;
  bool KeepsOffAny(const Refusal& refusal, const cluster::PodSpec& spec) const;
  const std::map<GangId, Refusal>& all() const { return refused_; }

 private:
  Refusal& Begin(const GangId& gang, const Members& members, cluster::Time now);
  bool ChangedSince(const Refusal& refusal) const;
  void Await(const GangId& gang, Refusal& refusal);

  std::map<GangId, Refusal> refused_;
  std::set<GangId> quiet_;  // of those that wait: nothing has changed for them
  std::set<GangId> stirred_;
  uint64_t changes_ = 0;       // counted while there is a refusal
  uint64_t last_change_ = 0;   // other than of a node
  uint64_t last_of_node_ = 0;  // of any
  std::unordered_map<std::string, uint64_t> nodes_;
};

}  // namespace muster::engine
