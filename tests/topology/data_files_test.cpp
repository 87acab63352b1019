// Outputs of real machines: the facts that people read in them by hand.
#include "tests/topology/data_files.hpp"

#include <map>
#include <set>
#include <sstream>

#include "topology/links/rails.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::topology::testing {
namespace {

using Pairs = std::set<std::pair<int, int>>;

// "0-3 1-2"
Pairs PairsOf(const std::string& text) {
  Pairs pairs;
  std::istringstream in(text);
  int a = 0;
  int b = 0;
  for (char dash = 0; in >> a >> dash >> b;) pairs.insert({a, b});
  return pairs;
}

struct DataFilesCase {
  const char* file;
  size_t gpus;
  size_t nics;
  const char* numa;                          // by GPU, comma-separated lists; "": none told
  std::map<std::string, const char*> links;  // by class; "" is all other pairs
  const char* near = "";                     // by GPU: class and NICs, ';'
};

const char* const kCubeNv2 = "0-3 0-4 1-2 1-5 2-3 4-7 5-6 6-7";
const char* const kCubeNv1 = "0-1 0-2 1-3 2-6 3-7 4-5 4-6 5-7";
const char* const kFours = "0-1 0-2 0-3 1-2 1-3 2-3 4-5 4-6 4-7 5-6 5-7 6-7";
const char* const kTwoFours = "0 0 0 0 1 1 1 1";

const std::vector<DataFilesCase>& Cases() {
  static constexpr const char* kDgx1Near =
      "PIX mlx5_0;PIX mlx5_0;PIX mlx5_1;PIX mlx5_1;PIX mlx5_2;PIX mlx5_2;PIX mlx5_3;PIX mlx5_3;";
  const static std::vector<DataFilesCase> kCases = {
      {"dgx1v", 8, 4, "", {{"NV2", kCubeNv2}, {"NV1", kCubeNv1}, {"SYS", ""}}, kDgx1Near},
      {"dgx1-topo-mp",
       8,
       4,
       kTwoFours,
       {{"PIX", "0-1 2-3 4-5 6-7"}, {"PHB", "0-2 0-3 1-2 1-3 4-6 4-7 5-6 5-7"}, {"SYS", ""}},
       kDgx1Near},
      {"dgx-a100",
       8,
       12,
       "3 3 1 1 7 7 5 5",
       {{"NV12", ""}},
       "PXB mlx5_0 mlx5_1;PXB mlx5_0 mlx5_1;PXB mlx5_2 mlx5_3;PXB mlx5_2 mlx5_3;"
       "PXB mlx5_6 mlx5_7;PXB mlx5_6 mlx5_7;PXB mlx5_8 mlx5_9;PXB mlx5_8 mlx5_9;"},
      {"aws-p4d-a100-8", 8, 0, kTwoFours, {{"NV12", ""}}},
      {"hgx-a100-4-nic4",
       4,
       4,
       "0 0 0 0",
       {{"NV4", ""}},
       "PXB mlx5_0;PXB mlx5_1;PXB mlx5_2;PXB mlx5_3;"},
      {"hgx-a100-4-numa-2-6",
       4,
       2,
       "2 2 6 6",
       {{"NV4", ""}},
       "PXB mlx5_0;PXB mlx5_0;PXB mlx5_1;PXB mlx5_1;"},
      {"azure-nc96-a100-pcie-nvlink", 4, 0, "0 1 2 3", {{"NV12", "0-1 2-3"}, {"SYS", ""}}},
      {"oci-a100-8-nic18",
       8,
       18,
       "3 3 1 1 7 7 5 5",
       {{"NV12", ""}},
       "PXB mlx5_5 mlx5_6 mlx5_7 mlx5_8;PXB mlx5_5 mlx5_6 mlx5_7 mlx5_8;"
       "PXB mlx5_1 mlx5_2 mlx5_3 mlx5_4;PXB mlx5_1 mlx5_2 mlx5_3 mlx5_4;"
       "PXB mlx5_14 mlx5_15 mlx5_16 mlx5_17;PXB mlx5_14 mlx5_15 mlx5_16 mlx5_17;"
       "PXB mlx5_9 mlx5_10 mlx5_11 mlx5_12;PXB mlx5_9 mlx5_10 mlx5_11 mlx5_12;"},
      {"hopper-sxm-8-nic8",
       8,
       8,
       kTwoFours,
       {{"NV18", ""}},
       "PIX mlx5_1;PIX mlx5_2;PIX mlx5_3;PIX mlx5_4;PIX mlx5_5;PIX mlx5_6;PIX mlx5_7;PIX mlx5_8;"},
      {"h100-6-of-8",
       6,
       2,
       "0 0 0 1 1 1",
       {{"NV18", ""}},
       "NODE mlx5_0 mlx5_1;NODE mlx5_0 mlx5_1;NODE mlx5_0 mlx5_1;"
       "SYS mlx5_0 mlx5_1;SYS mlx5_0 mlx5_1;SYS mlx5_0 mlx5_1;"},
      {"h20-8-no-legend",
       8,
       2,
       kTwoFours,
       {{"NV18", ""}},
       "SYS NIC0 NIC1;SYS NIC0 NIC1;SYS NIC0 NIC1;SYS NIC0 NIC1;"
       "NODE NIC0 NIC1;NODE NIC0 NIC1;PHB NIC0 NIC1;NODE NIC0 NIC1;"},
      {"gb200-tray", 4, 8, "0 0 1 1", {{"NV18", ""}}},
      {"v100-8-vm-phb",
       8,
       0,
       "0,1 0,1 0,1 0,1 0,1 0,1 0,1 0,1",
       {{"NV2", kCubeNv2}, {"NV1", kCubeNv1}, {"PHB", ""}}},
      {"v100-8-mlx5-2",
       8,
       2,
       kTwoFours,
       {{"NV2", "0-2 0-7 1-3 1-6 2-3 4-5 4-6 5-7"},
        {"NV1", "0-1 0-3 1-2 2-5 3-4 4-7 5-6 6-7"},
        {"SYS", ""}},
       "NODE mlx5_0;NODE mlx5_0;PIX mlx5_0;PIX mlx5_0;"
       "NODE mlx5_1;NODE mlx5_1;PIX mlx5_1;PIX mlx5_1;"},
      {"rtx3090-2-nvlink", 2, 0, "0 0", {{"NV4", ""}}},
      {"nv4-pairs-4-nic1",
       4,
       1,
       "0 0 1 1",
       {{"NV4", "0-1 2-3"}, {"SYS", ""}},
       "SYS mlx5_0;SYS mlx5_0;PXB mlx5_0;PIX mlx5_0;"},
      {"rtx4090-8", 8, 0, kTwoFours, {{"NODE", kFours}, {"SYS", ""}}},
      {"gtx1080ti-2-phb", 2, 0, "", {{"PHB", ""}}},
      {"k80-4-mlx4-old-legend",
       4,
       1,
       "",
       {{"PIX", "0-1 2-3"}, {"PHB", ""}},
       "PHB mlx4_0;PHB mlx4_0;PHB mlx4_0;PHB mlx4_0;"},
      {"p40-8-soc-mlx5", 8, 1, "", {{"PIX", kFours}, {"PXB", ""}}},
      {"gtx-7-legend-first",
       7,
       0,
       "",
       {{"PIX", "0-1 0-2 1-2 3-4 3-5 3-6 4-5 4-6 5-6"}, {"PHB", ""}}},
      {"four-gpu-mlx4-soc",
       4,
       1,
       "",
       {{"PHB", "0-1 2-3"}, {"SOC", ""}},
       "SYS mlx4_0;SYS mlx4_0;PHB mlx4_0;PHB mlx4_0;"},
      {"h100-pcie-1-vm", 1, 1, "0", {}, "PHB mlx5_0;"},
      {"one-gpu-5-bonds", 1, 5, "1", {}, "PXB mlx5_bond_3;"},
      {"container-1-numa-na", 1, 0, "", {}},
      {"container-5-of-8",
       5,
       0,
       "0 0 0 0 1",
       {{"PIX", "0-1 2-3"}, {"NODE", "0-2 0-3 1-2 1-3"}, {"SYS", ""}}},
      {"pcie-4-nic4",
       4,
       4,
       "0 0 1 1",
       {{"NODE", "0-1 2-3"}, {"SYS", ""}},
       "NODE NIC0 NIC1;NODE NIC0 NIC1;NODE NIC2 NIC3;NODE NIC2 NIC3;"},
      {"ascend-910b3-8", 8, 0, "", {{"HCCS", ""}}},
      {"ppu-8-icn",
       8,
       0,
       kTwoFours,
       {{"ICN2", "0-1 0-6 1-7 2-3 4-5 6-7"},
        {"ICN1", "0-3 1-2 2-4 2-5 3-4 3-5 4-7 5-6"},
        {"SYS", ""}}},
      {"rocm-smi-4-xgmi", 4, 0, "0 1 2 3", {{"XGMI", ""}}},
      {"amd-smi-8-xgmi", 8, 0, "", {{"XGMI", ""}}},
      {"amd-smi-2-pcie", 2, 0, "", {{"PCIE", ""}}},
  };
  return kCases;
}

std::string NumaOf(const Machine& machine) {
  std::string text;
  bool told = false;
  for (const Accelerator& gpu : machine.gpus) {
    if (!text.empty()) text += " ";
    for (size_t i = 0; i < gpu.numa.size(); ++i) {
      text += (i > 0 ? "," : "") + std::to_string(gpu.numa[i]);
    }
    told = told || !gpu.numa.empty();
  }
  return told ? text : "";
}

std::string NearOf(const Machine& machine) {
  std::string text;
  for (size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
    const NearNics near = NicsNear(machine, gpu);
    text += ToString(near.type);
    for (const size_t nic : near.nics) text += " " + machine.nics[nic].name;
    text += ";";
  }
  return text;
}

// Rows of devices without their blanks: one of each row, the one behind `lost` others, or with 0
// all of them. Either in each row, or in the first one alone.
std::string WithoutBlanks(const std::string& text, size_t lost, bool every_row) {
  std::istringstream in(text);
  std::string copy;
  bool done = false;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string row;
    size_t count = 0;
    for (std::string word; words >> word; ++count)
      row += (count == 0 || lost == 0 || count == lost ? "" : " ") + word;
    const bool is_row =
        line.find(" X ") != std::string::npos || line.find("\tX\t") != std::string::npos;
    if (is_row && !(done && !every_row)) {
      line = row;
      done = true;
    }
    copy += line + "\n";
  }
  return copy;
}

}  // namespace

