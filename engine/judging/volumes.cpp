#include "engine/judging/volumes.hpp"

#include <memory>
#include <utility>

#include "engine/standing/known_state.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::PodUid;
using cluster::Time;

void CompleteSpec(KnownState& state, Pod& pod) {
  pod.spec = state.specs.Intern(std::move(pod.spec));
  if (pod.volumes == nullptr) return;
  VolumeTable::Needs needs = state.volumes.NeedsOf(pod);
  cluster::PodVolumes volumes{pod.volumes->claims, nullptr, std::move(needs.bar)};
  if (!needs.demand.none())
    volumes.demand = std::make_shared<const cluster::VolumeDemand>(std::move(needs.demand));
  if (!needs.places.empty()) {
    auto whole = std::make_shared<cluster::PodSpec>(*pod.spec);
    whole->constraints.volume_places = std::move(needs.places);
    volumes.declared = std::exchange(pod.spec, state.specs.Intern(std::move(whole)));
  }
  pod.volumes = std::make_shared<const cluster::PodVolumes>(std::move(volumes));
}

Pod AsDeclared(Pod pod) {
  if (pod.volumes == nullptr) return pod;
  if (pod.volumes->declared != nullptr) pod.spec = pod.volumes->declared;
  pod.volumes = std::make_shared<const cluster::PodVolumes>(
      cluster::PodVolumes{pod.volumes->claims, nullptr, {}});
  return pod;
}

Reason VolumeBar(const Gang& gang) {
  if (gang.tally.awaits_volumes == 0) return {};
  const std::string* first = nullptr;
  for (const auto& [uid, member] : gang.members) {
    if (!member.awaits_volumes()) continue;
    const std::string& bar = member.pod->volumes->bar;
    if (first == nullptr || bar < *first) first = &bar;
  }
  if (first == nullptr) return {};
  const int64_t others = gang.tally.awaits_volumes - 1;
  std::string text = *first;
  if (others > 0) {
    text += " (and " + std::to_string(others) + (others == 1 ? " other pod" : " other pods") +
            " with volumes that are not ready)";
  }
  return Because(ReasonCode::kVolumesNotReady, 0, 0, std::move(text));
}

}  // namespace muster::engine
