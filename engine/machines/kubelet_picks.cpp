#include "engine/machines/kubelet_picks.hpp"

#include <map>
#include <vector>

namespace muster::engine {

using cluster::GpuIndex;
using cluster::NodeIndex;
using policy::KubeletPick;

namespace {

// Where nothing better is known, what is planned.
std::vector<GpuIndex> Handed(const std::optional<KubeletPick>& pick,
                             const std::vector<cluster::GpuShare>& planned) {
  if (pick && !pick->gpus.empty()) return pick->gpus;
  std::vector<GpuIndex> gpus;
  gpus.reserve(planned.size());
  for (const cluster::GpuShare& share : planned) gpus.push_back(share.index);
  return gpus;
}

}  // namespace

KubeletPicks::Taken KubeletPicks::TakenOn(NodeIndex node, const cluster::PodUid& except) const {
  Taken taken;
  for (const cluster::PodUid& uid : cluster_.HoldersOn(node)) {
    const cluster::Allocation* held = cluster_.AllocationOf(uid);
    if (uid == except || held == nullptr || held->placement.gpus.empty()) continue;
    const Member* member = members_.FindMember(uid);
    const bool there =
        held->holding == cluster::Holding::kBound || (member != nullptr && member->may_be_bound());
    if (!there) continue;
    const auto& pick =
        member == nullptr ? std::optional<KubeletPick>() : member->plan->kubelet_pick;
    for (const GpuIndex gpu : Handed(pick, held->placement.gpus)) taken.push_back(gpu);
  }
  return taken;
}

std::optional<KubeletPick> KubeletPicks::Of(const Member& member, const Taken& taken) {
  const cluster::Placement& placement = *member.plan->placement;
  const cluster::Node* node = cluster_.node(placement.node);
  // It may have gone while the binding was under way.
  if (node == nullptr || node->name != member.plan->node) return std::nullopt;
  forecast_.Use(options_.placement.profiles);
  return forecast_.Of(*node, *member.pod->spec, taken, Handed({}, placement.gpus));
}

void KubeletPicks::AddTo(const Gang& gang, GangView& view) {
  std::map<cluster::PodUid, MemberView*> views;
  for (MemberView& one : view.members) views[one.uid] = &one;
  std::map<NodeIndex, Taken> earlier;  // by members that are bound before
  for (const auto& [uid, member] : gang.members) {
    const auto at = views.find(uid);
    if (at == views.end()) continue;
    if (member.pod->bound() || member.may_be_bound()) {
      at->second->kubelet_pick = member.plan->kubelet_pick;
      continue;
    }
    if (!member.planned()) continue;
    const cluster::Placement& placement = *member.plan->placement;
    Taken taken = TakenOn(placement.node, uid);
    Taken& before = earlier[placement.node];
    taken.insert(taken.end(), before.begin(), before.end());
    at->second->kubelet_pick = Of(member, taken);
    for (const GpuIndex gpu : Handed(at->second->kubelet_pick, placement.gpus))
      before.push_back(gpu);
  }
}

void KubeletPicks::Count(const Member& member) {
  const std::optional<KubeletPick>& pick = member.plan->kubelet_pick;
  if (pick) ++counts_[static_cast<size_t>(pick->outcome)];
}

}  // namespace muster::engine
