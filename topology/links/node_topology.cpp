#include "topology/links/node_topology.hpp"

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

std::optional<MegabytesPerSecond> EvenBandwidth(const GpuMatrix& matrix) {
  if (matrix.gpus < 2) return std::nullopt;
  for (size_t a = 0; a < matrix.gpus; ++a) {
    for (size_t b = 0; b < a; ++b) {
      if (matrix.At(a, b) != matrix.At(1, 0)) return std::nullopt;
    }
  }
  return matrix.At(1, 0);
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

Machine FlatMachine(size_t gpus, const Cell& link) {
  Machine machine;
  machine.gpus.reserve(gpus);
  for (size_t i = 0; i < gpus; ++i) {
    Accelerator gpu;
    gpu.index = static_cast<uint16_t>(i);
    gpu.name = "GPU" + std::to_string(i);
    machine.gpus.push_back(std::move(gpu));
  }
  machine.cells.assign(gpus * gpus, link);
  for (size_t i = 0; i < gpus; ++i) machine.cells[i * gpus + i] = {Link{LinkType::kSelf}, "X", 0};
  return machine;
}

const Cell* SlowestLink(const Machine& machine, const LinkSpeeds& speeds) {
  const auto bandwidth = [&](const Cell& cell) {
    return cell.bandwidth != 0 ? cell.bandwidth : BandwidthOf(cell.link, speeds);
  };
  const Cell* slowest = nullptr;
  for (size_t a = 0; a < machine.gpus.size(); ++a) {
    for (size_t b = 0; b < a; ++b) {
      const Cell& cell = machine.At(a, b);
      if (slowest == nullptr || bandwidth(cell) < bandwidth(*slowest)) slowest = &cell;
    }
  }
  return slowest;
}

Result<Machine> MachineOfPairScores(const std::vector<int>& scores, size_t gpus) {
  if (gpus > kMostGpus || scores.size() != gpus * gpus) {
    return Error{Code::kInvalidArgument,
                 "expected a score for each pair of at most " + std::to_string(kMostGpus) + " GPUs",
                 ""};
  }
  Machine machine = FlatMachine(gpus);
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

std::shared_ptr<const NodeTopology> TopologyCache::Of(MachineFacts facts) {
  if (const auto found = nodes_.find(facts); found != nodes_.end()) {
    if (auto node = found->second.lock()) return node;
  }
  GpuMatrix matrix = BuildGraph(facts.machine, facts.speeds).matrix;
  const std::optional<MegabytesPerSecond> even = EvenBandwidth(matrix);
  std::shared_ptr<const GpuChooser> chooser;
  if (const auto found = choosers_.find(matrix); found != choosers_.end()) {
    chooser = found->second.lock();
  }
  if (!chooser) {
    chooser = std::make_shared<const GpuChooser>(matrix);
    DropDead(&choosers_);
    choosers_[std::move(matrix)] = chooser;
  }
  auto picks = std::make_shared<const PickTable>(facts.machine, chooser);
  std::vector<GpuMask> beside = GpusBeside(facts.machine);
  auto node = std::make_shared<const NodeTopology>(
      NodeTopology{facts, std::move(chooser), std::move(picks), std::move(beside), even});
  DropDead(&nodes_);
  nodes_[std::move(facts)] = node;
  return node;
}

size_t TopologyCache::live_tables() const {
  return static_cast<size_t>(
      std::count_if(choosers_.begin(), choosers_.end(),
                    [](const auto& entry) { return !entry.second.expired(); }));
}

}  // namespace muster::topology
