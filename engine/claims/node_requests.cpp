#include "engine/claims/node_requests.hpp"

#include <algorithm>
#include <utility>

namespace muster::engine {

using cluster::RequestState;

using cluster::GangId;
using cluster::ObjectKey;
using cluster::Time;

NodeRequest* NodeRequests::Find(const ObjectKey& key) {
  const auto found = all_.find(key);
  return found == all_.end() ? nullptr : &found->second;
}

NodeRequest* NodeRequests::Find(const cluster::ProvisioningRequestUid& uid) {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& entry) {
    return entry.second.uid == uid && !uid.empty();
  });
  return found == all_.end() ? nullptr : &found->second;
}

NodeRequest* NodeRequests::Find(ActionId doing) {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& entry) {
    return entry.second.busy() && entry.second.doing == doing;
  });
  return found == all_.end() ? nullptr : &found->second;
}

std::vector<NodeRequest*> NodeRequests::Of(const GangId& gang) {
  std::vector<NodeRequest*> requests;
  const auto found = by_gang_.find(gang);
  if (found == by_gang_.end()) return requests;
  for (const ObjectKey& key : found->second) requests.push_back(&all_.at(key));
  return requests;
}

const NodeRequest* NodeRequests::Wanted(const GangId& gang) const {
  const auto found = by_gang_.find(gang);
  if (found == by_gang_.end()) return nullptr;
  for (const ObjectKey& key : found->second) {
    const NodeRequest& request = all_.at(key);
    if (request.wanted) return &request;
  }
  return nullptr;
}

NodeRequest& NodeRequests::Add(const ObjectKey& key, const GangId& gang) {
  NodeRequest& request = all_[key];
  request.ask.key = key;
  request.ask.gang = gang;
  by_gang_[gang].insert(key);
  Touch();
  return request;
}

void NodeRequests::Erase(const ObjectKey& key) {
  const auto found = all_.find(key);
  if (found == all_.end()) return;
  ClearRoom(found->second);
  const auto of_gang = by_gang_.find(found->second.ask.gang);
  of_gang->second.erase(key);
  if (of_gang->second.empty()) by_gang_.erase(of_gang);
  all_.erase(found);
}

void NodeRequests::SetRoom(NodeRequest& request, AskedRoom room) {
  ClearRoom(request);
  if (room.placements.empty()) {
    room.number = 0;
  } else {
    room.number = ++last_number_;
    ++kept_;
  }
  request.room = std::make_shared<const AskedRoom>(std::move(room));
}

void NodeRequests::ClearRoom(NodeRequest& request) {
  if (request.room->number != 0) --kept_;
  request.room = std::make_shared<const AskedRoom>();
  request.look = {};
}

std::vector<std::string> NodeRequests::Audit() const {
  std::vector<std::string> broken;
  std::map<GangId, int64_t> wanted;
  int64_t kept = 0;
  for (const auto& [key, request] : all_) {
    const std::string who = "ProvisioningRequest " + key.ToString();
    if (request.ask.key != key) broken.push_back(who + " has another one's name");
    if (request.wanted && ++wanted[request.ask.gang] > 1)
      broken.push_back(who + " is wanted beside another one of its gang");
    if (request.room->number != 0) ++kept;
    if (request.room->number != 0 && !request.wanted)
      broken.push_back(who + " is not wanted, and keeps room");
  }
  if (kept != kept_) broken.push_back("the rooms of ProvisioningRequests are counted wrongly");
  return broken;
}

std::optional<Time> EndOf(const NodeRequest& request) {
  switch (request.state) {
    case RequestState::kNew:
    case RequestState::kAccepted:
      return std::nullopt;
    case RequestState::kProvisioned:
      return request.since + kBookingTime;
    case RequestState::kRevoked:
    case RequestState::kExpired:
    case RequestState::kFailed:
      break;
  }
  return request.since;
}

std::string Describe(const NodeRequest& request) {
  return "gang " + request.ask.gang.key.ToString() + ", for which the nodes were asked for";
}

}  // namespace muster::engine
