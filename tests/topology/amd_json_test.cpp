// amd-smi topology --json, in both forms that it had, is the machine that its tables show.
#include <string>

#include "tests/topology/data_files.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::topology::testing {
namespace {

const std::string kTables =
    "WEIGHT TABLE:\n     GPU0 GPU2\nGPU0 0    15\nGPU2 15   0\n\n"
    "HOPS TABLE:\n     GPU0 GPU2\nGPU0 0    1\nGPU2 1    0\n\n"
    "LINK TYPE TABLE:\n     GPU0 GPU2\nGPU0 SELF XGMI\nGPU2 XGMI SELF\n\n"
    "NUMA BW TABLE:\n     GPU0 GPU2\nGPU0 N/A 50000-64000\nGPU2 50000-100000 N/A\n";

// As json.dumps(indent=4) of ROCm 6.2 and later writes one link.
std::string Linked(int gpu, const std::string& type, int weight, int hops,
                   const std::string& most) {
  return R"(            {
                "gpu": )" +
         std::to_string(gpu) + R"(,
                "bdf": "0000:0)" +
         std::to_string(gpu + 1) + R"(:00.0",
                "weight": )" +
         std::to_string(weight) + R"(,
                "link_status": "ENABLED",
                "link_type": ")" +
         type + R"(",
                "num_hops": )" +
         std::to_string(hops) + R"(,
                "bandwidth": ")" +
         most + R"(",
                "atomics": "64,32"
            })";
}

std::string Device(int gpu, const std::string& first, const std::string& second) {
  return R"(    {
        "gpu": )" +
         std::to_string(gpu) + R"(,
        "bdf": "0000:0)" +
         std::to_string(gpu + 1) + R"(:00.0",
        "links": [
)" + first +
         ",\n" + second + "\n        ]\n    }";
}

std::string NewForm() {
  return "[\n" +
         Device(0, Linked(0, "SELF", 0, 0, "N/A"), Linked(2, "XGMI", 15, 1, "50000-64000")) +
         ",\n" +
         Device(2, Linked(0, "XGMI", 15, 1, "50000-100000"), Linked(2, "SELF", 0, 0, "N/A")) +
         "\n]\n";
}

// As ROCm 6.0 and 6.1 wrote it, on one line.
const std::string kOldForm =
    R"([{"gpu":0,"link_accessibility":{"gpu_0":"ENABLED","gpu_2":"ENABLED"},)"
    R"("weight":{"gpu_0":0,"gpu_2":15},"hops":{"gpu_0":0,"gpu_2":1},)"
    R"("link_type":{"gpu_0":"SELF","gpu_2":"XGMI"},)"
    R"("numa_bandwidth":{"gpu_0":"N/A","gpu_2":"50000-64000"}},)"
    R"({"gpu":2,"link_accessibility":{"gpu_0":"ENABLED","gpu_2":"ENABLED"},)"
    R"("weight":{"gpu_0":15,"gpu_2":0},"hops":{"gpu_0":1,"gpu_2":0},)"
    R"("link_type":{"gpu_0":"XGMI","gpu_2":"SELF"},)"
    R"("numa_bandwidth":{"gpu_0":"50000-100000","gpu_2":"N/A"}}])";

std::string With(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  return text.replace(text.find(from), from.size(), to);
}

std::string Refused(const std::string& text) {
  const auto machine = ParseMachine(text, "t");
  INFO(text);
  REQUIRE_FALSE(machine.ok());
  return machine.error().ToString();
}

// AMD's tables in `text` as later versions of the tool write them in JSON.
std::string AsJson(const Machine& machine) {
  std::string json = "{\"gpu_data\": [";
  for (size_t a = 0; a < machine.gpus.size(); ++a) {
    json += (a == 0 ? "" : ", ") + std::string("{\"gpu\": ") + std::to_string(a) + ", \"links\": [";
    for (size_t b = 0; b < machine.gpus.size(); ++b) {
      const Cell& cell = machine.At(a, b);
      const std::string most = std::to_string(cell.bandwidth);
      json += (b == 0 ? "" : ", ") + Linked(static_cast<int>(b), cell.text, 0,
                                            a == b ? 0 : cell.link.hops,
                                            cell.bandwidth == 0 ? "N/A" : most + "-" + most);
    }
    json += "]}";
  }
  return json + "]}";
}

}  // namespace

