// How a node's GPUs are connected: from its annotations, best source first.
#include "kube/decode/node_links.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "kube/decode/decode.hpp"
#include "kube/encode/encode.hpp"
#include "topology/links/node_topology.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::kube {
namespace {

using cluster::Labels;
using cluster::Node;
using cluster::TopologySource;

const std::string kPair = "GPU0 GPU1\nGPU0 X NV4\nGPU1 NV4 X\n";
const std::string kPairScores =
    R"([{"uuid":"GPU-a","score":{"GPU-b":250}},{"uuid":"GPU-b","score":{"GPU-a":250}}])";

Node Pair() {
  Node node;
  for (const char* uuid : {"GPU-a", "GPU-b"}) {
    cluster::Gpu gpu;
    gpu.index.value = static_cast<uint16_t>(node.gpus.size());
    gpu.uuid = uuid;
    node.gpus.push_back(gpu);
  }
  return node;
}

struct LinksRead {
  Node node;
  std::vector<std::string> warnings;
};

LinksRead ReadLinks(const Labels& annotations, Node node = Pair()) {
  LinksRead read{std::move(node), {}};
  ReadNodeLinks(annotations, read.node, read.warnings);
  return read;
}

// What it says of scores that it leaves out.
std::string WarningOf(const std::string& scores, const Node& node = Pair()) {
  const LinksRead read = ReadLinks({{kHamiScoresAnnotation, scores}}, node);
  CHECK(read.node.topology.empty());
  CHECK(read.node.topology_source == TopologySource::kFlat);
  REQUIRE(read.warnings.size() == 1);
  return read.warnings.front();
}

}  // namespace

TEST_CASE("HAMi's scores are links between the devices with these UUIDs", "[kube][links]") {
  Node node = Pair();
  node.gpus[1].index.value = 5;
  const LinksRead read = ReadLinks({{kHamiScoresAnnotation, kPairScores}}, node);
  CHECK(read.warnings.empty());
  CHECK(read.node.topology_source == TopologySource::kPairScores);
  const auto machine = topology::ParseMachine(read.node.topology, "");
  REQUIRE(machine.ok());
  CHECK(machine->gpus[1].index == 5);
  CHECK(machine->At(0, 1).text == "NV2");
}

TEST_CASE("scores of GPUs that the node does not offer count for nothing", "[kube][links]") {
  const std::string more = R"([{"uuid":"GPU-c","score":{"GPU-a":10,"GPU-b":10,"GPU-x":7}},)"
                           R"({"uuid":"GPU-b","score":{"GPU-c":10,"GPU-a":40,"GPU-b":0}},)"
                           R"({"uuid":"GPU-a","score":{"GPU-b":40}}])";
  const LinksRead read = ReadLinks({{kHamiScoresAnnotation, more}});
  CHECK(read.warnings.empty());
  const auto machine = topology::ParseMachine(read.node.topology, "");
  REQUIRE(machine.ok());
  CHECK(machine->gpus.size() == 2);
  CHECK(machine->At(1, 0).text == "PXB");
}

TEST_CASE("the annotation comes before HAMi's scores, if it is of this machine", "[kube][links]") {
  const Labels both = {{kGpuTopologyAnnotation, kPair}, {kHamiScoresAnnotation, kPairScores}};
  const LinksRead first = ReadLinks(both);
  CHECK(first.warnings.empty());
  CHECK(first.node.topology_source == TopologySource::kAnnotation);
  Labels other = both;
  SECTION("of another machine") {
    other[kGpuTopologyAnnotation] =
        "GPU0 GPU1 GPU3\nGPU0 X PIX SYS\nGPU1 PIX X SYS\n"
        "GPU3 SYS SYS X\n";
    const LinksRead second = ReadLinks(other);
    CHECK(second.node.topology_source == TopologySource::kPairScores);
    CHECK(second.warnings ==
          std::vector<std::string>{"the topology is ignored: muster.dev/gpu-topology: it is of "
                                   "GPUs 0-1,3, the node has 0-1"});
  }
  SECTION("malformed") {
    other[kGpuTopologyAnnotation] = "GPU0 GPU1\nGPU0 X NV4\nGPU1 NV3 X\n";
    const LinksRead second = ReadLinks(other);
    CHECK(second.node.topology_source == TopologySource::kPairScores);
    REQUIRE(second.warnings.size() == 1);
    CHECK_THAT(second.warnings.front(), Catch::Contains("muster.dev/gpu-topology:3:6"));
  }
  SECTION("a GPU of it is not offered, and gpu.count has it") {
    Node node = Pair();
    node.gpus.pop_back();
    node.labels["nvidia.com/gpu.count"] = "2";
    const LinksRead second = ReadLinks(other, node);
    CHECK(second.warnings.empty());
    CHECK(second.node.topology_source == TopologySource::kAnnotation);
  }
  SECTION("no devices just now") {
    const LinksRead second = ReadLinks(other, Node());
    CHECK(second.warnings.empty());
    CHECK(second.node.topology_source == TopologySource::kAnnotation);
  }
}

