#include "config/documents/node_pool.hpp"

#include <catch2/catch.hpp>
#include <set>

namespace muster::config {
namespace {

std::string Expanded(const std::string& text) {
  const auto documents = ParseManifests(text, "f");
  if (!documents.ok()) return documents.error().ToString();
  const auto expanded = ExpandNodePools(*documents);
  if (!expanded.ok()) return expanded.error().ToString();
  std::string json;
  for (const ManifestDocument& document : *expanded) json += document.json() + "\n";
  return json;
}

const std::string kNodePoolHead = "apiVersion: sim.muster.dev/v1alpha1\nkind: NodePool\n";

TEST_CASE("a pool becomes its nodes", "[config][pool]") {
  const std::string text = kNodePoolHead + R"(metadata: {name: gpu}
spec:
  count: 11
  template:
    metadata:
      labels: {rack: "r{index/4}-{index%4}", self: "{name}", plain: x}
      annotations: {json: '{"index": {index}, "other": {index/0}, "{x}": "{"}'}
    spec: {taints: [{key: a, effect: NoSchedule}]}
    status: {allocatable: {cpu: 2, nvidia.com/gpu: "8"}}
)";
  const auto documents = ParseManifests(text, "f");
  REQUIRE(documents.ok());
  const auto nodes = ExpandNodePools(*documents);
  REQUIRE(nodes.ok());
  REQUIRE(nodes->size() == 11);
  CHECK((*nodes)[6].json() ==
        R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"gpu-06","labels":)"
        R"({"rack":"r1-2","self":"gpu-06","plain":"x","kubernetes.io/hostname":"gpu-06"},)"
        R"("annotations":{"json":"{\"index\": 6, \"other\": {index/0}, \"{x}\": \"{\"}"}},)"
        R"("spec":{"taints":[{"key":"a","effect":"NoSchedule"}]},)"
        R"("status":{"allocatable":{"cpu":2,"nvidia.com/gpu":"8"},)"
        R"("capacity":{"cpu":2,"nvidia.com/gpu":"8"},)"
        R"("conditions":[{"type":"Ready","status":"True"}]}})");
  CHECK((*nodes)[10].kind() == "Node");
  CHECK((*nodes)[10].LocationOf("metadata.name") == "f:3:18");
  CHECK((*nodes)[10].LocationOf("metadata.labels.rack") == "f:8:22");
  CHECK((*nodes)[10].LocationOf("status.allocatable.nvidia.com/gpu") == "f:11:52");
}

TEST_CASE("what the template says itself is kept", "[config][pool]") {
  CHECK(Expanded(kNodePoolHead + R"(metadata: {name: a}
spec:
  count: 1
  template:
    metadata: {labels: {kubernetes.io/hostname: "x-{index}"}}
    status:
      capacity: {cpu: 4}
      allocatable: {cpu: 3}
      conditions: [{type: Ready, status: "False"}]
)") == R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"a-0","labels":)"
       R"({"kubernetes.io/hostname":"x-0"}},"status":{"capacity":{"cpu":4},)"
       R"("allocatable":{"cpu":3},"conditions":[{"type":"Ready","status":"False"}]}})"
       "\n");
}

TEST_CASE("other documents pass, in order", "[config][pool]") {
  CHECK(Expanded("apiVersion: v1\nkind: Pod\n---\n" + kNodePoolHead +
                 "metadata: {name: a}\nspec: {count: 1, template: {status: {allocatable: {}}}}\n"
                 "---\napiVersion: v1\nkind: Node\n") ==
        R"({"apiVersion":"v1","kind":"Pod"})"
        "\n"
        R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"a-0","labels":)"
        R"({"kubernetes.io/hostname":"a-0"}},"status":{"allocatable":{},"capacity":{},)"
        R"("conditions":[{"type":"Ready","status":"True"}]}})"
        "\n"
        R"({"apiVersion":"v1","kind":"Node"})"
        "\n");
}

