#include "sim/world/hami_plugin.hpp"

#include <algorithm>
#include <utility>

namespace muster::sim {

using cluster::HamiContainers;
using cluster::HamiTurn;

PodPtr HamiPlugin::PendingOn(const std::string& node) const {
  const NodePtr record = api_.FindNode(node);
  const std::string lock = record == nullptr ? "" : record->node.hami_lock;
  for (const PodPtr& pod : api_.Pods()) {
    const bool locked_for = pod->pod.key.ToString() == lock;
    const bool found = pod->pod.node_name == node && pod->pod.hami_turn != HamiTurn::kNone;
    if (lock.empty() ? found : locked_for) return pod;
  }
  return nullptr;
}

std::optional<std::vector<cluster::HamiDevice>> HamiPlugin::Allocate(const std::string& node,
                                                                     size_t count) {
  const PodPtr pod = PendingOn(node);
  if (pod == nullptr) return std::nullopt;
  const engine::PodRef ref{pod->pod.key, pod->pod.uid};
  const auto mark = [&](const char* phase) {
    static_cast<void>(
        api_.Annotate(Actor::kKubelet, ref, {{cluster::kHamiPhaseAnnotation, phase}}));
  };
  const auto text = pod->annotations.find(cluster::kHamiToAllocateAnnotation);
  std::optional<HamiContainers> left;
  if (text != pod->annotations.end()) left = cluster::DecodeHamiDevices(text->second);
  if (left && !left->empty()) left->pop_back();  // behind the last ';'
  const auto waits = [](const auto& container) { return !container.empty(); };
  const auto next =
      left ? std::find_if(left->begin(), left->end(), waits) : HamiContainers::iterator();
  if (!left || next == left->end() || next->size() != count) {
    mark(cluster::kHamiFailed);
    return std::nullopt;
  }
  std::vector<cluster::HamiDevice> given = std::exchange(*next, {});
  static_cast<void>(
      api_.Annotate(Actor::kKubelet, ref,
                    {{cluster::kHamiToAllocateAnnotation, cluster::EncodeHamiDevices(*left)}}));
  if (std::none_of(left->begin(), left->end(), waits)) mark(cluster::kHamiSuccess);
  return given;
}

}  // namespace muster::sim
