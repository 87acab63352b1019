// The same matrix as people's copies of it look, and copies that nobody can understand.
#include <map>

#include "tests/support/sanitized.hpp"
#include "tests/topology/data_files.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::topology::testing {
namespace {

// Four GPUs in two bridged pairs, a NIC beside the second.
const std::string kMatrix =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tNV12\tSYS\tSYS\tSYS\t0-23,48-71\t0\t\tN/A\n"
    "GPU1\tNV12\t X \tSYS\tSYS\tSYS\t0-23,48-71\t0\t\tN/A\n"
    "GPU2\tSYS\tSYS\t X \tNV12\tPXB\t24-47,72-95\t1\t\tN/A\n"
    "GPU3\tSYS\tSYS\tNV12\t X \tPIX\t24-47,72-95\t1\t\tN/A\n"
    "NIC0\tSYS\tSYS\tPXB\tPIX\t X \t\t\t\t\n";
const std::string kLegend =
    "\nLegend:\n\n  X    = Self\n  SYS  = Connection\n  NODE = Connection\n"
    "  NV#  = Connection traversing a bonded set of # NVLinks\n\nNIC Legend:\n\n  NIC0: mlx5_3\n";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  REQUIRE(text.find(from) != std::string::npos);
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// `text` broken hard after every `width` characters of a line, tabs expanded to eight.
std::string Wrapped(const std::string& text, size_t width) {
  std::string result;
  size_t column = 0;
  const auto put = [&](char c) {
    if (column == width) {
      while (!result.empty() && result.back() == ' ') result.pop_back();
      result += '\n';
      column = 0;
    }
    result += c;
    ++column;
  };
  size_t in_line = 0;
  for (const char c : text) {
    if (c == '\n') {
      result += '\n';
      column = in_line = 0;
    } else if (c == '\t') {
      do {
        put(' ');
      } while (++in_line % 8 != 0);
    } else {
      put(c);
      ++in_line;
    }
  }
  return result;
}

std::string EachLine(const std::string& text, const std::string& before,
                     const std::string& behind) {
  std::string result = before;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\n') {
      result += text[i];
    } else {
      result += behind + "\n" + (i + 1 < text.size() ? before : "");
    }
  }
  return result;
}

std::string SpelledOut(const std::string& text) {
  return "\"" + Replaced(Replaced(text, "\n", "\\n"), "\t", "\\t") + "\"";
}

Machine WithoutLegend(Machine machine) {
  for (NetworkDevice& nic : machine.nics) nic.name = nic.column;
  return machine;
}

std::string Message(const std::string& text) {
  const auto machine = ParseMachine(text, "t");
  INFO(text);
  REQUIRE_FALSE(machine.ok());
  CHECK(machine.error().message.find('\n') == std::string::npos);
  return machine.error().ToString();
}

}  // namespace

