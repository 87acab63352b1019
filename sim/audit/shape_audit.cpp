#include "sim/audit/shape_audit.hpp"

#include <algorithm>
#include <set>

#include "queues/resource.hpp"

namespace muster::sim {

using cluster::Node;
using cluster::Pod;
using cluster::Time;
using queues::QueueSpec;
using queues::Shape;

namespace {

bool IsOf(const Node& node, const Shape& shape) {
  return node.schedulable() && !node.gpus.empty() &&
         std::all_of(node.gpus.begin(), node.gpus.end(), [&](const cluster::Gpu& gpu) {
           return gpu.usable() &&
                  (shape.model.empty() || queues::IsOfModel(gpu.model, shape.model));
         });
}

bool IsBelow(const std::vector<QueueSpec>& queues, std::string name, const std::string& above) {
  for (size_t steps = 0; steps <= queues.size(); ++steps) {
    if (name == above) return true;
    const auto at = std::find_if(queues.begin(), queues.end(),
                                 [&](const QueueSpec& queue) { return queue.name == name; });
    if (at == queues.end()) return false;
    name = at->parent;
  }
  return false;
}

}  // namespace

// But for its own gang's pods.
bool ShapeAudit::WasEmpty(const Pod& pod) const {
  return std::none_of(queues_.runs().begin(), queues_.runs().end(), [&](const auto& entry) {
    const Pod& other = entry.second->pod;
    const bool together =
        other.uid == pod.uid ||
        (!pod.pod_group.empty() && other.pod_group == pod.pod_group && other.key.ns == pod.key.ns);
    return !together && other.node_name == pod.node_name && !other.spec->gpus.none();
  });
}

std::string ShapeAudit::FaultOf(const Pod& pod, const std::vector<QueueSpec>& queues, Time at) {
  if (policy_ != queues) {
    if (!policy_.empty()) Disturbed(at);
    policy_ = queues;
  }
  const bool any = std::any_of(queues.begin(), queues.end(),
                               [](const QueueSpec& queue) { return !queue.shapes.empty(); });
  if (!any || disturbed_ + kQuiet > at || pod.spec->gpus.none()) return "";
  const NodePtr own = api_.FindNode(pod.node_name);
  if (own == nullptr || !queues_.IsKept(pod) || !WasEmpty(pod)) return "";
  for (const QueueSpec& queue : queues) {
    if (queue.shapes.empty() || IsBelow(queues, queues_.NameOf(pod), queue.name)) continue;
    std::set<std::string> taken;  // by gangs of others that nobody may evict
    for (const auto& [uid, other] : queues_.runs()) {
      const bool counts = !other->pod.spec->gpus.none() && !taken.contains(other->pod.node_name) &&
                          !IsBelow(queues, queues_.NameOf(other->pod), queue.name);
      if (counts && queues_.IsKept(other->pod)) taken.insert(other->pod.node_name);
    }
    for (const Shape& shape : queue.shapes) {
      int64_t left = 0;
      for (const NodePtr& node : api_.Nodes()) {
        left += IsOf(node->node, shape) && !taken.contains(node->node.name) ? 1 : 0;
      }
      if (!IsOf(own->node, shape) || left + 1 != shape.whole_nodes) continue;
      return "pod " + pod.key.ToString() + " is bound, is not preemptible, and takes one of the " +
             ToString(shape) + " that queue " + queue.name + " is guaranteed";
    }
  }
  return "";
}

}  // namespace muster::sim
