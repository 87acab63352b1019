#include <algorithm>
#include <utility>

#include "engine/core.hpp"
#include "engine/minimum.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::PodUid;
using cluster::Time;

Turn Scheduler::Core::NextJob(Time now) {
  const auto spread = [&] {
    return queue_.Spread(kSlice, [&](Gang& gang, const Kind& kind) {
      SetState(gang, kind.state, kind.reason);
      work_.TriedInVain(gang.id);
    });
  };
  if (!spread()) return {};
  if (!silent_.empty()) return {true, std::nullopt};
  if (!queue_.in_pass()) {
    candidates_ = {};
    queue_.Begin(state_.growth());
  }
  for (int64_t looked = 0; looked < kSlice;) {
    Gang* gang = queue_.Next();
    if (gang == nullptr) return {true, std::nullopt};
    looked += CostOf(*gang);
    if (std::optional<PlanJob> job = MakeJob(*gang, now)) return {false, std::move(job)};
    if (!spread()) break;
  }
  return {};
}

// Who shares its fate; nothing: nobody. Under strict order the first one's is its own.
std::optional<KindKey> Scheduler::Core::KindOf(const Gang& gang, const PlanJob& job) const {
  const bool whole = gang.tally.ours == 0 && gang.state != GangState::kRunning;
  const bool first = options_.strict_order && &queue_.first() == &gang;
  const bool turned_down =
      std::any_of(gang.members.begin(), gang.members.end(),
                  [](const auto& entry) { return !entry.second.excluded.empty(); });
  if (!whole || first || turned_down || gang.may_preempt_from) return std::nullopt;
  return KindKey{false, job.shape, gang.pending->negated_priority, Preempts(gang)};
}

void Scheduler::Core::Wait(Gang& gang, const std::optional<KindKey>& kind, GangState state,
                           Reason reason) {
  gang.tried = true;
  work_.TriedInVain(gang.id);
  if (kind) queue_.Judge(gang, *kind, state, reason);
  SetState(gang, state, std::move(reason));
}

std::optional<PlanJob> Scheduler::Core::MakeJob(Gang& gang, Time now) {
  const bool whole = gang.tally.ours == 0 && gang.state != GangState::kRunning;
  if (options_.strict_order && whole && &queue_.first() != &gang) {
    const Gang& first = queue_.first();
    if (first.tried && (first.state == GangState::kQueued)) {
      KindKey behind;
      behind.blocked = true;
      Wait(gang, behind, GangState::kQueued,
           Because(ReasonCode::kBlockedByOrder, 0, 0, first.id.key.ToString()));
      return std::nullopt;
    }
  }
  PlanJob job;
  job.id = gang.id;
  job.version = gang.version;
  job.order = *gang.pending;
  ChooseDemands(gang, now, job);
  const bool preempts = whole && ever_fits_.Never(job.shape) == nullptr && MayPreempt(gang);
  if (preempts) job.preempts_below = -gang.pending->negated_priority;
  job.plain = job.plain && !(preempts && gang.may_preempt_from);
  if (whole && job.plain) {
    if (const Reason* failed = queue_.Failed(job.shape, job.preempts_below)) {
      const bool never = failed->code == ReasonCode::kNeverFits;
      Wait(gang, KindOf(gang, job), never ? GangState::kUnsatisfiable : GangState::kQueued,
           *failed);
      return std::nullopt;
    }
  }
  job.snapshot = state_.TakeSnapshot();
  if (whole && ever_fits_.Follow(state_, options_.scheduler_names, now)) queue_.AnythingMayFit();
  if (whole && !ever_fits_.Asked(job.shape)) job.empty = ever_fits_.Room(*job.snapshot);
  job.ground = ever_fits_.ground();
  if (preempts) job.candidates = CandidatesFor(gang);
  return job;
}

