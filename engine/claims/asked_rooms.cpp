#include "engine/claims/asked_rooms.hpp"

#include <algorithm>
#include <utility>

#include "engine/claims/booking_rules.hpp"
#include "engine/claims/claim_state.hpp"
#include "engine/gangs/partial.hpp"
#include "engine/judging/request.hpp"
#include "engine/preemption/candidates.hpp"
#include "engine/preemption/queue_rights.hpp"

namespace muster::engine {

using cluster::FreeTable;
using cluster::Node;
using cluster::NodeIndex;
using cluster::Placement;
using cluster::Snapshot;
using cluster::Time;

namespace {

// Its nodes were ordered, and it waits for them.
bool Keeps(const ClaimState& state, const NodeRequest& request, Time now) {
  if (!request.wanted || request.state != cluster::RequestState::kProvisioned) return false;
  const Gang* gang = state.members.Find(request.ask.gang);
  const auto end = EndOf(request);
  const bool waits = gang != nullptr && (gang->pending() || gang->state == GangState::kBackoff);
  return waits && (!end || *end > now);
}

bool Starts(const Node& node) { return node.ready && !node.unschedulable && !node.left_out; }

bool Usable(const Node& node, const cluster::PodSpec& spec) {
  return Starts(node) && cluster::MatchesNode(spec.constraints, node.name, node.labels) &&
         cluster::ToleratesAll(spec.constraints.tolerations, node.taints);
}

// The pod on that node, with the first devices that are free; nothing: it does not fit.
std::optional<Placement> PlaceOn(const Node& node, NodeIndex index,
                                 const RoomSearch::Member& member, const FreeTable& free) {
  const cluster::PodSpec& spec = *member.spec;
  Placement placement{member.uid, index, spec.requests, {}};
  const auto left = free.gpus(index);
  for (size_t i = 0; i < left.size() && i < node.gpus.size(); ++i) {
    if (static_cast<int64_t>(placement.gpus.size()) >= spec.gpus.count) break;
    const cluster::DeviceAmount share = cluster::ShareOn(node.gpus[i], spec.gpus);
    if (share.none() || left[i].Times(share) == 0) continue;
    placement.gpus.push_back({node.gpus[i].index, share});
  }
  const bool served = static_cast<int64_t>(placement.gpus.size()) == spec.gpus.count;
  if (!served || !free.Fits(node, placement)) return std::nullopt;
  return placement;
}

// The emptiest first; equal ones by name.
std::vector<NodeIndex> NodesInOrder(const Snapshot& snapshot, const cluster::NodeSet& useful) {
  std::vector<NodeIndex> nodes;
  for (const NodeIndex index : useful.Nodes()) {
    if (index.value < snapshot.size() && snapshot.node(index) != nullptr) nodes.push_back(index);
  }
  std::sort(nodes.begin(), nodes.end(), [&](NodeIndex a, NodeIndex b) {
    const int32_t one = snapshot.free().at(a).gpu_total();
    const int32_t other = snapshot.free().at(b).gpu_total();
    if (one != other) return one > other;
    return snapshot.node(a)->name < snapshot.node(b)->name;
  });
  return nodes;
}

// Takes what is still free, on nodes where pods may start; which of its placements that are.
std::vector<size_t> TakeKept(const Snapshot& snapshot, const AskedRoom& room, FreeTable& free) {
  std::vector<size_t> taken;
  for (size_t i = 0; i < room.placements.size(); ++i) {
    const Placement& kept = room.placements[i];
    const Node* node = kept.node.value < snapshot.size() ? snapshot.node(kept.node) : nullptr;
    if (node == nullptr || node->uid != room.hosts[i] || !Starts(*node)) continue;
    if (!free.Fits(*node, kept)) continue;
    free.Take(*node, kept);
    taken.push_back(i);
  }
  return taken;
}

// What bookings and rooms for a restart keep from the gang is not kept for it.
std::shared_ptr<const Snapshot> FreeFor(ClaimState& state, const Gang& gang, Time now) {
  BookingNumbers numbers = KeptOff(state, gang, now);
  std::erase_if(numbers, [&](uint64_t number) {
    const auto& all = state.requests.all();
    return std::any_of(all.begin(), all.end(),
                       [&](const auto& entry) { return entry.second.room->number == number; });
  });
  return Without(state, numbers);
}

// It keeps what was looked at.
NodeRequest* StillKept(ClaimState& state, const RoomsLook::Kept& kept, Time now) {
  NodeRequest* const request = state.requests.Find(kept.request);
  const bool same = request != nullptr && request->room == kept.room && Keeps(state, *request, now);
  return same ? request : nullptr;
}

}  // namespace

void GiveUpAskedRoom(ClaimState& state, NodeRequest& request) {
  if (request.room->number == 0) return;
  state.requests.ClearRoom(request);
  state.queue.AnythingMayFit();
}

RoomsLook LookAtRooms(ClaimState& state, Time now) {
  std::vector<const NodeRequest*> keeping;
  for (const auto& [key, given] : state.requests.all()) {
    NodeRequest& request = *state.requests.Find(key);
    if (Keeps(state, request, now)) {
      keeping.push_back(&request);
    } else {
      GiveUpAskedRoom(state, request);
    }
  }
  // First come, first served; equal ones by name.
  std::stable_sort(keeping.begin(), keeping.end(),
                   [](const auto* a, const auto* b) { return a->since < b->since; });
  std::vector<RoomsLook::Kept> rooms;
  rooms.reserve(keeping.size());
  for (const NodeRequest* request : keeping)
    rooms.push_back({request->ask.key, request->room, request->look});
  return {state.cluster.TakeSnapshot(), state.cluster.growth(), std::move(rooms)};
}

std::optional<size_t> RoomsLook::Next() {
  for (; next_ < rooms_.size(); ++next_, asked_ = false) {
    const Kept& kept = rooms_[next_];
    const std::vector<Placement>& placements = kept.room->placements;
    const std::vector<size_t> taken = TakeKept(*now_, *kept.room, free_);
    if (asked_) continue;
    lost_ = taken.size() < placements.size();
    const bool grown = kept.look.growth != growth_;
    if (!lost_ && (kept.look.whole || !grown)) continue;
    for (const size_t i : taken) free_.Give(*now_->node(placements[i].node), placements[i]);
    asked_ = true;
    return next_;
  }
  return std::nullopt;
}

std::optional<RoomSearch> SearchFor(ClaimState& state, const RoomsLook& look, size_t at, Time now) {
  const NodeRequest* const request = StillKept(state, look.rooms()[at], now);
  if (request == nullptr) return std::nullopt;
  const Gang& gang = *state.members.Find(request->ask.gang);
  RoomSearch search;
  search.free = FreeFor(state, gang, now);
  search.growth = state.cluster.growth();
  search.useful = state.classes.Of(gang, state.cluster);
  for (size_t i = 0; i < at; ++i) search.before.push_back(look.rooms()[i].room);
  for (const Member* member : NeededForStart(gang))
    search.members.push_back({member->uid, member->pod->spec});
  return search;
}

FoundRoom FindRoom(const RoomSearch& search) {
  const Snapshot& snapshot = *search.free;
  FreeTable free = snapshot.free();
  for (const auto& other : search.before) (void)TakeKept(snapshot, *other, free);
  const std::vector<NodeIndex> nodes = NodesInOrder(snapshot, search.useful);
  FoundRoom found;
  found.look = {true, search.growth};
  size_t at = 0;  // the first that may have room for such a pod
  const cluster::PodSpec* spec = nullptr;
  for (const RoomSearch::Member& member : search.members) {
    if (std::exchange(spec, member.spec.get()) != member.spec.get()) at = 0;
    std::optional<Placement> placed;
    while (at < nodes.size()) {
      const Node& node = *snapshot.node(nodes[at]);
      if (Usable(node, *spec)) placed = PlaceOn(node, nodes[at], member, free);
      if (placed) break;
      ++at;
    }
    found.look.whole = found.look.whole && placed;
    if (!placed) continue;
    const Node& node = *snapshot.node(placed->node);
    free.Take(node, *placed);
    found.room.hosts.push_back(node.uid);
    found.room.nodes.Add(placed->node);
    found.room.placements.push_back(*std::move(placed));
  }
  return found;
}

void Found(ClaimState& state, RoomsLook& look, size_t at, FoundRoom found, Time now) {
  NodeRequest* const request = StillKept(state, look.rooms()[at], now);
  if (request == nullptr) return;
  AskedRoom& next = found.room;
  const bool same =
      next.placements == request->room->placements && next.hosts == request->room->hosts;
  if (!same) {
    if (look.lost()) state.queue.AnythingMayFit();
    state.requests.SetRoom(*request, std::move(next));
  }
  request->look = found.look;
  look.Set(at, request->room);
}

bool WaitsForAskedRoom(const ClaimState& state) {
  return state.requests.keeps() && state.bookings.none() && state.kept_rooms.none() &&
         !state.shapes.any();
}

}  // namespace muster::engine
