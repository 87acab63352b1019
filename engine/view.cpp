#include <algorithm>
#include <map>
#include <utility>

#include "engine/core.hpp"

namespace muster::engine {

using cluster::Pod;

GangView Scheduler::Core::View(const Gang& gang) const {
  GangView view;
  view.id = gang.id;
  view.state = gang.state;
  view.reason = PendingQueue::ReasonOf(gang);
  view.min_member = gang.min_member;
  view.bound = gang.tally.bound;
  view.succeeded = gang.tally.succeeded;
  view.failed = gang.tally.failed;
  view.queued_at = gang.queued_at;
  view.started_at = gang.past.runs_since();
  view.plans = gang.plans;
  view.attempts = gang.attempts;
  view.deadline = gang.state == GangState::kBackoff ? gang.backoff_until : gang.deadline;
  if (gang.partial_since) view.deadline = *gang.partial_since + options_.partial_timeout;
  view.priority = gang.members.empty() ? 0 : INT32_MAX;
  for (const auto& [uid, member] : gang.members) {
    const Pod& pod = *member.pod;
    view.priority = std::min(view.priority, pod.spec->priority);
    MemberView one;
    one.pod = member.key;
    one.uid = uid;
    one.role = pod.role;
    one.ours = member.ours;
    one.phase = pod.phase;
    one.gated = !pod.gates.empty();
    one.required = member.required;
    one.planned_node = member.planned_node;
    one.bound_node = pod.node_name;
    one.bind_held = !member.held.empty();
    if (const cluster::Allocation* held = state_.AllocationOf(uid)) {
      for (const cluster::GpuShare& share : held->placement.gpus) one.gpus.push_back(share.index);
    }
    view.members.push_back(std::move(one));
  }
  std::sort(view.members.begin(), view.members.end(), [](const MemberView& a, const MemberView& b) {
    return std::tie(a.pod, a.uid) < std::tie(b.pod, b.uid);
  });
  return view;
}

bool Scheduler::Core::Gangs(std::optional<GangId>& last, std::vector<GangView>& views) const {
  auto next = last ? gangs_.upper_bound(*last) : gangs_.begin();
  for (int64_t left = kSlice; next != gangs_.end() && left > 0; ++next) {
    views.push_back(View(next->second));
    left -= CostOf(next->second);
    last = next->first;
  }
  return next == gangs_.end();
}

std::optional<GangView> Scheduler::Core::FindGang(const cluster::ObjectKey& key) const {
  for (const bool solo : {false, true}) {
    const auto found = gangs_.find({key, solo});
    if (found != gangs_.end()) return View(found->second);
  }
  return std::nullopt;
}

void Scheduler::Core::ShowHolders(cluster::NodeIndex index, NodeView& view) const {
  const std::set<cluster::PodUid>& holders = state_.HoldersOn(index);
  view.holders.assign(holders.begin(), holders.end());
  view.overcommitted = state_.Overcommitted(index);
  if (const cluster::Node* node = state_.node(index)) view.left_out = health_.View(node->name);
}

bool Scheduler::Core::Count(std::optional<GangId>& last, Counts& counts) const {
  auto next = last ? gangs_.upper_bound(*last) : gangs_.begin();
  std::map<ReasonCode, int64_t> waiting(counts.waiting.begin(), counts.waiting.end());
  for (int64_t left = kSlice; next != gangs_.end() && left > 0; ++next, --left) {
    const Gang& gang = next->second;
    ++counts.gangs[static_cast<int>(gang.state)];
    if (gang.reason.code != ReasonCode::kNone) ++waiting[gang.reason.code];
    last = next->first;
  }
  counts.waiting.assign(waiting.begin(), waiting.end());
  if (next != gangs_.end()) return false;
  counts.nodes = static_cast<int64_t>(state_.node_count());
  counts.pods = static_cast<int64_t>(state_.pod_count());
  counts.reservations = static_cast<int64_t>(state_.reservation_count());
  counts.held_binds = writes_.held_binds();
  const NodeHealth::Totals left_out = health_.totals();
  counts.nodes_left_out = left_out.nodes;
  counts.gpus_left_out = left_out.gpus;
  counts.starts_refused = health_.refused_at_admission();
  counts.starts_failed = health_.failed_early();
  return true;
}

}  // namespace muster::engine