policy::Demand Scheduler::Core::DemandOf(const Member& member, Time now) const {
  const Pod& pod = *member.pod;
  policy::Demand demand;
  demand.pod = member.uid;
  demand.spec = pod.spec;
  // What was nominated before (by us, before a restart, say) is kept where possible.
  if (!pod.nominated_node.empty()) demand.preferred = state_.IndexOf(pod.nominated_node);
  for (const auto& [node, until] : member.excluded) {
    const cluster::NodeIndex index = state_.IndexOf(node);
    if (until > now && index.valid()) demand.excluded.push_back(index);
  }
  for (const auto& [node, pods] : unfenced_.nodes()) {
    const cluster::NodeIndex index = state_.IndexOf(node);
    if (index.valid()) demand.excluded.push_back(index);
  }
  std::sort(demand.excluded.begin(), demand.excluded.end());
  const auto twice = std::unique(demand.excluded.begin(), demand.excluded.end());
  demand.excluded.erase(twice, demand.excluded.end());
  return demand;
}

// The required pods: of each role as many as its minimum still lacks, then any up to min_member;
// oldest first, then by name. All others are elastic.
void Scheduler::Core::ChooseDemands(const Gang& gang, Time now, PlanJob& job) const {
  std::vector<std::pair<const Member*, const Pod*>> open;
  std::map<std::string, int64_t> lacking = gang.minimum.roles;
  int64_t total =
      gang.minimum.members - gang.tally.bound - gang.tally.succeeded - gang.tally.planned;
  for (const auto& [uid, member] : gang.members) {
    const Pod& pod = *member.pod;
    if (IsThere(member, Counting::kPlanned)) {
      if (const auto role = lacking.find(pod.role); role != lacking.end()) --role->second;
    } else if (IsThere(member, Counting::kReady)) {
      open.emplace_back(&member, &pod);
    }
  }
  std::sort(open.begin(), open.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second->created, a.second->key.name, a.second->uid) <
           std::tie(b.second->created, b.second->key.name, b.second->uid);
  });
  std::vector<bool> taken(open.size(), false);
  const auto take = [&](size_t i) {
    taken[i] = true;
    --total;
    job.required.push_back(DemandOf(*open[i].first, now));
  };
  for (size_t i = 0; i < open.size(); ++i) {
    const auto role = lacking.find(open[i].second->role);
    if (role == lacking.end() || role->second <= 0) continue;
    --role->second;
    take(i);
  }
  for (size_t i = 0; i < open.size() && total > 0; ++i) {
    if (!taken[i]) take(i);
  }
  for (size_t i = 0; i < open.size(); ++i) {
    if (!taken[i]) job.elastic.push_back(DemandOf(*open[i].first, now));
  }
  std::map<uint64_t, int64_t> shape;
  job.plain = true;
  const auto withheld =
      std::count_if(unfenced_.nodes().begin(), unfenced_.nodes().end(),
                    [&](const auto& entry) { return state_.IndexOf(entry.first).valid(); });
  for (const policy::Demand& demand : job.required) {
    ++shape[specs_.IdOf(*demand.spec)];
    job.plain = job.plain && std::ssize(demand.excluded) == withheld;
  }
  job.shape.assign(shape.begin(), shape.end());
}

void Scheduler::Core::Commit(const PlanJob& job, PlanResult result, Time now) {
  const auto found = gangs_.find(job.id);
  if (found == gangs_.end()) return;
  Gang& gang = found->second;
  if (!gang.pending) return;
  ++progress_.gangs_tried;
  if (gang.version != job.version) {  // it changed meanwhile: it has another turn
    queue_.Retry(gang);
    return;
  }
  if (!result.placed) return Refuse(gang, job, result);
  if (!result.victims.empty()) {
    const Earmarked earmarked = Earmark(gang, job, result, now);
    if (earmarked == Earmarked::kRefused) return Refuse(gang, job, result);
    if (earmarked == Earmarked::kStale) queue_.Retry(gang);
    return;
  }
  std::vector<cluster::Placement> all = result.required;
  all.insert(all.end(), result.elastic.begin(), result.elastic.end());
  const bool same_layout = state_.TakeSnapshot()->layout() == job.snapshot->layout();
  if (!same_layout ||
      !state_.Reserve(all).ok()) {  // somebody was faster: plan on what is there now
    queue_.Retry(gang);
    return;
  }
  ++progress_.gangs_planned;
  Adopt(gang, result, now);
}

