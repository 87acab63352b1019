// EventStore: the Event objects of the simulated cluster, bounded, equal ones aggregated. Internal
// to ApiServer.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "engine/actions.hpp"
#include "sim/records.hpp"

namespace muster::sim {

class EventStore {
 public:
  // Keeps at most `limit` records; the oldest is dropped first.
  explicit EventStore(size_t limit) : limit_(limit) {}

  void Add(cluster::Time now, const engine::EmitEvent& event);
  const std::deque<EventRecord>& records() const { return records_; }

 private:
  const size_t limit_;
  std::deque<EventRecord> records_;          // ordered by first_seen
  uint64_t first_ = 0;                       // number of records_.front()
  std::map<std::string, uint64_t> numbers_;  // of the record of an (object, reason, message)
};

}  // namespace muster::sim
