#include "config/profiles/topology_profile.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "config/file.hpp"
#include "config/profiles/shipped_profiles.hpp"
#include "topology/links/node_topology.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::config {
namespace {

using topology::MachineProfile;
using topology::MachineProfiles;

const std::string kTopologyProfileHead = "apiVersion: muster.dev/v1alpha1\nkind: TopologyProfile\n";
const std::string kPair =
    "matrix: |2\n          GPU0  GPU1\n  GPU0    X     NV4\n  GPU1    NV4   X\n";

MachineProfiles Shipped() {
  auto profiles = LoadTopologyProfiles(MUSTER_SOURCE_DIR "/config/topologies");
  INFO((profiles.ok() ? "" : profiles.error().ToString()));
  REQUIRE(profiles.ok());
  return *std::move(profiles);
}

// By GPU count: the best ring, GB/s.
std::vector<int64_t> Rings(const MachineProfile& profile) {
  topology::TopologyCache cache;
  const auto node = cache.Of({topology::TopologySource::kProfile, profile.machine, profile.speeds});
  std::vector<int64_t> rings;
  for (size_t count = 2; count <= profile.machine.gpus.size(); ++count) {
    const auto set = node->chooser->Choose(node->chooser->all(), count);
    rings.push_back(node->chooser->RingOf(set) / 1000);
  }
  return rings;
}

}  // namespace

TEST_CASE("profiles are found by product and number of GPUs", "[config][topology]") {
  const MachineProfiles profiles = Shipped();
  struct Case {
    const char* product;
    size_t gpus;
    const char* want;
    std::vector<int64_t> rings;  // best ring for 2, 3, … GPUs, by hand
  };
  const std::vector<Case> cases = {
      {"Tesla-V100-SXM2-32GB", 8, "dgx-1v", {50, 25, 25, 25, 25, 25, 50}},
      {"Tesla-V100-SXM3-32GB", 16, "dgx-2", std::vector<int64_t>(15, 150)},
      {"NVIDIA-A100-SXM4-80GB", 8, "hgx-a100-8", std::vector<int64_t>(7, 300)},
      {"NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", 8, "hgx-a100-8", std::vector<int64_t>(7, 300)},
      {"NVIDIA-A100-SXM4-40GB", 4, "hgx-a100-4", std::vector<int64_t>(3, 100)},
      {"NVIDIA-H100-80GB-HBM3", 8, "hgx-h100-8", std::vector<int64_t>(7, 450)},
      {"NVIDIA-H100-80GB-HBM3-SHARED", 8, "hgx-h100-8", std::vector<int64_t>(7, 450)},
      {"NVIDIA-H100-80GB-HBM3", 4, "hgx-h100-4", std::vector<int64_t>(3, 150)},
      {"NVIDIA-H200", 8, "hgx-h200-8", std::vector<int64_t>(7, 450)},
      {"NVIDIA-B200", 8, "hgx-b200-8", std::vector<int64_t>(7, 900)},
      {"NVIDIA-GB200", 4, "gb200-tray", std::vector<int64_t>(3, 900)},
      {"NVIDIA-A100-80GB-PCIe", 4, "a100-pcie-4", {300, 16, 16}},
      {"NVIDIA-A100-80GB-PCIe", 8, "a100-pcie-8", {300, 18, 18, 16, 16, 16, 16}},
      {"NVIDIA-L40S", 8, "l40s-8", {18, 18, 18, 16, 16, 16, 16}},
      {"NVIDIA-L4", 4, "l4-4", {18, 16, 16}},
      {"Tesla-T4", 4, "t4-4", {9, 6, 6}},
      {"AMD_Instinct_MI300X_OAM", 8, "mi300x-8", std::vector<int64_t>(7, 64)},
      {"Ascend910B3", 8, "ascend-910b-8", std::vector<int64_t>(7, 28)},
  };
  for (const Case& c : cases) {
    INFO(c.product << " " << c.gpus);
    const MachineProfile* profile = profiles.Find(c.product, c.gpus);
    REQUIRE(profile != nullptr);
    CHECK(profile->name == c.want);
    CHECK(Rings(*profile) == c.rings);
  }
  CHECK(profiles.Find("NVIDIA-H100-80GB-HBM3", 7) == nullptr);
  CHECK(profiles.Find("Some-GPU", 8) == nullptr);
}

TEST_CASE("the binary has every profile of the folder", "[config][topology]") {
  const auto shipped = ShippedProfiles();
  const MachineProfiles folder = Shipped();
  REQUIRE(shipped->all().size() == folder.all().size());
  for (size_t i = 0; i < folder.all().size(); ++i) {
    CHECK(shipped->all()[i].name == folder.all()[i].name);
    CHECK(shipped->all()[i].products == folder.all()[i].products);
    CHECK(shipped->all()[i].speeds == folder.all()[i].speeds);
    CHECK(shipped->all()[i].machine == folder.all()[i].machine);
  }
}

