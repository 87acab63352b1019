#include "engine/preemption/losses.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "engine/gangs/defect.hpp"
#include "engine/gangs/minimum.hpp"
#include "engine/standing/standing_state.hpp"
#include "policy/domains/fabric_wish.hpp"

namespace muster::engine {

using cluster::Time;

namespace {

// The minimum means something: there is a PodGroup, and it makes sense.
bool MinimumKnown(const StandingState& state, const Gang& gang) {
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  return group != nullptr && DefectOf(gang, group, state.options).code == ReasonCode::kNone;
}

bool AnyRequired(const std::vector<cluster::TopologySegment>& segments) {
  return std::any_of(segments.begin(), segments.end(),
                     [](const cluster::TopologySegment& segment) { return segment.required; });
}

// Some of its pods need others in their domain: none of them can go alone.
bool IsInSegments(const StandingState& state, const Gang& gang) {
  const topology::FabricOptions& fabric = state.options.placement.fabric;
  const cluster::PodGroup* group = state.members.GroupOf(gang);
  const cluster::TopologyTerms* last = nullptr;  // most members say the same
  return std::any_of(gang.members.begin(), gang.members.end(), [&](const auto& entry) {
    const cluster::TopologyTerms& said = policy::TermsOf(group, *entry.second.pod);
    if (std::exchange(last, &said) == &said) return false;
    if (said.segments.empty() && said.subgroups.empty()) return false;
    const cluster::TopologyTerms terms = Heeded(fabric, said);
    return AnyRequired(terms.segments) ||
           std::any_of(terms.subgroups.begin(), terms.subgroups.end(),
                       [](const auto& subgroup) { return AnyRequired(subgroup.segments); });
  });
}

// Not to be taken apart now, whatever its members do.
bool IsFixed(const Gang& gang) { return gang.course.repairing || gang.non_preemptible; }

// As long as this one is there its gang is not either. Of one that goes whole also a member with a
// plan: it would be bound when the others have gone.
bool HoldsTogether(const StandingState& state, const Gang& gang, const Member& member) {
  if (member.may_be_bound() || (gang.terms.whole && member.planned())) return true;
  const Protection* by = member.holds() ? state.preemptions.ProtectionOf(member.uid) : nullptr;
  return by != nullptr && !by->by_budget;
}

// Takes them out of `bound`.
std::vector<LostPod> SurplusOf(const StandingState& state, const Gang& gang,
                               std::vector<LostPod>& bound) {
  if (NeedsAll(gang, std::ssize(bound)) || !HasSurplus(state, gang)) return {};
  std::vector<const Member*> members;
  members.reserve(bound.size());
  for (const LostPod& pod : bound) members.push_back(pod.member);
  const std::vector<const Member*> surplus = TakeSurplus(gang, members);
  if (surplus.empty()) return {};
  const auto pods_of = [&](const std::vector<const Member*>& some) {
    std::vector<LostPod> pods;
    pods.reserve(some.size());
    for (const Member* member : some) {
      pods.push_back(*std::find_if(bound.begin(), bound.end(),
                                   [&](const LostPod& pod) { return pod.member == member; }));
    }
    return pods;
  };
  std::vector<LostPod> taken = pods_of(surplus);
  bound = pods_of(members);
  return taken;
}

// By role, and by what they hold of which devices.
class AlikePods {
 public:
  AlikePods(const StandingState& state, const std::vector<LostPod>& surplus,
            const std::vector<LostPod>& bound)
      : state_(state) {
    for (const std::vector<LostPod>* pods : {&surplus, &bound}) {
      for (const LostPod& pod : *pods) pools_[KindOf(pod)].push_back(*pod.held);
    }
  }
  std::shared_ptr<const std::vector<cluster::Placement>> Of(const LostPod& pod) {
    const Kind kind = KindOf(pod);
    auto& shared = shared_[kind];
    if (shared == nullptr)
      shared = std::make_shared<const std::vector<cluster::Placement>>(std::move(pools_[kind]));
    return shared;
  }

 private:
  using Kind = std::tuple<std::string, cluster::Resources,
                          std::vector<std::pair<std::string, cluster::DeviceAmount>>>;

  Kind KindOf(const LostPod& pod) const {
    std::vector<std::pair<std::string, cluster::DeviceAmount>> devices;
    const cluster::Node* node = state_.cluster.node(pod.held->node);
    for (const cluster::GpuShare& share : pod.held->gpus) {
      std::string model;
      if (node != nullptr) {
        const auto gpu =
            std::find_if(node->gpus.begin(), node->gpus.end(),
                         [&](const cluster::Gpu& one) { return one.index == share.index; });
        if (gpu != node->gpus.end()) model = gpu->model;
      }
      devices.emplace_back(std::move(model), share.taken);
    }
    return {pod.member->pod->role, pod.held->requests, std::move(devices)};
  }

