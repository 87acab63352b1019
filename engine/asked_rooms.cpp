#include "engine/asked_rooms.hpp"

#include <algorithm>
#include <utility>

#include "engine/booking_rules.hpp"
#include "engine/candidates.hpp"
#include "engine/engine_state.hpp"
#include "engine/provisioning.hpp"
#include "engine/queue_rights.hpp"
#include "engine/scale_up.hpp"

namespace muster::engine {

using cluster::FreeTable;
using cluster::Node;
using cluster::NodeIndex;
using cluster::Placement;
using cluster::Snapshot;
using cluster::Time;

namespace {

// Its nodes were ordered, and it waits for them.
bool Keeps(const EngineState& state, const NodeRequest& request, Time now) {
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
std::optional<Placement> PlaceOn(const Node& node, NodeIndex index, const Member& member,
                                 const FreeTable& free) {
  const cluster::PodSpec& spec = *member.pod->spec;
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

// Takes what is kept already, still free, and on nodes that pods may start on; false: some is not.
bool TakeKept(const Snapshot& snapshot, const AskedRoom& room, FreeTable& free) {
  bool all = true;
  for (size_t i = 0; i < room.placements.size(); ++i) {
    const Placement& kept = room.placements[i];
    const Node* node = kept.node.value < snapshot.size() ? snapshot.node(kept.node) : nullptr;
    const bool sound = node != nullptr && node->uid == room.hosts[i] && Starts(*node);
    if (sound && free.Fits(*node, kept)) {
      free.Take(*node, kept);
    } else {
      all = false;
    }
  }
  return all;
}

AskedRoom RoomFor(EngineState& state, const Gang& gang, const Snapshot& snapshot, FreeTable& free) {
  AskedRoom room;
  const std::vector<NodeIndex> nodes =
      NodesInOrder(snapshot, state.classes.Of(gang, state.cluster));
  room.whole = true;
  for (const Member* member : NeededForStart(gang)) {
    bool placed = false;
    for (const NodeIndex index : nodes) {
      const Node& node = *snapshot.node(index);
      if (!Usable(node, *member->pod->spec)) continue;
      std::optional<Placement> found = PlaceOn(node, index, *member, free);
      if (!found) continue;
      free.Take(node, *found);
      room.hosts.push_back(node.uid);
      room.nodes.Add(index);
      room.placements.push_back(*std::move(found));
      placed = true;
      break;
    }
    room.whole = room.whole && placed;
  }
  room.looked_at = state.cluster.growth();
  return room;
}

// What bookings and rooms for a restart keep from the gang is not kept for it.
std::shared_ptr<const Snapshot> FreeFor(EngineState& state, const Gang& gang, Time now) {
  BookingNumbers numbers = KeptOff(state, gang, now);
  std::erase_if(numbers, [&](uint64_t number) {
    const auto& all = state.requests.all();
    return std::any_of(all.begin(), all.end(),
                       [&](const auto& entry) { return entry.second.room.number == number; });
  });
  return Without(state, numbers);
}

}  // namespace

void GiveUpAskedRoom(EngineState& state, NodeRequest& request) {
  if (request.room.number == 0) return;
  state.requests.ClearRoom(request);
  state.queue.AnythingMayFit();
}

namespace {

// What is kept for it anew, beside what is kept for those before it. `lost`: some of what was kept
// is not free any more.
void Renew(EngineState& state, NodeRequest& request, const std::vector<const AskedRoom*>& before,
           bool lost, Time now) {
  const Gang& gang = *state.members.Find(request.ask.gang);
  const std::shared_ptr<const Snapshot> snapshot = FreeFor(state, gang, now);
  FreeTable free = snapshot->free();
  for (const AskedRoom* other : before) (void)TakeKept(*snapshot, *other, free);
  AskedRoom next = RoomFor(state, gang, *snapshot, free);
  if (next.placements == request.room.placements && next.hosts == request.room.hosts) {
    request.room.whole = next.whole;
    request.room.looked_at = next.looked_at;
    return;
  }
  if (lost) state.queue.AnythingMayFit();
  state.requests.SetRoom(request, std::move(next));
}

}  // namespace

void FollowAskedRooms(EngineState& state, Time now) {
  std::vector<NodeRequest*> keeping;
  for (const auto& [key, given] : state.requests.all()) {
    NodeRequest& request = *state.requests.Find(key);
    if (Keeps(state, request, now)) {
      keeping.push_back(&request);
    } else {
      GiveUpAskedRoom(state, request);
    }
  }
  if (keeping.empty()) return;
  // First come, first served; equal ones by name.
  std::stable_sort(keeping.begin(), keeping.end(),
                   [](const auto* a, const auto* b) { return a->since < b->since; });
  const std::shared_ptr<const Snapshot> all = state.cluster.TakeSnapshot();
  FreeTable taken = all->free();
  std::vector<const AskedRoom*> before;
  for (NodeRequest* request : keeping) {
    FreeTable left = taken;
    const bool sound = TakeKept(*all, request->room, left);
    const bool grown = request->room.looked_at != state.cluster.growth();
    if (!sound || (!request->room.whole && grown)) {
      Renew(state, *request, before, !sound, now);
      left = taken;
      (void)TakeKept(*all, request->room, left);
    }
    taken = std::move(left);
    before.push_back(&request->room);
  }
}

void AddAskedRooms(EngineState& state, const Gang& gang, const cluster::NodeSet& useful,
                   BookingNumbers& numbers) {
  if (!state.requests.keeps()) return;
  for (const auto& [key, request] : state.requests.all()) {
    if (request.room.number == 0 || request.ask.gang == gang.id) continue;
    if (!useful.Meets(request.room.nodes)) continue;
    const Gang* asker = state.members.Find(request.ask.gang);
    if (asker != nullptr && !GoesBefore(state, gang, *asker))
      numbers.push_back(request.room.number);
  }
}

bool WaitsForAskedRoom(const EngineState& state) {
  return state.requests.keeps() && state.bookings.none() && state.kept_rooms.none() &&
         !state.shapes.any();
}

std::string Describe(const NodeRequest& request) {
  return "gang " + request.ask.gang.key.ToString() + ", for which the nodes were asked for";
}

}  // namespace muster::engine
