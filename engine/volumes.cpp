#include "engine/volumes.hpp"

#include <memory>
#include <utility>

#include "engine/engine_state.hpp"
#include "engine/evidence.hpp"
#include "engine/intake.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::PodUid;
using cluster::Time;

namespace {

// They are told to the cluster as they are completed now; nothing else of them is new.
void CompleteAnew(EngineState& state, const VolumeTable::PodUids& pods, Time now) {
  for (const PodUid& uid : pods) {
    const Pod* known = state.cluster.FindPod(uid);
    if (known == nullptr) continue;
    const std::shared_ptr<const cluster::PodSpec> before = known->spec;
    const std::shared_ptr<const cluster::VolumeDemand> demand = known->volume_demand();
    const bool awaited = known->awaits_volumes();
    Pod pod = AsDeclared(*known);
    pod.resource_version = 0;
    ApplyPod(state, std::move(pod), now);
    const Pod* now_known = state.cluster.FindPod(uid);
    Gang* gang = state.members.Find(uid).gang;
    if (gang == nullptr || now_known == nullptr) continue;
    if (now_known->spec == before && now_known->awaits_volumes() == awaited &&
        SameDemand(now_known->volume_demand(), demand))
      continue;
    PendingQueue::ForgetTry(*gang);  // it asks for something else now
    state.work.Touch(*gang);
  }
}

// How many volumes the node takes is part of its record.
void CompleteNode(EngineState& state, const std::string& name) {
  if (const cluster::Node* known = state.cluster.FindNode(name)) {
    const cluster::Node node = *known;
    ApplyNode(state, node);
  }
}

}  // namespace

void ApplyStorage(EngineState& state, const cluster::StorageRecord& record, Time now) {
  CompleteAnew(state, state.volumes.Upsert(record), now);
  if (const auto* drivers = std::get_if<cluster::NodeDrivers>(&record))
    CompleteNode(state, drivers->node);
  NoteChange(state);
}

void RemoveStorage(EngineState& state, const StorageRemoved& removed, Time now) {
  CompleteAnew(state, state.volumes.Remove(removed.kind, removed.key), now);
  if (removed.kind == cluster::StorageKind::kNodeDrivers) CompleteNode(state, removed.key.name);
  NoteChange(state);
}

void ApplyStorageReadable(EngineState& state, const StorageReadable& told, Time now) {
  CompleteAnew(state, state.volumes.SetReadable(told.readable), now);
  NoteChange(state);
}

void CompleteSpec(EngineState& state, Pod& pod) {
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

void FollowVolumes(EngineState& state, const Pod& pod, Time now) {
  if (pod.volumes != nullptr) CompleteAnew(state, state.volumes.Follow(pod), now);
}

void ForgetVolumes(EngineState& state, const PodUid& uid, Time now) {
  CompleteAnew(state, state.volumes.Forget(uid), now);
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
