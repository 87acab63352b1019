#include "engine/cycle/node_starts.hpp"

#include <utility>

#include "engine/cycle/node_intake.hpp"
#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::Node;
using cluster::Pod;

void NoteStart(StandingState& state, const Pod& pod) {
  const Gang* of = state.members.GangOf(pod.uid);
  if (of == nullptr || !pod.bound()) return;
  const GangId& gang = of->id;
  const bool of_controller = gang.solo && !pod.owner_uid.empty();
  const bool watched = state.health.Watches(pod.node_name);
  state.health.Note(pod, of_controller ? pod.key.ns + "/" + pod.owner_uid : gang.key.ToString(),
                    state.cluster.FindNode(pod.node_name), state.options.bad_nodes);
  if (watched || !state.health.Watches(pod.node_name)) return;
  // Members that it was told of before may have started there after the node failed.
  for (const cluster::PodUid& uid : state.cluster.HoldersOn(state.cluster.IndexOf(pod.node_name))) {
    const Pod* other = state.cluster.FindPod(uid);
    if (other != nullptr && other->bound()) NoteStart(state, *other);
  }
}

void SettleLeftOut(StandingState& state, cluster::Time now) {
  for (NodeHealth::Change& change :
       state.health.Decide(state.options.bad_nodes, state.cluster.node_count(), now)) {
    const Node* known = state.cluster.FindNode(change.node);
    if (known == nullptr) continue;
    const Node record = *known;  // what is known of it is replaced
    ApplyNode(state, record);
    EmitEvent event{{"default", change.node},
                    record.uid.text(),
                    false,
                    change.out,
                    change.out ? "NodeLeftOut" : "NodeReturned",
                    std::move(change.message),
                    true};
    state.writes.Ask(std::move(event));
  }
}

}  // namespace muster::engine
