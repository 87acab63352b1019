// OwnerTable: the owners that pods are judged by: what was read of each, once for all of its pods,
// who needs it, and when it is to be read again. Pure; one thread at a time.
// An owner is not watched: that would take the right to list whole kinds, of which Muster needs few
// objects. It is read
//   - when a pod needs it for the first time;
//   - when its pods change in a way that it may be the cause of (Refresh): at most once in
//     `again_after`;
//   - every `while_waiting` as long as a pod of it is not placed, else every `while_running`; with
//     ended pods only, never again. Where there are many owners these times are longer, so that
//     such reads come `between_looks` apart on average.
//
// An owner that was read once stays known by what was read last until it is gone. Before that,
// reads that fail are told after `shown_after`, and last after `patience`, as a refusal does at
// once. What is refused is asked again by one owner of its kind and namespace, after
// `refused_first` and then ever more rarely, every `refused_for` in the end, and is said once for
// each kind. One that is beyond a bound (OwnerStore's, or of one owner) is as one that is refused,
// but is read like the others, and as soon as there is room.
//
//   due_ ──the time has come──▶ line_, or last_ for what only ended pods need ──Take──▶ taken_
//
// In the lines namespaces take turns (fair_line.hpp), and of each few are read at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/base/units.hpp"
#include "cluster/records/grouping_rule.hpp"
#include "kube/api/fair_line.hpp"
#include "kube/owners/owner_answer.hpp"
#include "kube/owners/owner_chain.hpp"
#include "kube/owners/owner_store.hpp"

namespace muster::kube {

class OwnerTable {
 public:
  struct Options {
    cluster::Duration again_after = cluster::Duration(2'000);
    cluster::Duration while_waiting = cluster::Duration(30'000);
    cluster::Duration while_running = cluster::Duration(300'000);
    cluster::Duration between_looks = cluster::Duration(50);
    cluster::Duration retry_first = cluster::Duration(500);
    cluster::Duration retry_most = cluster::Duration(15'000);
    cluster::Duration shown_after = cluster::Duration(3'000);
    cluster::Duration patience = cluster::Duration(60'000);
    cluster::Duration refused_first = cluster::Duration(5'000);
    cluster::Duration refused_for = cluster::Duration(60'000);
    size_t most_bytes = size_t{64} << 20;  // of all that is kept of owners
    int at_once = 2;                       // reads of one namespace
  };
  // How much the pods of an owner depend on it.
  enum class Need { kEnded, kRunning, kWaiting };

  explicit OwnerTable(Options options) : options_(options), store_(options.most_bytes) {}
  // What is known of it; without a rule for its kind nobody asks.
  OwnerRead Look(const OwnerKey& key);
  // The pod needs these now, and no others. `rules`: they name where objects are served.
  void Use(const cluster::PodUid& pod, std::vector<OwnerKey> keys, Need need,
           const cluster::GroupingRules& rules);
  void Forget(const cluster::PodUid& pod) { Use(pod, {}, Need::kEnded, {}); }
  // Rules have changed: what is served elsewhere, or of which they read what was not kept, is read.
  void Follow(const cluster::GroupingRules& rules);
  // It may have changed; so may the pod, if others are owned by it.
  void Refresh(const OwnerKey& key, cluster::Time now);
  void RefreshPod(const cluster::PodUid& pod, cluster::Time now);
  size_t CountPods(const OwnerKey& key) const;                           // that need it
  std::shared_ptr<const OwnerFields> Wanted(const OwnerKey& key) const;  // of it; null: nothing
  size_t size() const { return owners_.size(); }
  // What is to be read by now, and to be answered by Learn; nothing: that waits for others'
  // answers.
  std::optional<OwnerRequest> Take(cluster::Time now);
  cluster::Time NextDue() const;  // when more is due
  struct Learnt {
    std::vector<cluster::PodUid> pods;  // that are to be judged again
    std::string warning;                // empty: nothing to say
  };
  Learnt Learn(const OwnerKey& key, OwnerAnswer answer, cluster::Time now);

 private:
  struct Owner {
    OwnerRead::State state = OwnerRead::State::kUnread;
    std::string version;
    std::shared_ptr<const OwnerFields> fields;  // that are to be kept of it
    bool outdated = false;                      // as in OwnerRead
    std::string why;                            // of kForbidden, as in OwnerRead
    bool lasts = false;                         // likewise
    std::string path;
    std::map<cluster::PodUid, Need> pods;  // that need it
    cluster::Time due = cluster::Time::Never();
    bool in_line = false;  // that time has come
    cluster::Time read_at;
    bool reading = false;
    bool stale = false;  // it may have changed since that began
    cluster::Time failing_since;
    int failures = 0;
  };
  using Kind = std::pair<std::string, std::string>;  // "batch/v1 Job", namespace
  struct Refusal {
    cluster::Time until;
    std::string why;
    int times = 0;  // in a row
  };

  using Line = FairLine<OwnerKey, cluster::Time>;

  static Kind KindOf(const OwnerKey& key);
  Line& LineOf(cluster::Time due);
  void SetDue(const OwnerKey& key, Owner& owner, cluster::Time due);
  Need NeedOf(const Owner& owner) const;
  // From one look at an owner to the next, without an occasion.
  cluster::Duration LookAfter(Need need) const;
  cluster::Time NextRead(const Owner& owner, cluster::Time now) const;
  // Whether its pods are to be judged again.
  bool LearnObject(const OwnerKey& key, Owner& owner, OwnerAnswer& answer);
  bool LearnFailure(const OwnerKey& key, Owner& owner, const std::string& why, cluster::Time now);
  static void MarkUnreadable(Owner& owner, const std::string& why, bool lasts);
  void Forget(const OwnerKey& key, Owner& owner);
  void UseRoom();
  void EndRefusal(const Kind& kind, cluster::Time now);
  std::vector<cluster::PodUid> BeginRefusal(const Kind& kind, const std::string& why,
                                            cluster::Time now);
  std::string SayOnce(const OwnerKey& key, const OwnerAnswer& answer);
  std::shared_ptr<const OwnerFields> FieldsOf(const OwnerKey& key,
                                              const cluster::GroupingRules& rules);

  const Options options_;
  OwnerStore store_;
  std::map<OwnerKey, Owner> owners_;
  std::map<cluster::PodUid, std::vector<OwnerKey>> used_by_;
  std::map<std::string, OwnerKey> pods_;  // owners that are pods, by UID
  std::set<std::pair<cluster::Time, OwnerKey>> due_;
  Line line_;
  Line last_;
  std::multimap<OwnerKey, Line*> taken_;
  std::map<Kind, Refusal> refused_until_;
  std::set<std::string> said_;  // of kinds
  // By the rule for it, and whether it is a pod.
  std::map<std::pair<const cluster::GroupingRule*, bool>, std::shared_ptr<const OwnerFields>>
      fields_;
};

}  // namespace muster::kube
