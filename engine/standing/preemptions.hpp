// Preemptions: which pods are victims of which gang, and which cannot be for now (internal to
// engine/). Only records; engine/preemption/evictions.hpp decides. Guarded by Scheduler.
//
//            Begin                 Ask                    Evicted
//   (none) ────────▶ nominating ────────▶ evictions asked ────────▶ no way back
//      ▲                 │ End                │ End, Refused            │ End
//      └─────────────────┴────────────────────┴─────────────────────────┘
//
// 1. A pod is the victim of one gang at most, and is in the set of that gang. A victim that is
//    gone stays in it until End.
// 2. A pod that is to be evicted now (MustGo) is the victim of a gang that has asked.
// 3. A gang that preempted and did not start waits before it preempts again (Tries),
//    longer after each such failure in a row.
// 4. A pod that could not be evicted, or did not leave in time, is no gang's victim until its
//    protection ends (Protect). Nor is one whose eviction failed three times in a row (Fails).
// 5. A gang that preempted others and ended early may not preempt for an hour, also if it is
//    forgotten meanwhile (EndedEarly).
// 6. Evictions of an hour are counted by gang (Evict), and who is to be looked at again when a
//    protection ends (WakeAt).
//
// A restart forgets all of it: evictions that were asked for show in the pods.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/base/units.hpp"
#include "engine/contract/victims.hpp"

namespace muster::engine {

class Preemptions {
 public:
  // No pod is a victim.
  bool none() const { return preemptor_of_.empty(); }
  // Null: it waits for nobody.
  const Victims* VictimsOf(const GangId& preemptor) const;
  // Null: it is no victim.
  const GangId* PreemptorOf(const cluster::PodUid& victim) const;
  // By the gangs for which they make way.
  const std::map<GangId, Victims>& by_preemptor() const { return victims_; }
  // All victims that have not left, and for whom they make way; in no order.
  const std::unordered_map<cluster::PodUid, GangId>& victims() const { return preemptor_of_; }
  bool MustGo(const cluster::PodUid& victim) const { return to_evict_.contains(victim); }

  void Begin(const GangId& preemptor, Victims victims);
  // Whether its victims may go, once all gangs are settled on whose plans that may rest; as of the
  // last time that the gang was.
  void WantToAsk(const GangId& preemptor, bool wants) {
    if (wants) asking_.insert(preemptor);
    if (!wants) asking_.erase(preemptor);
  }
  std::set<GangId> TakeAsking() { return std::exchange(asking_, {}); }
  // Of its victims these are evicted now. Empty: they leave anyway.
  void Ask(const GangId& preemptor, const std::vector<cluster::PodUid>& to_go, cluster::Time now,
           std::set<cluster::PodUid> over_budgets = {}, std::set<cluster::PodUid> cut_short = {});
  // It leaves already, and its grace is cut.
  bool IsCutShort(const cluster::PodUid& victim) const;
  // One of its victims was evicted. True: it was the first one.
  bool Evicted(const GangId& preemptor);
  // One of them was not, before any was. `barred`: and will not be. Else it is tried again then.
  void Refused(const GangId& preemptor, const std::string& why, bool barred,
               cluster::Time not_before = {});
  // The pod lives on and is not what it was when it was chosen, or is gone. Null: it made way for
  // nobody.
  void Lose(const cluster::PodUid& victim);
  void Forget(const cluster::PodUid& pod);
  // The gang waits for nobody any more. Its victims that still made way for it.
  std::vector<cluster::PodUid> End(const GangId& preemptor);

  // Of its last preemption in this process's life; null: there was none.
  const Certificate* CertificateOf(const GangId& preemptor) const;
  void Certify(const GangId& preemptor, Certificate certificate) {
    certificates_[preemptor] = std::move(certificate);
  }
  // The gang is forgotten.
  void ForgetGang(const GangId& gang);

  Tries TriesOf(const GangId& preemptor) const;
  void CountTry(const GangId& preemptor, cluster::Duration first, cluster::Time now);
  void UncountTry(const GangId& preemptor);               // nobody was evicted
  void Pass(const GangId& preemptor, cluster::Time now);  // times that are over
  void ForgetTries(const GangId& preemptor) { tries_.erase(preemptor); }
  void SetTries(const GangId& preemptor, const Tries& tries) { tries_[preemptor] = tries; }

  void Protect(const cluster::PodUid& pod, const Protection& by) { protected_[pod] = by; }
  bool any_protected() const { return !protected_.empty(); }
  // Null: it may be evicted as far as is known.
  const Protection* ProtectionOf(const cluster::PodUid& pod) const;
  void Release(const cluster::PodUid& pod) { protected_.erase(pod); }
  // True when there was one.
  bool ReleaseAll();
  // How often in a row its eviction failed, with this time; from kMostFailures on it is given up.
  int64_t Fails(const cluster::PodUid& pod, cluster::Time now);
  static constexpr int64_t kMostFailures = 3;
  void GiveUp(const cluster::PodUid& pod, cluster::Time now);  // protects it, each time longer
  void ForgetFailures(const cluster::PodUid& pod) { failures_.erase(pod); }

  void Pay(const GangId& preemptor) { paid_.insert(preemptor); }  // it preempted others
  bool any_paid() const { return !paid_.empty(); }
  bool Paid(const GangId& preemptor) const { return paid_.contains(preemptor); }
  bool TakeCost(const GangId& preemptor) { return paid_.erase(preemptor) > 0; }
  // As in EndedEarlyUntil and what counts evictions, `gang` is AcrossAttempts.
  void EndedEarly(const GangId& gang, cluster::Time now);
  // Until then; nothing: it did not.
  std::optional<cluster::Time> EndedEarlyUntil(const GangId& gang) const;

  // A gang was evicted, as a whole.
  void CountEviction(const GangId& victim, cluster::Time now);
  bool EvictedSince(const GangId& victim, cluster::Time since) const;
  // It was so often within an hour, and may be again then; nothing: it was not.
  std::optional<cluster::Time> EvictedOftenUntil(const GangId& victim, int64_t most,
                                                 cluster::Time now) const;
  // What is known of early ends and evictions of the one is the other's from now on.
  void Rename(const GangId& from, const GangId& to);
  // Gangs that preempt have another turn then: somebody is not protected any more.
  void WakeAt(cluster::Time time) { wake_ = std::min(wake_.value_or(time), time); }
  std::optional<cluster::Time> wake() const { return wake_; }
  // True when that time has come.
  bool TakeWake(cluster::Time now);

  std::vector<std::string> Audit() const;

 private:
  std::map<GangId, Victims> victims_;                         // by preemptor
  std::unordered_map<cluster::PodUid, GangId> preemptor_of_;  // of victims that have not left
  std::unordered_set<cluster::PodUid> to_evict_;              // of these
  std::set<GangId> asking_;
  std::map<GangId, Certificate> certificates_;
  std::map<GangId, Tries> tries_;
  std::set<GangId> paid_;                              // TakeCost
  std::map<GangId, cluster::Time> ended_early_until_;  // of the last hour
  std::unordered_map<cluster::PodUid, Protection> protected_;
  std::unordered_map<cluster::PodUid, EvictionFailures> failures_;
  std::deque<std::pair<cluster::Time, GangId>> evictions_;  // of the last hour
  std::optional<cluster::Time> wake_;
};

}  // namespace muster::engine