TEST_CASE("scores that cannot be right are left out, with their place", "[kube][links]") {
  struct Case {
    std::string scores;
    std::string want;
  };
  const auto [scores, want] = GENERATE(values<Case>({
      {"{", "hami.io/node-nvidia-score"},
      {R"({"uuid":"GPU-a"})", "hami.io/node-nvidia-score: expected a list"},
      {R"([{"score":{}}])", "score[0].uuid"},
      {R"([{"uuid":"GPU-a","score":{"GPU-b":77}}])",
       R"(score[0].score.GPU-b: expected 0 to 60, by tens, and 100 for each NVLink, found 77)"},
      {R"([{"uuid":"GPU-a","score":{"GPU-b":-10}}])", R"(score[0].score.GPU-b)"},
      {R"([{"uuid":"GPU-a","score":{"GPU-b":99999999999}}])", R"(score[0].score.GPU-b)"},
      {R"([{"uuid":"GPU-a","score":{"GPU-b":"10"}}])", R"(score[0].score.GPU-b)"},
      {R"([{"uuid":"GPU-a","score":[]}])", "score[0].score"},
      {R"([{"uuid":"GPU-a","score":{"GPU-b":10}}])", "no score of GPU-b and GPU-a"},
      {"[]", "no score of GPU-a and GPU-b"},
      {R"([{"uuid":"GPU-a","score":{"GPU-b":10}},{"uuid":"GPU-a","score":{"GPU-b":10}}])",
       "score[1].uuid: is given twice"},
      {R"([{"uuid":"GPU-a","score":{"GPU-b":10}},{"uuid":"GPU-b","score":{"GPU-a":20}}])",
       "the score of GPU-a and GPU-b is 10, the other way 20"},
      {R"([{"uuid":"GPU-a","score":{"GPU-b":0}},{"uuid":"GPU-b","score":{"GPU-a":0}}])",
       "all scores are 0: HAMi found no links"},
  }));
  CHECK_THAT(WarningOf(scores), Catch::StartsWith("the topology is ignored: ") &&
                                    Catch::Contains(kHamiScoresAnnotation) &&
                                    Catch::Contains(want));
}

TEST_CASE("scores need devices with UUIDs, and not too many of them", "[kube][links]") {
  Node node = Pair();
  node.gpus[1].uuid.clear();
  CHECK_THAT(WarningOf(kPairScores, node), Catch::Contains("device 1 of the node has no UUID"));
  node.gpus[1].uuid = "GPU-a";
  CHECK_THAT(WarningOf(kPairScores, node), Catch::Contains("device 1 of the node has the UUID"));
  node.gpus.assign(65, node.gpus[0]);
  for (size_t i = 0; i < node.gpus.size(); ++i) node.gpus[i].uuid = "GPU-" + std::to_string(i);
  CHECK_THAT(WarningOf(kPairScores, node), Catch::Contains("at most 64 devices"));
}

TEST_CASE("links of both sources pass the sieve and survive being written", "[kube][links]") {
  const bool scores = GENERATE(true, false);
  Node node = ReadLinks({{scores ? kHamiScoresAnnotation : kGpuTopologyAnnotation,
                          scores ? kPairScores : kPair}})
                  .node;
  node.name = "n";
  node.uid = cluster::NodeUid("u");
  REQUIRE_FALSE(node.topology.empty());
  const auto again = DecodeNode(EncodeNode(node));
  REQUIRE(again.ok());
  CHECK(again->warnings.empty());
  CHECK(again->node == node);
}

}  // namespace muster::kube
