// Which source of a node's links counts, and what a machine profile changes.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/policy/world.hpp"
#include "tests/topology/machines.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::policy {
namespace {

using cluster::TopologySource;
using testing::MakeNode;
using testing::MakePod;
using testing::World;
using topology::MachineProfile;
using topology::MachineProfiles;

constexpr const char* kV100 = "Tesla-V100-SXM2-32GB";
constexpr const char* kSwitched = "NVIDIA-B200";
const topology::Cell kNv18{{topology::LinkType::kNvLink, 18}, "NV18", 0};
const std::string kNv18Pair = "GPU0 GPU1\nGPU0 X NV18\nGPU1 NV18 X\n";

std::shared_ptr<const MachineProfiles> Profiles() {
  MachineProfile mesh{"mesh", {kV100}, {}, {}};
  mesh.machine = *topology::ParseMachine(topology::testing::kDgx1v, "dgx1v");
  MachineProfile switched{"switched", {kSwitched}, {.nvlink = 50'000}, {}};
  switched.machine = topology::FlatMachine(8, kNv18);
  return std::make_shared<const MachineProfiles>(
      *MachineProfiles::Of({std::move(mesh), std::move(switched)}));
}

Options WithProfiles(Strategy strategy = Strategy::kBinpack) {
  Options options{strategy};
  options.profiles = Profiles();
  return options;
}

std::string PlaceOne(World& world, int gpus, const Options& options = WithProfiles()) {
  Placer placer(options);
  const PlaceAnswer answer = world.Place(placer, {world.Ask(MakePod("p").Gpus(gpus))});
  return answer.placed ? world.Where(answer).front() : "nowhere";
}

}  // namespace

TEST_CASE("a node without a matrix has the links of machines with its model and number of GPUs",
          "[policy][profiles]") {
  World world;
  world.Add(MakeNode("n").Gpus(8, kV100));
  CHECK(PlaceOne(world, 2) == "n:0,3");
  CHECK(PlaceOne(world, 2, Options{}) == "n:0,1");
  const auto links = LinksOf(*world.state.FindNode("n"), WithProfiles());
  CHECK(links->facts.source == TopologySource::kProfile);
  CHECK(links->facts.profile == "mesh");
  CHECK_FALSE(links->facts.another_size);
  CHECK(LinksOf(*world.state.FindNode("n"), Options{})->facts.source == TopologySource::kFlat);
}

TEST_CASE("models that no profile is for are flat", "[policy][profiles]") {
  World world;
  world.Add(MakeNode("n").Gpus(8, "Some-GPU"));
  CHECK(PlaceOne(world, 2) == "n:0,1");
  CHECK(LinksOf(*world.state.FindNode("n"), WithProfiles())->facts.source == TopologySource::kFlat);
}

TEST_CASE("partitions of GPUs have no links, whatever their model is called",
          "[policy][profiles]") {
  World world;
  world.Add(MakeNode("n").Gpus(8, kV100).Sharing(cluster::GpuSharing::Mig()));
  CHECK(LinksOf(*world.state.FindNode("n"), WithProfiles())->facts.source == TopologySource::kFlat);
}

TEST_CASE("what the node itself says beats the profile, if it is of this machine",
          "[policy][profiles]") {
  World world;
  cluster::Node node = MakeNode("n").Gpus(8, kV100);
  node.topology_source = GENERATE(TopologySource::kAnnotation, TopologySource::kPairScores);
  topology::Machine odd = *topology::ParseMachine(topology::testing::kDgx1v, "dgx1v");
  // The links of 0 with 3 and 4 are dead.
  for (const size_t other : {size_t{3}, size_t{4}}) {
    odd.cells[other] =
        odd.cells[other * odd.devices()] = {topology::Link{topology::LinkType::kSys}, "SYS", 0};
  }
  node.topology = topology::WriteMachine(odd);
  world.Add(node);
  const auto links = LinksOf(node, WithProfiles());
  CHECK(links->facts.source == node.topology_source);
  CHECK(links->facts.profile == "mesh");  // its speeds
  CHECK(PlaceOne(world, 2) != "n:0,3");
  node.topology = kNv18Pair;
  world.Add(node);
  CHECK(LinksOf(node, WithProfiles())->facts.source == TopologySource::kProfile);
  CHECK(PlaceOne(world, 2) == "n:0,3");
}

// Two GPUs under each host bridge.
const std::string kBridges =
    "GPU0 GPU1 GPU2 GPU3\n"
    "GPU0 X SYS PHB SYS\nGPU1 SYS X SYS PHB\nGPU2 PHB SYS X SYS\nGPU3 SYS PHB SYS X\n";

cluster::Node WithSlices(cluster::Node node) {
  node.topology_source = TopologySource::kResourceSlices;
  node.topology = kBridges;
  return node;
}

TEST_CASE("ResourceSlices count where no profile is for the node", "[policy][profiles][slices]") {
  World world;
  const cluster::Node node = WithSlices(MakeNode("n").Gpus(4, "Some-GPU"));
  world.Add(node);
  CHECK(LinksOf(node, WithProfiles())->facts.source == TopologySource::kResourceSlices);
  CHECK(PlaceOne(world, 2) == "n:0,2");
}

TEST_CASE("a profile that knows links beside PCIe comes before ResourceSlices",
          "[policy][profiles][slices]") {
  World world;
  const bool own_size = GENERATE(true, false);
  MachineProfile bridged{"bridged", {"Bridged"}, {}, {}};
  bridged.machine = own_size ? *topology::ParseMachine(
                                   "GPU0 GPU1 GPU2 GPU3\nGPU0 X SYS SYS NV4\nGPU1 SYS X NV4 SYS\n"
                                   "GPU2 SYS NV4 X SYS\nGPU3 NV4 SYS SYS X\n",
                                   "bridged")
                             : topology::FlatMachine(8, kNv18);
  Options options{Strategy::kBinpack};
  options.profiles =
      std::make_shared<const MachineProfiles>(*MachineProfiles::Of({std::move(bridged)}));
  const cluster::Node node = WithSlices(MakeNode("n").Gpus(4, "Bridged"));
  world.Add(node);
  const auto links = LinksOf(node, options);
  CHECK(links->facts.source == TopologySource::kProfile);
  CHECK(links->facts.another_size == !own_size);
  CHECK(PlaceOne(world, 2, options) == (own_size ? "n:0,3" : "n:0,1"));
  CHECK(LinksOf(node, Options{})->facts.source == TopologySource::kResourceSlices);
}

TEST_CASE("a profile of PCIe alone gives its speeds, and ResourceSlices the links",
          "[policy][profiles][slices]") {
  World world;
  MachineProfile box{"box", {"Box"}, {.pcie = 24'000}, {}};
  box.machine = topology::FlatMachine(4, {{topology::LinkType::kNode}, "NODE", 0});
  Options options{Strategy::kBinpack};
  options.profiles =
      std::make_shared<const MachineProfiles>(*MachineProfiles::Of({std::move(box)}));
  cluster::Node node = WithSlices(MakeNode("n").Gpus(4, "Box"));
  world.Add(node);
  const auto links = LinksOf(node, options);
  CHECK(links->facts.source == TopologySource::kResourceSlices);
  CHECK(links->facts.profile == "box");
  CHECK(links->facts.speeds.pcie == 24'000);
  CHECK(PlaceOne(world, 2, options) == "n:0,2");
  // Of another machine than the node is.
  node.topology = kNv18Pair;
  CHECK(LinksOf(node, options)->facts.source == TopologySource::kProfile);
}

TEST_CASE("a GPU that is not offered breaks no match where gpu.count has it",
          "[policy][profiles]") {
  World world;
  const bool of_profile = GENERATE(true, false);
  cluster::Node node = MakeNode("n").Gpus(7, kV100);
  if (!of_profile) node.topology = topology::testing::kDgx1v;
  const Options options = of_profile ? WithProfiles() : Options{};
  world.Add(node);
  // Seven V100 are no machine that anybody knows.
  CHECK(PlaceOne(world, 2, options) == "n:0,1");
  node.labels["nvidia.com/gpu.count"] = "8";
  world.Add(node);
  // Without 7 the other board has one fast pair to give, and the first one stays whole.
  CHECK(PlaceOne(world, 2, options) == "n:5,6");
  CHECK(PlaceOne(world, 7, options) == "n:0,1,2,3,4,5,6");
  CHECK(PlaceOne(world, 8, options) == "nowhere");
  world.Occupy("n", MakePod("x").Gpus(4), {0, 1, 2, 3});
  // 7 would be the best partner of 4.
  CHECK(PlaceOne(world, 2, options) == "n:5,6");
}

TEST_CASE("a profile turns no sets away: it does not know the NUMA nodes", "[policy][profiles]") {
  World world;
  cluster::Node node = MakeNode("n").Gpus(8, kV100);
  node.numa_policy = cluster::NumaPolicy::kSingleNumaNode;
  world.Add(node);
  CHECK(PlaceOne(world, 5) != "nowhere");
  node.topology = topology::testing::kDgx1v;
  world.Add(node);
  CHECK(PlaceOne(world, 5) == "nowhere");
}

TEST_CASE("a smaller machine of a model that a profile knows is no worse for that",
          "[policy][profiles]") {
  World world;
  world.Add(MakeNode("a-whole").Gpus(8, kSwitched));
  world.Add(MakeNode("b-pair").Gpus(2, kSwitched));
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  const std::string want = strategy == Strategy::kBinpack ? "b-pair:0,1" : "a-whole:0,1";
  CHECK(PlaceOne(world, 2, WithProfiles(strategy)) == want);
  CHECK(PlaceOne(world, 2, Options{strategy}) == want);
  const auto links = LinksOf(*world.state.FindNode("b-pair"), WithProfiles());
  CHECK(links->facts.another_size);
  CHECK(links->even == 900'000U);
}

TEST_CASE("a matrix has the speeds of its model, so equal machines stay equal",
          "[policy][profiles]") {
  World world;
  world.Add(MakeNode("a-profile").Gpus(8, kSwitched));
  cluster::Node read = MakeNode("b-read").Gpus(2, kSwitched);
  read.topology = kNv18Pair;
  read.topology_source = TopologySource::kAnnotation;
  world.Add(read);
  CHECK(LinksOf(read, WithProfiles())->chooser->RingOf(0b11) == 900'000);
  CHECK(LinksOf(read, Options{})->chooser->RingOf(0b11) == 450'000);
  // Else every pair would break open the large machine.
  CHECK(PlaceOne(world, 2) == "b-read:0,1");
}

TEST_CASE("where all links are alike a profile changes no choice", "[policy][profiles]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  World with;
  World without;
  for (World* world : {&with, &without}) {
    for (const char* name : {"a", "b", "c", "d", "e"})
      world->Add(MakeNode(name).Gpus(8, kSwitched));
  }
  Placer knows(WithProfiles(strategy));
  Placer knows_nothing(Options{strategy});
  int pods = 0;
  for (const int gpus : {1, 2, 4, 1, 3, 2, 2, 1, 4, 3}) {
    const std::string name = "p" + std::to_string(pods++);
    const auto got = with.PlaceAndHold(knows, {with.Ask(MakePod(name).Gpus(gpus))});
    const auto want = without.PlaceAndHold(knows_nothing, {without.Ask(MakePod(name).Gpus(gpus))});
    REQUIRE(want.placed);
    CHECK(with.Where(got) == without.Where(want));
  }
}

}  // namespace muster::policy
