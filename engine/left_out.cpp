#include <utility>

#include "engine/core.hpp"

namespace muster::engine {

using cluster::Node;
using cluster::Pod;

// How a member's start went is held against its node, or for it.
void Scheduler::Core::NoteStart(const Pod& pod) {
  const auto found = gang_of_.find(pod.uid);
  if (found == gang_of_.end() || !pod.bound()) return;
  const GangId& gang = found->second->id;
  const bool of_controller = gang.solo && !pod.owner_uid.empty();
  const bool watched = health_.Watches(pod.node_name);
  health_.Note(pod, of_controller ? pod.key.ns + "/" + pod.owner_uid : gang.key.ToString(),
               state_.FindNode(pod.node_name), options_.bad_nodes);
  if (watched || !health_.Watches(pod.node_name)) return;
  // Those who were told of before may have started there after it failed.
  for (const cluster::PodUid& uid : state_.HoldersOn(state_.IndexOf(pod.node_name))) {
    const Pod* other = state_.FindPod(uid);
    if (other != nullptr && other->bound()) NoteStart(*other);
  }
}

// Nodes that are left out from now on, or not any more: their records say so, which every plan
// looks at.
void Scheduler::Core::SettleLeftOut(cluster::Time now) {
  for (NodeHealth::Change& change : health_.Decide(options_.bad_nodes, state_.node_count(), now)) {
    const Node* known = state_.FindNode(change.node);
    if (known == nullptr) continue;
    const Node record = *known;  // what is known of it is replaced
    ApplyNode(record);
    EmitEvent event{{"default", change.node},
                    record.uid.text(),
                    false,
                    change.out,
                    change.out ? "NodeLeftOut" : "NodeTakenBack",
                    std::move(change.message),
                    true};
    writes_.Ask(std::move(event));
  }
}

}  // namespace muster::engine
