#include "engine/judging/shape_rules.hpp"

#include <algorithm>
#include <utility>

#include "engine/standing/standing_state.hpp"

namespace muster::engine {

using cluster::NodeSet;
using queues::Tree;

namespace {

bool AsksForGpus(const Gang& gang) {
  return std::any_of(gang.members.begin(), gang.members.end(),
                     [](const auto& entry) { return !entry.second.pod->spec->gpus.none(); });
}

std::vector<size_t> Against(const StandingState& state, const Gang& gang) {
  const QueueBook& book = state.queue_book;
  const cluster::Usage asks = gang.pending() ? gang.queue->asks : cluster::Usage();
  int64_t unnamed = asks.gpu_milli;
  for (const auto& [model, milli] : asks.gpu_milli_by_model) unnamed -= milli;
  return state.shapes.Against(gang.id, book.IndexOf(QueueOf(gang)), PriorityOf(gang),
                              gang.non_preemptible, book.tree().Dense(asks), unnamed > 0);
}

std::shared_ptr<const NodeSet> Some(NodeSet nodes) {
  return nodes.first().valid() ? std::make_shared<const NodeSet>(std::move(nodes)) : nullptr;
}

}  // namespace

ShapedNodes ShapedFor(StandingState& state, const Gang& gang) {
  ShapedNodes shaped;
  if (!state.shapes.any() || !AsksForGpus(gang)) return shaped;
  state.shapes.Follow();
  const std::vector<size_t> against = Against(state, gang);
  std::vector<size_t> others = state.shapes.OthersOf(state.queue_book.IndexOf(QueueOf(gang)));
  std::erase_if(others, [&](size_t claim) {
    return std::binary_search(against.begin(), against.end(), claim);
  });
  shaped.shut = Some(state.shapes.NodesOf(against));
  shaped.lent = Some(state.shapes.NodesOf(others));
  shaped.may_exchange = shaped.shut != nullptr && state.shapes.MayExchange(gang.id);
  return shaped;
}

bool ShapesHold(StandingState& state, const Gang& gang,
                const std::vector<cluster::Placement>& placements) {
  if (!state.shapes.any()) return true;
  NodeSet taken;
  for (const cluster::Placement& one : placements) {
    if (!one.gpus.empty()) taken.Add(one.node);
  }
  if (!taken.first().valid()) return true;
  state.shapes.Follow();
  const std::vector<size_t> against = Against(state, gang);
  return !state.shapes.NodesOf(against).Meets(taken) || state.shapes.HoldWithout(against, taken);
}

Reason ShapeBar(StandingState& state, const Gang& gang) {
  if (!state.shapes.any()) return {};
  state.shapes.Follow();
  std::string detail;
  for (const size_t claim : Against(state, gang)) {
    if (state.shapes.promised(claim).empty()) continue;
    const ShapeBook::Claim& of = state.shapes.claims()[claim];
    if (!detail.empty()) return Because(ReasonCode::kReserved, 0, 0, detail + ", and others");
    detail = "queue " + state.queue_book.tree().at(of.queue).name + " is guaranteed " +
             ToString(of.shape) + ", and could not have it evicted";
  }
  return detail.empty() ? Reason{} : Because(ReasonCode::kReserved, 0, 0, std::move(detail));
}

}  // namespace muster::engine
