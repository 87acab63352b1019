#include "topology/node_topology.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace muster::topology {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

template <typename Map>
void DropDead(Map* entries) {
  std::erase_if(*entries, [](const auto& entry) { return entry.second.expired(); });
}

Machine NumberedMachine(size_t gpus) {
  Machine machine;
  for (size_t i = 0; i < gpus; ++i) {
    Accelerator gpu;
    gpu.index = static_cast<uint16_t>(i);
    gpu.name = "GPU" + std::to_string(i);
    machine.gpus.push_back(std::move(gpu));
  }
  machine.cells.assign(gpus * gpus, {Link{LinkType::kUnknown}, "NA", 0});
  for (size_t i = 0; i < gpus; ++i) machine.cells[i * gpus + i] = {Link{LinkType::kSelf}, "X", 0};
  return machine;
}

std::string TextOf(Link link) {
  return link.type == LinkType::kNvLink    ? "NV" + std::to_string(link.count)
         : link.type == LinkType::kUnknown ? "NA"
                                           : std::string(ToString(link.type));
}

}  // namespace

std::string_view ToString(TopologySource source) {
  constexpr std::array<std::string_view, 5> kNames = {"annotation", "pair scores",
                                                      "resource slices", "profile", "flat"};
  return kNames.at(static_cast<size_t>(source));
}

std::optional<size_t> NodeTopology::ChooseOne(GpuMask free, GpuMask candidates) const {
  const GpuMask one = chooser->ChooseWithin(free, 1, candidates);
  if (one == 0) return std::nullopt;
  return PlacesOf(one).front();
}

std::optional<std::vector<size_t>> NodeTopology::PlacesIn(const cluster::Node& node) const {
  std::vector<size_t> places;
  for (const Accelerator& gpu : machine.gpus) {
    const auto found = std::find_if(node.gpus.begin(), node.gpus.end(), [&](const cluster::Gpu& g) {
      return !g.partition() && g.index.value == gpu.index;
    });
    if (found == node.gpus.end()) return std::nullopt;
    places.push_back(static_cast<size_t>(found - node.gpus.begin()));
  }
  const auto whole = std::count_if(node.gpus.begin(), node.gpus.end(),
                                   [](const cluster::Gpu& gpu) { return !gpu.partition(); });
  if (static_cast<size_t>(whole) != places.size()) return std::nullopt;
  return places;
}

Machine FlatMachine(size_t gpus) { return NumberedMachine(gpus); }

Result<Machine> MachineOfPairScores(const std::vector<int>& scores, size_t gpus) {
  if (gpus > kMostGpus || scores.size() != gpus * gpus) {
    return Error{Code::kInvalidArgument,
                 "expected a score for each pair of at most " + std::to_string(kMostGpus) + " GPUs",
                 ""};
  }
  Machine machine = NumberedMachine(gpus);
  for (size_t a = 0; a < gpus; ++a) {
    for (size_t b = 0; b < gpus; ++b) {
      if (a == b) continue;
      const std::string place = "[" + std::to_string(a) + "][" + std::to_string(b) + "]";
      const int score = scores[a * gpus + b];
      const std::optional<Link> link = LinkOfPairScore(score);
      if (!link) {
        return Error{Code::kInvalidArgument,
                     std::to_string(score) +
                         " is no score of a pair: expected 0 to 60 for the PCIe "
                         "relation plus 100 for each NVLink",
                     place};
      }
      if (score != scores[b * gpus + a]) {
        return Error{Code::kInvalidArgument,
                     std::to_string(score) + " contradicts " +
                         std::to_string(scores[b * gpus + a]) + " the other way",
                     place};
      }
      machine.cells[a * gpus + b] = {*link, TextOf(*link), 0};
    }
  }
  return machine;
}

std::shared_ptr<const NodeTopology> TopologyCache::Of(const Machine& machine,
                                                      const LinkSpeeds& speeds,
                                                      TopologySource source) {
  const Key key{machine, speeds, source};
  if (const auto found = nodes_.find(key); found != nodes_.end()) {
    if (auto node = found->second.lock()) return node;
  }
  GpuMatrix matrix = BuildGraph(machine, speeds).matrix;
  std::shared_ptr<const GpuChooser> chooser;
  if (const auto found = choosers_.find(matrix); found != choosers_.end()) {
    chooser = found->second.lock();
  }
  if (!chooser) {
    chooser = std::make_shared<const GpuChooser>(matrix);
    DropDead(&choosers_);
    choosers_[std::move(matrix)] = chooser;
  }
  auto picks = std::make_shared<const PickTable>(machine, chooser);
  auto node = std::make_shared<const NodeTopology>(
      NodeTopology{source, machine, std::move(chooser), AllNicsNear(machine), std::move(picks)});
  DropDead(&nodes_);
  nodes_[key] = node;
  return node;
}

size_t TopologyCache::live_tables() const {
  return static_cast<size_t>(
      std::count_if(choosers_.begin(), choosers_.end(),
                    [](const auto& entry) { return !entry.second.expired(); }));
}

}  // namespace muster::topology
