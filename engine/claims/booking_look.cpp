#include "engine/claims/booking_look.hpp"

#include <algorithm>
#include <utility>

#include "engine/claims/booking_rules.hpp"
#include "engine/claims/claim_state.hpp"
#include "engine/preemption/candidates.hpp"

namespace muster::engine {

using cluster::Node;
using cluster::NodeIndex;
using cluster::Placement;
using cluster::PodUid;
using cluster::Resources;
using cluster::Time;

namespace {

// Of what is asked for, what is not covered by what leaves.
Resources Beyond(Resources asked, const Resources& leaving) {
  asked -= leaving;
  return asked.Positive();
}

// What is free of the devices that these have booked on one node.
std::vector<cluster::GpuShare> FreeOf(const cluster::FreeTable& free, const Node& node,
                                      const std::vector<const Placement*>& room) {
  std::map<cluster::GpuIndex, cluster::DeviceAmount> booked;
  for (const Placement* one : room) {
    for (const cluster::GpuShare& share : one->gpus) booked[share.index] += share.taken;
  }
  std::vector<cluster::GpuShare> shares;
  const auto left = free.gpus(room.front()->node);
  for (size_t i = 0; i < left.size() && i < node.gpus.size(); ++i) {
    const auto found = booked.find(node.gpus[i].index);
    if (found == booked.end()) continue;
    const cluster::DeviceAmount kept = found->second.AtMost(left[i]).AtLeast({});
    if (!kept.none()) shares.push_back({found->first, kept});
  }
  return shares;
}

class Look {
 public:
  Look(ClaimState& state, const Booking& booking, bool closed, Time now)
      : state_(state),
        booking_(booking),
        closed_(closed || booking.closed()),
        snapshot_(state.cluster.TakeSnapshot()),
        free_(snapshot_->free()),
        now_free_(snapshot_->free()),
        leavers_(state, booking.gang, now) {}

  Looked All() {
    for (size_t i = 0; i < booking_.room.size(); ++i) {
      const NodeIndex index = booking_.room[i].node;
      const Node* node = snapshot_->node(index);
      const bool same = node != nullptr && node->uid == booking_.hosts[i];
      looked_.sound = looked_.sound && same && node->schedulable();
      looked_.free = looked_.free && same;
      if (same) of_[index].push_back(&booking_.room[i]);
    }
    for (const auto& [index, room] : of_) Keep(index, room);
    return std::move(looked_);
  }

 private:
  // What leaves the node in time; it becomes free in `free_`.
  Resources TakeLeavers(NodeIndex index) {
    Resources leaving;
    for (const PodUid& uid : state_.cluster.HoldersOn(index)) {
      bool leaves = closed_ && leavers_.Leaves(uid);
      if (!closed_) {
        const Leavers::End end = leavers_.EndOf(uid);
        leaves = end.known.at <= booking_.at + kLate;
        if (leaves && !end.evictable) looked_.due = std::min(looked_.due, end.known.at);
      }
      if (!leaves) continue;
      const Placement& held = state_.cluster.AllocationOf(uid)->placement;
      free_.Give(*snapshot_->node(index), held);
      leaving += held.requests;
    }
    return leaving;
  }

  void Keep(NodeIndex index, const std::vector<const Placement*>& room) {
    const Node& node = *snapshot_->node(index);
    Resources asked;
    for (const Placement* one : room) asked += one->requests;
    const Resources leaving = TakeLeavers(index);
    Placement kept;
    kept.node = index;
    kept.requests = Beyond(asked, leaving);
    kept.gpus = FreeOf(snapshot_->free(), node, room);
    for (const Placement* one : room) {
      looked_.free = looked_.free && now_free_.Fits(node, *one);
      if (looked_.free) now_free_.Take(node, *one);
      looked_.sound = looked_.sound && free_.Fits(node, *one);
      if (looked_.sound) free_.Take(node, *one);
    }
    const bool nothing = kept.gpus.empty() && kept.requests == Resources{};
    if (!nothing) looked_.kept.push_back(std::move(kept));
  }

