// Owners: what is remembered by those that make pods, and outlive them (internal to engine/). A
// gang that is evicted goes on where it was, though its controller makes all of its pods anew.
// Owned and guarded by Scheduler; set by queueing (ages), succession and intake.
//
//   gang ──its pods go──▶ Leave ──the next gang of the owner──▶ Take ──▶ gang
//                           └──kKeptFor, Forget──▶ (gone)
//
// 1. An owner is as old as its object says (Grouping::since), or as the oldest pods that were told
//    of as its; at most kMost owners, those that were asked about last.
// 2. What a gang leaves is taken by one gang: by one of the same name, else by that of the owner
//    which asks first. Of all attempts of an owner there is one, the last one's. It is kept for an
//    hour; at most kMost of all, the last ones.
//
// A restart forgets what gangs left, and the age of those owners whose object does not say it.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/base/units.hpp"
#include "cluster/records/gang_id.hpp"
#include "engine/contract/victims.hpp"
#include "engine/gangs/course.hpp"
#include "engine/standing/refusals.hpp"

namespace muster::engine {

// Of a gang whose pods went.
struct LeftBehind {
  cluster::GangId gang;
  Course course;      // what outlasts its pods
  int64_t plans = 0;  // that were made for it
  Tries tries;        // to preempt, in vain
  // After which it pauses; nothing: it does not.
  std::optional<Refusal> silence;
  bool paid = false;  // it preempted others, and has not ended since
};

class Owners {
 public:
  static constexpr size_t kMost = 16'384;
  static constexpr cluster::Duration kKeptFor = cluster::Seconds(3'600);

  // Of one that has something from then. Empty: nobody's.
  cluster::Time Since(const std::string& owner, cluster::Time created);
  size_t known() const { return of_.size(); }

  // Until when it is kept.
  cluster::Time Leave(const std::string& owner, LeftBehind left, cluster::Time now);
  std::optional<LeftBehind> Take(const std::string& owner, const cluster::GangId& gang,
                                 cluster::Time now);
  // The owner is gone. Of these gangs there was something.
  std::vector<cluster::GangId> Forget(const std::string& owner);
  size_t left() const { return left_.size(); }

  std::vector<std::string> Audit() const;

 private:
  struct Age {
    std::string owner;
    cluster::Time since;
  };
  using Key = std::pair<std::string, cluster::GangId>;  // of the owner, and of the gang
  struct Entry {
    LeftBehind left;
    uint64_t number = 0;
    cluster::Time until;
  };
  std::map<Key, Entry>::iterator Erase(std::map<Key, Entry>::iterator entry);
  void DropOver(cluster::Time now);

  std::list<Age> ages_;  // the one asked about last comes first
  std::unordered_map<std::string, std::list<Age>::iterator> of_;
  std::map<Key, Entry> left_;
  std::map<uint64_t, Key> in_order_;  // the same, by number: the first one ends first
  uint64_t last_ = 0;
};

}  // namespace muster::engine
