// OwnerAges: since when the owners of pods want to run something (internal to engine/). A gang that
// is evicted keeps its place in the queue, though its controller makes all of its pods anew: it is
// as old as the first of them. Owned and guarded by Scheduler; set by queueing.
//
// 1. An owner is as old as the oldest pods (or declared PodGroup) that were told of as its.
// 2. At most kMost owners, those that were asked about last.
//
// A restart forgets it: owners are as old as their pods then.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>

#include "cluster/units.hpp"

namespace muster::engine {

class OwnerAges {
 public:
  static constexpr size_t kMost = 16'384;

  // Of one that has something from then. Empty: nobody's.
  cluster::Time Since(const std::string& owner, cluster::Time created);
  size_t size() const { return of_.size(); }

 private:
  struct Entry {
    std::string owner;
    cluster::Time since;
  };
  std::list<Entry> entries_;  // the one asked about last comes first
  std::unordered_map<std::string, std::list<Entry>::iterator> of_;
};

}  // namespace muster::engine
