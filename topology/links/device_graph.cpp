#include "topology/links/device_graph.hpp"

#include <algorithm>
#include <array>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace muster::topology {
namespace {

using Kind = DeviceGraph::Kind;

// The most NVLinks of any GPU: NVLink 4 and 5 (H100, B200).
constexpr int kMostGpuLinks = 18;

struct Width {
  MegabytesPerSecond bandwidth = 0;
};
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS,
                                    boost::no_property, Width>;
using GraphEdge = boost::graph_traits<Graph>::edge_descriptor;

// Devices are ends of paths, never between.
struct FromDeviceOnlyAt {
  const Graph* graph = nullptr;
  size_t devices = 0;
  size_t start = 0;
  bool operator()(GraphEdge edge) const {
    const size_t from = boost::source(edge, *graph);
    return from >= devices || from == start;
  }
};

// By device, the number of the group within which classes are at least `least`.
std::vector<size_t> Groups(const Machine& machine, LinkType least) {
  const size_t devices = machine.devices();
  boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> close(devices);
  for (size_t a = 0; a < devices; ++a) {
    for (size_t b = 0; b < a; ++b) {
      const Link link = machine.At(a, b).link;
      const bool pcie = link.type == LinkType::kPcie && link.hops <= 2;
      const LinkType type = pcie ? LinkType::kPhb : link.type;
      if (type >= least && type <= LinkType::kPix) boost::add_edge(a, b, close);
    }
  }
  // What a fabric link hides, NUMA nodes tell.
  for (size_t a = 0; a < machine.gpus.size() && least == LinkType::kNode; ++a) {
    for (size_t b = 0; b < a; ++b) {
      const std::vector<int>& numa = machine.gpus[a].numa;
      const bool hidden = machine.At(a, b).link.fabric();
      if (hidden && !numa.empty() && numa == machine.gpus[b].numa) boost::add_edge(a, b, close);
    }
  }
  std::vector<size_t> groups(devices);
  boost::connected_components(close, groups.data());
  return groups;
}

class Builder {
 public:
  Builder(const Machine& machine, const LinkSpeeds& speeds) : machine_(machine), speeds_(speeds) {}

  DeviceGraph Build() {
    for (const Accelerator& gpu : machine_.gpus) Add(Kind::kGpu, gpu.name);
    for (const NetworkDevice& nic : machine_.nics) Add(Kind::kNic, nic.name);
    AddFabric();
    AddPcie();
    FillMatrix();
    FillSockets();
    return std::move(graph_);
  }

 private:
  size_t Add(Kind kind, std::string name) {
    graph_.vertices.push_back({kind, std::move(name)});
    return graph_.vertices.size() - 1;
  }
  void Connect(size_t a, size_t b, Link link, MegabytesPerSecond bandwidth) {
    graph_.edges.push_back({a, b, link.type, link.count, bandwidth});
  }
  MegabytesPerSecond BandwidthOfCell(const Cell& cell) const {
    return cell.bandwidth > 0 ? cell.bandwidth : BandwidthOf(cell.link, speeds_);
  }

  void AddFabric();
  bool AddSwitch();
  void AddPcie();
  void AddLevel(LinkType level, Kind kind, const char* name, std::vector<size_t>* top);
  void FillMatrix();
  void FillSockets();

