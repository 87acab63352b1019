// What is kept for gangs that asked for nodes (internal to engine/). cluster-autoscaler alone knows
// that the nodes which it adds, and the room that it has found, are for the gang that asked: Muster
// keeps them, from the moment at which they are ordered until the gang has its plan or
// cluster-autoscaler keeps them no more.
//
// The room is that of as many of the members which the gang needs as find some, on the emptiest
// nodes first: nodes that were just added are empty. It grows as nodes come. Where the gang has to
// be in the fabric does not count for it.
//
// It keeps off gangs that come after the one that asked in order (engine/claims/booking_rules.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "cluster/holdings/snapshot.hpp"
#include "engine/claims/node_requests.hpp"
#include "engine/gangs/gang.hpp"
#include "engine/standing/booking.hpp"

namespace muster::engine {

struct ClaimState;

// Nothing is kept any more: others may fit now.
void GiveUpAskedRoom(ClaimState& state, NodeRequest& request);

// Before a pass all rooms are looked at, one after the other: first come, first served. That takes
// as long as the gangs and the cluster are large, so it is done outside the lock, by what was true
// when it began:
//
//   LookAtRooms ──▶ RoomsLook ──Next──▶ which one is to be found anew
//       locked                              │ SearchFor, locked
//                                           ▼
//                   Found, locked ◀── RoomSearch ──FindRoom
class RoomsLook {
 public:
  struct Kept {
    cluster::ObjectKey request;
    std::shared_ptr<const AskedRoom> room;
    RoomLook look;
  };

  // `now`: the cluster; `growth`: ClusterState::growth() then.
  RoomsLook(std::shared_ptr<const cluster::Snapshot> now, uint64_t growth, std::vector<Kept> rooms)
      : now_(std::move(now)), growth_(growth), free_(now_->free()), rooms_(std::move(rooms)) {}

  // The next one of which some is not free any more, or that may become whole; nothing: that was
  // the last one. It is asked for once: then what is kept by then counts.
  std::optional<size_t> Next();
  const std::vector<Kept>& rooms() const { return rooms_; }
  void Set(size_t at, std::shared_ptr<const AskedRoom> room) { rooms_[at].room = std::move(room); }
  bool lost() const { return lost_; }  // some of the one that Next gave is not free any more

 private:
  const std::shared_ptr<const cluster::Snapshot> now_;
  const uint64_t growth_;
  cluster::FreeTable free_;  // beside those before `next_`
  std::vector<Kept> rooms_;
  size_t next_ = 0;
  bool asked_ = false;  // for that one
  bool lost_ = false;
};

struct RoomSearch {
  std::shared_ptr<const cluster::Snapshot> free;
  uint64_t growth = 0;
  cluster::NodeSet useful;
  std::vector<std::shared_ptr<const AskedRoom>> before;  // of those that came first
  struct Member {
    cluster::PodUid uid;
    std::shared_ptr<const cluster::PodSpec> spec;
  };
  std::vector<Member> members;  // that the gang needs
};

struct FoundRoom {
  AskedRoom room;
  RoomLook look;
};

// Rooms that are kept no more are given up.
RoomsLook LookAtRooms(ClaimState& state, cluster::Time now);
// Nothing: what was looked at is not what is kept by now.
std::optional<RoomSearch> SearchFor(ClaimState& state, const RoomsLook& look, size_t at,
                                    cluster::Time now);
FoundRoom FindRoom(const RoomSearch& search);
void Found(ClaimState& state, RoomsLook& look, size_t at, FoundRoom found, cluster::Time now);

// It would fit, but for such room alone: cluster-autoscaler does not see that as free.
bool WaitsForAskedRoom(const ClaimState& state);

}  // namespace muster::engine
