#include "engine/claims/booking_exchange.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "engine/claims/booking_jobs.hpp"
#include "engine/claims/booking_look.hpp"
#include "engine/claims/booking_rules.hpp"
#include "engine/claims/claim_state.hpp"
#include "engine/judging/plan_job.hpp"
#include "engine/judging/request.hpp"

namespace muster::engine {

using cluster::NodeIndex;
using cluster::Placement;
using cluster::PodUid;
using cluster::Time;

namespace {

// Whoever holds that has to leave before the room is free.
bool InTheWay(const Placement& held, const Placement& room) {
  if (held.node != room.node) return false;
  if (room.gpus.empty()) return true;
  return std::any_of(room.gpus.begin(), room.gpus.end(), [&](const auto& booked) {
    return std::any_of(held.gpus.begin(), held.gpus.end(),
                       [&](const auto& one) { return one.index == booked.index; });
  });
}

bool InTheWay(const Placement& held, const std::vector<Placement>& room) {
  return std::any_of(room.begin(), room.end(),
                     [&](const Placement& one) { return InTheWay(held, one); });
}

std::set<PodUid> PodsInTheWay(const ClaimState& state, const Booking& booking) {
  std::set<PodUid> pods;
  for (const NodeIndex index : booking.nodes.Nodes()) {
    for (const PodUid& uid : state.cluster.HoldersOn(index)) {
      if (InTheWay(state.cluster.AllocationOf(uid)->placement, booking.room)) pods.insert(uid);
    }
  }
  return pods;
}

// GPUs of the smallest part of the room that is not free.
int64_t LeastBusyMilli(const Booking& booking, const std::vector<policy::BusyNode>& busy) {
  int64_t least = INT64_MAX;
  for (const Placement& room : booking.room) {
    const bool blocked = std::any_of(busy.begin(), busy.end(), [&](const policy::BusyNode& node) {
      return std::any_of(node.leave.begin(), node.leave.end(),
                         [&](const Placement& held) { return InTheWay(held, room); });
    });
    if (!blocked) continue;
    int64_t milli = 0;
    for (const cluster::GpuShare& share : room.gpus) milli += share.taken.least().value();
    least = std::min(least, milli);
  }
  return least;
}

// So much is free on some node that is not closed yet.
bool FreeElsewhere(ClaimState& state, const Gang& gang, const Booking& booking, int64_t milli) {
  const auto left = Without(state, OthersOf(state, gang));
  const std::vector<NodeIndex> useful = state.classes.Of(gang, state.cluster).Nodes();
  return std::any_of(useful.begin(), useful.end(), [&](NodeIndex index) {
    return !booking.nodes.Contains(index) && left->free().at(index).gpu_total() >= milli;
  });
}

}  // namespace

std::optional<PlanJob> NextExchange(ClaimState& state, Time now) {
  LookAtBookings(state, now);
  const uint64_t growth = state.cluster.growth();
  for (const Booking& booking : std::vector<Booking>(state.bookings.all())) {
    const Gang* gang = state.members.Find(booking.gang);
    if (!booking.closed() || !booking.sound || booking.searched_growth == growth) continue;
    if (gang == nullptr || !gang->pending()) continue;
    BookingJob search;
    search.busy = BusyNodes(
        state, booking.gang, booking.nodes,
        [&](const Placement& held) { return InTheWay(held, booking.room); }, now);
    const bool any = !search.busy.empty() &&
                     FreeElsewhere(state, *gang, booking, LeastBusyMilli(booking, search.busy));
    if (!any) {
      state.bookings.Searched(booking.gang, now, growth);
      continue;
    }
    search.closing = search.exchange = true;
    search.level = TopologyOf(state, *gang).required;
    return SearchJob(state, *gang, std::move(search), now);
  }
  return std::nullopt;
}

void CommitExchange(ClaimState& state, const PlanJob& job, const policy::LaterAnswer& found,
                    Time now) {
  const Booking* known = state.bookings.Of(job.id);
  if (!StillSearched(state, job) || known == nullptr || !known->closed()) return;
  state.bookings.Searched(job.id, now, job.booking->growth);
  if (!found.placed) return;
  Booking booking = *known;
  SetRoom(state, found.placements, booking);
  const std::set<PodUid> before = PodsInTheWay(state, *known);
  const std::set<PodUid> after = PodsInTheWay(state, booking);
  const bool fewer = after.size() < before.size() &&
                     std::includes(before.begin(), before.end(), after.begin(), after.end());
  if (!fewer || !LookAt(state, booking, true, now).sound) return;
  state.queue.AnythingMayFit();
  state.bookings.Grant(std::move(booking));
}

}  // namespace muster::engine
