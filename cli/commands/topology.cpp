// muster topology: what a vendor's tool says of a machine, and which GPUs Muster would choose.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/flags/cli.hpp"
#include "cli/reach/reach.hpp"
#include "cli/reach/server_pages.hpp"
#include "cli/tables/table.hpp"
#include "config/file.hpp"
#include "http/messages/url.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"
#include "topology/links/device_graph.hpp"
#include "topology/links/node_topology.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::cli {
namespace {

using cluster::Result;
using topology::Accelerator;
using topology::GpuChooser;
using topology::GpuMask;
using topology::Machine;
using topology::TopologySource;

// A matrix and some words.
constexpr size_t kMostPageBytes = 2 * topology::kMostTopologyBytes;

struct Best {
  size_t count;
  std::vector<size_t> places;
  double ring;   // GB/s
  double total;  // the same
};

struct View {
  Machine machine;
  std::string source;  // of a node's links, as the running Muster has it; empty: a file
  std::string profile;
  std::string origin;  // both in a sentence
  topology::DeviceGraph graph;
  bool knows_links = false;
  std::vector<topology::NearNics> near;
  GpuMask free = 0;
  std::vector<Best> best;
};

struct Origin {
  TopologySource source;
  const char* text;
};
constexpr Origin kOrigins[] = {
    {TopologySource::kAnnotation, "the node's annotation muster.dev/gpu-topology"},
    {TopologySource::kPairScores,
     "HAMi's scores of pairs, the node's annotation "
     "hami.io/node-nvidia-score"},
    {TopologySource::kResourceSlices, "the node's ResourceSlices, which show no NVLinks"},
    {TopologySource::kProfile, "what usual machines with this model and number of GPUs have"},
    {TopologySource::kFlat, "nothing is known of the links, all GPUs count as alike"}};

std::string OriginOf(const topology::MachineFacts& facts) {
  std::string text;
  for (const Origin& origin : kOrigins) {
    if (origin.source == facts.source) text = origin.text;
  }
  if (facts.another_size) {
    text = "the slowest link of machines with this model and another number of GPUs, between all";
  }
  if (!facts.profile.empty()) {
    text += facts.source == TopologySource::kProfile ? "" : ", with the speeds of its model";
    text += " (machine profile " + facts.profile + ")";
  }
  return text;
}

double Gigabytes(uint64_t megabytes) { return static_cast<double>(megabytes) / 1000; }

std::string Decimal(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

// "0,2,5": indices of GPUs. Nothing when one is no GPU of the machine.
std::optional<GpuMask> MaskOf(const Machine& machine, const std::string& list) {
  GpuMask mask = 0;
  size_t begin = 0;
  while (begin <= list.size()) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string word = list.substr(begin, end - begin);
    const auto gpu =
        std::find_if(machine.gpus.begin(), machine.gpus.end(),
                     [&](const Accelerator& g) { return std::to_string(g.index) == word; });
    if (gpu == machine.gpus.end()) return std::nullopt;
    mask |= GpuMask{1} << static_cast<size_t>(gpu - machine.gpus.begin());
    begin = end + 1;
  }
  return mask;
}

// `facts` of a node that are flat know nothing of its links.
View Look(topology::MachineFacts facts, std::optional<GpuMask> free, bool of_node) {
  View view;
  view.machine = std::move(facts.machine);
  view.near.resize(view.machine.gpus.size());
  view.knows_links =
      view.machine.has_links() && !(of_node && facts.source == TopologySource::kFlat);
  if (!view.knows_links) {
    for (const Accelerator& gpu : view.machine.gpus)
      view.graph.vertices.push_back({topology::DeviceGraph::Kind::kGpu, gpu.name});
    for (size_t i = 0; i < view.machine.gpus.size() && of_node; ++i) view.free |= GpuMask{1} << i;
    view.free = free.value_or(view.free);
    return view;
  }
  view.graph = topology::BuildGraph(view.machine, facts.speeds);
  view.near = topology::AllNicsNear(view.machine);
  const GpuChooser chooser(view.graph.matrix);
  view.free = free.value_or(chooser.all());
  const size_t most = topology::PlacesOf(view.free).size();
  for (size_t count = 2; count <= most; ++count) {
    const GpuMask set = chooser.Choose(view.free, count);
    view.best.push_back({count, topology::PlacesOf(set), Gigabytes(chooser.RingOf(set)),
                         Gigabytes(chooser.TotalOf(set))});
  }
  return view;
}

// "0-1,4" of rising numbers.
std::string Listed(const std::vector<int>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (last > i) text += "-" + std::to_string(numbers[last]);
    i = last + 1;
  }
  return text;
}

