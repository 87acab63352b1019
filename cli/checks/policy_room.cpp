#include "cli/checks/policy_room.hpp"

#include <algorithm>
#include <map>

namespace muster::cli {

using queues::Resource;

namespace {

int64_t HasOf(const cluster::Node& node, const Resource& resource) {
  switch (resource.kind) {
    case Resource::Kind::kCpu:
      return node.allocatable.cpu.value();
    case Resource::Kind::kMemory:
      return node.allocatable.memory.value();
    default:
      break;
  }
  int64_t has = 0;
  for (const cluster::Gpu& gpu : node.gpus) {
    if (resource.kind == Resource::Kind::kGpuModel && !queues::IsOfModel(gpu.model, resource.model))
      continue;
    has += resource.kind == Resource::Kind::kGpuMemory ? gpu.memory.value() : 1000;
  }
  return has;
}

// With GPUs, all of that model; of any where that is empty.
int64_t WholeNodesOf(const std::vector<cluster::Node>& nodes, const std::string& model) {
  return std::count_if(nodes.begin(), nodes.end(), [&](const cluster::Node& node) {
    return !node.gpus.empty() &&
           std::all_of(node.gpus.begin(), node.gpus.end(), [&](const cluster::Gpu& gpu) {
             return model.empty() || queues::IsOfModel(gpu.model, model);
           });
  });
}

}  // namespace

std::vector<std::string> PromisesBeyond(const std::vector<queues::QueueSpec>& queues,
                                        const std::vector<cluster::Node>& nodes) {
  std::map<Resource, int64_t> known;
  const auto all = [&](const Resource& resource) {
    const auto [found, is_new] = known.emplace(resource, 0);
    if (is_new) {
      for (const cluster::Node& node : nodes) found->second += HasOf(node, resource);
    }
    return found->second;
  };
  std::vector<std::string> beyond;
  const auto none_of = [&](const std::string& field, const Resource& resource) {
    const bool none = resource.kind == Resource::Kind::kGpuModel && all(resource) == 0;
    if (none) beyond.push_back(field + ToString(resource) + ": no node has a GPU of that model");
    return none;
  };
  for (std::size_t i = 0; i < queues.size(); ++i) {
    const std::string queue = "queues[" + std::to_string(i) + "].";
    for (const auto& [resource, amount] : queues[i].guarantee.said()) {
      if (none_of(queue + "guarantee.", resource) || amount.value() <= all(resource)) continue;
      beyond.push_back(queue + "guarantee." + ToString(resource) + ": " +
                       ShowAmount(resource, amount.value()) + " is more than all nodes have, " +
                       ShowAmount(resource, all(resource)));
    }
    for (std::size_t s = 0; s < queues[i].shapes.size(); ++s) {
      const queues::Shape& shape = queues[i].shapes[s];
      const int64_t has = WholeNodesOf(nodes, shape.model);
      if (shape.whole_nodes <= has) continue;
      beyond.push_back(queue + "guarantee.shapes[" + std::to_string(s) +
                       "]: " + std::to_string(shape.whole_nodes) +
                       " whole nodes are more than there are, " + std::to_string(has));
    }
    for (const auto& [resource, amount] : queues[i].limit.said())
      none_of(queue + "limit.", resource);
  }
  return beyond;
}

}  // namespace muster::cli
