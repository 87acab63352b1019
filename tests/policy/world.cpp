#include "tests/policy/world.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "cluster/base/check.hpp"

namespace muster::testing {

using cluster::Gpu;
using cluster::GpuSharing;
using cluster::Node;
using cluster::NodeIndex;
using cluster::Placement;
using cluster::Pod;
using cluster::PodSpec;
using policy::Demand;
using policy::PlaceAnswer;

namespace {

struct Sums {
  int64_t cpu = 0;
  int64_t memory = 0;
  int64_t pods = 0;
  std::map<int, std::pair<int64_t, int64_t>> gpus;  // compute and memory by device index

  void Add(const Placement& placement) {
    cpu += placement.requests.cpu.value();
    memory += placement.requests.memory.value();
    pods += placement.requests.pods;
    for (const cluster::GpuShare& share : placement.gpus) {
      gpus[share.index.value].first += share.taken.compute().value();
      gpus[share.index.value].second += share.taken.memory().value();
    }
  }
};

// More than the node has, in what `mine` asks for.
bool TooMuch(const Sums& sums, const Node& node, const PodSpec& mine) {
  const auto over = [](int64_t asked, int64_t sum, int64_t has) { return asked > 0 && sum > has; };
  if (over(mine.requests.cpu.value(), sums.cpu, node.allocatable.cpu.value())) return true;
  if (over(mine.requests.memory.value(), sums.memory, node.allocatable.memory.value())) return true;
  if (over(mine.requests.pods, sums.pods, node.allocatable.pods)) return true;
  return std::any_of(sums.gpus.begin(), sums.gpus.end(), [](const auto& gpu) {
    return gpu.second.first > 1000 || gpu.second.second > 1000;
  });
}

std::string DeviceFault(const Node& node, const PodSpec& spec, const Placement& placement) {
  if (placement.gpus.size() != static_cast<size_t>(spec.gpus.count)) return "wrong device count";
  int last = -1;
  for (const cluster::GpuShare& share : placement.gpus) {
    if (share.index.value <= last) return "devices are not distinct and in order";
    last = share.index.value;
    const auto gpu = std::find_if(node.gpus.begin(), node.gpus.end(),
                                  [&](const Gpu& g) { return g.index == share.index; });
    if (gpu == node.gpus.end()) return "no such device";
    if (!gpu->healthy) return "unhealthy device";
    const Share want = ShareByHand(*gpu, spec.gpus);
    if (share.taken.compute().value() != want.compute ||
        share.taken.memory().value() != want.memory)
      return "wrong share";
  }
  return "";
}

}  // namespace

void World::Add(const Node& node) { state.Upsert(node); }

std::string World::NextName() { return "pod" + std::to_string(pods_++); }

Demand World::Ask(PodBuilder pod) {
  Pod built = pod.Build();
  const std::string name = NextName();
  built.uid = cluster::PodUid(name);
  built.key.name = name;
  state.Upsert(built);
  Demand demand;
  demand.pod = built.uid;
  demand.spec = built.spec;
  demand.face = cluster::FaceOf(built);
  return demand;
}

std::vector<Demand> World::Ask(int count, const PodBuilder& pod) {
  std::vector<Demand> demands;
  for (int i = 0; i < count; ++i) demands.push_back(Ask(pod));
  return demands;
}

PlaceAnswer World::Place(policy::Placer& placer, const std::vector<Demand>& demands,
                         policy::NodeFilter filter) {
  cluster::Transaction tx(state.TakeSnapshot());
  return placer.PlaceGang(tx, demands, filter);
}

PlaceAnswer World::PlaceAndHold(policy::Placer& placer, const std::vector<Demand>& demands) {
  PlaceAnswer answer = Place(placer, demands);
  if (answer.placed) MUSTER_CHECK(state.Reserve(answer.placements).ok());
  return answer;
}

void World::Occupy(const std::string& node, const PodBuilder& pod, const std::vector<int>& gpus) {
  PodBuilder bound = pod;
  Pod built = bound.BoundTo(node, gpus).Build();
  const std::string name = NextName();
  built.uid = cluster::PodUid(name);
  built.key.name = name;
  state.Upsert(built);
}

std::string World::Where(const Placement& placement) const {
  std::string text = state.node(placement.node)->name;
  for (size_t i = 0; i < placement.gpus.size(); ++i) {
    text += (i == 0 ? ":" : ",") + std::to_string(placement.gpus[i].index.value);
  }
  return text;
}

std::vector<std::string> World::Where(const PlaceAnswer& answer) const {
  std::vector<std::string> texts;
  for (const Placement& placement : answer.placements) texts.push_back(Where(placement));
  return texts;
}

bool Allowed(const PodSpec& spec, const Node& node) {
  for (const auto& [key, value] : spec.constraints.node_selector) {
    const auto label = node.labels.find(key);
    if (label == node.labels.end() || label->second != value) return false;
  }
  const auto& tolerations = spec.constraints.tolerations;
  return std::all_of(node.taints.begin(), node.taints.end(), [&](const cluster::Taint& taint) {
    return taint.effect == cluster::TaintEffect::kPreferNoSchedule ||
           std::any_of(tolerations.begin(), tolerations.end(),
                       [&](const auto& toleration) { return toleration.key == taint.key; });
  });
}

Share ShareByHand(const Gpu& gpu, const cluster::GpuRequest& request) {
  const int64_t compute = request.each.compute().value();
  int64_t memory = request.each.memory().value();
  if (compute >= 1000 || memory >= 1000) {
    const bool turns = gpu.sharing == GpuSharing::TimeSliced() || gpu.sharing == GpuSharing::Mps();
    const int part = turns ? 1000 / gpu.replicas : 1000;
    return {part, part};
  }
  if (gpu.sharing != GpuSharing::Fractional()) return {};
  if (request.memory_each.value() > 0) {
    if (gpu.memory.value() == 0) return {};
    const int64_t product = request.memory_each.value() * 1000;
    memory = std::max(memory, product / gpu.memory.value() + (product % gpu.memory.value() > 0));
  }
  if (memory > 1000) return {};
  if (memory == 1000) return {1000, 1000};
  return {static_cast<int>(compute), static_cast<int>(std::max<int64_t>(memory, 1))};
}

std::string FaultOf(const World& world, const std::vector<Demand>& demands,
                    const PlaceAnswer& answer) {
  if (!answer.placed) return "not placed";
  if (answer.placements.size() != demands.size()) return "not one placement for each demand";
  std::map<NodeIndex, Sums> sums;
  for (const Pod* pod : world.state.Pods()) {
    const cluster::Allocation* held = world.state.AllocationOf(pod->uid);
    if (held != nullptr) sums[held->placement.node].Add(held->placement);
  }
  for (const Placement& placement : answer.placements) sums[placement.node].Add(placement);
  for (size_t i = 0; i < demands.size(); ++i) {
    const Placement& placement = answer.placements[i];
    const PodSpec& spec = *demands[i].spec;
    const std::string who = placement.pod.text() + ": ";
    const Node* node = world.state.node(placement.node);
    if (placement.pod != demands[i].pod) return who + "another pod's place";
    if (placement.requests != spec.requests) return who + "other requests";
    if (node == nullptr) return who + "no such node";
    if (node->unschedulable || !node->ready) return who + "node is cordoned or not ready";
    if (!Allowed(spec, *node)) return who + "constraints forbid the node";
    const std::vector<NodeIndex>& excluded = demands[i].excluded;
    if (std::count(excluded.begin(), excluded.end(), placement.node) > 0) return who + "excluded";
    const std::string devices = DeviceFault(*node, spec, placement);
    if (!devices.empty()) return who + devices;
    if (TooMuch(sums[placement.node], *node, spec)) return who + node->name + " is overcommitted";
  }
  return "";
}

std::string Numbers(const cluster::FreeTable& free) {
  std::ostringstream text;
  for (NodeIndex node{0}; node.value < free.size(); ++node.value) {
    const cluster::Resources& left = free.at(node).resources;
    text << node.value << ": " << left.cpu.value() << ' ' << left.memory.value() << ' '
         << left.pods;
    for (const cluster::DeviceAmount& gpu : free.gpus(node))
      text << ' ' << gpu.compute().value() << '/' << gpu.memory().value();
    text << '\n';
  }
  return text.str();
}

std::string Text(const policy::Shortage& s) {
  std::ostringstream text;
  text << s.pod.text() << " after " << s.placed_before << " of " << s.nodes << " nodes:";
  const auto count = [&](const char* what, int64_t nodes) {
    if (nodes > 0) text << ' ' << nodes << ' ' << what;
  };
  count("unschedulable", s.unschedulable);
  count("taints", s.taints);
  count("constraints", s.constraints);
  count("excluded", s.excluded);
  count("pod_slots", s.pod_slots);
  count("channels", s.channels);
  count("cpu", s.cpu);
  count("memory", s.memory);
  count("gpus", s.gpus);
  count("gpu_devices", s.gpu_devices);
  count("numa", s.numa);
  text << "; GPU-milli " << s.free_gpu_milli << " of " << s.need_gpu_milli;
  return text.str();
}

}  // namespace muster::testing