TEST_CASE("a copy of a matrix is read as what was copied", "[topology][copies]") {
  const Machine want = Parsed(kMatrix + kLegend);
  REQUIRE(want.gpus.size() == 4);
  CHECK(want.nics[0].name == "mlx5_3");
  CHECK(want.nics[0].numa == std::vector<int>{1});
  CHECK(want.At(2, 3).link == Link{LinkType::kNvLink, 12});
  const std::string full = kMatrix + kLegend;
  const std::map<std::string, std::string> copies = {
      {"CRLF", Replaced(full, "\n", "\r\n")},
      {"blanks for tabs", Replaced(full, "\t", "    ")},
      {"one blank", Replaced(full, "\t", " ")},
      {"no-break spaces", Replaced(full, "\t", "\xC2\xA0\xC2\xA0")},
      {"byte order mark", "\xEF\xBB\xBF" + full},
      {"legend first", kLegend + "\n" + kMatrix},
      {"mail quotation", EachLine(full, "> ", "")},
      {"twice quoted", EachLine(full, ">> ", "")},
      {"comment of a script", EachLine(full, "# ", "")},
      {"comment of a program", EachLine(full, "// ", "")},
      {"block comment", EachLine(full, " * ", "")},
      {"each line a string", EachLine(full, "\"", "\",")},
      {"one string", SpelledOut(full)},
      {"cells in quotes and commas",
       Replaced(Replaced(EachLine(Replaced(kMatrix, " X ", "X"), "\"", "\""), "\t", "\",\""),
                "\"\"", "\"\"") +
           kLegend},
      {"indented", EachLine(full, "      ", "")},
      {"code block", "```\n" + full + "```\n"},
      {"table of a document", EachLine(Replaced(kMatrix, "\t", " | "), "| ", " |") + kLegend},
      {"underlined header", "\x1b[4m" + Replaced(full, "GPU NUMA ID\n", "GPU NUMA ID\x1b[0m\n")},
      {"residue of underlining", "[4m" + Replaced(full, "GPU NUMA ID\n", "GPU NUMA ID[0m\n")},
      {"spelled escape", "\\033[4m" + Replaced(full, "GPU NUMA ID\n", "GPU NUMA ID\\033[0m\n")},
      {"caret escape", "^[[4m" + Replaced(full, "GPU NUMA ID\n", "GPU NUMA ID^[[0m\n")},
      {"prompts around", "root@gpu-7:~# nvidia-smi topo -m\n" + full + "root@gpu-7:~# \n"},
      {"blank lines between", Replaced(full, "\n", "\n\n")},
      {"glued header", Replaced(full, "GPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity",
                                "GPU0GPU1GPU2GPU3NIC0CPU AffinityNUMA Affinity")},
      {"glued cells", Replaced(Replaced(full, "SYS\tSYS\tSYS\t0-23", "SYSSYSSYS0-23"),
                               "SYS\tSYS\t X \tNV12\tPXB\t24", "SYSSYSXNV12PXB24")},
      {"glued names of rows",
       Replaced(Replaced(full, "GPU0\t X ", "GPU0X"), "NIC0\tSYS", "NIC0SYS")},
      {"glued values", Replaced(full, "\t\tN/A", "N/A")},
      {"blank in a list", Replaced(full, "0-23,48-71", "0-23, 48-71")},
      {"lower-case x", Replaced(full, " X ", " x ")},
      {"legend on one line", Replaced(full, "  NIC0: mlx5_3", "NIC0:mlx5_3")},
  };
  for (const auto& [name, copy] : copies) {
    DYNAMIC_SECTION(name) {
      Machine machine = Parsed(copy);
      for (Cell& cell : machine.cells) {
        if (cell.text == "x") cell.text = "X";
      }
      CHECK(machine == want);
    }
  }
}

TEST_CASE("columns wrapped at any width are read as they were, or refused", "[topology][copies]") {
  const Machine want = WithoutLegend(Parsed(kMatrix));
  int read = 0;
  for (size_t width = 12; width < 100; ++width) {
    const auto machine = ParseMachine(Wrapped(kMatrix, width), "t");
    if (!machine.ok()) continue;
    ++read;
    INFO(width << "\n" << Wrapped(kMatrix, width));
    CHECK(*machine == want);
  }
  INFO(read);
  CHECK(read >= 70);
  for (const size_t width : {40U, 56U, 64U, 72U, 80U}) {
    CHECK(Parsed(Wrapped(kMatrix, width)) == want);
  }
}

