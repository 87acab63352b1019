// Bookings: the room that is booked for gangs that wait, and what that costs (internal to engine/;
// R10, R15). Owned and guarded by Scheduler; set by engine/claims/booking_search.hpp and
// engine/claims/booking_exchange.hpp, read by planning.
//
//   Grant ──▶ booked ──Move: earlier room, or other room where it broke──▶ booked ──End──▶ (gone)
//                 └──Close: no time is known──▶ closed ──Exchange──▶ closed ──End──▶ (gone)
//                                                 ▲ └──SetOpen, for reserveFor each──▶ open ─┐
//                                                 └──────────────────────────────────────────┘
//
// 1. A gang has at most one booking, and only while it waits as a whole and nothing but room keeps
//    it from starting.
// 2. A booking holds nothing: it keeps others off what is free of its room (Booking::kept). Any
//    change of whom it keeps off has another number.
// 3. Jumped: a gang that started ahead of a booking is counted for its namespace, until the booking
//    ends or the gang holds nothing any more.
// 4. Idle() counts what is kept free, as long as it is, by queue; ever.
//
// 5. First: until gangs have booked that waited before this process began, nobody is planned; and
//    whoever was just refused books before those after it have their turn (Owe).
//
// A restart forgets all of it: gangs that have waited for long enough book before anybody starts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/standing/booking.hpp"

namespace muster::engine {

class Bookings {
 public:
  // In the order in which they were granted.
  const std::vector<Booking>& all() const { return all_; }
  bool none() const { return all_.empty(); }
  const Booking* Of(const cluster::GangId& gang) const;  // null: it has none
  // Changes whenever a number does.
  uint64_t edition() const { return edition_; }

  // In place of the gang's former one.
  void Grant(Booking booking);
  void Close(const cluster::GangId& gang);
  // Its closed room is open to others until then, or closed again. True: that has changed.
  bool SetOpen(const cluster::GangId& gang, bool open, cluster::Time until);
  void Reorder(const cluster::GangId& gang, const queues::OrderKey& order);
  void End(const cluster::GangId& gang);
  void EndAll();
  // What is kept free from now on, whether all of it is free, and whether it will be in time.
  void Look(const cluster::GangId& gang, std::vector<cluster::Placement> kept, bool free,
            bool sound);
  void TurnedAway(const cluster::GangId& gang);
  bool Call(const cluster::GangId& gang);  // true: for the first time
  void Searched(const cluster::GangId& gang, cluster::Time now, uint64_t growth);

  void Jumped(const cluster::GangId& gang, const std::string& queue, const cluster::GangId& over) {
    jumpers_[gang] = {queue, over};
  }
  // Of that namespace and queue; `holds`: whether a gang still holds something.
  int64_t CountJumpers(const std::string& ns, const std::string& queue,
                       const std::function<bool(const cluster::GangId&)>& holds);

  // Gangs for which there was none to be had.
  const Unbookable* WhyNot(const cluster::GangId& gang) const;
  void Refuse(const cluster::GangId& gang, const Unbookable& why) { refused_[gang] = why; }
  void Forget(const cluster::GangId& gang) { refused_.erase(gang); }
  // Another gang has taken its room. True: for the second time at that time. Two gangs may each go
  // before the other, by order and by right, and would take it from each other for ever.
  bool Overtaken(const cluster::GangId& gang, cluster::Time now);
  const std::map<cluster::GangId, Unbookable>& refused() const { return refused_; }

  // Before the first plan of this process. Gangs that are set aside fit as it is: they book
  // nothing.
  bool first() const { return first_; }
  void SetAside(const cluster::GangId& gang) { aside_.insert(gang); }
  const std::set<cluster::GangId>& aside() const { return aside_; }
  void EndFirst() {
    first_ = false;
    aside_.clear();
  }
  // Somebody was just refused who is to book before others have their turn.
  void Owe(bool owes) { owes_ = owes; }
  bool owes() const { return owes_; }

  // When their room, and who may book next, is to be looked at without further facts.
  cluster::Time due() const { return std::min(look_due_, search_due_); }
  void SetSearchDue(cluster::Time due) { search_due_ = due; }
  // Look was called for all of them, at that ClusterState::generation(), and holds until then.
  void LookedAt(uint64_t generation, cluster::Time due) {
    looked_at_ = generation;
    look_due_ = due;
  }
  bool LookNeeded(uint64_t generation, cluster::Time now) const {
    return !none() && (looked_at_ != generation || look_due_ <= now);
  }

  // A booking broke, or somebody may book who could not before.
  bool SearchNeeded(cluster::Time now) const {
    return search_due_ <= now ||
           std::any_of(all_.begin(), all_.end(), [](const Booking& one) { return !one.sound; });
  }

  // Counts up to now. Before anything changes.
  void Count(cluster::Time now);
  // Milliseconds of a GPU that were kept free, by the queue of the gang for which they were.
  const std::map<std::string, int64_t>& idle() const { return idle_; }

 private:
  struct Jumper {
    std::string queue;
    cluster::GangId over;  // who has booked
  };
  Booking* Find(const cluster::GangId& gang);

  std::vector<Booking> all_;
  std::map<cluster::GangId, Unbookable> refused_;
  std::map<cluster::GangId, Jumper> jumpers_;
  cluster::Time overtaken_at_;
  std::set<cluster::GangId> overtaken_;  // then
  uint64_t edition_ = 0;
  bool first_ = true;
  bool owes_ = false;
  std::set<cluster::GangId> aside_;
  uint64_t looked_at_ = 0;
  cluster::Time look_due_ = cluster::Time::Never();
  cluster::Time search_due_ = cluster::Time::Never();
  cluster::Time counted_at_;
  std::map<std::string, int64_t> idle_;  // queues of the policies of this process's life
};

}  // namespace muster::engine
