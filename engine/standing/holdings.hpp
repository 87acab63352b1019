// Holdings: which gangs hold something that others may want (internal to engine/). Only records;
// set by engine/preemption/evictions.hpp while a gang is settled. Guarded by Scheduler.
//
// A gang that holds something has one entry, under the highest priority among its members. It lets
// go of that before it ends: the entry has its address.
//
// A restart rebuilds it from the pods.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/gangs/gang.hpp"

namespace muster::engine {

using cluster::GangId;

class Holdings {
 public:
  // What a gang holds: `available` members of it may be evicted; no priority: none. True: more than
  // before.
  bool Hold(const Gang& gang, std::optional<int32_t> priority, int64_t available,
            const std::string& queue);
  // Gangs that hold something, the lowest priority first.
  using Gangs = std::map<GangId, const Gang*>;
  const std::map<int32_t, Gangs>& all() const { return all_; }
  // The same by queue.
  using Holders = std::map<std::pair<int32_t, GangId>, const Gang*>;
  const std::map<std::string, Holders>& by_queue() const { return by_queue_; }

  std::vector<std::string> Audit() const;

 private:
  struct Holder {
    int32_t priority = 0;
    int64_t available = 0;
    std::string queue;
  };
  void LetGo(const GangId& gang, const Holder& holder);

  std::map<int32_t, Gangs> all_;
  std::map<std::string, Holders> by_queue_;
  std::map<GangId, Holder> holders_;  // the same, by gang
};

}  // namespace muster::engine
