// WorkQueue: which gangs are to be looked at, and when (internal to engine/). Owned and guarded by
// Scheduler; Settle looks at them.
//
// 1. A gang that something happened to is touched. Touched gangs are given out once each, in the
//    order of their ids, in rounds: those that are touched meanwhile belong to the next one. After
//    kRounds of them Settle ends, and what is left is given out by the next one.
// 2. A gang has one timer at most (WorkState::timer). When it is due the gang is touched.
// 3. A fact that concerns many gangs only notes a Sweep. Sweeps of one namespace join.
// 4. A gang that was tried in vain is published when all touched gangs are settled, without being
//    looked at.
// 5. A gang whose second timer (WorkState::tell) is due is published in the same way. Each TellDue
//    takes a limited number of these gangs, because gangs that came together are due
//    together.
//
// A restart forgets all of it: every gang is touched by its first fact.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "engine/gangs/gang.hpp"
#include "engine/standing/sweep.hpp"

namespace muster::engine {

class WorkQueue {
 public:
  // What a plan for the gang depends on may have changed.
  void Touch(Gang& gang);
  // Changes with each Touch.
  uint64_t version() const { return version_; }
  bool Touched(const GangId& id) const { return touched_.contains(id) || round_.contains(id); }
  bool settled() const { return touched_.empty() && round_.empty(); }
  // Whose turn it is; nothing: nobody's in this Settle.
  std::optional<GangId> NextTouched();
  void EndRounds() { rounds_ = 0; }

  // Time::Never(): none.
  void SetTimer(Gang& gang, cluster::Time due);
  void SetTellTimer(Gang& gang, cluster::Time due);
  // A gang whose timer is due, which has none any more and is touched; nothing: there is none.
  std::optional<GangId> TouchNextDue(cluster::Time now);
  // Those that are due are told of, `most` of them, and have no such timer any more.
  void TellDue(int64_t most, cluster::Time now);
  // Of either kind of timer.
  cluster::Time due() const;

  // In every gang of the namespace; "": in every gang.
  void Note(const std::string& ns, const Sweep& sweep) { sweeps_[ns].Join(sweep); }
  bool sweeping() const { return !sweeps_.empty(); }
  // The one under way: its namespace, and how far it has come. Only while there is one.
  std::pair<const std::string, Sweep>& sweep() { return *sweeps_.begin(); }
  void EndSweep() { sweeps_.erase(sweeps_.begin()); }

  void TriedInVain(const GangId& id) { tried_.insert(id); }
  // Nothing: all have been told of.
  std::optional<GangId> NextTried();
  bool told_all() const { return tried_.empty(); }

  // The gang ends: before it goes, for its timer is known by its address.
  void Forget(Gang& gang);

 private:
  uint64_t version_ = 0;
  std::set<GangId> touched_;
  std::set<GangId> round_;  // touched ones of the present round
  int rounds_ = 0;
  // Each with its timer set.
  using Timers = std::map<std::pair<cluster::Time, GangId>, Gang*>;
  static void Set(Timers& timers, std::optional<cluster::Time>& timer, Gang& gang,
                  cluster::Time due);
  Timers timers_;
  Timers tells_;
  std::map<std::string, Sweep> sweeps_;
  std::set<GangId> tried_;
};

}  // namespace muster::engine