TEST_CASE("amd-smi's JSON is the machine that its tables show", "[topology][amd]") {
  const Machine want = Parsed(kTables);
  REQUIRE(want.gpus.at(1).index == 2);
  CHECK(want.At(0, 1).bandwidth == 64'000);
  CHECK(Parsed(NewForm()) == want);
  CHECK(Parsed(kOldForm) == want);
  CHECK(Parsed("\xEF\xBB\xBF" + NewForm()) == want);
  CHECK(Parsed("{\"gpu_data\": " + NewForm() + "}") == want);
  CHECK(Parsed("[ann@node ~]# amd-smi topology --json\n" + NewForm() + "[ann@node ~]# \n") == want);
  // A link in the order of a later version, and a comma too many, as in AMD's change log.
  CHECK(Parsed(With(NewForm(), "\"atomics\": \"64,32\"\n", "\"atomics\": \"64,32\",\n")) == want);
  // Where the tool knows no bandwidth, early versions have its error there.
  CHECK(Parsed(With(With(kOldForm, "50000-64000", "N/A"), "50000-100000", "N/A")) ==
        Parsed(With(With(kTables, "50000-64000", "N/A"), "50000-100000", "N/A")));
}

TEST_CASE("amd-smi's JSON of real machines", "[topology][amd]") {
  for (const char* file : {"amd-smi-8-xgmi", "amd-smi-2-pcie"}) {
    const std::optional<std::string> text = ReadDataFile(file);
    if (!text) return;
    const Machine want = Parsed(*text);
    const Machine machine = Parsed(AsJson(want));
    CHECK(machine.cells == want.cells);
    CHECK(machine.gpus.size() == want.gpus.size());
  }
}

TEST_CASE("JSON that is not a whole machine's is refused with its place", "[topology][amd]") {
  CHECK_THAT(
      Refused(With(NewForm(), "XGMI", "NVL")),
      Catch::StartsWith("t:37:31: row GPU2") && Catch::Contains("contradicts NVL the other way"));
  CHECK_THAT(Refused(With(kOldForm, R"("gpu_2":"XGMI")", R"("gpu_2":"PCIE")")),
             Catch::Contains("row GPU2, column GPU0: XGMI contradicts PCIE"));
  CHECK_THAT(Refused(With(NewForm(), "\"link_type\": \"XGMI\",", "")),
             Catch::Contains("GPU0 has no link_type to GPU2"));
  CHECK_THAT(Refused(R"([{"gpu": 0, "bdf": "0000:01:00.0", "uuid": "x"}])"),
             Catch::Contains("no link_type") && Catch::Contains("amd-smi topology --json"));
  CHECK_THAT(Refused(NewForm() + NewForm()), Catch::Contains("give one machine's alone"));
  CHECK_THAT(Refused(With(kOldForm, R"("gpu":2)", R"("gpu":0)")),
             Catch::Contains("GPU0 is there twice"));
  CHECK_THAT(Refused(With(kOldForm, R"("gpu":2)", R"("gpu":"two")")),
             Catch::Contains("expected the number of a GPU"));
  CHECK_THAT(Refused(With(NewForm(), "\"gpu\": 2", "\"gpu\": 3")), Catch::Contains("GPU2"));
  CHECK_THAT(Refused(R"({"gpu": {"gpu": 0}})"), Catch::Contains("expected a list of GPUs"));
  CHECK_THAT(Refused(R"({"system": {"(Topology) Weight between DRM devices 0 and 1": "15"}})"),
             Catch::Contains("the JSON of rocm-smi"));
  // Cut anywhere, it is no machine.
  const std::string whole = kOldForm;
  for (size_t size = 1; size < whole.size(); ++size) {
    CHECK_FALSE(ParseMachine(whole.substr(0, size), "t").ok());
  }
  CHECK_THAT(Refused(whole.substr(0, 100)), Catch::Contains("the text is cut"));
}

TEST_CASE("hostile JSON is refused at once", "[topology][amd]") {
  const auto repeated = [](const std::string& begin, const std::string& text, size_t bytes) {
    std::string result = begin;
    while (result.size() < bytes) result += text;
    return result;
  };
  constexpr size_t kLong = 500'000;
  for (const std::string& text : {repeated("[{\"gpu\": 0}", ",{\"gpu\": 0}", kLong) + "]",
                                  repeated("[{\"gpu\": 0, \"links\": ", "[", kLong),
                                  repeated("[{\"gpu\": 0, \"links\": ", "{\"a\":", kLong),
                                  repeated("[{\"gpu\": 0", ",\"a\": 0", kLong) + "}]"}) {
    CHECK_FALSE(ParseMachine(text, "t").ok());
  }
}

}  // namespace muster::topology::testing