TEST_CASE("headers and rows of every driver generation", "[topology][copies]") {
  SECTION("neither affinity nor legend") {
    const Machine machine = Parsed("GPU0 GPU1\nGPU0 X PIX\nGPU1 PIX X\n");
    CHECK(machine.At(0, 1).link.type == LinkType::kPix);
    CHECK(machine.gpus[0].numa.empty());
  }
  SECTION("affinity left blank, as on WSL") {
    const Machine machine = Parsed(
        "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t\t\t\tN/A\n\nLegend:\n");
    CHECK(machine.gpus[0].cpus.empty());
    CHECK(machine.gpus[0].numa.empty());
  }
  SECTION("affinity left blank beside bridged GPUs") {
    const Machine machine = Parsed(
        "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
        "GPU0\t X \tNV12\t\t\t\tN/A\nGPU1\tNV12\t X \t\t\t\tN/A\n");
    CHECK(machine.At(0, 1).link.count == 12);
    CHECK(machine.gpus[0].cpus.empty());
  }
  SECTION("NUMA column left blank") {
    const Machine machine =
        Parsed("\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t0-7\t\tN/A\n");
    CHECK(machine.gpus[0].cpus == "0-7");
    CHECK(machine.gpus[0].numa.empty());
  }
  SECTION("NICs of other makers") {
    const Machine machine = Parsed(
        "GPU0 ibp12s0 rocep59s0f0 bnxt_re0 CPU Affinity\nGPU0 X NODE SYS PIX 0,2,4,6\n"
        "ibp12s0 NODE X SYS SYS\nrocep59s0f0 SYS SYS X SYS\nbnxt_re0 PIX SYS SYS X\n");
    CHECK(machine.nics[1].name == "rocep59s0f0");
    CHECK(machine.gpus[0].cpus == "0,2,4,6");
  }
  SECTION("a NIC whose name has no number") {
    CHECK(Parsed("GPU0 NIC0\nGPU0 X PIX\nNIC0 PIX X\nNIC Legend:\n NIC0: roce-storage\n")
              .nics[0]
              .name == "roce-storage");
  }
  SECTION("a GPU off the fabric, and one with dead links") {
    const Machine machine = Parsed(
        "GPU0 GPU1 GPU2 CPU Affinity NUMA Affinity\nGPU0 X NV17 SYS 0-3 0\n"
        "GPU1 NV17 X SYS 0-3 0\nGPU2 SYS SYS X 4-7 1\n");
    CHECK(machine.At(0, 1).link.count == 17);
  }
  SECTION("GPUs of a container keep their numbers") {
    const Machine machine = Parsed("GPU2 GPU5\nGPU2 X SYS\nGPU5 SYS X\n");
    CHECK(machine.gpus[1].index == 5);
  }
  SECTION("newer Ascend classes") {
    const Machine machine = Parsed(
        "NPU0 NPU1 NPU2 CPU Affinity\nNPU0 X SIO HCCS_SW 0-1\nNPU1 SIO X NA 0-1\n"
        "NPU2 HCCS_SW NA X 0-1\n");
    CHECK(machine.At(0, 1).link.type == LinkType::kSio);
    CHECK(machine.At(0, 2).link.type == LinkType::kHccsSwitch);
  }
  SECTION("Ascend devices named by their physical number, two dies of one package") {
    const std::string text =
        "Ascend Topology:\n           Phy-ID12   Phy-ID13   CPU Affinity\n"
        "Phy-ID12   X          SIO        0-47\nPhy-ID13   SIO        X          0-47\n\n"
        "Legend:\n\n  X    = Self\n  SIO  = Path traversing the SIO bus\n";
    const Machine machine = Parsed(text);
    CHECK(machine.tool == Tool::kAscend);
    CHECK(machine.gpus[0].index == 12);
    CHECK(machine.gpus[1].name == "Phy-ID13");
    CHECK(machine.At(0, 1).link.type == LinkType::kSio);
    CHECK(Parsed(WriteMachine(machine)) == machine);
    CHECK_THAT(Message(Replaced(text, "Phy-ID13   CPU", "NPU13   CPU")),
               Catch::Contains("NPU13 stands among devices of another kind"));
  }
}

// Two GPUs at each of two sockets, whose NUMA nodes are listed like that.
Machine TwoSockets(const std::string& first, const std::string& second,
                   const std::string& first_cpus = "0-71",
                   const std::string& second_cpus = "72-143") {
  std::string text = "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  for (int row = 0; row < 4; ++row) {
    text += "GPU" + std::to_string(row);
    for (int column = 0; column < 4; ++column) text += row == column ? "\t X " : "\tNV18";
    text += "\t" + (row < 2 ? first_cpus + "\t" + first : second_cpus + "\t" + second) + "\tN/A\n";
  }
  return Parsed(text);
}