TEST_CASE("outputs of real machines give what people read in them", "[topology][data]") {
  for (const DataFilesCase& c : Cases()) {
    DYNAMIC_SECTION(c.file) {
      const auto text = ReadDataFile(c.file);
      if (!text) return;
      const Machine machine = Parsed(*text);
      REQUIRE(machine.gpus.size() == c.gpus);
      REQUIRE(machine.nics.size() == c.nics);
      REQUIRE(machine.has_links());
      CHECK(NumaOf(machine) == c.numa);
      if (*c.near != '\0') CHECK(NearOf(machine) == c.near);
      std::string rest;
      std::map<std::pair<int, int>, std::string> named;
      for (const auto& [link, pairs] : c.links) {
        if (*pairs == '\0') rest = link;
        for (const auto& pair : PairsOf(pairs)) named[pair] = link;
      }
      for (size_t a = 0; a < c.gpus; ++a) {
        for (size_t b = a + 1; b < c.gpus; ++b) {
          const auto found = named.find({static_cast<int>(a), static_cast<int>(b)});
          CHECK(machine.At(a, b).text == (found == named.end() ? rest : found->second));
        }
      }
    }
  }
}

TEST_CASE("what a machine says can be written and read again", "[topology][data]") {
  for (const DataFilesCase& c : Cases()) {
    DYNAMIC_SECTION(c.file) {
      const auto text = ReadDataFile(c.file);
      if (!text) return;
      const Machine machine = Parsed(*text);
      CHECK(Parsed(WriteMachine(machine)) == machine);
    }
  }
}