  const Machine& machine_;
  const LinkSpeeds& speeds_;
  DeviceGraph graph_;
};

// One NVSwitch (or several that act as one) where each GPU has the same links to all of a group,
// and together more than a GPU has.
bool Builder::AddSwitch() {
  const size_t gpus = machine_.gpus.size();
  std::vector<int> most(gpus, 0);
  std::vector<int> sum(gpus, 0);
  for (size_t a = 0; a < gpus; ++a) {
    for (size_t b = 0; b < gpus; ++b) {
      const Link link = machine_.At(a, b).link;
      if (link.type != LinkType::kNvLink) continue;
      most[a] = std::max<int>(most[a], link.count);
      sum[a] += link.count;
    }
  }
  if (std::none_of(sum.begin(), sum.end(), [](int links) { return links > kMostGpuLinks; })) {
    return false;
  }
  for (size_t a = 0; a < gpus; ++a) {
    for (size_t b = 0; b < a; ++b) {
      if (most[a] == 0 || most[b] == 0) continue;
      const Link link = machine_.At(a, b).link;
      const int expected = std::min(most[a], most[b]);
      if (link.type != LinkType::kNvLink || link.count != expected) return false;
    }
  }
  const size_t hub = Add(Kind::kFabricSwitch, "NVSwitch");
  for (size_t a = 0; a < gpus; ++a) {
    if (most[a] == 0) continue;
    const Link link{LinkType::kNvLink, static_cast<uint8_t>(most[a])};
    Connect(a, hub, link, BandwidthOf(link, speeds_));
  }
  return true;
}

void Builder::AddFabric() {
  if (AddSwitch()) return;
  for (size_t a = 0; a < machine_.gpus.size(); ++a) {
    for (size_t b = a + 1; b < machine_.gpus.size(); ++b) {
      const Cell& cell = machine_.At(a, b);
      if (cell.link.fabric()) Connect(a, b, cell.link, BandwidthOfCell(cell));
    }
  }
}

// A vertex above each group; `top` is, by device, the highest vertex above it so far.
void Builder::AddLevel(LinkType level, Kind kind, const char* name, std::vector<size_t>* top) {
  const std::vector<size_t> groups = Groups(machine_, level);
  std::map<size_t, std::vector<size_t>> below;
  for (size_t device = 0; device < groups.size(); ++device) {
    below[groups[device]].push_back((*top)[device]);
  }
  std::map<size_t, size_t> above;
  size_t number = 0;
  for (auto& [group, tops] : below) {
    std::sort(tops.begin(), tops.end());
    tops.erase(std::unique(tops.begin(), tops.end()), tops.end());
    // A switch is only where it joins something.
    if (kind == Kind::kPcieSwitch && tops.size() < 2) {
      above[group] = tops.front();
      continue;
    }
    above[group] = Add(kind, std::string(name) + std::to_string(number++));
    for (const size_t vertex : tops) {
      Connect(vertex, above[group], {level}, BandwidthOf({level}, speeds_));
    }
  }
  for (size_t device = 0; device < groups.size(); ++device) (*top)[device] = above[groups[device]];
}

void Builder::AddPcie() {
  std::vector<size_t> top(machine_.devices());
  std::iota(top.begin(), top.end(), size_t{0});
  AddLevel(LinkType::kPix, Kind::kPcieSwitch, "PIX switch ", &top);
  AddLevel(LinkType::kPxb, Kind::kPcieSwitch, "PXB switch ", &top);
  AddLevel(LinkType::kPhb, Kind::kHostBridge, "host bridge ", &top);
  AddLevel(LinkType::kNode, Kind::kNumaNode, "socket ", &top);
  std::sort(top.begin(), top.end());
  top.erase(std::unique(top.begin(), top.end()), top.end());
  const Link sys{LinkType::kSys};
  for (size_t a = 0; a < top.size(); ++a) {
    for (size_t b = a + 1; b < top.size(); ++b)
      Connect(top[a], top[b], sys, BandwidthOf(sys, speeds_));
  }
}

void Builder::FillMatrix() {
  const size_t gpus = machine_.gpus.size();
  Graph graph(graph_.vertices.size());
  for (const DeviceGraph::Edge& edge : graph_.edges) {
    boost::add_edge(edge.from, edge.to, {edge.bandwidth}, graph);
    boost::add_edge(edge.to, edge.from, {edge.bandwidth}, graph);
  }
  graph_.matrix.gpus = gpus;
  graph_.matrix.bandwidth.assign(gpus * gpus, 0);
  for (size_t start = 0; start < gpus; ++start) {
    // Dijkstra's algorithm for the widest path: a path is as wide as its narrowest edge.
    const FromDeviceOnlyAt allowed{&graph, machine_.devices(), start};
    const boost::filtered_graph<Graph, FromDeviceOnlyAt> paths(graph, allowed);
    std::vector<MegabytesPerSecond> width(graph_.vertices.size());
    boost::dijkstra_shortest_paths(
        paths, start,
        boost::weight_map(boost::get(&Width::bandwidth, graph))
            .distance_map(boost::make_iterator_property_map(width.begin(),
                                                            boost::get(boost::vertex_index, graph)))
            .distance_compare(std::greater<>())
            .distance_combine(
                [](MegabytesPerSecond a, MegabytesPerSecond b) { return std::min(a, b); })
            .distance_inf(MegabytesPerSecond{0})
            .distance_zero(std::numeric_limits<MegabytesPerSecond>::max()));
    for (size_t end = 0; end < gpus; ++end) {
      if (end == start) continue;
      // Classes need not fit a tree; what the tool says of a pair stands.
      const Cell& cell = machine_.At(start, end);
      const MegabytesPerSecond told = BandwidthOfCell(cell);
      const bool unknown = cell.link.type == LinkType::kUnknown;
      graph_.matrix.bandwidth[start * gpus + end] = unknown ? 0 : told;
      if (!unknown && width[end] != told && start < end) ++graph_.odd_pairs;
    }
  }
}

void Builder::FillSockets() {
  const std::vector<size_t> groups = Groups(machine_, LinkType::kNode);
  std::map<std::string, uint8_t> numbers;
  bool numa = true;
  bool cpus = true;
  for (const Accelerator& gpu : machine_.gpus) {
    numa = numa && !gpu.numa.empty();
    cpus = cpus && !gpu.cpus.empty();
  }
  for (size_t i = 0; i < machine_.gpus.size(); ++i) {
    const Accelerator& gpu = machine_.gpus[i];
    std::string key = std::to_string(groups[i]);
    if (numa) {
      key.clear();
      for (const int node : gpu.numa) key += std::to_string(node) + ",";
    } else if (cpus) {
      key = gpu.cpus;
    }
    const auto number = static_cast<uint8_t>(numbers.size());
    graph_.matrix.socket.push_back(numbers.emplace(key, number).first->second);
  }
}

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

DeviceGraph BuildGraph(const Machine& machine, const LinkSpeeds& speeds) {
  return Builder(machine, speeds).Build();
}

std::vector<LinkType> PcieRelations(const Machine& machine) {
  const size_t gpus = machine.gpus.size();
  std::vector<LinkType> relations(gpus * gpus, LinkType::kSys);
  for (const LinkType level : {LinkType::kNode, LinkType::kPhb, LinkType::kPxb, LinkType::kPix}) {
    const std::vector<size_t> groups = Groups(machine, level);
    for (size_t a = 0; a < gpus; ++a) {
      for (size_t b = 0; b < gpus; ++b) {
        if (a == b) {
          relations[a * gpus + b] = LinkType::kSelf;
        } else if (groups[a] == groups[b]) {
          relations[a * gpus + b] = level;
        }
      }
    }
  }
  return relations;
}

std::string ToDot(const DeviceGraph& graph) {
  constexpr std::array<const char*, 6> kShapes = {"box",     "hexagon", "diamond",
                                                  "ellipse", "ellipse", "octagon"};
  std::string text = "graph machine {\n";
  for (size_t i = 0; i < graph.vertices.size(); ++i) {
    const DeviceGraph::Vertex& vertex = graph.vertices[i];
    text += "  v" + std::to_string(i) + " [label=\"" + Escaped(vertex.name) +
            "\", shape=" + kShapes.at(static_cast<size_t>(vertex.kind)) + "];\n";
  }
  for (const DeviceGraph::Edge& edge : graph.edges) {
    text += "  v" + std::to_string(edge.from) + " -- v" + std::to_string(edge.to) + " [label=\"";
    text += ToString(edge.type);
    if (edge.count > 1) text += " x" + std::to_string(edge.count);
    text += ", " + std::to_string(edge.bandwidth / 1000) + " GB/s\"];\n";
  }
  return text + "}\n";
}

}  // namespace muster::topology