TEST_CASE("the policy says whether profiles count", "[config][topology]") {
  policy::Options options;
  UseProfiles(&options);
  CHECK(options.profiles != nullptr);
  options.profile_use = policy::ProfileUse::kNone;
  UseProfiles(&options);
  CHECK(options.profiles == nullptr);
}

TEST_CASE("of a model's profiles the nearest size is found", "[config][topology]") {
  const MachineProfiles profiles = Shipped();
  const auto nearest = [&](size_t gpus) {
    return profiles.Nearest("NVIDIA-H100-80GB-HBM3", gpus)->name;
  };
  CHECK(nearest(1) == "hgx-h100-4");
  CHECK(nearest(4) == "hgx-h100-4");
  CHECK(nearest(5) == "hgx-h100-8");
  CHECK(nearest(8) == "hgx-h100-8");
  CHECK(nearest(16) == "hgx-h100-8");
  CHECK(profiles.Nearest("Some-GPU", 8) == nullptr);
  CHECK(profiles.Nearest("", 8) == nullptr);
}

TEST_CASE("every profile can be written as text and read again", "[config][topology]") {
  const MachineProfiles profiles = Shipped();
  for (const MachineProfile& profile : profiles.all()) {
    INFO(profile.name);
    const auto again = topology::ParseMachine(topology::WriteMachine(profile.machine), "again");
    REQUIRE(again.ok());
    CHECK(*again == profile.machine);
    const topology::Cell* slowest = topology::SlowestLink(profile.machine, profile.speeds);
    REQUIRE(slowest != nullptr);
    topology::Machine flat = topology::FlatMachine(3, *slowest);
    flat.tool = profile.machine.tool;
    CHECK(topology::ParseMachine(topology::WriteMachine(flat), "flat").ok());
  }
}

TEST_CASE("every profile that ships names itself as its file", "[config][topology]") {
  std::set<std::string> names;
  const MachineProfiles profiles = Shipped();
  for (const MachineProfile& profile : profiles.all()) {
    const std::string file = MUSTER_SOURCE_DIR "/config/topologies/" + profile.name + ".yaml";
    const auto text = ReadFile(file, 1U << 20U);
    REQUIRE(text.ok());
    CHECK(ReadTopologyProfile(*text, file).ok());
    CHECK(names.insert(profile.name).second);
    CHECK(profile.machine.has_links());
    CHECK(topology::BuildGraph(profile.machine, profile.speeds).odd_pairs == 0);
  }
  CHECK(names.size() >= 20);
}

TEST_CASE("a wrong profile is refused with file, line and field", "[config][topology]") {
  struct Case {
    std::string text;
    const char* want;
  };
  const auto [text, want] = GENERATE(values<Case>({
      {kTopologyProfileHead + "products: [A]\n" + kPair, "p.yaml:1:1: name: expected a name"},
      {kTopologyProfileHead + "name: a\n" + kPair, "products: expected at least one"},
      {kTopologyProfileHead + "name: a\nproducts: [A]\n",
       "matrix: expected the output of nvidia-smi topo -m"},
      {kTopologyProfileHead + "name: a\nproducts: [\"a b\"]\n" + kPair,
       "p.yaml:4:12: products[0]: expected the value of a label"},
      {kTopologyProfileHead + "name: a\nproducts: [A]\nspeeds: {nvlnk: 3}\n" + kPair,
       "p.yaml:5:10: speeds.nvlnk: unknown field, did you mean nvlink?"},
      {kTopologyProfileHead + "name: a\nproducts: [A]\nspeeds: {nvlink: 1}\n" + kPair,
       "p.yaml:5:18: speeds.nvlink: expected a whole number from 100"},
      {kTopologyProfileHead +
           "name: a\nproducts: [A]\nmatrix: |2\n    GPU0 GPU1\n  GPU0 X NV4\n  GPU1 NV3 X\n",
       "p.yaml:5:9: matrix: the matrix:3:6: row GPU1, column GPU0: NV3 contradicts NV4"},
      {kTopologyProfileHead + "name: a\nproducts: [A]\nmatrix: \"GPU 0: A (UUID: GPU-1)\"\n",
       "matrix: expected a matrix of links, found a list of GPUs"},
  }));
  const TopologyProfileReading reading = ReadTopologyProfile(text, "p.yaml");
  REQUIRE_FALSE(reading.ok());
  CHECK_THAT(reading.faults.front().ToString(), Catch::Contains(want));
}

TEST_CASE("two profiles for one machine are refused", "[config][topology]") {
  const auto a =
      ReadTopologyProfile(kTopologyProfileHead + "name: a\nproducts: [A, B]\n" + kPair, "a.yaml");
  const auto b =
      ReadTopologyProfile(kTopologyProfileHead + "name: b\nproducts: [C, B]\n" + kPair, "b.yaml");
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  const auto both = MachineProfiles::Of({a.profile, b.profile});
  REQUIRE_FALSE(both.ok());
  CHECK(both.error().ToString() == "b: profile a is for 2 of B as well");
  CHECK_FALSE(LoadTopologyProfiles("/nonexistent").ok());
}

}  // namespace muster::config