// A number; "0-1" where the tool names several; null where it names none.
void WriteNuma(kube::JsonWriter* json, const std::vector<int>& numa) {
  json->Key("numa");
  if (numa.empty()) {
    json->Null();
  } else if (numa.size() == 1) {
    json->Integer(numa.front());
  } else {
    json->Text(Listed(numa));
  }
}

void WriteGpu(kube::JsonWriter* json, const Accelerator& gpu) {
  json->BeginObject().Key("index").Integer(gpu.index);
  WriteNuma(json, gpu.numa);
  json->Key("name").Text(gpu.name);
  if (!gpu.cpus.empty()) json->Key("cpus").Text(gpu.cpus);
  if (gpu.memory_node) json->Key("memory_node").Integer(*gpu.memory_node);
  if (!gpu.model.empty()) json->Key("model").Text(gpu.model);
  if (!gpu.uuid.empty()) json->Key("uuid").Text(gpu.uuid);
  if (!gpu.mig.empty()) {
    json->Key("mig").BeginArray();
    for (const std::string& profile : gpu.mig) json->Text(profile);
    json->EndArray();
  }
  if (gpu.active_links > 0) json->Key("active_links").Integer(gpu.active_links);
  json->EndObject();
}

void WriteNics(kube::JsonWriter* json, const View& view) {
  const Machine& machine = view.machine;
  json->Key("nics").BeginArray();
  for (size_t i = 0; i < machine.nics.size(); ++i) {
    json->BeginObject().Key("name").Text(machine.nics[i].name);
    WriteNuma(json, machine.nics[i].numa);
    json->Key("column").Text(machine.nics[i].column);
    json->Key("links").BeginArray();
    for (size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
      json->Text(machine.At(machine.gpus.size() + i, gpu).text);
    }
    json->EndArray().EndObject();
  }
  json->EndArray();
}

void WriteIndices(kube::JsonWriter* json, const Machine& machine,
                  const std::vector<size_t>& places) {
  json->BeginArray();
  for (const size_t place : places) json->Integer(machine.gpus[place].index);
  json->EndArray();
}

std::string Json(const View& view) {
  const Machine& machine = view.machine;
  std::string text;
  kube::JsonWriter json(text);
  json.BeginObject();
  if (!view.source.empty()) json.Key("source").Text(view.source);
  if (!view.profile.empty()) json.Key("profile").Text(view.profile);
  json.Key("gpus").BeginArray();
  for (const Accelerator& gpu : machine.gpus) WriteGpu(&json, gpu);
  json.EndArray();
  WriteNics(&json, view);
  json.Key("links").BeginArray();
  for (size_t a = 0; a < machine.gpus.size() && machine.has_links(); ++a) {
    json.BeginArray();
    for (size_t b = 0; b < machine.gpus.size(); ++b) json.Text(machine.At(a, b).text);
    json.EndArray();
  }
  json.EndArray();
  json.Key("free");
  WriteIndices(&json, machine, topology::PlacesOf(view.free));
  json.Key("best").BeginObject();
  for (const Best& best : view.best) {
    json.TextKey(std::to_string(best.count)).BeginObject().Key("gpus");
    WriteIndices(&json, machine, best.places);
    json.Key("ring_gigabytes_per_second")
        .Decimal(best.ring)
        .Key("total_gigabytes_per_second")
        .Decimal(best.total)
        .EndObject();
  }
  json.EndObject().EndObject();
  return text + "\n";
}

