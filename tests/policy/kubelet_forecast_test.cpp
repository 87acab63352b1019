// What NVIDIA's device plugin makes of a plan, and the nodes that are preferred for it.
#include "policy/gpu_links/kubelet_forecast.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/policy/world.hpp"
#include "tests/support/machines.hpp"

namespace muster::policy {
namespace {

using cluster::GpuIndex;
using cluster::GpuSharing;
using testing::Dgx1v;
using testing::MakePod;
using testing::World;
using topology::PickOutcome;

std::vector<GpuIndex> Indices(const std::vector<int>& numbers) {
  std::vector<GpuIndex> indices;
  for (const int number : numbers) indices.push_back(GpuIndex{static_cast<uint16_t>(number)});
  return indices;
}

std::string Text(const std::optional<KubeletPick>& pick) {
  if (!pick) return "nothing";
  std::string text(topology::ToString(pick->outcome));
  for (const GpuIndex gpu : pick->gpus) text += " " + std::to_string(gpu.value);
  return text + " of " + std::to_string(pick->choices);
}

std::string Foreseen(const cluster::Node& node, const std::vector<int>& taken,
                     const std::vector<int>& planned) {
  KubeletForecast forecast;
  const cluster::Pod pod = MakePod("p").Gpus(static_cast<int32_t>(planned.size())).Build();
  return Text(forecast.Of(node, *pod.spec, Indices(taken), Indices(planned)));
}

TEST_CASE("a plan is compared with what the device plugin hands out", "[policy][kubelet]") {
  // Both boards have 1,120 of 4 GPUs each, which no other division has.
  CHECK(Foreseen(Dgx1v("n"), {}, {0, 1, 2, 3}) == "tied 0 1 2 3 of 2");
  CHECK(Foreseen(Dgx1v("n"), {0, 1, 2, 3}, {4, 5, 6, 7}) == "agree 4 5 6 7 of 1");
  CHECK(Foreseen(Dgx1v("n"), {}, {0, 1, 2, 3, 4, 5, 6, 7}) == "agree 0 1 2 3 4 5 6 7 of 1");
  // Of 0, 1, 4, 5: 04 and 15 with 420 beat 01 and 45 with 300.
  CHECK(Foreseen(Dgx1v("n"), {2, 3, 6, 7}, {0, 4}) == "tied 0 4 of 2");
  CHECK(Foreseen(Dgx1v("n"), {2, 3, 6, 7}, {0, 1}) == "differ 0 4 of 2");
  CHECK(Foreseen(Dgx1v("n"), {}, {5}) == "tied 5 of 8");
}

TEST_CASE("what is free counts in the kubelet's books, not in Muster's", "[policy][kubelet]") {
  cluster::Node node = Dgx1v("n");
  SECTION("a broken GPU is free in neither") {
    node.gpus[2].healthy = node.gpus[3].healthy = node.gpus[6].healthy = false;
    node.gpus[7].healthy = false;
    CHECK(Foreseen(node, {}, {0, 1}) == "differ 0 4 of 2");
  }
  SECTION("the kubelet hands out a GPU that Muster leaves out") {
    CHECK(Foreseen(node, {1, 2, 3, 5, 6, 7}, {0, 4}) == "agree 0 4 of 1");
    node.gpus[3].left_out = true;
    // Of 0, 3, 4: 03 with 230 beats 04 with 210.
    CHECK(Foreseen(node, {1, 2, 5, 6, 7}, {0, 4}) == "differ 0 3 of 1");
  }
  SECTION("another pod has what was planned") {
    CHECK(Foreseen(node, {0, 1, 2, 3}, {0, 1, 2, 3}) == "differ 4 5 6 7 of 1");
  }
  SECTION("too few are left") {
    CHECK(Foreseen(node, {0, 1, 2, 3, 4}, {0, 1, 2, 3}) == "unknown of 0");
  }
}

TEST_CASE("nothing is foretold where the rule cannot be followed", "[policy][kubelet]") {
  cluster::Node node = Dgx1v("n");
  SECTION("no links are known") { node.topology.clear(); }
  SECTION("only PCIe roots and NUMA nodes are known") {
    node.topology_source = cluster::TopologySource::kResourceSlices;
  }
  SECTION("the topology manager has a say") { node.numa_policy = cluster::NumaPolicy::kBestEffort; }
  SECTION("devices are handed out in turns") {
    for (cluster::Gpu& gpu : node.gpus) gpu.sharing = GpuSharing::TimeSliced();
  }
  CHECK(Foreseen(node, {}, {0, 1}) == "unknown of 0");
}

TEST_CASE("each container of a pod is handed its own, which is not foretold", "[policy][kubelet]") {
  KubeletForecast forecast;
  const auto foreseen = [&](std::vector<cluster::ContainerGpus> containers) {
    cluster::PodSpec spec;
    spec.gpus.count = 2;
    spec.gpu_containers = std::move(containers);
    return Text(forecast.Of(Dgx1v("n"), spec, {}, Indices({0, 3})));
  };
  CHECK(foreseen({{.count = 1}, {.count = 1}}) == "unknown of 0");
  CHECK(foreseen({{}, {.count = 2}}) != "unknown of 0");
}

TEST_CASE("a pod that is not NVIDIA's plugin's has no forecast", "[policy][kubelet]") {
  cluster::Node node = Dgx1v("n");
  KubeletForecast forecast;
  const auto concerns = [&](const testing::PodBuilder& pod) {
    return KubeletForecast::Concerns(node, *pod.Build().spec);
  };
  CHECK(concerns(MakePod("p").Gpus(2)));
  CHECK_FALSE(concerns(MakePod("p")));
  CHECK_FALSE(concerns(MakePod("p").GpuShare(500)));
  node.plugin = cluster::DevicePlugin::kHami;
  CHECK_FALSE(concerns(MakePod("p").Gpus(2)));
  CHECK(Foreseen(node, {}, {0, 3}) == "nothing");
}

// Where four GPUs of a node with 0 and 6 in use have a ring, the plugin hands out others.
std::string PlaceFour(World& world, Strategy strategy) {
  Placer placer(Options{strategy});
  const PlaceAnswer answer = world.Place(placer, {world.Ask(MakePod("p").Gpus(4))});
  return answer.placed ? world.Where(answer).front() : "nowhere";
}

TEST_CASE("of nodes with as fast a ring the one whose plugin hands it out is preferred",
          "[policy][kubelet]") {
  World world;
  cluster::Node used = Dgx1v("a");
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  SECTION("NVIDIA's plugin would pick another set on the fuller node") {
    world.Add(used);
    world.Add(Dgx1v("b"));
    world.Occupy("a", MakePod("x").Gpus(2), {0, 6});
    CHECK(PlaceFour(world, strategy) == "b:0,1,2,3");
  }
  SECTION("HAMi's takes what is planned, and the strategy decides") {
    used.plugin = cluster::DevicePlugin::kHami;
    world.Add(used);
    world.Add(Dgx1v("b"));
    world.Occupy("a", MakePod("x").Gpus(2), {0, 6});
    CHECK(PlaceFour(world, strategy) ==
          (strategy == Strategy::kBinpack ? "a:1,3,5,7" : "b:0,1,2,3"));
  }
  SECTION("a faster ring comes first, whatever the plugin does") {
    world.Add(used);
    world.Add(Dgx1v("b"));
    world.Occupy("a", MakePod("x").Gpus(2), {0, 6});
    // What is left of b, a ring of four has no NVLink.
    world.Occupy("b", MakePod("y").Gpus(4), {0, 2, 5, 7});
    CHECK(PlaceFour(world, strategy) == "a:1,3,5,7");
  }
}

}  // namespace
}  // namespace muster::policy
