#include "kube/decode/node_links.hpp"

#include <optional>
#include <utility>

#include "kube/decode/decode.hpp"
#include "topology/links/node_match.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Labels;
using cluster::Node;
using cluster::Result;
using cluster::TopologySource;
using topology::Machine;

namespace {

Result<Machine> ReadMatrix(const std::string& text) {
  Result<Machine> machine = topology::ParseMachine(text, kGpuTopologyAnnotation);
  if (!machine.ok() || machine->has_links()) return machine;
  return Error{Code::kInvalidArgument,
               "lists devices without their links; give the output of nvidia-smi topo -m",
               kGpuTopologyAnnotation};
}

// "0-2,5", rising.
template <typename List, typename IndexOf>
std::string Indices(const List& gpus, const IndexOf& index_of) {
  std::string text;
  for (auto gpu = gpus.begin(); gpu != gpus.end();) {
    const int first = index_of(*gpu);
    int last = first;
    for (++gpu; gpu != gpus.end() && index_of(*gpu) == last + 1; ++gpu) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
  }
  return text;
}

// A node that offers no devices just now may be any machine.
std::optional<std::string> Mismatch(const Machine& machine, const Node& node) {
  if (node.gpus.empty() || topology::PlacesIn(machine, node)) return std::nullopt;
  return "it is of GPUs " +
         Indices(machine.gpus, [](const topology::Accelerator& gpu) { return gpu.index; }) +
         ", the node has " +
         Indices(node.gpus, [](const cluster::Gpu& gpu) { return gpu.index.value; });
}

}  // namespace

void ReadNodeLinks(const Labels& annotations, Node& node, std::vector<std::string>& warnings) {
  const auto text_of = [&](const char* key) -> const std::string* {
    const auto found = annotations.find(key);
    return found == annotations.end() || found->second.empty() ? nullptr : &found->second;
  };
  const auto take = [&](const char* key, const Result<Machine>& machine, TopologySource source) {
    std::optional<std::string> wrong;
    if (!machine.ok()) {
      wrong = machine.error().ToString();
    } else if (const auto mismatch = Mismatch(*machine, node)) {
      wrong = std::string(key) + ": " + *mismatch;
    }
    if (wrong) {
      warnings.push_back("the topology is ignored: " + *wrong);
      return false;
    }
    node.topology = topology::WriteMachine(*machine);
    node.topology_source = source;
    return true;
  };
  const std::string* matrix = text_of(kGpuTopologyAnnotation);
  if (matrix != nullptr &&
      take(kGpuTopologyAnnotation, ReadMatrix(*matrix), TopologySource::kAnnotation))
    return;
  // Scores are of the devices that the node offers, by UUID.
  const std::string* scores = text_of(kHamiScoresAnnotation);
  if (scores == nullptr || node.gpus.empty()) return;
  take(kHamiScoresAnnotation, ParseHamiScores(*scores, node.gpus), TopologySource::kPairScores);
}

}  // namespace muster::kube