TEST_CASE("rows of real outputs whose blanks are lost are read as they were, or refused",
          "[topology][data]") {
  size_t read = 0;
  size_t refused = 0;
  const auto check = [&](const Machine& want, const std::string& copy) {
    const auto machine = ParseMachine(copy, "t");
    ++(machine.ok() ? read : refused);
    INFO(copy);
    if (machine.ok()) {
      CHECK(*machine == want);
    } else {
      CHECK_THAT(machine.error().ToString(), Catch::Matches("t:[0-9]+:[0-9]+: .*"));
    }
  };
  for (const DataFilesCase& c : Cases()) {
    const auto text = ReadDataFile(c.file);
    if (!text || std::string(c.file).find("-smi-") != std::string::npos) continue;
    const Machine want = Parsed(*text);
    for (const bool every_row : {true, false}) {
      for (size_t lost = 0; lost <= c.gpus + c.nics + 3; ++lost)
        check(want, WithoutBlanks(*text, lost, every_row));
    }
  }
  if (read + refused == 0) return;  // no file is there
  CHECK(read > refused);
}

TEST_CASE("facts that only some outputs have", "[topology][data]") {
  if (const auto text = ReadDataFile("gb200-tray")) {
    const Machine machine = Parsed(*text);
    CHECK(machine.gpus[1].memory_node == 10);
    CHECK(machine.gpus[3].memory_node == 26);
    CHECK(machine.gpus[3].cpus == "72-143");
    CHECK(machine.nics[3].name == "mlx5_3");
  }
  if (const auto text = ReadDataFile("hopper-sxm-8-nic8")) {
    const Machine machine = Parsed(*text);
    CHECK(machine.nics[0].column == "NIC0");
    CHECK(machine.nics[0].name == "mlx5_1");
    CHECK(machine.nics[0].numa == std::vector<int>{0});
    CHECK(machine.nics[7].numa == std::vector<int>{1});
    CHECK_FALSE(machine.pcie_only);
  }
  if (const auto text = ReadDataFile("dgx-a100")) {
    const Machine machine = Parsed(*text);
    CHECK(machine.nics[4].numa.empty());
    CHECK(machine.nics[8].numa == std::vector<int>{5});
  }
  if (const auto text = ReadDataFile("dgx1-topo-mp")) CHECK(Parsed(*text).pcie_only);
  if (const auto text = ReadDataFile("amd-smi-8-xgmi")) {
    CHECK(Parsed(*text).At(0, 7).bandwidth == 50'000);
    CHECK(Parsed(*text).gpus[1].name == "0000:22:00.0");
  }
  if (const auto text = ReadDataFile("amd-smi-2-pcie"))
    CHECK(Parsed(*text).At(0, 1).link.hops == 2);
}

TEST_CASE("listings name GPUs, their MIG devices and NVLinks, and no links between them",
          "[topology][data]") {
  if (const auto text = ReadDataFile("mig-a100-8-list")) {
    const Machine machine = Parsed(*text);
    REQUIRE(machine.gpus.size() == 8);
    CHECK_FALSE(machine.has_links());
    CHECK(machine.gpus[0].mig.empty());
    CHECK(machine.gpus[3].mig.empty());
    CHECK(machine.gpus[4].mig == std::vector<std::string>(7, "1g.5gb"));
    CHECK(machine.gpus[5].mig == std::vector<std::string>(3, "2g.10gb"));
    CHECK(machine.gpus[6].mig == std::vector<std::string>(2, "3g.20gb"));
    CHECK(machine.gpus[7].mig ==
          std::vector<std::string>{"3g.20gb", "2g.10gb", "1g.5gb", "1g.5gb"});
    CHECK(machine.gpus[2].uuid == "GPU-1ae21a3c-f40b-77a7-002f-4b0b52b05f5b");
    CHECK(machine.gpus[2].model == "NVIDIA A100-SXM4-40GB");
  }
  const std::map<std::string, std::vector<int>> kActive = {{"rtx3090-2-nvlink-status", {4, 4}},
                                                           {"a100-nvlink-status-gpu0", {12}},
                                                           {"rtx8000-2-nvlink-status", {2, 2}}};
  for (const auto& [file, active] : kActive) {
    const auto text = ReadDataFile(file);
    if (!text) continue;
    const Machine machine = Parsed(*text);
    std::vector<int> found;
    for (const Accelerator& gpu : machine.gpus) found.push_back(gpu.active_links);
    CHECK(found == active);
    CHECK_FALSE(machine.has_links());
  }
}

}  // namespace muster::topology::testing
