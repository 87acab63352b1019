#include "sim/schedulers/hami_scheduler.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/api_server/informer.hpp"

namespace muster::sim {

using cluster::Gpu;
using cluster::GpuRequest;
using cluster::PodUid;

namespace {

constexpr int64_t kDeviceSplitCount = 10;
constexpr int64_t kAllCores = 100;
constexpr const char* kNoFit = "NodeUnfitPod";

int64_t Percent(cluster::GpuMilli share) { return (share.value() + 9) / 10; }

int64_t CoresOf(const GpuRequest& request) {
  return request.fractional() ? Percent(request.each.compute()) : 0;
}

int64_t MemoryOn(const GpuRequest& request, int64_t memory) {
  if (request.memory_each.value() > 0) return request.memory_each.value();
  const int64_t percent = request.fractional() ? Percent(request.each.memory()) : 100;
  return memory * percent / 100;
}

// In thousandths, so that ties are ties.
int64_t Part(int64_t used, int64_t total) { return total <= 0 ? 0 : used * 1000 / total; }

std::string ListOf(const std::vector<cluster::GpuIndex>& gpus) {
  std::string text;
  for (const cluster::GpuIndex gpu : gpus) {
    if (!text.empty()) text += ',';
    text += std::to_string(gpu.value);
  }
  return text;
}

}  // namespace

HamiScheduler::HamiScheduler(EventLoop& loop, ApiServer& api, uint64_t seed)
    : loop_(loop), api_(api), random_(seed) {
  informer_ = std::make_unique<Informer>(
      loop_, api_, Kinds{.nodes = true, .pods = true}, WatchFaults{}, seed,
      [this](const WatchEvent& event) { OnEvent(event); }, [] {});
}

void HamiScheduler::OnEvent(const WatchEvent& event) {
  if (const NodePtr* node = std::get_if<NodePtr>(&event.object)) {
    if (event.change == Change::kDeleted) {
      nodes_.erase((*node)->node.name);
    } else {
      SetNode((*node)->node);
    }
  }
  if (const PodPtr* pod = std::get_if<PodPtr>(&event.object)) {
    if (event.change == Change::kDeleted || (*pod)->pod.terminal()) Release((*pod)->pod.uid);
  }
}

void HamiScheduler::SetNode(const cluster::Node& node) {
  std::vector<Device> devices;
  for (const Gpu& gpu : node.gpus) {
    const bool shared = !gpu.sharing->counted();
    const int64_t memory = gpu.memory.value() > 0 ? gpu.memory.value() : 100;
    devices.push_back({.index = gpu.index,
                       .healthy = gpu.healthy,
                       .shared = shared,
                       .slots = shared ? kDeviceSplitCount : 1,
                       .memory = memory});
  }
  nodes_[node.name] = std::move(devices);
  for (const auto& [uid, held] : held_) {
    if (held.node == node.name) Add(held, 1);
  }
}

void HamiScheduler::Add(const Held& held, int64_t sign) {
  const auto node = nodes_.find(held.node);
  if (node == nodes_.end()) return;
  for (size_t i = 0; i < held.gpus.size(); ++i) {
    for (Device& device : node->second) {
      if (device.index != held.gpus[i]) continue;
      device.used += sign;
      device.used_cores += sign * held.cores;
      device.used_memory += sign * held.memory[i];
    }
  }
}

void HamiScheduler::Take(const PodUid& pod, Held held) {
  Add(held, 1);
  held_[pod] = std::move(held);
}

void HamiScheduler::Release(const PodUid& pod) {
  const auto found = held_.find(pod);
  if (found == held_.end()) return;
  Add(found->second, -1);
  held_.erase(found);
}

bool HamiScheduler::Fit(const GpuRequest& request, const std::vector<Device>& devices,
                        Held& held) const {
  const int64_t cores = CoresOf(request);
  std::vector<std::pair<int64_t, const Device*>> fitting;
  for (const Device& device : devices) {
    const int64_t memory = MemoryOn(request, device.memory);
    const bool fits =
        device.healthy && (device.shared || !request.fractional()) && device.used < device.slots &&
        device.memory - device.used_memory >= memory && kAllCores - device.used_cores >= cores &&
        (cores < kAllCores || device.used == 0) && (cores > 0 || device.used_cores < kAllCores);
    if (!fits) continue;
    const int64_t score = Part(device.used + 1, device.slots) +
                          Part(device.used_cores + cores, kAllCores) +
                          Part(device.used_memory + memory, device.memory);
    fitting.emplace_back(score, &device);
  }
  if (static_cast<int64_t>(fitting.size()) < request.count) return false;
  std::stable_sort(fitting.begin(), fitting.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  fitting.resize(static_cast<size_t>(request.count));
  held.cores = cores;
  for (const auto& [score, device] : fitting) {
    held.gpus.push_back(device->index);
    held.memory.push_back(MemoryOn(request, device->memory));
  }
  return true;
}

FilterReply HamiScheduler::Filter(const engine::NodesQuestion& question) {
  const GpuRequest& request = question.pod.spec->gpus;
  FilterReply reply;
  if (request.none()) {  // kube-scheduler does not ask it about these
    reply.passed = question.nodes;
    return reply;
  }
  Release(question.pod.uid);
  std::vector<Held> best;
  int64_t most = -1;
  for (const std::string& name : question.nodes) {
    const auto node = nodes_.find(name);
    Held held{.node = name, .gpus = {}, .cores = 0, .memory = {}};
    if (node == nodes_.end() || !Fit(request, node->second, held)) continue;
    Device all{.index = {}, .slots = 0};
    for (const Device& device : node->second) {
      all.slots += device.slots;
      all.memory += device.memory;
      all.used += device.used;
      all.used_cores += device.used_cores;
      all.used_memory += device.used_memory;
    }
    const auto count = static_cast<int64_t>(node->second.size());
    const int64_t score = Part(all.used, all.slots) + Part(all.used_cores, kAllCores * count) +
                          Part(all.used_memory, all.memory);
    if (score > most) best.clear();
    if (score >= most) best.push_back(std::move(held));
    most = std::max(most, score);
  }
  if (best.empty()) {
    reply.refused[kNoFit] = static_cast<int64_t>(question.nodes.size());
    return reply;
  }
  Held& chosen = best[random_.Below(best.size())];
  reply.passed.push_back(chosen.node);
  Take(question.pod.uid, std::move(chosen));
  return reply;
}

PrioritizeReply HamiScheduler::Prioritize(const engine::NodesQuestion& /*question*/) { return {}; }

void HamiScheduler::Bind(const engine::BindCall& call, BindDone done) {
  Binding binding{.pod = {call.pod, call.uid}, .node = call.node, .annotations = {}};
  const auto held = held_.find(call.uid);
  if (held != held_.end() && held->second.node == call.node)
    binding.annotations[cluster::kGpusAnnotation] = ListOf(held->second.gpus);
  const cluster::Status bound = api_.BindPod(Actor::kKubeScheduler, binding);
  const std::string error = bound.ok() ? "" : bound.error().ToString();
  loop_.Post([done = std::move(done), error] { done(error); });
}

}  // namespace muster::sim