TEST_CASE("NUMA nodes that are memory of GPUs are told from those of the CPUs",
          "[topology][copies]") {
  const auto numa = [](const Machine& machine) {
    return std::pair(machine.gpus[1].numa, machine.gpus[2].numa);
  };
  using Numa = std::vector<int>;
  SECTION("with one node of CPUs at each socket") {
    CHECK(numa(TwoSockets("0,2-9", "1,10-17")) == std::pair(Numa{0}, Numa{1}));
    CHECK(numa(TwoSockets("0,2-17", "1,18-33")) == std::pair(Numa{0}, Numa{1}));
    CHECK(numa(TwoSockets("0,2", "1,10")) == std::pair(Numa{0}, Numa{1}));
    CHECK(numa(TwoSockets("1,10-17", "0,2-9")) == std::pair(Numa{1}, Numa{0}));
  }
  SECTION("where those of the second socket follow at once") {
    CHECK(numa(TwoSockets("0,10-17", "1-9")) == std::pair(Numa{0}, Numa{1}));
  }
  SECTION("with several nodes of CPUs at each socket") {
    CHECK(numa(TwoSockets("0-1,4-11", "2-3,12-19")) == std::pair(Numa{0, 1}, Numa{2, 3}));
  }
  SECTION("where one socket's GPUs are all that there is") {
    CHECK(numa(TwoSockets("0,2-9", "0,2-9", "0-71", "0-71")) == std::pair(Numa{0}, Numa{0}));
  }
  SECTION("but nodes that are all of CPUs stay") {
    CHECK(numa(TwoSockets("0-3", "4-7")) == std::pair(Numa{0, 1, 2, 3}, Numa{4, 5, 6, 7}));
    CHECK(numa(TwoSockets("0-1", "0-1", "0-143", "0-143")) == std::pair(Numa{0, 1}, Numa{0, 1}));
    // Sockets whose CPUs are numbered by turns, and so are their nodes.
    CHECK(numa(TwoSockets("0,2", "1,3", "0,2,4,6", "1,3,5,7")) ==
          std::pair(Numa{0, 2}, Numa{1, 3}));
  }
}

TEST_CASE("what cannot be understood with certainty is refused with its place",
          "[topology][copies]") {
  struct Case {
    const char* name;
    std::string text;
    const char* want;
  };
  const std::string full = kMatrix + kLegend;
  const auto c = GENERATE_COPY(values<Case>({
      {"empty", " \n", "t:1:1: the text is empty: give the output of `nvidia-smi topo -m`"},
      {"not equal both ways", Replaced(full, "GPU1\tNV12", "GPU1\tNV11"),
       "t:3:6: row GPU1, column GPU0: NV11 contradicts NV12 the other way, in line 2"},
      {"a row lost", Replaced(full, "GPU1\tNV12\t X \tSYS\tSYS\tSYS\t0-23,48-71\t0\t\tN/A\n", ""),
       "t:3:1: expected the row of GPU1, found \"GPU2\""},
      {"cut at the end", kMatrix.substr(0, kMatrix.find("NIC0\tSYS")),
       "t:5:45: expected the row of NIC0, found the end: the text is cut"},
      {"a row too many", "NPU0\nNPU0 X\nNPU1X\n",
       "t:3:1: expected the end of the matrix, found \"NPU1X\""},
      {"a cell lost", Replaced(full, "GPU3\tSYS\tSYS", "GPU3\tSYS"),
       "t:5:1: row GPU3 has 4 cells, and the header 5 devices"},
      {"a cell too many", Replaced(full, "NIC0\tSYS\tSYS", "NIC0\tSYS\tSYS\tSYS"), "t:6:2"},
      {"unknown class", Replaced(full, "PXB", "PBX"), "t:4:23: row GPU2: expected a link class"},
      {"NV# itself", Replaced(full, "NV12", "NV#"), "found \"NV#\""},
      {"too many NVLinks", Replaced(full, "NV12", "NV99"), "found \"NV99\""},
      {"no X", Replaced(full, "GPU2\tSYS\tSYS\t X ", "GPU2\tSYS\tSYS\tSYS"),
       "X stands where a row meets its own column"},
      {"X elsewhere", Replaced(full, "GPU2\tSYS", "GPU2\tX"), "row GPU2, column GPU0: X stands"},
      {"NVLink to a NIC", Replaced(full, "PXB", "NV1"), "NV1 to a NIC"},
      {"a device twice", Replaced(full, "\tGPU3\tNIC0", "\tGPU2\tNIC0"), "GPU2 is there twice"},
      {"unknown column", Replaced(full, "CPU Affinity", "CPU Colour"), "t:1:27: header: expected"},
      {"two machines", full + full, "a second matrix begins here"},
      {"legend of another NIC", Replaced(full, "NIC0: mlx5_3", "NIC4: mlx5_3"),
       "NIC legend: the matrix has no NIC4"},
      {"range that falls", Replaced(full, "24-47", "47-24"), "expected the row's end or a list"},
      {"two values for three columns", Replaced(full, "\t\tN/A", ""),
       "row GPU0 has 2 values for the 3 columns behind the devices"},
      {"all glued", "GPU0GPU1CPU AffinityNUMA Affinity\nGPU0XNV40-150\nGPU1NV4X0-150\n",
       "t:2:9: row GPU0 has 1 values for the 2 columns"},
      {"a number that may be a CPU or a NUMA node", "GPU0 CPU Affinity NUMA Affinity\nGPU0 X 3\n",
       "t:2:8: row GPU0 has 1 values for the 2"},
      {"two lists that touch", Replaced(full, "48-71\t0\t\tN/A", "48-710\tN/A"),
       "t:2:27: row GPU0 has 2 values for the 3 columns behind the devices: put blanks between "
       "them, and N/A for a column without a value"},
      {"rows with values and without", Replaced(full, "24-47,72-95\t1\t\tN/A", ""),
       "t:4:23: row GPU2 has 0 values, and the row before it 3"},
      {"no header", kMatrix.substr(kMatrix.find('\n') + 1), "t:1:1: a row without a header"},
      {"overview", "| NVIDIA-SMI 535.54.03   Driver Version: 535.54.03   CUDA Version: 12.2 |\n",
       "this is the overview of nvidia-smi; give the output of `nvidia-smi topo -m`"},
      {"p2p", "\tGPU0\tGPU1\nGPU0\tX\tOK\nGPU1\tOK\tX\n", "topo -p2p`: it has no links"},
      {"prose", "our nodes have eight GPUs\n", "no matrix of links found"},
  }));
  INFO(c.name);
  CHECK_THAT(Message(c.text), Catch::Contains(c.want));
}