void Scheduler::Core::Refuse(Gang& gang, const PlanJob& job, const PlanResult& result) {
  if (job.required.empty()) {  // only elastic members: the gang runs
    gang.tried = true;
    work_.TriedInVain(gang.id);
    return;
  }
  Reason reason = FromShortage(result.shortage);
  if (reason.code != ReasonCode::kNotEnoughGpus)
    reason.need = static_cast<int64_t>(job.required.size());
  const bool whole = gang.tally.ours == 0;
  if (!whole && !gang.obstacle.empty()) reason.detail = gang.obstacle;
  if (job.empty != nullptr) {
    ever_fits_.Learn(
        job.shape, job.ground,
        result.never_fits ? Because(ReasonCode::kNeverFits, 0, 0, Describe(reason)) : Reason{});
  }
  const Reason* impossible = whole ? ever_fits_.Never(job.shape) : nullptr;
  const bool never = impossible != nullptr;
  if (never) reason = *impossible;
  // Where something became free since, this holds until the pass is over: there will be another.
  if (whole && job.plain) queue_.Fail(job.shape, job.preempts_below, reason);
  const GangState state = !whole  ? GangState::kDegraded
                          : never ? GangState::kUnsatisfiable
                                  : GangState::kQueued;
  Wait(gang, whole ? KindOf(gang, job) : std::nullopt, state, std::move(reason));
}

void Scheduler::Core::Adopt(Gang& gang, const PlanResult& result, Time now) {
  const auto plan = [&](const cluster::Placement& placement, bool required) {
    Member& member = gang.members.at(placement.pod);
    SetPlan(member, placement, required);
    member.planned_at = now;
  };
  for (const cluster::Placement& placement : result.required) plan(placement, true);
  for (const cluster::Placement& placement : result.elastic) plan(placement, false);
  ++gang.plans;
  queue_.Leave(gang);
  gang.planned_at = now;
  gang.deadline = now + ReservationTimeout(gang);
  gang.all_nominated = false;
  gang.tried = true;
  gang.setback = {};
  if (gang.tally.ours == 0) gang.barrier_open = false;
  // Who was released before may wait where kube-scheduler does not look again by itself.
  for (auto& [uid, member] : gang.members) {
    if (member.plan && !member.pod->gated_by_muster()) member.refused = true;
  }
  Touch(gang);
}

cluster::Duration Scheduler::Core::ReservationTimeout(const Gang& gang) const {
  const cluster::PodGroup* group = gang.id.solo ? nullptr : state_.FindPodGroup(gang.id.key);
  const bool own = group != nullptr && group->schedule_timeout > cluster::Duration(0);
  return own ? std::min(group->schedule_timeout, options_.max_reservation_timeout)
             : options_.reservation_timeout;
}

void Scheduler::Core::SetPlan(Member& member, cluster::Placement placement, bool required) {
  member.planned_node = state_.node(placement.node)->name;
  member.plan = std::move(placement);
  member.required = required;
  const cluster::Pod& pod = *member.pod;
  member.nominated = pod.nominated_node == member.planned_node ||
                     member.pinned_node == member.planned_node || Pins(pod);
  member.bind_seen = false;
}

bool Scheduler::Core::PassNeeded() const {
  return silent_.empty() && queue_.PassNeeded(state_.growth());
}

bool Scheduler::Core::HasWork() const {
  return !work_.settled() || work_.sweeping() || PassNeeded() || writes_.has_actions() ||
         ever_fits_.Behind() || health_.pending();
}

Time Scheduler::Core::NextWake() const {
  if (HasWork()) return Time(0);
  const Time timer = std::min(work_.due(), health_.due());
  return queue_.empty() ? timer : std::min(timer, ever_fits_.due());
}

}  // namespace muster::engine
