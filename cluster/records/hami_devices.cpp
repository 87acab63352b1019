#include "cluster/records/hami_devices.hpp"

#include <algorithm>
#include <charconv>

#include "cluster/base/split.hpp"

namespace muster::cluster {
namespace {

// The kind of device, which the plugin knows by this name whatever the model is.
constexpr const char* kType = "NVIDIA";
constexpr int64_t kPercent = 100;

// A pod with one container that asks for whole devices does not list it.
std::vector<ContainerGpus> ContainersOf(const PodSpec& spec) {
  if (!spec.gpu_containers.empty()) return spec.gpu_containers;
  if (spec.gpus.none() || !spec.gpus.whole() || spec.gpus.memory_each > MiB(0)) return {};
  return {{.count = spec.gpus.count}};
}

int64_t MemoryOf(const ContainerGpus& container, const Gpu& gpu) {
  if (container.memory_mib > 0) return container.memory_mib;
  const int64_t percent = container.memory_percent > 0 ? container.memory_percent : kPercent;
  return gpu.memory.value() * percent / kPercent;
}

// For each container where in the pod's devices its own begin.
std::vector<size_t> Begins(const std::vector<ContainerGpus>& containers) {
  std::vector<size_t> begins;
  begins.reserve(containers.size());
  size_t next = 0;
  for (const ContainerGpus& container : containers) {
    begins.push_back(next);
    if (container.kind != ContainerKind::kInit) next += static_cast<size_t>(container.planned());
  }
  return begins;
}

const Gpu* Find(const Node& node, GpuIndex index) {
  const auto found = std::find_if(node.gpus.begin(), node.gpus.end(),
                                  [&](const Gpu& gpu) { return gpu.index == index; });
  return found == node.gpus.end() ? nullptr : &*found;
}

std::string Named(GpuIndex index) { return "GPU " + std::to_string(index.value); }

// What is wrong with a device that the plugin is to hand out; empty: nothing.
std::string ObstacleOf(const Gpu* gpu, GpuIndex index) {
  if (gpu == nullptr) return Named(index) + " is not there any more";
  if (gpu->uuid.empty()) return Named(index) + " has no UUID";
  if (gpu->uuid.find_first_of(",:;") != std::string::npos)
    return Named(index) + " has a UUID with a separator in it";
  if (gpu->sharing == GpuSharing::Mig() || gpu->partition())
    return Named(index) + " is partitioned (MIG), which is handed out in another way";
  if (gpu->memory.value() <= 0) return Named(index) + " has no known memory";
  return {};
}

std::optional<int64_t> Number(std::string_view text) {
  int32_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<HamiHandover> HamiHandoverOf(const Node& node, const PodSpec& spec,
                                           std::span<const GpuIndex> devices) {
  if (node.plugin != DevicePlugin::kHami || devices.empty()) return std::nullopt;
  const std::vector<ContainerGpus> containers = ContainersOf(spec);
  if (containers.empty()) return std::nullopt;
  HamiHandover handover;
  handover.containers.resize(containers.size());
  const std::vector<size_t> begins = Begins(containers);
  for (size_t i = 0; i < containers.size() && handover.obstacle.empty(); ++i) {
    const auto count = static_cast<size_t>(containers[i].count);
    if (begins[i] + count > devices.size()) {
      handover.obstacle = "its containers ask for more GPUs than it was given";
      break;
    }
    for (const GpuIndex index : devices.subspan(begins[i], count)) {
      const Gpu* gpu = Find(node, index);
      handover.obstacle = ObstacleOf(gpu, index);
      if (!handover.obstacle.empty()) break;
      handover.containers[i].push_back(
          {gpu->uuid, MemoryOf(containers[i], *gpu), int64_t{containers[i].cores}});
    }
  }
  return handover;
}

std::string EncodeHamiDevices(const HamiContainers& containers) {
  std::string text;
  for (const std::vector<HamiDevice>& container : containers) {
    for (const HamiDevice& device : container) {
      text += device.uuid + "," + kType + "," + std::to_string(device.memory) + "," +
              std::to_string(device.cores) + ":";
    }
    text += ';';
  }
  return text;
}

std::optional<HamiContainers> DecodeHamiDevices(std::string_view text) {
  HamiContainers containers;
  for (const std::string_view part : Split(text, ';')) {
    std::vector<HamiDevice> devices;
    for (const std::string_view device : Split(part, ':')) {
      if (device.find(',') == std::string_view::npos) continue;
      const std::vector<std::string_view> fields = Split(device, ',');
      if (fields.size() < 4 || fields[1] != kType) return std::nullopt;
      const std::optional<int64_t> memory = Number(fields[2]);
      const std::optional<int64_t> cores = Number(fields[3]);
      if (!memory || !cores) return std::nullopt;
      devices.push_back({std::string(fields[0]), *memory, *cores});
    }
    containers.push_back(std::move(devices));
  }
  return containers;
}

HamiTurn HamiTurnOf(const Pod& pod, const HamiMarks& marks) {
  if (!pod.bound() || pod.phase != PodPhase::kPending) return HamiTurn::kNone;
  if (marks.bind_time.empty() || marks.node != pod.node_name) return HamiTurn::kNone;
  if (marks.phase == kHamiSuccess) return HamiTurn::kServed;
  if (marks.phase != kHamiAllocating) return HamiTurn::kNone;
  return marks.acknowledged ? HamiTurn::kServed : HamiTurn::kAllocating;
}

std::string HamiLockOf(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, ',');
  if (parts.size() != 3) return std::string(text);
  return std::string(parts[1]) + "/" + std::string(parts[2]);
}

}  // namespace muster::cluster
