#include "engine/judging/nodes_refused.hpp"

#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::NodeIndex;

NodesRefused::NodesRefused(const StandingState& state, const Gang& gang)
    : state_(state), refusal_(state.refusals.Of(gang.id)) {}

void NodesRefused::KeepOff(policy::Demand& demand) {
  const cluster::PodSpec& spec = *demand.spec;
  if (refusal_ == nullptr || !state_.refusals.KeepsOffAny(*refusal_, spec)) return;
  const auto [at, fresh] = nodes_.try_emplace(&spec);
  std::vector<NodeIndex>& nodes = at->second;
  if (fresh) {
    for (const cluster::Node* node : state_.cluster.Nodes()) {
      if (state_.refusals.KeepsOff(*refusal_, spec, node->name))
        nodes.push_back(state_.cluster.IndexOf(node->name));
    }
    std::sort(nodes.begin(), nodes.end());
  }
  std::vector<NodeIndex> all;
  std::set_union(demand.excluded.begin(), demand.excluded.end(), nodes.begin(), nodes.end(),
                 std::back_inserter(all));
  demand.excluded = std::move(all);
}

}  // namespace muster::engine
