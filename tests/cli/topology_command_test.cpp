// muster topology: what it prints for machines, choices and bad input.
#include <rapidjson/document.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/cli_run.hpp"
#include "tests/http/tls_test_support.hpp"
#include "tests/topology/machines.hpp"

namespace muster::cli::testing {
namespace {

using http::testing::TempFolder;

std::string Written(const TempFolder& folder, const std::string& name, const std::string& text) {
  const std::string path = folder.File(name);
  std::ofstream(path) << text;
  return path;
}

std::string Dgx1vFile(const TempFolder& folder) {
  return Written(folder, "dgx.txt", topology::testing::kDgx1v);
}

// Programs are found in that folder alone.
class PathOfTools {
 public:
  explicit PathOfTools(const std::string& folder) : before_(std::getenv("PATH")) {
    setenv("PATH", folder.c_str(), 1);
  }
  ~PathOfTools() { setenv("PATH", before_.c_str(), 1); }
  PathOfTools(const PathOfTools&) = delete;
  PathOfTools& operator=(const PathOfTools&) = delete;

 private:
  const std::string before_;
};

rapidjson::Document Json(const CliRun& run) {
  INFO(run.err);
  REQUIRE(run.status == kExitOk);
  rapidjson::Document document;
  document.Parse(run.out.c_str());
  REQUIRE_FALSE(document.HasParseError());
  return document;
}

std::vector<int> Numbers(const rapidjson::Value& list) {
  std::vector<int> numbers;
  for (const auto& item : list.GetArray()) numbers.push_back(item.GetInt());
  return numbers;
}

}  // namespace

TEST_CASE("topology prints a machine as JSON", "[cli][topology]") {
  const TempFolder folder;
  const auto json = Json(Run({"topology", "--file", Dgx1vFile(folder), "-o", "json"}));
  REQUIRE(json["gpus"].Size() == 8);
  CHECK(json["gpus"][5]["index"].GetInt() == 5);
  CHECK(json["gpus"][5]["numa"].GetInt() == 1);
  REQUIRE(json["nics"].Size() == 4);
  CHECK(std::string(json["nics"][3]["name"].GetString()) == "mlx5_3");
  CHECK(json["nics"][3]["numa"].GetInt() == 1);
  REQUIRE(json["links"].Size() == 8);
  CHECK(std::string(json["links"][0][0].GetString()) == "X");
  CHECK(std::string(json["links"][0][3].GetString()) == "NV2");
  CHECK(std::string(json["links"][7][0].GetString()) == "SYS");
  CHECK(json["best"].MemberCount() == 7);
  CHECK(Numbers(json["best"]["4"]["gpus"]) == std::vector<int>{0, 1, 2, 3});
  CHECK(json["best"]["4"]["ring_gigabytes_per_second"].GetDouble() == 25);
  CHECK(json["best"]["4"]["total_gigabytes_per_second"].GetDouble() == 225);
}

TEST_CASE("topology chooses among free GPUs", "[cli][topology]") {
  const TempFolder folder;
  const std::string file = Dgx1vFile(folder);
  const auto json = Json(Run({"topology", "--file", file, "--free", "2,0,3", "-o", "json"}));
  CHECK(Numbers(json["free"]) == std::vector<int>{0, 2, 3});
  CHECK(json["best"].MemberCount() == 2);
  CHECK(Numbers(json["best"]["3"]["gpus"]) == std::vector<int>{0, 2, 3});
  for (const char* bad : {"8", "0,,1", "", "0,x", "00"}) {
    const CliRun run = Run({"topology", "--file", file, "--free", bad});
    CHECK(run.status == kExitUsage);
    CHECK_THAT(run.err, Catch::Contains("--free: expected indices of this machine's GPUs"));
  }
}

TEST_CASE("topology prints tables and a graph", "[cli][topology]") {
  const TempFolder folder;
  const std::string file = Dgx1vFile(folder);
  const CliRun table = Run({"topology", "-f", file});
  CHECK_THAT(table.out, Catch::Contains("GPU4  1     20-39  PIX mlx5_2") &&
                            Catch::Contains("GPU0   X     NV1   NV1   NV2") &&
                            Catch::Contains("   8         50         672  0,1,2,3,4,5,6,7"));
  const CliRun dot = Run({"topology", "-f", file, "--dot"});
  CHECK_THAT(dot.out, Catch::StartsWith("graph machine {") && Catch::Contains("NVLink x2"));
}

TEST_CASE("topology refuses what it cannot read, with its place", "[cli][topology]") {
  const TempFolder folder;
  const std::string bad = Written(folder, "bad.txt", "GPU0 GPU1\nGPU0 X NV1\nGPU1 NV2 X\n");
  const CliRun run = Run({"topology", "--file", bad});
  CHECK(run.status == kExitFailed);
  CHECK(run.out.empty());
  CHECK_THAT(run.err, Catch::Contains(bad + ":3:6: row GPU1, column GPU0: NV2 contradicts NV1"));
  CHECK(Run({"topology", "--file", folder.File("none")}).status == kExitFailed);
  CHECK(Run({"topology"}).status == kExitUsage);
  CHECK(Run({"topology", "--file", bad, "-o", "xml"}).status == kExitUsage);
}

TEST_CASE("topology says what a list of GPUs lacks", "[cli][topology]") {
  const TempFolder folder;
  const std::string list = Written(folder, "l.txt", "GPU 0: NVIDIA L4 (UUID: GPU-12)\n");
  const CliRun run = Run({"topology", "--file", list, "-o", "json"});
  CHECK_THAT(run.err, Catch::Contains("nvidia-smi topo -m does"));
  const auto json = Json(run);
  CHECK(std::string(json["gpus"][0]["uuid"].GetString()) == "GPU-12");
  CHECK(json["links"].Empty());
  // Drawn, it is GPUs without edges.
  const CliRun dot = Run({"topology", "--file", list, "--dot"});
  CHECK(dot.out == "graph machine {\n  v0 [label=\"GPU0\", shape=box];\n}\n");
  CHECK_THAT(dot.err, Catch::Contains("says nothing of the links"));
}

TEST_CASE("discover prints the annotation of the node it runs on", "[cli][topology]") {
  const TempFolder folder;
  const std::string file = Dgx1vFile(folder);
  const CliRun run = Run({"discover", "--file", file});
  REQUIRE(run.status == kExitOk);
  const std::string key = "muster.dev/gpu-topology=";
  REQUIRE_THAT(run.out, Catch::StartsWith(key));
  // The value is a matrix again, of the same machine.
  const std::string again = Written(folder, "again.txt", run.out.substr(key.size()));
  CHECK(Run({"topology", "--file", again, "-o", "json"}).out ==
        Run({"topology", "--file", file, "-o", "json"}).out);
  const auto patch = Json(Run({"discover", "--file", file, "-o", "json"}));
  CHECK(key + patch["metadata"]["annotations"]["muster.dev/gpu-topology"].GetString() == run.out);
}

TEST_CASE("discover runs the tool of each vendor", "[cli][topology]") {
  for (const std::string tool : {"nvidia-smi", "rocm-smi", "amd-smi", "npu-smi", "ppu-smi"}) {
    const TempFolder folder;
    const std::string prefix = tool == "npu-smi" ? "NPU" : tool == "ppu-smi" ? "PPU" : "GPU";
    const bool amd = tool == "rocm-smi" || tool == "amd-smi";
    const std::string rows = amd ? "LINK TYPE TABLE:\\n GPU0\\nGPU0 SELF\\n"
                                 : prefix + "0 CPU Affinity\\n" + prefix + "0 X 0-7\\n";
    const std::string program = Written(folder, tool, "#!/bin/sh\nprintf '" + rows + "'\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    const PathOfTools path(folder.File(""));
    const CliRun run = Run({"discover"});
    INFO(tool << ": " << run.err);
    CHECK(run.status == kExitOk);
    CHECK_THAT(run.out, Catch::Contains(prefix + "0"));
  }
  const TempFolder empty;
  const PathOfTools path(empty.File(""));
  CHECK_THAT(Run({"discover"}).err, Catch::Contains("npu-smi nor ppu-smi is installed here"));
}

TEST_CASE("discover annotates no node with what is no matrix", "[cli][topology]") {
  const TempFolder folder;
  const std::string list = Written(folder, "l.txt", "GPU 0: NVIDIA L4 (UUID: GPU-12)\n");
  const CliRun run = Run({"discover", "--file", list});
  CHECK(run.status == kExitFailed);
  CHECK(run.out.empty());
  CHECK_THAT(run.err, Catch::Contains("a list of GPUs"));
  CHECK(Run({"discover", "--node", "n"}).status == kExitUsage);
  CHECK(Run({"discover", "--in-cluster"}).status == kExitUsage);
  CHECK(Run({"discover", "--every", "60"}).status == kExitUsage);
}

}  // namespace muster::cli::testing
