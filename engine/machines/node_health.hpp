// NodeHealth: on which nodes (and devices) members fail at their start, and which of those are left
// out for new members (internal to engine/).
//
//            strikes of `gangs` gangs, or `pods` of one; once it was left out, any strike
//   watched ───────────────────────────────────────────────────────────────▶ left out
//      ▲ ▲                                                                       │
//      │ └──────────── first × 2^(times in a row - 1), at most max, has passed ──┤
//      └────────────── a member started well there, or only one gang was at fault┘
//
// A strike: the kubelet did not admit a member, or one of its containers failed within
// start_window of its first start. It is held against the devices that the pod was given where
// their device plugin keeps to the list (shared devices: HAMi and the like); else against the
// node. Pods with GPUs and pods without are counted apart: a broken device plugin harms only the
// first, and what starts without GPUs says nothing about it. Where two devices of a node are out at
// a time the whole node is: what they have in common is at fault. A member that starts well (it
// runs for start_window, or succeeds) takes back all that was held against its node and devices
// before.
//
// Contract:
// 1. Note is idempotent, and the order of facts does not matter: strikes and good starts are told
//    apart by the times in the pods' status, and nothing else is kept of a pod.
// 2. Containers of one gang that fail on one node within kOneIncident count once: members bring
//    each other down. A gang that fails in one way on kManyNodes nodes, or on all there are, fails
//    by itself: its strikes count nowhere, and nodes left out for them alone come back.
// 3. A container may fail because of what it runs: such strikes count only beside one of another
//    namespace or template. Two pods of a namespace are of one template where their specs are
//    equal, or their names but for digits.
// 4. Never more than most_percent of all nodes are left out.
// 5. A strike older than kRemember, by the newest time that any pod's status showed, is void.
//    Memory: kMost strikes, the oldest of them forgotten first.
//
// After a restart it receives the existing pods and counts again. It has forgotten failures and
// good starts whose pods are gone, how often a node was left out before, and for how long it still
// would be: with enough failed pods left, the node is left out again, for `first`.
//
// Guarded by Scheduler.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/records/node.hpp"
#include "cluster/records/pod.hpp"
#include "engine/contract/left_out.hpp"
#include "engine/contract/options.hpp"
#include "engine/machines/strikes.hpp"

namespace muster::engine {

class NodeHealth {
 public:
  static constexpr size_t kMost = 4096;
  static constexpr size_t kManyNodes = 3;
  static constexpr cluster::Duration kOneIncident = cluster::Seconds(5);
  static constexpr cluster::Duration kRemember = cluster::Seconds(3600);

  // A bound member as it is now. `culprit`: whose fault it may be, gangs apart and the pods of one
  // controller together. `node` is the one that it is bound to; null: not known yet.
  void Note(const cluster::Pod& pod, const std::string& culprit, const cluster::Node* node,
            const BadNodes& options);
  // Something was ever held against the node.
  bool Watches(const std::string& node) const;
  void ForgetPod(const cluster::PodUid& pod);
  void ForgetNode(const std::string& node);

  // A node whose mark changed, and what to tell people.
  struct Change {
    std::string node;
    bool out = false;  // something of it is left out that was not, else something came back
    std::string message;
  };
  std::vector<Change> Decide(const BadNodes& options, size_t nodes, cluster::Time now);
  // When Decide has something to do without further facts.
  cluster::Time due() const { return due_; }
  bool pending() const { return pending_; }
  // The options have changed.
  void Reconsider() { pending_ = true; }

  // Sets the marks of a node's record as they are to be.
  void Mark(cluster::Node& node) const;
  std::optional<LeftOut> View(const std::string& node) const;
  struct Totals {
    int64_t nodes = 0;
    int64_t gpus = 0;  // on other nodes
  };
  Totals totals() const;
  // Strikes ever counted.
  int64_t refused_at_admission() const { return refused_; }
  int64_t failed_early() const { return failed_early_; }

  // Every broken rule of the above, one sentence each.
  std::vector<std::string> Audit() const;

 private:
  using Culprit = std::pair<std::string, bool>;  // and whether at admission

  static std::vector<Subject> SubjectsOf(const cluster::Pod& pod, const cluster::Node* node);
  void Add(const cluster::PodUid& pod, Strike strike);
  void Drop(const cluster::PodUid& pod);
  void Age();
  void Acquit(const std::vector<Subject>& subjects, cluster::Time since);
  bool Excused(const Strike& strike) const;
  // Those that count, by time.
  std::vector<const Strike*> Standing(const Record& record) const;
  bool Convicts(const Record& record, const BadNodes& options) const;
  std::string Why(const Record& record) const;
  void EndTrials(const BadNodes& options, cluster::Time now);
  void TakeBack(const Subject& subject, Record& record, std::vector<Change>& changes);
  void LeaveOut(const BadNodes& options, size_t nodes, cluster::Time now,
                std::vector<Change>& changes);
  std::set<std::string> Out() const;
  // Whole nodes, or the devices of one.
  static std::string NameOf(const Subject& subject);

  std::map<cluster::PodUid, Strike> strikes_;
  std::set<std::pair<cluster::Time, cluster::PodUid>> by_time_;  // of `strikes_`
  std::map<Subject, Record> records_;
  std::map<Culprit, std::map<std::string, int64_t>> culprits_;  // strikes by node
  std::map<cluster::PodUid, Trial> trials_;
  cluster::Time latest_{INT64_MIN / 2};  // newest time in any status
  size_t nodes_ = 0;                     // as Decide was told last
  bool pending_ = false;                 // Decide has something to do now
  cluster::Time due_ = cluster::Time::Never();
  int64_t refused_ = 0;
  int64_t failed_early_ = 0;
};

}  // namespace muster::engine
