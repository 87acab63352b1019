// EventStore: the Event objects of the simulated cluster, bounded, equal ones aggregated. As in a
// real API server (--event-ttl) each lives for an hour after its last write. Internal to ApiServer.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "engine/contract/actions.hpp"
#include "sim/api_server/records.hpp"

namespace muster::sim {

class EventStore {
 public:
  static constexpr cluster::Duration kLife = cluster::Seconds(3600);

  // Keeps at most `limit` records; the oldest is dropped first.
  explicit EventStore(size_t limit) : limit_(limit) {}

  // An equal one that lives counts once more, and lives on from now.
  void Add(cluster::Time now, const engine::EmitEvent& event);
  // All that there have been.
  const std::deque<EventRecord>& records() const { return records_; }
  std::vector<EventRecord> Living(cluster::Time now) const;

 private:
  const size_t limit_;
  std::deque<EventRecord> records_;          // ordered by first_seen
  uint64_t first_ = 0;                       // number of records_.front()
  std::map<std::string, uint64_t> numbers_;  // of the record of an (object, reason, message)
};

}  // namespace muster::sim
