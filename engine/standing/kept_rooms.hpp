// KeptRooms: devices that a gang had, for which others were evicted, and which are kept for it
// because it lost them before its minRuntime (internal to engine/; docs/design/restart-window.md).
// Only records; engine/preemption/restart_window.hpp decides. Guarded by Scheduler.
//
//   Lose ──▶ a member went ──Died──▶ window ──End──▶ (gone)
//                 └────────────End─────────────────▶ (gone)
//
// 1. A gang has one room at most, and all attempts of an owner have one (AcrossAttempts). It grows
//    as members go, until the gang, or another attempt, runs as a whole.
// 2. A room holds nothing: it keeps others off what is free of it, as a booking does. Any change of
//    it has another number, which no booking has (Owns).
// 3. Windows are counted by how they ended, and what was kept free by queue; ever.
//
// A restart forgets all of it: what the gang had is anybody's then.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/base/units.hpp"
#include "cluster/holdings/allocation.hpp"
#include "cluster/holdings/node_set.hpp"
#include "cluster/records/gang_id.hpp"
#include "engine/contract/counts.hpp"

namespace muster::engine {

struct KeptRoom {
  uint64_t number = 0;
  cluster::GangId gang;                        // across attempts
  cluster::GangId lost_by;                     // the attempt that did, last
  std::string queue;                           // of the policy
  int32_t priority = 0;                        // the lowest of the members that went
  cluster::Time since;                         // the gang ran
  bool died = false;                           // nothing of it runs any more: its window is open
  std::vector<cluster::Placement> placements;  // of members that went, in that order
  std::vector<cluster::NodeUid> hosts;         // of each of those
  cluster::NodeSet nodes;
  // Nothing: a member went, and nobody has looked since.
  std::optional<cluster::Time> until = {};
  std::optional<cluster::Time> counted_at = {};  // see 3
};

class KeptRooms {
 public:
  bool none() const { return all_.empty(); }
  const std::map<cluster::GangId, KeptRoom>& all() const { return all_; }
  const KeptRoom* Of(const cluster::GangId& gang) const;  // null: nothing is kept for it
  // The number is a room's.
  static bool Owns(uint64_t number) { return (number & kFirstNumber) != 0; }

  void Lose(const KeptRoom& room);  // with one placement: a member went that had it
  void KeepUntil(const cluster::GangId& gang, cluster::Time until);
  // Not longer than that.
  void Shorten(const cluster::GangId& gang, cluster::Time until);
  void Died(const cluster::GangId& gang);
  // True: a window was open.
  bool End(const cluster::GangId& gang, WindowEnd how);

  // When the first one ends without further facts, or is to be looked at; Never: there is none.
  cluster::Time due() const;
  // Counts up to now. Before anything ends.
  void Count(cluster::Time now);
  // Milliseconds of a GPU that were kept free, by queue.
  const std::map<std::string, int64_t>& idle() const { return idle_; }
  const std::array<int64_t, kWindowEnds>& ended() const { return ended_; }  // windows
  int64_t pods() const;  // for which room is kept

  std::vector<std::string> Audit() const;

 private:
  static constexpr uint64_t kFirstNumber = uint64_t{1} << 63U;

  std::map<cluster::GangId, KeptRoom> all_;
  uint64_t last_number_ = kFirstNumber;
  std::map<std::string, int64_t> idle_;  // queues of the policies of this process's life
  std::array<int64_t, kWindowEnds> ended_{};
};

}  // namespace muster::engine
