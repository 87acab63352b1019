#include "engine/explain/view.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "engine/claims/booking_rules.hpp"
#include "engine/claims/claim_state.hpp"
#include "engine/claims/scale_up.hpp"
#include "engine/cycle/settle.hpp"
#include "engine/gangs/minimum.hpp"
#include "engine/gangs/partial.hpp"
#include "engine/gangs/rank.hpp"
#include "engine/judging/durations.hpp"
#include "engine/judging/elastic.hpp"
#include "engine/preemption/restart_window.hpp"

namespace muster::engine {

using cluster::Pod;

namespace {

std::optional<cluster::Time> CreatedAt(const ClaimState& state, const Gang& gang) {
  cluster::Time created = cluster::Time::Never();
  for (const auto& [uid, member] : gang.members) created = std::min(created, member.pod->created);
  if (const cluster::PodGroup* group = state.members.GroupOf(gang)) created = group->created;
  if (created == cluster::Time() || created == cluster::Time::Never()) return std::nullopt;
  return created;
}

MemberView View(const Member& member, uint32_t rank) {
  const Pod& pod = *member.pod;
  MemberView one;
  one.rank = rank;
  one.pod = member.key;
  one.uid = member.uid;
  one.role = pod.role;
  one.ours = member.ours;
  one.phase = pod.phase;
  one.gated = !pod.gates.empty();
  one.required = member.plan->required;
  one.planned_node = member.plan->node;
  one.bound_node = pod.node_name;
  one.bind_held = !member.writes->held.empty();
  if (const cluster::Allocation* held = member.held()) {
    for (const cluster::GpuShare& share : held->placement.gpus) one.gpus.push_back(share.index);
  }
  return one;
}

std::string ApartOf(const ClaimState& state, const Gang& gang) {
  if (gang.id.solo) return gang.members.empty() ? "" : gang.members.begin()->second.pod->alone;
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  const int64_t began_with = gang.past.whole().members;
  const bool fewer = group != nullptr && group->by_owner && gang.past.running_since() &&
                     !Grows(gang, group) && began_with < group->min_member;
  if (!fewer) return {};
  return "its owner says " + std::to_string(group->min_member) + " pods, but it began with " +
         std::to_string(began_with) +
         ": the others start one by one, until none of its pods runs any more";
}

GangView View(const ClaimState& state, const Gang& gang) {
  GangView view;
  view.id = gang.id;
  view.state = gang.state;
  view.reason = PendingQueue::ReasonOf(gang);
  view.queue = QueueOf(gang);
  view.apart = ApartOf(state, gang);
  view.scale_up = ScaleUpText(state, gang);
  view.not_honoured = gang.terms.not_honoured;
  view.remainder = RemainderOf(state, gang).text;
  view.min_member = gang.min_member;
  view.bound = gang.tally.bound;
  view.succeeded = gang.tally.succeeded;
  view.failed = gang.tally.failed;
  view.queued_at = gang.course.queued_at;
  view.started_at = gang.past.running_since();
  if (const cluster::Time end = RunTimesOf(state, gang).ends_at;
      end != cluster::Time() && gang.state != GangState::kFinished)
    view.ends_at = end;
  if (const Booking* booking = state.bookings.Of(gang.id))
    view.expected = {booking->at, booking->by, EvidenceOf(state, *booking)};
  if (const KeptRoom* room = KeptRoomOf(state, gang); room != nullptr && room->until)
    view.kept = {*room->until, static_cast<int64_t>(room->placements.size()),
                 NodesOf(state, *room)};
  view.plans = gang.plan->made;
  view.attempts = gang.course.attempts;
  view.deadline =
      gang.state == GangState::kBackoff ? gang.course.backoff_until : gang.plan->deadline;
  if (view.deadline == cluster::Time::Never()) view.deadline.reset();  // what happens ends it
  if (gang.course.partial_since)
    view.deadline = *gang.course.partial_since +
                    PartialTimeout(gang, state.members.GroupOf(gang), state.options);
  if (const Certificate* certificate = state.preemptions.CertificateOf(gang.id))
    view.certificate = *certificate;
  const int32_t priority = PriorityOf(gang);
  view.priority = priority == INT32_MAX ? 0 : priority;
  view.non_preemptible = gang.non_preemptible;
  view.ordered = gang.ordered_priority.has_value();
  view.created = CreatedAt(state, gang);
  std::vector<const Member*> members;
  for (const auto& [uid, member] : gang.members) {
    members.push_back(&member);
    if (!member.pod->terminal()) view.gpus += member.pod->spec->gpus.total();
  }
  const std::vector<uint32_t> ranks = RanksOf(members);
  for (size_t i = 0; i < members.size(); ++i) {
    view.members.push_back(View(*members[i], ranks[i]));
  }
  std::sort(view.members.begin(), view.members.end(), [](const MemberView& a, const MemberView& b) {
    return std::tie(a.pod, a.uid) < std::tie(b.pod, b.uid);
  });
  return view;
}

}  // namespace

bool ViewGangs(const ClaimState& state, const std::string* ns, std::optional<GangId>& last,
               std::vector<GangView>& views) {
  const auto& gangs = state.members.gangs();
  auto next = last            ? gangs.upper_bound(*last)
              : ns != nullptr ? gangs.lower_bound({{*ns, ""}, false})
                              : gangs.begin();
  for (int64_t left = kSlice; next != gangs.end() && left > 0; ++next) {
    if (ns != nullptr && next->first.key.ns != *ns) return true;
    views.push_back(View(state, next->second));
    left -= CostOf(next->second);
    last = next->first;
  }
  return next == gangs.end();
}

std::optional<GangView> ViewGang(const ClaimState& state, const cluster::ObjectKey& key) {
  for (const bool solo : {false, true}) {
    const Gang* gang = state.members.Find(GangId{key, solo});
    if (gang != nullptr) return View(state, *gang);
  }
  return std::nullopt;
}

void ViewHolders(const ClaimState& state, cluster::NodeIndex index, NodeView& view) {
  const std::set<cluster::PodUid>& holders = state.cluster.HoldersOn(index);
  view.holders.assign(holders.begin(), holders.end());
  view.overcommitted = state.cluster.Overcommitted(index);
  if (const cluster::Node* node = state.cluster.node(index))
    view.left_out = state.health.View(node->name);
}

bool CountGangs(const ClaimState& state, std::optional<GangId>& last, Counts& counts) {
  const auto& gangs = state.members.gangs();
  auto next = last ? gangs.upper_bound(*last) : gangs.begin();
  std::map<ReasonCode, int64_t> waiting(counts.waiting.begin(), counts.waiting.end());
  for (int64_t left = kSlice; next != gangs.end() && left > 0; ++next, --left) {
    const Gang& gang = next->second;
    ++counts.gangs[static_cast<int>(gang.state)];
    if (gang.reason.code != ReasonCode::kNone) ++waiting[gang.reason.code];
    last = next->first;
  }
  counts.waiting.assign(waiting.begin(), waiting.end());
  if (next != gangs.end()) return false;
  counts.nodes = static_cast<int64_t>(state.cluster.node_count());
  counts.pods = static_cast<int64_t>(state.cluster.pod_count());
  counts.reservations = static_cast<int64_t>(state.cluster.reservation_count());
  counts.held_binds = state.writes.held_binds();
  const NodeHealth::Totals left_out = state.health.totals();
  counts.nodes_left_out = left_out.nodes;
  counts.gpus_left_out = left_out.gpus;
  counts.starts_refused = state.health.refused_at_admission();
  counts.starts_failed = state.health.failed_early();
  counts.kubelet_picks = state.kubelet_picks.counts();
  counts.scale_ups = static_cast<int64_t>(state.scale_ups.all().size());
  for (const auto& [key, request] : state.requests.all()) {
    if (request.wanted) ++counts.requests[static_cast<size_t>(request.state)];
  }
  counts.restart_kept_pods = state.kept_rooms.pods();
  counts.restart_windows = state.kept_rooms.ended();
  return true;
}

}  // namespace muster::engine