std::string GpuTable(const View& view) {
  Table table({{"GPU"}, {"NUMA"}, {"CPUS"}, {"NEAREST NICS"}});
  for (size_t i = 0; i < view.machine.gpus.size(); ++i) {
    const Accelerator& gpu = view.machine.gpus[i];
    std::string nics;
    for (const size_t nic : view.near[i].nics) nics += " " + view.machine.nics[nic].name;
    if (!nics.empty()) nics.insert(0, topology::ToString(view.near[i].type));
    table.Add({gpu.name, gpu.numa.empty() ? "-" : Listed(gpu.numa),
               gpu.cpus.empty() ? "-" : gpu.cpus, nics.empty() ? "-" : nics});
  }
  return table.ToString();
}

std::string LinkTable(const Machine& machine) {
  std::vector<Table::Column> columns = {{"LINKS"}};
  for (const Accelerator& gpu : machine.gpus) columns.push_back({gpu.name});
  Table table(columns);
  for (size_t a = 0; a < machine.gpus.size(); ++a) {
    std::vector<std::string> cells = {machine.gpus[a].name};
    for (size_t b = 0; b < machine.gpus.size(); ++b) cells.push_back(machine.At(a, b).text);
    table.Add(cells);
  }
  return table.ToString();
}

std::string GraphTable(const topology::DeviceGraph& graph) {
  Table table({{"FROM"}, {"TO"}, {"LINK"}, {"GB/S", true}});
  for (const topology::DeviceGraph::Edge& edge : graph.edges) {
    std::string link(topology::ToString(edge.type));
    if (edge.count > 1) link += " x" + std::to_string(edge.count);
    table.Add({graph.vertices[edge.from].name, graph.vertices[edge.to].name, link,
               Decimal(Gigabytes(edge.bandwidth))});
  }
  return table.ToString();
}

std::string BestTable(const View& view) {
  Table table({{"BEST", true}, {"RING GB/S", true}, {"TOTAL GB/S", true}, {"GPUS"}});
  for (const Best& best : view.best) {
    std::string gpus;
    for (const size_t place : best.places) {
      gpus += (gpus.empty() ? "" : ",") + std::to_string(view.machine.gpus[place].index);
    }
    table.Add({std::to_string(best.count), Decimal(best.ring), Decimal(best.total), gpus});
  }
  return table.ToString();
}

std::string ListingTable(const Machine& machine) {
  Table table({{"GPU"}, {"MODEL"}, {"UUID"}, {"LINKS", true}, {"MIG"}});
  for (const Accelerator& gpu : machine.gpus) {
    std::string mig;
    for (const std::string& profile : gpu.mig) mig += (mig.empty() ? "" : ",") + profile;
    table.Add({gpu.name, gpu.model, gpu.uuid.empty() ? "-" : gpu.uuid,
               std::to_string(gpu.active_links), mig.empty() ? "-" : mig});
  }
  return table.ToString();
}

// No format: as a graph of Graphviz.
int Print(const View& view, std::optional<OutputFormat> format, const CliStreams& streams) {
  if (!view.machine.has_links()) {
    streams.err << "muster: this is a list of GPUs and says nothing of the links between them; "
                   "nvidia-smi topo -m does\n";
  } else if (view.machine.pcie_only) {
    streams.err << "muster: this is the output of nvidia-smi topo -mp, which leaves NVLinks out; "
                   "nvidia-smi topo -m shows them\n";
  }
  if (!format) {
    streams.out << topology::ToDot(view.graph);
  } else if (*format == OutputFormat::kJson || *format == OutputFormat::kYaml) {
    streams.out << InFormat(*format, Json(view));
  } else if (!view.machine.has_links()) {
    streams.out << ListingTable(view.machine);
  } else {
    if (!view.origin.empty()) streams.out << "Source: " << view.origin << "\n\n";
    if (!view.knows_links) {
      streams.out << GpuTable(view);
      return kExitOk;
    }
    streams.out << GpuTable(view) << "\n"
                << LinkTable(view.machine) << "\n"
                << GraphTable(view.graph) << "\n"
                << BestTable(view);
  }
  return kExitOk;
}

Result<topology::MachineFacts> FactsOfFile(const std::string& name) {
  const std::string file = name == "-" ? "/dev/stdin" : name;
  const Result<std::string> text = config::ReadFile(file, topology::kMostTopologyBytes);
  if (!text.ok()) return text.error();
  Result<Machine> machine = topology::ParseMachine(*text, file);
  if (!machine.ok()) return machine.error();
  return topology::MachineFacts{TopologySource::kFlat, *std::move(machine)};
}

