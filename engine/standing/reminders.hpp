// Reminders: Events on a gang for as long as it waits, and messages to its members
// (internal to engine/). Owned and guarded by Scheduler.
//
//   another reason ──▶ Waits ──▶ the Event, again every Rules::tell_again ──▶ Stops
//                        └── 5 min ──▶ its gated members, once for this reason
//
// 1. An API server keeps Events for an hour: repeated every half hour, there is always one. Its
//    counts are of the time of its write; a change of them alone writes nothing in between.
// 2. A pod's own message stays without being renewed. Members get a reason that lasts, each once,
//    not more often than Events: of a gang kAtOnce, the first by rank, and so many again every
//    kMembersAfter while there are more.
// 3. Gangs that came together are reported one after the other, kBetween apart, where that delays
//    none for more than kSlack: so what would be enough can be looked for each of them, and the
//    writes to their members are no burst.
// 4. Some seconds before an Event is repeated the gang is tried once more, so that the Event is
//    true then.
// 5. An Event that is to say what would be enough is held until that was looked for: see Next.
//
// A restart forgets what was reported when: each gang that waits is reported once more, and its
// members get the message that they already have.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "engine/contract/actions.hpp"
#include "engine/gangs/gang.hpp"
#include "engine/standing/write_tracker.hpp"

namespace muster::engine {

class Reminders {
 public:
  static constexpr cluster::Duration kMembersAfter = cluster::Seconds(300);
  static constexpr cluster::Duration kBetween = cluster::Seconds(1);
  static constexpr cluster::Duration kLookBefore = cluster::Seconds(5);
  static constexpr cluster::Duration kSlack = cluster::Seconds(300);
  static constexpr size_t kAtOnce = 64;  // members of a gang

  // `again`: Rules::tell_again. `writes` must outlive it.
  Reminders(cluster::Duration again, WriteTracker& writes) : again_(again), writes_(writes) {}

  // An Event tells now why it waits, and it is for another reason than before.
  void Waits(Gang& gang, cluster::Time now);
  static void Stops(Gang& gang);
  // When the gang is to be told of or its members told; Never: not by itself.
  static cluster::Time due(const Gang& gang);
  // What is due waits, for the gang is in a state that passes.
  static void Postpone(Gang& gang, cluster::Time until);
  // The Event is due soon: the gang is to be tried again. Once for each.
  static bool TakeLook(Gang& gang, cluster::Time now);
  // The Event is due; the next one is later.
  bool TakeEvent(Gang& gang, cluster::Time now);
  // Tells those that are due.
  void TellMembers(Gang& gang, cluster::Time now);
  // What the member's pod says of its wait goes; true when something does.
  static bool Unsay(Member& member);

  // The Event goes out by itself, or by Next with what would be enough.
  void Put(const Gang& gang, EmitEvent event);
  struct Held {
    GangId gang;
    EmitEvent event;
  };
  std::optional<Held> Next();
  // It may be looked for what would be enough on so many nodes: not too often.
  bool MaySearch(size_t nodes, cluster::Time now);

 private:
  static cluster::Time Slot(cluster::Time& last, cluster::Time from);

  const cluster::Duration again_;  // 0: nothing is repeated
  WriteTracker& writes_;
  std::deque<Held> held_;  // empty between two Advances
  cluster::Time last_event_;
  cluster::Time last_members_;
  cluster::Time search_from_;
};

// What a gang lacks, and the clause, kMessageBytes bytes at most: of the former what comes last is
// left out.
std::string WithClause(const std::string& message, const std::string& clause);

}  // namespace muster::engine
