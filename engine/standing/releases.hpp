// Releases: how many pods are on their way through kube-scheduler at a time (internal to engine/).
// Owned and guarded by Scheduler; followed while a gang is settled, asked by handover.
//
// A Bind call waits for those of the other members, for a limited time. Where the pods of many
// gangs are released together, kube-scheduler takes them in turns, and all of the gangs may run out
// of that time at once. So gangs are released one after the other:
//
// 1. A pod is on its way from its release until its Bind call; of members that come one after the
//    other (StartTurns) one is. The gates of a gang go together while fewer pods are on their way
//    than the window says, by priority, then in the order in which the gangs were planned. A gang
//    that is larger than the window is released when there is room for one pod.
// 2. The window is twice the number of pods that came to Bind within the last two seconds, and at
//    least kLeast: about four seconds of work for kube-scheduler, however fast it is.
// 3. A gang of which no pod comes does not count any more after a while, and holds up nobody. The
//    while is twice the time until the first pod of the last gang came, and five seconds more, and
//    never longer than a minute.
// 4. No time of a gang passes while it waits here.
//
// A restart forgets it. Pods that were released before count from then on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/gangs/gang.hpp"

namespace muster::engine {

// Of a gang that has a plan.
struct ReleaseTurn {
  cluster::Time planned;  // those that are planned since then wait, or have waited
  cluster::Time since;    // until then; now, while they wait; 0: they did not have to
  bool waits = false;
  int64_t under_way = 0;  // then: pods that are on their way
};

class Releases {
 public:
  static constexpr int64_t kLeast = 64;

  // Takes up how far the gang's pods are. `releases`: they are all nominated, and nobody has to
  // leave first. Nothing: the gang has no turn to wait for.
  std::optional<ReleaseTurn> Follow(const Gang& gang, bool releases, cluster::Time now);
  // Its gates may go, as of the last Follow.
  bool MayRelease(const Gang& gang) const;
  // Whose turn it is to be looked at again; nothing: nobody waits, or there is no room.
  std::optional<cluster::GangId> Next(cluster::Time now);
  // When there may be room without any further fact. Never: nobody waits.
  cluster::Time due() const;
  void Forget(const cluster::GangId& gang) { Leave(gang); }

  std::vector<std::string> Audit() const;

 private:
  struct Turn {
    int64_t plan = 0;      // GangPlan::made, for which it is
    int64_t pods = 0;      // on their way, or to be released
    int32_t priority = 0;  // when it began to wait
    cluster::Time planned;
    cluster::Time from;    // its gates may go since then
    cluster::Time active;  // a pod came last, or `from`
    bool waited = false;
    bool begun = false;
    bool overdue = false;
    bool came = false;  // a pod has
  };
  using Order = std::set<std::tuple<int64_t, cluster::Time, cluster::GangId>>;

  void Leave(const cluster::GangId& gang);
  static Order::value_type PlaceOf(const cluster::GangId& gang, const Turn& turn);
  void Begin(const cluster::GangId& gang, Turn& turn, cluster::Time now);
  void Arrive(const cluster::GangId& gang, Turn& turn, int64_t pods, cluster::Time now);
  void Count(Turn& turn, int64_t pods);
  void PassOverdue(cluster::Time now);
  int64_t Window(cluster::Time now);
  cluster::Duration patience() const {
    return std::min(latency_ + latency_ + cluster::Seconds(5), cluster::Seconds(60));
  }

  std::map<cluster::GangId, Turn> turns_;
  Order waiting_;          // by priority, the highest first, and by when they were planned
  Order begun_;            // by when a pod came last, those that are not overdue
  int64_t under_way_ = 0;  // the pods of those
  std::deque<std::pair<cluster::Time, int64_t>> arrivals_;  // that came to Bind, lately
  cluster::Duration latency_ = cluster::Seconds(5);         // of the last gang: until its first one
};

}  // namespace muster::engine