  ClaimState& state_;
  const Booking& booking_;
  const bool closed_;
  const std::shared_ptr<const cluster::Snapshot> snapshot_;
  cluster::FreeTable free_;      // when all has left that leaves in time
  cluster::FreeTable now_free_;  // without what was taken of it
  Leavers leavers_;
  std::map<NodeIndex, std::vector<const Placement*>> of_;
  Looked looked_;
};

}  // namespace

Leavers::Leavers(const ClaimState& state, const GangId& booked, Time now)
    : state_(state), booked_(booked), now_(now) {
  const Gang* gang = state.members.Find(booked);
  if (gang == nullptr || !Preempts(state, *gang)) return;
  claimant_ = gang;
  rights_.emplace(state, *gang);
}

Leavers::End Leavers::EndOf(const PodUid& pod) {
  const Gang* gang = state_.members.GangOf(pod);
  return gang == nullptr ? End{} : EndOf(*gang, gang->members.at(pod));
}

Leavers::End Leavers::EndOf(const Gang& gang, const Member& member) {
  const GangId* makes_way_for = state_.preemptions.PreemptorOf(member.uid);
  if (makes_way_for != nullptr && *makes_way_for != booked_) return {};
  if (member.leaving()) {
    const Time by = member.pod->leaves_by;
    return {{by > now_ ? by : now_ + kLate, queues::Trust::kEnforced}};
  }
  const auto [known, fresh] = known_.try_emplace(&gang);
  if (fresh) known->second = EndOf(gang);
  return known->second;
}

// Also of one that is just being bound: it may be evicted when that is over.
Leavers::End Leavers::EndOf(const Gang& gang) {
  const KnownEnd end = engine::EndOf(state_, gang, now_);
  if (claimant_ == nullptr) return {end};
  const bool protects = std::any_of(gang.members.begin(), gang.members.end(), [&](const auto& one) {
    const Member& member = one.second;
    return !member.ours ||
           (member.holds() &&
            (member.pod->daemon || state_.preemptions.ProtectionOf(member.uid) != nullptr));
  });
  if (protects || !rights_->MayEvict(gang)) return {end};
  const Time from = EvictableFrom(state_, *claimant_, gang, now_ + cluster::Duration(1));
  if (from >= end.at) return {end};
  return {{from, queues::Trust::kEnforced}, true};
}

bool Leavers::Leaves(const PodUid& pod) const {
  const GangId* makes_way_for = state_.preemptions.PreemptorOf(pod);
  if (makes_way_for != nullptr && *makes_way_for != booked_) return false;
  const cluster::Pod* record = state_.cluster.FindPod(pod);
  return record != nullptr && !EverFits::PermanentlyBound(*record, state_.options.scheduler_names);
}

namespace {

Time StartedAt(const ClaimState& state, const PodUid& uid, Time now) {
  const Gang* gang = state.members.GangOf(uid);
  return gang == nullptr ? state.cluster.FindPod(uid)->bound_at : StartOf(*gang, now);
}

}  // namespace

std::vector<policy::BusyNode> BusyNodes(const ClaimState& state, const GangId& booked,
                                        const cluster::NodeSet& nodes,
                                        const std::function<bool(const Placement&)>& counts,
                                        Time now) {
  const Leavers leavers(state, booked, now);
  std::vector<policy::BusyNode> busy;
  for (const NodeIndex index : nodes.Nodes()) {
    const Node* node = state.cluster.node(index);
    if (node == nullptr || !node->schedulable()) continue;
    policy::BusyNode one{index, 0, Time(0), {}};
    for (const PodUid& uid : state.cluster.HoldersOn(index)) {
      const Placement& held = state.cluster.AllocationOf(uid)->placement;
      if (!leavers.Leaves(uid) || !counts(held)) continue;
      for (const cluster::GpuShare& share : held.gpus) one.gpu_milli += share.taken.most().value();
      one.last = std::max(one.last, StartedAt(state, uid, now));
      one.leave.push_back(held);
    }
    if (!one.leave.empty()) busy.push_back(std::move(one));
  }
  return busy;
}

Looked LookAt(ClaimState& state, const Booking& booking, bool closed, Time now) {
  return Look(state, booking, closed, now).All();
}

}  // namespace muster::engine
