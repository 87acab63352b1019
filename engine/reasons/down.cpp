#include "engine/reasons/down.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "cluster/holdings/node_ledger.hpp"
#include "topology/fabric/fabric_options.hpp"

namespace muster::engine {

using cluster::DeviceAmount;
using cluster::Gpu;
using cluster::Node;
using cluster::NodeIndex;
using cluster::PodSpec;

namespace {

std::string Gpus(int64_t count, const char* what) {
  if (count == 0) return {};
  return std::to_string(count) + (count == 1 ? " GPU " : " GPUs ") + what;
}

// Of one that is not sound.
std::string FaultsOf(const Node& node, bool with_gpus) {
  std::vector<std::string> faults;
  if (!node.ready) faults.emplace_back("not ready");
  if (node.unschedulable) faults.emplace_back("cordoned");
  if (with_gpus && node.ready && !node.unschedulable) {
    const auto count = [&](const auto& of) {
      return std::count_if(node.gpus.begin(), node.gpus.end(), of);
    };
    faults.push_back(Gpus(count([](const Gpu& gpu) { return !gpu.healthy; }), "unhealthy"));
    faults.push_back(
        Gpus(count([](const Gpu& gpu) { return gpu.healthy && gpu.cordoned; }), "cordoned"));
  }
  std::string text;
  for (const std::string& fault : faults) {
    if (!fault.empty()) text += (text.empty() ? "" : ", ") + fault;
  }
  return text;
}

// Pods hold some of it.
bool Held(const cluster::Snapshot& nodes, NodeIndex index, const Node& node, bool gpus) {
  if (!gpus) return nodes.free().at(index).resources != cluster::OfferOf(node);
  const auto free = nodes.free().gpus(index);
  for (size_t i = 0; i < std::min(free.size(), node.gpus.size()); ++i) {
    if (node.gpus[i].usable() && free[i] != DeviceAmount::All()) return true;
  }
  return false;
}

// Pods that ask for GPUs as this one does, one after the other: now, and if all of it were in use.
int64_t PodsMore(const cluster::Snapshot& nodes, NodeIndex index, const Node& node,
                 const PodSpec& pod) {
  if (pod.gpus.none()) return 1;
  const auto free = nodes.free().gpus(index);
  int64_t now = 0;
  int64_t then = 0;
  for (size_t i = 0; i < std::min(free.size(), node.gpus.size()); ++i) {
    const bool whole = free[i] == DeviceAmount::All();
    now += whole && node.schedulable() ? 1 : 0;
    then += whole || !node.gpus[i].usable() ? 1 : 0;
  }
  return then / pod.gpus.count - now / pod.gpus.count;
}

// Calls visit(index, node) for the nodes among these that are sound, or for those that are not,
// rising, until it gives false.
template <typename Visit>
void EachNode(const cluster::Snapshot& nodes, const cluster::NodeSet* among, bool unsound,
              bool gpus, const Visit& visit) {
  constexpr uint32_t kChunk = cluster::NodeTable::kChunk;
  for (uint32_t chunk = 0; chunk < nodes.nodes().chunks(); ++chunk) {
    const uint64_t bits = nodes.nodes().Unsound(chunk, gpus);
    uint64_t left =
        (unsound ? bits : ~bits) & (among == nullptr ? ~uint64_t{0} : among->Word(chunk));
    for (; left != 0; left &= left - 1) {
      const NodeIndex index{chunk * kChunk + static_cast<uint32_t>(std::countr_zero(left))};
      const Node* node = index.value < nodes.size() ? nodes.node(index) : nullptr;
      if (node != nullptr && !visit(index, *node)) return;
    }
  }
}

}  // namespace

Down DownAmong(const cluster::Snapshot& nodes, const cluster::NodeSet* among, const PodSpec& pod,
               int64_t least) {
  const bool gpus = !pod.gpus.none();
  const auto matches = [&](const Node& node) {
    return (!gpus || !node.gpus.empty()) &&
           cluster::MatchesNode(pod.constraints, node.name, node.labels);
  };
  Down down;
  std::vector<std::pair<std::string, std::string>> named;
  EachNode(nodes, among, true, gpus, [&](NodeIndex index, const Node& node) {
    if (!matches(node)) return true;
    const bool in_use = node.ready && !node.unschedulable;
    down.others = down.others || (in_use && Held(nodes, index, node, gpus));
    down.pods_more += PodsMore(nodes, index, node, pod);
    named.emplace_back(node.name, FaultsOf(node, gpus));
    return true;
  });
  if (down.pods_more < least) return {};
  if (!down.others) {
    EachNode(nodes, among, false, gpus, [&](NodeIndex index, const Node& node) {
      down.others = Held(nodes, index, node, gpus) && matches(node);
      return !down.others;
    });
  }
  std::sort(named.begin(), named.end());
  for (size_t i = 0; i < std::min(named.size(), Down::kMostNamed); ++i)
    down.what += (i == 0 ? "" : ", ") + named[i].first + " (" + named[i].second + ")";
  if (named.size() > Down::kMostNamed)
    down.what += " and " + std::to_string(named.size() - Down::kMostNamed) + " more nodes";
  return down;
}

std::shared_ptr<const cluster::NodeSet> NodesOfDomain(const topology::Fabric& fabric,
                                                      const std::string& level,
                                                      const std::string& name) {
  for (const topology::LevelRef& at : topology::FindLevels(fabric.options(), level)) {
    const topology::Fabric::Range range = fabric.At(at);
    for (topology::DomainId id = range.first; id < range.last; ++id) {
      if (fabric.domains()[id].name == name) return fabric.domains()[id].nodes;
    }
  }
  return nullptr;
}

}  // namespace muster::engine
