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
  view.reason = gang.reason;
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

std::vector<GangView> Scheduler::Core::Gangs() const {
  std::vector<GangView> views;
  views.reserve(gangs_.size());
  for (const auto& [id, gang] : gangs_) views.push_back(View(gang));
  return views;
}

std::optional<GangView> Scheduler::Core::FindGang(const cluster::ObjectKey& key) const {
  for (const bool solo : {false, true}) {
    const auto found = gangs_.find({key, solo});
    if (found != gangs_.end()) return View(found->second);
  }
  return std::nullopt;
}

std::vector<NodeView> Scheduler::Core::Nodes() {
  std::vector<NodeView> views;
  const std::shared_ptr<const cluster::Snapshot> snapshot = state_.TakeSnapshot();
  for (const cluster::Node* node : state_.Nodes()) {
    const cluster::NodeIndex index = state_.IndexOf(node->name);
    NodeView view;
    view.node = *node;
    view.free = snapshot->free().at(index).resources;
    const auto gpus = snapshot->free().gpus(index);
    view.gpu_free.assign(gpus.begin(), gpus.end());
    const std::set<cluster::PodUid>& holders = state_.HoldersOn(index);
    view.holders.assign(holders.begin(), holders.end());
    view.overcommitted = state_.Overcommitted(index);
    view.left_out = health_.View(node->name);
    views.push_back(std::move(view));
  }
  return views;
}

Counts Scheduler::Core::Count() {
  Counts counts;
  counts.nodes = static_cast<int64_t>(state_.node_count());
  counts.pods = static_cast<int64_t>(state_.pod_count());
  counts.reservations = static_cast<int64_t>(state_.reservation_count());
  counts.held_binds = held_binds_;
  std::map<ReasonCode, int64_t> waiting;
  for (const auto& [id, gang] : gangs_) {
    ++counts.gangs[static_cast<int>(gang.state)];
    if (gang.reason.code != ReasonCode::kNone) ++waiting[gang.reason.code];
  }
  counts.waiting.assign(waiting.begin(), waiting.end());
  const NodeHealth::Totals left_out = health_.totals();
  counts.nodes_left_out = left_out.nodes;
  counts.gpus_left_out = left_out.gpus;
  counts.starts_refused = health_.refused_at_admission();
  counts.starts_failed = health_.failed_early();
  const std::shared_ptr<const cluster::Snapshot> snapshot = state_.TakeSnapshot();
  for (uint32_t i = 0; i < snapshot->size(); ++i) {
    const cluster::Node* node = snapshot->node(cluster::NodeIndex{i});
    if (node == nullptr) continue;
    counts.gpu_capacity_milli +=
        static_cast<int64_t>(node->gpus.size()) * cluster::kWholeGpu.value();
    counts.gpu_free_milli += snapshot->free().at(cluster::NodeIndex{i}).gpu_total;
  }
  return counts;
}

}  // namespace muster::engine