// The page of a node's links, as extender::LinksJson writes it.
Result<topology::MachineFacts> FactsOfPage(const std::string& page, const std::string& place) {
  const Result<kube::Json> json = kube::Json::Parse(page, kMostPageBytes, place);
  if (!json.ok()) return json.error();
  kube::JsonProblems problems;
  const kube::JsonView view(json->root(), place, problems);
  topology::MachineFacts facts;
  const kube::JsonView source = view.Get("source");
  const std::string_view name = source.RequiredText();
  const auto* known = std::find_if(std::begin(kOrigins), std::end(kOrigins), [&](const Origin& o) {
    return name == topology::ToString(o.source);
  });
  if (known == std::end(kOrigins)) {
    source.Problem("not known, this muster is older than the running one");
  } else {
    facts.source = known->source;
  }
  facts.profile = view.Get("profile").Text();
  facts.another_size = view.Get("anotherSize").Flag(false);
  const kube::JsonView speeds = view.Get("megabytesPerSecond");
  for (const topology::SpeedName& speed : topology::kSpeedNames) {
    topology::MegabytesPerSecond& value = facts.speeds.*speed.member;
    value = static_cast<topology::MegabytesPerSecond>(
        speeds.Get(speed.name).Integer(value, topology::kLeastSpeed, topology::kMostSpeed));
  }
  const std::string matrix(view.Get("matrix").RequiredText());
  if (!problems.none()) return problems.first();
  Result<Machine> machine = topology::ParseMachine(matrix, place);
  if (!machine.ok()) return machine.error();
  facts.machine = *std::move(machine);
  return facts;
}

// What a running Muster knows of a node.
Result<topology::MachineFacts> FactsOfNode(const Args& args, const CliStreams& streams) {
  const std::string node = args.Text("--node");
  const auto muster = ReachMuster(args, streams);
  if (!muster.ok()) return muster.error();
  const Result<std::string> page =
      (*muster)->Get("/v1/nodes/" + http::PercentEncoded(node) + "/topology");
  if (!page.ok()) return page.error();
  return FactsOfPage(*page, "node " + node);
}

int Topology(const Args& args, const CliStreams& streams) {
  const Result<OutputFormat> format = FormatOf(args);
  if (!format.ok()) return Misused(streams, "topology", format.error().message);
  if (!args.positionals().empty() || args.Has("--file") == args.Has("--node")) {
    return Misused(streams, "topology",
                   "give --file FILE with the output of nvidia-smi topo -m, or --node NAME");
  }
  const bool of_node = args.Has("--node");
  const Result<topology::MachineFacts> facts =
      of_node ? FactsOfNode(args, streams) : FactsOfFile(args.Text("--file"));
  if (!facts.ok()) return Fail(streams, facts.error().ToString());
  std::optional<GpuMask> free;
  if (args.Has("--free")) {
    free = MaskOf(facts->machine, args.Text("--free"));
    if (!free) {
      return Misused(streams, "topology",
                     "--free: expected indices of this machine's GPUs such as 0,2,3, found \"" +
                         args.Text("--free") + "\"");
    }
  }
  View view = Look(*facts, free, of_node);
  if (of_node) {
    view.source = topology::ToString(facts->source);
    view.profile = facts->profile;
    view.origin = OriginOf(*facts);
  }
  return Print(view, args.Has("--dot") ? std::nullopt : std::optional(*format), streams);
}

}  // namespace

Command TopologyCommand() {
  return {
      "topology",
      "",
      "show the links between a machine's GPUs, and the best sets of them",
      WithAccess(
          {{"--file", "FILE",
            "output of nvidia-smi topo -m, rocm-smi --showtopo, amd-smi topology, npu-smi info -t "
            "topo or ppu-smi topo -m; - is the standard input",
            "-f"},
           {"--node", "NAME", "a node of the cluster, as the running Muster knows it", "-n"},
           {"--free", "LIST", "choose among these GPUs only, by index: 0,2,3"},
           {"--dot", "", "print the graph for Graphviz"},
           OutputFlag()}),
      Topology,
      {"nvidia-smi topo -m | muster topology -f -", "muster topology --node gpu-7"}};
}

}  // namespace muster::cli
