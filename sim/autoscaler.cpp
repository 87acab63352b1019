#include "sim/autoscaler.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "sim/scheduler_cache.hpp"

namespace muster::sim {

using cluster::Node;
using cluster::Time;

namespace {

bool AsksForNodes(const PodRecord& record) {
  const cluster::Pod& pod = record.pod;
  return !pod.bound() && !pod.ending() && pod.gates.empty() && pod.nominated_node.empty() &&
         record.status_reason == "Unschedulable";
}

NodePtr RecordOf(const Node& node) {
  auto record = std::make_shared<NodeRecord>();
  record->node = node;
  return record;
}

// The name of the first node that takes the pod; empty: none does.
std::string Place(SchedulerCache& nodes, const cluster::Pod& pod) {
  for (const SchedulerCache::NodeInfo* info : nodes.nodes()) {
    if (nodes.Check(pod, *info) != Fit::kFits) continue;
    nodes.Hold(pod, info->record->node.name);
    return info->record->node.name;
  }
  return {};
}

}  // namespace

Autoscaler::Autoscaler(EventLoop& loop, ApiServer& api, AutoscalerOptions options)
    : api_(api), loop_(loop), options_(std::move(options)), timer_(loop, true, [this] { Scan(); }) {
  timer_.Set(loop_.now() + options_.scan);
}

void Autoscaler::Scan() {
  AddNodes();
  RemoveIdle();
  timer_.Set(loop_.now() + options_.scan);
}

int64_t Autoscaler::CountOf(const Pool& pool) const {
  return std::count_if(pool_of_.begin(), pool_of_.end(),
                       [&](const auto& entry) { return entry.second == pool.name; });
}

void Autoscaler::AddNodes() {
  SchedulerCache nodes;
  for (const NodePtr& node : api_.Nodes()) nodes.SetNode(node);
  for (const auto& [name, node] : coming_) nodes.SetNode(RecordOf(node));
  std::vector<PodPtr> asking;
  for (const PodPtr& pod : api_.Pods()) {
    if (pod->pod.terminal()) continue;
    if (pod->pod.bound()) nodes.Hold(pod->pod, pod->pod.node_name);
    if (!pod->pod.bound() && !pod->pod.nominated_node.empty())
      nodes.Hold(pod->pod, pod->pod.nominated_node);
    if (AsksForNodes(*pod)) asking.push_back(pod);
  }
  for (const PodPtr& pod : asking) {
    if (!Place(nodes, pod->pod).empty()) continue;
    for (const Pool& pool : options_.pools) {
      if (CountOf(pool) >= pool.most) continue;
      Node node = pool.node;
      node.name = pool.name + "-" + std::to_string(named_[pool.name]);
      SchedulerCache alone;
      alone.SetNode(RecordOf(node));
      if (Place(alone, pod->pod).empty()) continue;
      ++named_[pool.name];
      ++added_;
      pool_of_[node.name] = pool.name;
      coming_[node.name] = node;
      nodes.SetNode(RecordOf(node));
      nodes.Hold(pod->pod, node.name);
      loop_.Post(loop_.now() + options_.boot, [this, name = node.name] {
        const auto found = coming_.find(name);
        if (found == coming_.end()) return;
        (void)api_.CreateNode(Actor::kController, found->second);
        coming_.erase(found);
      });
      break;
    }
  }
}

void Autoscaler::RemoveIdle() {
  std::set<std::string> used;
  for (const PodPtr& pod : api_.Pods()) {
    if (pod->pod.terminal()) continue;
    if (pod->pod.bound()) used.insert(pod->pod.node_name);
    if (!pod->pod.nominated_node.empty()) used.insert(pod->pod.nominated_node);
  }
  for (auto entry = pool_of_.begin(); entry != pool_of_.end();) {
    const std::string name = entry->first;
    const bool idle = api_.FindNode(name) != nullptr && !used.contains(name);
    if (!idle) idle_since_.erase(name);
    const bool goes =
        idle &&
        idle_since_.try_emplace(name, loop_.now()).first->second + options_.idle <= loop_.now();
    ++entry;
    if (!goes) continue;
    if (api_.DeleteNode(Actor::kController, name).ok()) ++removed_;
    idle_since_.erase(name);
    pool_of_.erase(name);
  }
}

}  // namespace muster::sim
