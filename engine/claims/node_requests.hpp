// NodeRequests: the ProvisioningRequests that are made, or to be made, for gangs that lack room
// (internal to engine/). Only records; engine/claims/provisioning.hpp and
// engine/claims/asked_rooms.hpp decide. Guarded by Scheduler.
//
//   Want ──▶ to be made ──write──▶ there ──(conditions)──▶ failed, expired ──▶ unwanted
//                 │                  └──Unwant──▶ unwanted ──write──▶ (gone)
//                 └──Unwant──▶ (gone)
//
// 1. A gang has one request that is wanted at most. Others of it are being deleted.
// 2. For one request one write is under way at most.
// 3. One that has failed stays, as it does in the API server, until the next try: its number and
//    its end say when that is.
// 4. What is kept for a gang (its room) holds nothing: it keeps others off what is free of it, as a
//    booking does. Any change of it has another number, which no booking and no KeptRoom has.
//
// A restart reads the requests from the API server, and forgets what was kept.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/holdings/allocation.hpp"
#include "cluster/holdings/node_set.hpp"
#include "cluster/records/provisioning_request.hpp"
#include "engine/contract/node_ask.hpp"

namespace muster::engine {

// Cluster-autoscaler keeps the nodes for so long after it has ordered them.
inline constexpr cluster::Duration kBookingTime = cluster::Seconds(600);

// What of the nodes that are there is kept for the gang that asked.
struct AskedRoom {
  uint64_t number = 0;  // 0: nothing is kept
  std::vector<cluster::Placement> placements;
  std::vector<cluster::NodeUid> hosts;  // of each of those
  cluster::NodeSet nodes;
};

// What the last look for such room found.
struct RoomLook {
  bool whole = false;   // it is for all members that the gang needs
  uint64_t growth = 0;  // ClusterState::growth() then
};

struct NodeRequest {
  AskForNodes ask;  // without `sets` where another process made it
  cluster::ProvisioningRequestUid uid;
  int64_t resource_version = 0;
  int64_t pod_sets = 0;
  cluster::RequestState state = cluster::RequestState::kNew;
  cluster::Time since;  // in that state
  std::string message;
  bool there = false;     // in the API server, as far as is known
  bool tried = false;     // a write of it was begun
  cluster::Time made_at;  // when the last one was done
  bool wanted = false;    // else it is to be deleted
  ActionId doing;         // 0: no write is under way
  bool deleting = false;
  bool told_end = false;  // people were told how it ended
  int64_t refusals = 0;   // of a write, in a row
  cluster::Time not_before;
  std::string obstacle;  // why it could not be written
  std::shared_ptr<const AskedRoom> room = std::make_shared<AskedRoom>();  // never null
  RoomLook look;

  bool busy() const { return doing.value != 0; }
};

class NodeRequests {
 public:
  using All = std::map<cluster::ObjectKey, NodeRequest>;

  const All& all() const { return all_; }
  NodeRequest* Find(const cluster::ObjectKey& key);
  NodeRequest* Find(const cluster::ProvisioningRequestUid& uid);
  NodeRequest* Find(ActionId doing);  // whose write has that id
  // Of that gang, in order of their names.
  std::vector<NodeRequest*> Of(const cluster::GangId& gang);
  bool Any(const cluster::GangId& gang) const { return by_gang_.contains(gang); }
  // The wanted one; null: there is none.
  const NodeRequest* Wanted(const cluster::GangId& gang) const;

  NodeRequest& Add(const cluster::ObjectKey& key, const cluster::GangId& gang);
  // Makes the next WriteRequests look at all requests.
  void Touch() { due_ = cluster::Time(0); }
  void Erase(const cluster::ObjectKey& key);

  // When something is to be written without further facts.
  cluster::Time due() const { return due_; }
  void SetDue(cluster::Time due) { due_ = due; }

  // Some room is kept.
  bool keeps() const { return kept_ > 0; }
  void SetRoom(NodeRequest& request, AskedRoom room);
  void ClearRoom(NodeRequest& request);

  std::vector<std::string> Audit() const;

 private:
  static constexpr uint64_t kFirstNumber = uint64_t{1} << 62U;

  All all_;
  std::map<cluster::GangId, std::set<cluster::ObjectKey>> by_gang_;
  cluster::Time due_ = cluster::Time::Never();
  uint64_t last_number_ = kFirstNumber;
  int64_t kept_ = 0;  // rooms
};

// When the request came to its end; nothing: it is open.
std::optional<cluster::Time> EndOf(const NodeRequest& request);

// "gang a/b, for which the nodes were asked for".
std::string Describe(const NodeRequest& request);

}  // namespace muster::engine