// Lines 1 and 2 are the head.
TEST_CASE("a pool that is wrong is refused by line, column and field", "[config][pool]") {
  struct Case {
    const char* text;
    const char* want;
  };
  const Case c = GENERATE(values<Case>({
      {"metadata: {name: a}\n",
       "f:1:1: spec.count: expected a whole number from 1 to 100000, found "
       "nothing"},
      {"metadata: {name: A}\n",
       "f:3:18: metadata.name: expected lower-case letters, digits and '-', at most 50, found "
       "\"A\""},
      {"spec: {count: 1}\n",
       "f:1:1: metadata.name: expected lower-case letters, digits and '-', at most 50, found "
       "nothing"},
      {"metadata: {name: a, labels: {}}\n", "f:3:29: metadata.labels: unknown field"},
      {"metadata: []\n", "f:3:11: metadata: expected a map, found a list"},
      {"metadata: {name: a}\nspec: {cuont: 1}\n",
       "f:4:15: spec.cuont: unknown field, did you mean count?"},
      {"metadata: {name: a}\nspec: {count: 0}\n",
       "f:4:15: spec.count: expected a whole number from 1 to 100000, found \"0\""},
      {"metadata: {name: a}\nspec: {count: \"3\"}\n",
       "f:4:15: spec.count: expected a whole number from 1 to 100000, found the text \"3\""},
      {"metadata: {name: a}\nspec: {count: 100001}\n",
       "f:4:15: spec.count: expected a whole number from 1 to 100000, found \"100001\""},
      {"metadata: {name: a}\nspec: {count: 3}\n",
       "f:4:7: spec.template: expected a map of metadata, spec and status, found nothing"},
      {"metadata: {name: a}\nspec: {count: 3, template: {metadata: {name: b}}}\n",
       "f:4:46: spec.template.metadata.name: unknown field"},
      {"metadata: {name: a}\nspec: {count: 3, template: {spec: {}}}\n",
       "f:4:28: spec.template.status.allocatable: expected what a node of this pool can give, "
       "found "
       "nothing"},
      {"status: {}\n", "f:3:9: status: unknown field"},
  }));
  CAPTURE(c.text);
  CHECK(Expanded(kNodePoolHead + c.text) == c.want);
  CHECK(Expanded("apiVersion: v1\nkind: NodePool\n") ==
        "f:1:13: apiVersion: expected sim.muster.dev/v1alpha1, found \"v1\"");
}

TEST_CASE("the example clusters have the nodes that they promise", "[config][pool]") {
  struct Case {
    const char* file;
    std::size_t nodes;
    const char* first;
    const char* last;
  };
  const Case c = GENERATE(values<Case>({
      {"demo-16x8.yaml", 16, "gpu-00", "gpu-15"},
      {"mixed.yaml", 15, "a100-0", "t4-vision"},
      {"time-sliced.yaml", 6, "shared-0", "whole-1"},
  }));
  const auto documents =
      ParseManifestFile(std::string(MUSTER_SOURCE_DIR "/config/clusters/") + c.file);
  REQUIRE((documents.ok() ? "" : documents.error().ToString()) == "");
  const auto nodes = ExpandNodePools(*documents);
  REQUIRE((nodes.ok() ? "" : nodes.error().ToString()) == "");
  CHECK(nodes->size() == c.nodes);
  const auto named = [](const ManifestDocument& node, const std::string& name) {
    return node.json().find("\"metadata\":{\"name\":\"" + name + "\"") != std::string::npos;
  };
  CHECK(named(nodes->front(), c.first));
  CHECK(named(nodes->back(), c.last));
  std::set<std::string> different;
  for (const ManifestDocument& node : *nodes) {
    CHECK(node.kind() == "Node");
    CHECK(node.json().find("\"type\":\"Ready\"") != std::string::npos);
    CHECK(node.json().find("kubernetes.io/hostname") != std::string::npos);
    CHECK(node.json().find('{' + std::string("index")) == std::string::npos);
    different.insert(node.json());
  }
  CHECK(different.size() == c.nodes);
}

TEST_CASE("a large pool is expanded whole", "[config][pool]") {
  const auto documents = ParseManifests(
      kNodePoolHead +
          "metadata: {name: n}\nspec: {count: 5000, template: {status: {allocatable: {cpu: 1}}}}\n",
      "f");
  REQUIRE(documents.ok());
  const auto nodes = ExpandNodePools(*documents);
  REQUIRE(nodes.ok());
  CHECK(nodes->size() == 5000);
  CHECK(nodes->back().json().find("\"n-4999\"") != std::string::npos);
  CHECK(nodes->front().json().find("\"n-0000\"") != std::string::npos);
}

}  // namespace
}  // namespace muster::config