TEST_CASE("large and hostile texts are refused at once", "[topology][copies]") {
  constexpr size_t kLong = muster::testing::FewerIfSanitized(900'000, 30'000);
  const auto repeated = [](const std::string& text, size_t bytes) {
    std::string result;
    while (result.size() < bytes) result += text;
    return result;
  };
  std::string names;
  for (int i = 0; names.size() < kLong; ++i) {
    names += "GPU" + std::to_string(i % 100'000) + " CPU\n";
  }
  const std::string head = "GPU0 CPU Affinity\nGPU0 X ";
  for (const std::string& text :
       {std::string(kMostTopologyBytes + 1, 'x'), repeated("> ", kLong), names,
        repeated("GPU0GPU1", kLong) + "\nGPU0 X\n", head + repeated("0,", kLong),
        head + repeated("N/A", kLong), head + repeated("NV1", kLong), repeated("NIC0: a1\n", kLong),
        repeated("LINK TYPE TABLE:\nGPU0\n", kLong)}) {
    CHECK_FALSE(ParseMachine(text, "t").ok());
  }
}

TEST_CASE("tables of topo -p2p beside the matrix change nothing", "[topology][copies]") {
  const Machine want = Parsed(kMatrix + kLegend);
  const std::string legend =
      "\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n  CNS  = Chipset not supported\n"
      "  GNS  = GPU not supported\n  TNS  = Topology not supported\n  NS   = Not supported\n"
      "  U    = Unknown\n";
  const std::string peers =
      " \tGPU0\tGPU1\tGPU2\tGPU3\t\n GPU0\tX\tOK\tCNS\tCNS\t\n GPU1\tOK\tX\tCNS\tCNS\t\n"
      " GPU2\tCNS\tCNS\tX\tOK\t\n GPU3\tCNS\tCNS\tOK\tX\t\n";
  CHECK(Parsed(kMatrix + kLegend + peers + legend) == want);
  CHECK(Parsed(kMatrix + peers + kLegend) == want);
  // nvidia-smi topo -p2p r; nvidia-smi topo -p2p w; nvidia-smi topo -m
  CHECK(Parsed(peers + legend + peers + legend + kMatrix + kLegend) == want);
  for (const std::string& alone : {peers, peers + legend, "$ nvidia-smi topo -p2p n\n" + peers}) {
    CHECK_THAT(Message(alone), Catch::Contains("this is the output of `nvidia-smi topo -p2p`"));
  }
  // Cut, it may be anything.
  CHECK_THAT(Message(kMatrix + kLegend + Replaced(peers, " GPU3\tCNS\tCNS\tOK\tX\t\n", "")),
             Catch::Contains("a second matrix begins here"));
}

TEST_CASE("a listing of NVLinks says of some GPUs that they have none", "[topology][copies]") {
  const std::string line = GENERATE(
      as<std::string>(), "NVML: Unable to retrieve NVLink information as all links are inActive",
      "NVML: Unable to retrieve Nvlink information as all links are inActive",
      "Device does not have or support Nvlink", "Device does not have or support Nvlink.");
  const std::string text = "GPU 0: RTX A6000 (UUID: GPU-0)\n\t Link 0: 14.062 GB/s\n" + line +
                           "\nGPU 1: RTX A6000 (UUID: GPU-1)\n" + line +
                           "\nGPU 2: RTX A6000 (UUID: GPU-2)\n";
  CHECK_THAT(Message(text), Catch::Contains("says that it has no links behind"));
  const Machine machine = Parsed(Replaced(text, "14.062 GB/s\n" + line, "14.062 GB/s"));
  REQUIRE(machine.gpus.size() == 3);
  CHECK(machine.gpus[0].active_links == 1);
  CHECK(machine.gpus[1].active_links == 0);
  CHECK_FALSE(machine.has_links());
}

TEST_CASE("AMD's tables contradict neither each other nor themselves", "[topology][copies]") {
  const std::string tables =
      "== Weight between two GPUs ==\n       GPU0  GPU1\nGPU0   0     15\nGPU1   15    0\n\n"
      "== Hops between two GPUs ==\n       GPU0  GPU1\nGPU0   0     1\nGPU1   1     0\n\n"
      "== Link Type between two GPUs ==\n       GPU0  GPU1\nGPU0   0     XGMI\nGPU1   XGMI  0\n\n"
      "== Numa Nodes ==\nGPU[0]\t\t: (Topology) Numa Node: 0\n"
      "GPU[0]\t\t: (Topology) Numa Affinity: 0\nGPU[1]\t\t: (Topology) Numa Node: -1\n"
      "== End of ROCm SMI Log ==\n";
  const Machine machine = Parsed(tables);
  CHECK(machine.gpus[0].numa == std::vector<int>{0});
  CHECK(machine.gpus[1].numa.empty());
  // As versions wrote it that had no brackets.
  CHECK(Parsed(Replaced(Replaced(tables, "GPU[0]", "GPU 0"), "GPU[1]", "GPU 1")) == machine);
  CHECK(Parsed(Replaced(Replaced(tables, "GPU[0]\t\t:", "GPU 0:"), "== Numa Nodes ==", "")) ==
        machine);
  CHECK_THAT(Message(Replaced(tables, "GPU[1]", "GPU 0")), Catch::Contains("is there twice"));
  CHECK_THAT(Message(Replaced(tables, "GPU[1]", "GPU x")), Catch::Contains("expected numbers"));
  // Without the rules, and without the title.
  CHECK(Parsed(Replaced(Replaced(tables, "== ", ""), " ==", "")) == machine);
  CHECK(Parsed(Replaced(tables, "== Numa Nodes ==", "")) == machine);
  CHECK(Parsed(Replaced(tables, "== Numa Nodes ==", "NEW TABLE:")) == machine);
  // Tables of later versions, of whatever shape.
  const std::string later = "NEW TABLE:\n       GPU0\nGPU0   a b c\n";
  CHECK(Parsed(later + tables) == machine);
  CHECK_THAT(Message(Replaced(tables, "GPU1   15    0", "GPU1   14    0")),
             Catch::Contains("t:4:8: row GPU1, column GPU0: 14 contradicts 15 the other way"));
  CHECK_THAT(Message(Replaced(tables, "GPU[1]", "GPU[0]")), Catch::Contains("is there twice"));
  CHECK_THAT(Message(Replaced(tables, "GPU1   XGMI", "GPU1   NVL")),
             Catch::Contains("contradicts"));
  CHECK_THAT(Message(Replaced(tables, "GPU1   1     0\n", "")), Catch::Contains("row of GPU1"));
  CHECK_THAT(Message(Replaced(tables, "Link Type between", "Link accessibility between")),
             Catch::Contains("no table of link types"));
  CHECK_THAT(Message(tables + tables), Catch::Contains("there twice"));
}

}  // namespace muster::topology::testing
