// Booking: room that a gang which waits is to have when others leave it (internal to engine/).
// Plain values of Bookings.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/base/units.hpp"
#include "cluster/holdings/allocation.hpp"
#include "cluster/holdings/node_set.hpp"
#include "cluster/holdings/snapshot.hpp"
#include "cluster/records/gang_id.hpp"
#include "queues/order_key.hpp"
#include "queues/queue_spec.hpp"

namespace muster::engine {

// Of bookings and of rooms that are kept for a restart (KeptRooms), rising: those from whose room a
// gang is kept.
using BookingNumbers = std::vector<uint64_t>;

struct Booking {
  uint64_t number = 0;  // changes whenever it keeps others off other room, or for another time
  cluster::GangId gang;
  std::string queue;
  queues::OrderKey order;  // the gang's place in it, as of the last pass
  // Its room is expected to be free then. Never: nobody knows when, and it is closed until it is
  // (R15).
  cluster::Time at = cluster::Time::Never();
  queues::Trust by = queues::Trust::kNone;  // the weakest word that `at` relies on
  cluster::GangId last;                     // whose end `at` is
  std::vector<cluster::Placement> room;     // what its members would have
  std::vector<cluster::NodeUid> hosts;      // of each of those
  cluster::NodeSet nodes;                   // of the room
  cluster::NodeSet useful;                  // nodes that the gang may use
  // What of the room is free, and kept free. As of the last look.
  std::vector<cluster::Placement> kept;
  bool free = false;         // as of then, all of the room is
  bool sound = true;         // as of then, it will be free at `at`
  bool turned_away = false;  // the reason of some waiting gang names this room
  bool called = false;       // it was due, and the gang had a turn for it
  bool open = false;         // closed room that is open to others for now, as of the last look
  cluster::Time turns_at = cluster::Time::Never();  // when that changes next
  int64_t idle = 0;              // milliseconds of a GPU that were kept free for it
  cluster::Time searched_at;     // earlier room was looked for
  uint64_t searched_growth = 0;  // ClusterState::growth() then

  bool closed() const { return at == cluster::Time::Never(); }
  // Its gang is to start now.
  bool due(cluster::Time now) const { return closed() ? free : at <= now; }
};

// The cluster without what some of them keep, as long as neither changes.
struct KeptSnapshots {
  uint64_t generation = 0;
  std::map<BookingNumbers, std::shared_ptr<const cluster::Snapshot>> known;
  std::shared_ptr<const cluster::Snapshot>& At(uint64_t now, const BookingNumbers& numbers) {
    if (generation != now) known.clear();
    generation = now;
    return known[numbers];
  }
  void Clear() { known.clear(); }
};

// The first gang in order that finds no room, where nobody knows when it will.
struct Unbookable {
  cluster::Time searched_at;
  uint64_t generation = 0;  // of the cluster, then
  bool closing = false;     // not even room to close
};

}  // namespace muster::engine
