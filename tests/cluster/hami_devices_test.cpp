// What HAMi's device plugin receives, judged by a model of its Allocate.
#include "cluster/records/hami_devices.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/builders.hpp"

namespace muster::cluster {
namespace {

using testing::MakeNode;

constexpr ContainerKind kMain = ContainerKind::kMain;
constexpr ContainerKind kInit = ContainerKind::kInit;
constexpr ContainerKind kSidecar = ContainerKind::kSidecar;

// GPUs "GPU-0" … of 81,920 MiB each.
Node HamiNode(int gpus) {
  Node node = MakeNode("node-7").Gpus(gpus);
  for (Gpu& gpu : node.gpus) {
    gpu.uuid = "GPU-" + std::to_string(gpu.index.value);
    gpu.memory = MiB(81'920);
    gpu.sharing = GpuSharing::Fractional();
  }
  node.plugin = DevicePlugin::kHami;
  return node;
}

PodSpec Asking(std::vector<ContainerGpus> containers, int32_t count) {
  PodSpec spec;
  spec.gpus.count = count;
  spec.gpu_containers = std::move(containers);
  return spec;
}

std::vector<GpuIndex> Devices(std::initializer_list<int> indices) {
  std::vector<GpuIndex> devices;
  for (const int index : indices) devices.push_back(GpuIndex{static_cast<uint16_t>(index)});
  return devices;
}

std::string Told(const PodSpec& spec, const std::vector<GpuIndex>& devices, int gpus = 8) {
  const auto handover = HamiHandoverOf(HamiNode(gpus), spec, devices);
  if (!handover) return "nothing";
  return handover->obstacle.empty() ? EncodeHamiDevices(handover->containers) : handover->obstacle;
}

// popNextContainerDevices and Allocate: whoever comes gets what the first container in the list has
// that is not empty, if it is as many as the kubelet asks for.
class Plugin {
 public:
  explicit Plugin(const std::string& text) : left_(DecodeHamiDevices(text).value()) {}
  std::string Allocate(size_t count) {
    for (std::vector<HamiDevice>& container : left_) {
      if (container.empty()) continue;
      if (container.size() != count) return "device number not matched";
      std::string text;
      for (const HamiDevice& device : container) {
        text += (text.empty() ? "" : " ") + device.uuid + "/" + std::to_string(device.memory) +
                "/" + std::to_string(device.cores);
      }
      container.clear();
      return text;
    }
    return "no pending device allocation found";
  }

 private:
  HamiContainers left_;
};

TEST_CASE("devices are written as HAMi writes them", "[cluster][hami]") {
  CHECK(EncodeHamiDevices({}).empty());
  CHECK(EncodeHamiDevices({{{"GPU-abc", 3000, 30}}}) == "GPU-abc,NVIDIA,3000,30:;");
  CHECK(EncodeHamiDevices({{{"GPU-a", 3000, 30}, {"GPU-b", 3000, 30}}}) ==
        "GPU-a,NVIDIA,3000,30:GPU-b,NVIDIA,3000,30:;");
  CHECK(EncodeHamiDevices({{}, {{"GPU-a", 81'920, 0}}, {}}) == ";GPU-a,NVIDIA,81920,0:;;");
}

TEST_CASE("the plugin reads back what was written, and an empty container behind it",
          "[cluster][hami]") {
  const HamiContainers containers = {
      {{"GPU-a", 3000, 30}, {"GPU-b", 1, 0}}, {}, {{"GPU-c", 5, 100}}};
  HamiContainers want = containers;
  want.emplace_back();
  CHECK(DecodeHamiDevices(EncodeHamiDevices(containers)) == want);
  CHECK_FALSE(DecodeHamiDevices("GPU-a,NVIDIA,3000:;"));
  CHECK_FALSE(DecodeHamiDevices("GPU-a,NVIDIA,many,30:;"));
  CHECK_FALSE(DecodeHamiDevices("GPU-a,MLU,3000,30:;"));
}

TEST_CASE("a whole GPU is all of its memory and no share of its cores", "[cluster][hami]") {
  CHECK(Told(Asking({}, 2), Devices({3, 5})) == "GPU-3,NVIDIA,81920,0:GPU-5,NVIDIA,81920,0:;");
}

TEST_CASE("the devices of a pod go to its containers in order", "[cluster][hami]") {
  struct Case {
    std::string why;
    PodSpec spec;
    std::vector<GpuIndex> devices;
    std::string want;
  };
  const Case cases[] = {
      {"a container without GPUs beside it", Asking({{.count = 1}, {}}, 1), Devices({2}),
       "GPU-2,NVIDIA,81920,0:;;"},
      {"the second container asks", Asking({{}, {.count = 2}}, 2), Devices({0, 3}),
       ";GPU-0,NVIDIA,81920,0:GPU-3,NVIDIA,81920,0:;"},
      {"two ask for different shares, 37 % of the memory rounded down",
       Asking({{.cores = 30, .count = 1, .memory_mib = 3000},
               {.cores = 10, .memory_percent = 37, .count = 1}},
              2),
       Devices({1, 4}), "GPU-1,NVIDIA,3000,30:;GPU-4,NVIDIA,30310,10:;"},
      {"MiB come before percents",
       Asking({{.memory_percent = 50, .count = 1, .memory_mib = 3000}}, 1), Devices({1}),
       "GPU-1,NVIDIA,3000,0:;"},
      {"a share without a number of devices: the kubelet does not ask the plugin",
       Asking({{.memory_mib = 3000}, {.count = 1}}, 2), Devices({1, 4}), ";GPU-4,NVIDIA,81920,0:;"},
      {"an init container uses what the containers get later",
       Asking({{.kind = kInit, .count = 2}, {.kind = kMain, .count = 1}, {.count = 1}}, 2),
       Devices({6, 7}),
       "GPU-6,NVIDIA,81920,0:GPU-7,NVIDIA,81920,0:;GPU-6,NVIDIA,81920,0:;GPU-7,NVIDIA,81920,0:;"},
      {"a side car keeps its own, also while a later init container runs",
       Asking({{.kind = kSidecar, .count = 1}, {.kind = kInit, .count = 2}, {.count = 1}}, 3),
       Devices({0, 1, 2}),
       "GPU-0,NVIDIA,81920,0:;GPU-1,NVIDIA,81920,0:GPU-2,NVIDIA,81920,0:;GPU-1,NVIDIA,81920,0:;"},
      {"an init container before a side car may use the side car's",
       Asking({{.kind = kInit, .count = 2}, {.kind = kSidecar, .count = 1}, {.count = 1}}, 2),
       Devices({0, 1}),
       "GPU-0,NVIDIA,81920,0:GPU-1,NVIDIA,81920,0:;GPU-0,NVIDIA,81920,0:;GPU-1,NVIDIA,81920,0:;"},
  };
  for (const Case& one : cases) {
    INFO(one.why);
    const std::string told = Told(one.spec, one.devices);
    CHECK(told == one.want);
    Plugin plugin(told);
    for (const ContainerGpus& container : one.spec.gpu_containers) {
      if (container.count == 0) continue;  // the kubelet does not ask
      const std::string got = plugin.Allocate(static_cast<size_t>(container.count));
      CHECK(std::count(got.begin(), got.end(), ' ') == container.count - 1);
      CHECK_THAT(got, Catch::StartsWith("GPU-"));
    }
    CHECK(plugin.Allocate(1) == "no pending device allocation found");
  }
}

TEST_CASE("HAMi gets nothing about what is not its plugin's", "[cluster][hami]") {
  const PodSpec whole = Asking({}, 1);
  Node stock = HamiNode(2);
  stock.plugin = DevicePlugin::kStock;
  CHECK_FALSE(HamiHandoverOf(stock, whole, Devices({0})));
  CHECK(Told(whole, {}) == "nothing");
  // An annotation asks, and no container: the kubelet never asks the plugin.
  PodSpec half = Asking({}, 1);
  half.gpus.each = GpuMilli(500);
  CHECK(Told(half, Devices({0})) == "nothing");
}

TEST_CASE("devices that the plugin cannot be told of are named", "[cluster][hami]") {
  const PodSpec one = Asking({}, 1);
  Node node = HamiNode(2);
  const auto obstacle = [&](std::initializer_list<int> devices) {
    return HamiHandoverOf(node, one, Devices(devices))->obstacle;
  };
  CHECK(obstacle({1}).empty());
  node.gpus[1].uuid.clear();
  CHECK(obstacle({1}) == "GPU 1 has no UUID");
  CHECK(obstacle({0}).empty());
  node.gpus[1].uuid = "GPU,1";
  CHECK(obstacle({1}) == "GPU 1 has a UUID with a separator in it");
  node.gpus[1].uuid = "GPU-1";
  node.gpus[1].memory = MiB(0);
  CHECK(obstacle({1}) == "GPU 1 has no known memory");
  node.gpus[1].memory = MiB(1);
  node.gpus[1].sharing = GpuSharing::Mig();
  CHECK_THAT(obstacle({1}), Catch::Contains("MIG"));
  CHECK(obstacle({5}) == "GPU 5 is not there any more");
  CHECK_THAT(Told(Asking({{.count = 1}, {.count = 1}}, 1), Devices({0})),
             Catch::Contains("more GPUs than it was given"));
}

// GetPendingPod: pending, with a bind-time, of this node, in one of two phases.
TEST_CASE("a pod has the plugin's turn as long as the plugin may take it for whoever asks",
          "[cluster][hami]") {
  Pod pod = testing::MakePod("a").Gpus(1).BoundTo("node-7");
  const auto turn = [&](const char* phase, const char* node = "node-7", const char* at = "1",
                        bool acknowledged = false) {
    return HamiTurnOf(pod, {phase, node, at, acknowledged});
  };
  CHECK(turn("allocating") == HamiTurn::kAllocating);
  CHECK(turn("success") == HamiTurn::kServed);
  CHECK(turn("failed") == HamiTurn::kNone);
  CHECK(turn("") == HamiTurn::kNone);
  CHECK(turn("allocating", "node-8") == HamiTurn::kNone);
  CHECK(turn("success", "node-7", "") == HamiTurn::kNone);
  // The plugin could not write down that it has served the pod.
  CHECK(turn("allocating", "node-7", "1", true) == HamiTurn::kServed);
  pod.phase = PodPhase::kRunning;
  CHECK(turn("success") == HamiTurn::kNone);
  pod.phase = PodPhase::kPending;
  pod.node_name.clear();
  CHECK(turn("allocating", "") == HamiTurn::kNone);
}

TEST_CASE("a lock says for which pod it is", "[cluster][hami]") {
  CHECK(HamiLockOf("2026-08-21T06:20:39Z,team,a") == "team/a");
  CHECK(HamiLockOf("2026-08-21T06:20:39Z") == "2026-08-21T06:20:39Z");
}

}  // namespace
}  // namespace muster::cluster