  const StandingState& state_;
  std::map<Kind, std::vector<cluster::Placement>> pools_;
  std::map<Kind, std::shared_ptr<const std::vector<cluster::Placement>>> shared_;
};
// What of the surplus goes together: those of a unit (RoleUnit), of one Job where that is known.
// What makes no whole unit goes with the others of the gang: into `bound`.
std::vector<std::vector<LostPod>> InUnits(const cluster::PodGroup* group,
                                          const std::vector<LostPod>& surplus,
                                          std::vector<LostPod>& bound) {
  std::vector<std::vector<LostPod>> batches;
  std::map<std::pair<std::string, int32_t>, std::vector<LostPod>> begun;  // by role and Job
  for (const LostPod& pod : surplus) {
    const cluster::Pod& of = *pod.member->pod;
    const int64_t size = group == nullptr ? 1 : UnitSize(*group, of.role);
    std::vector<LostPod>& batch = begun[{of.role, of.job_index}];
    batch.push_back(pod);
    if (std::ssize(batch) < size) continue;
    batches.push_back(std::move(batch));
    batch.clear();
  }
  for (const auto& [of, batch] : begun) bound.insert(bound.end(), batch.begin(), batch.end());
  return batches;
}

}  // namespace

int64_t GpuTimeOf(const Gang& gang, const Lost& lost, Time now) {
  const std::optional<Time>& since = gang.past.running_since();
  if (!since || *since >= now) return 0;
  int64_t milli = 0;
  for (const LostPod& pod : lost.pods) {
    for (const cluster::GpuShare& share : pod.held->gpus) milli += share.taken.most().value();
  }
  return milli / 100 * ((now - *since).value() / 1000);
}

bool HasSurplus(const StandingState& state, const Gang& gang) {
  return !gang.terms.whole && MinimumKnown(state, gang) && !IsInSegments(state, gang);
}

void AddLosses(const StandingState& state, const Gang& gang, int64_t priority, bool leaving_only,
               std::vector<Lost>& losses) {
  policy::Loss loss;
  loss.holder = HolderOf(gang, priority);
  loss.leaves = true;
  const auto add = [&](std::vector<LostPod> pods, bool all) {
    losses.push_back({loss, all, std::move(pods), nullptr});
    ++loss.step;
  };
  bool whole = !IsFixed(gang);
  std::vector<LostPod> bound;
  bound.reserve(gang.members.size());
  for (const auto& [uid, member] : gang.members) {
    whole = whole && !HoldsTogether(state, gang, member);
    if (!member.holds()) continue;
    const cluster::Allocation* held =
        state.preemptions.PreemptorOf(uid) == nullptr ? member.held() : nullptr;
    if (!member.leaving()) {
      whole = whole && held != nullptr && member.ours;
      if (held != nullptr) bound.push_back({&member, &held->placement});
    } else if (held != nullptr && state.preemptions.ProtectionOf(uid) == nullptr) {
      add({{&member, &held->placement}}, false);
    }
  }
  if (!whole || leaving_only || bound.empty()) return;
  loss.leaves = false;
  loss.broken = gang.tally.leaving > 0 && Need(gang, Counting::kBound) > 0;
  loss.step = 0;
  // Of the gang: its surplus takes precedence, whichever controller makes which pod.
  loss.holder.may_end = std::any_of(bound.begin(), bound.end(), [&](const LostPod& pod) {
    return state.jobs.LosesByEviction(*pod.member->pod);
  });
  const std::vector<LostPod> surplus = SurplusOf(state, gang, bound);
  AlikePods alike(state, surplus, bound);
  for (std::vector<LostPod>& pods : InUnits(state.members.GroupOf(gang), surplus, bound)) {
    const std::optional<LostPod> alone =
        pods.size() == 1 ? std::optional(pods.front()) : std::nullopt;
    add(std::move(pods), false);
    if (alone) losses.back().alike = alike.Of(*alone);
  }
  if (!bound.empty()) add(std::move(bound), true);
}

policy::Holder HolderOf(const Gang& gang, int64_t priority) {
  return {gang.id, QueueOf(gang), priority, gang.past.running_since().value_or(Time(0)), false};
}

bool CannotBeEvicted(const StandingState& state, const Gang& gang) {
  return IsFixed(gang) ||
         std::any_of(gang.members.begin(), gang.members.end(),
                     [&](const auto& entry) { return HoldsTogether(state, gang, entry.second); });
}

}  // namespace muster::engine
