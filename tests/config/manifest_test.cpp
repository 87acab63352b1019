#include "config/documents/manifest.hpp"

#include <catch2/catch.hpp>

namespace muster::config {
namespace {

constexpr const char* kTwoObjects = R"(# A team's job.
apiVersion: v1
kind: Pod
metadata:
  name: worker-0
  labels: &labels
    app.kubernetes.io/name: train
    app: "1"
spec:
  containers:
  - name: main
    image: train:1
    resources:
      limits: {cpu: 2, memory: 4Gi, nvidia.com/gpu: 8}
    env:
    - {name: DEBUG, value: "no"}
    command: ["sh", "-c", "echo {}"]
  nodeSelector:
---
{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Pod", "spec": {"priority": 1.5e3, "on": true}}]}
)";

std::vector<ManifestDocument> Parsed(const std::string& text) {
  const auto documents = ParseManifests(text, "job.yaml");
  REQUIRE((documents.ok() ? "" : documents.error().ToString()) == "");
  return *documents;
}

TEST_CASE("manifests become the JSON that kubectl sends", "[config][manifest]") {
  const auto documents = Parsed(kTwoObjects);
  REQUIRE(documents.size() == 2);
  CHECK(documents[0].api_version() == "v1");
  CHECK(documents[0].kind() == "Pod");
  CHECK(documents[0].json() ==
        R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"worker-0","labels":)"
        R"({"app.kubernetes.io/name":"train","app":"1"}},"spec":{"containers":[{"name":"main",)"
        R"("image":"train:1","resources":{"limits":{"cpu":2,"memory":"4Gi","nvidia.com/gpu":8}},)"
        R"("env":[{"name":"DEBUG","value":"no"}],"command":["sh","-c","echo {}"]}],)"
        R"("nodeSelector":null}})");
  CHECK(documents[1].kind() == "List");
  CHECK(documents[1].json() ==
        R"({"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod",)"
        R"("spec":{"priority":1500,"on":true}}]})");
}

TEST_CASE("the items of a list of one kind say what they are", "[config][manifest]") {
  const auto documents = Parsed(
      "apiVersion: v1\nkind: NodeList\nmetadata: {resourceVersion: \"7\"}\nitems:\n"
      "- metadata: {name: a}\n- {kind: Node, apiVersion: v1}\n");
  REQUIRE(documents.size() == 1);
  CHECK(documents[0].json() ==
        R"({"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"7"},"items":[)"
        R"({"metadata":{"name":"a"},"apiVersion":"v1","kind":"Node"},)"
        R"({"kind":"Node","apiVersion":"v1"}]})");
  CHECK(documents[0].LocationOf("items[0].metadata.name") == "job.yaml:5:20");
  CHECK(Parsed("apiVersion: x.io/v1\nkind: AllowList\nspec: {items: [{}]}\n")[0].kind() ==
        "AllowList");
  CHECK(Parsed("apiVersion: x.io/v2\nkind: JobList\nitems: [{}]\n")[0].json() ==
        R"({"apiVersion":"v1","kind":"List","items":[{"apiVersion":"x.io/v2","kind":"Job"}]})");
}

TEST_CASE("JSON stays what it was", "[config][manifest]") {
  const std::string json =
      R"({"apiVersion":"v1","kind":"x","a":"\"\\ / é 😀","b":[],"c":{},"d":[null,false,-1,0.5]})";
  CHECK(Parsed(json)[0].json() == json);
}

TEST_CASE("a path in an object leads to its line and column", "[config][manifest]") {
  const auto documents = Parsed(kTwoObjects);
  struct Case {
    std::size_t document;
    const char* path;
    const char* want;
  };
  const Case c = GENERATE(values<Case>({
      {0, "", "job.yaml:2:1"},
      {0, "kind", "job.yaml:3:7"},
      {0, "metadata.name", "job.yaml:5:9"},
      {0, "metadata.labels", "job.yaml:6:11"},
      {0, "metadata.labels.app.kubernetes.io/name", "job.yaml:7:29"},
      {0, "metadata.labels[app.kubernetes.io/name]", "job.yaml:7:29"},
      {0, "metadata.labels[\"app.kubernetes.io/name\"]", "job.yaml:7:29"},
      {0, "metadata.labels.app", "job.yaml:8:10"},
      {0, "spec.containers[0]", "job.yaml:11:5"},
      {0, "spec.containers[0].resources", "job.yaml:13:5"},
      {0, "spec.containers[0].resources.limits.nvidia.com/gpu", "job.yaml:14:53"},
      {0, "spec.containers[0].command[2]", "job.yaml:17:27"},
      {0, "spec.nodeSelector", "job.yaml:18:3"},
      // What is not there: the nearest value around it.
      {0, "spec.containers[0].resources.requests.cpu", "job.yaml:13:5"},
      {0, "spec.containers[1].name", "job.yaml:10:3"},
      {0, "spec.containers[x].name", "job.yaml:10:3"},
      {0, "spec.containers[0", "job.yaml:10:3"},
      {0, "metadata.labels.app.other", "job.yaml:8:10"},
      {0, "status", "job.yaml:2:1"},
      {0, ".", "job.yaml:2:1"},
      {0, "[", "job.yaml:2:1"},
      {0, "spec..containers", "job.yaml:9:1"},
      {1, "items[0].spec.priority", "job.yaml:21:60"},
  }));
  CAPTURE(c.path);
  CHECK(documents[c.document].LocationOf(c.path) == c.want);
}

TEST_CASE("an error about a field gets its place in the file", "[config][manifest]") {
  const auto documents = Parsed(kTwoObjects);
  const cluster::Error error{cluster::Code::kInvalidArgument, "expected a quantity",
                             "spec.containers[0].resources.limits.cpu"};
  const cluster::Error located = documents[0].Locate(error);
  CHECK(located.code == cluster::Code::kInvalidArgument);
  CHECK(located.ToString() ==
        "job.yaml:14:21: spec.containers[0].resources.limits.cpu: expected a quantity");
  CHECK(documents[0].Locate({cluster::Code::kConflict, "exists", ""}).ToString() ==
        "job.yaml:2:1: exists");
}

TEST_CASE("what is no Kubernetes object is refused", "[config][manifest]") {
  struct Case {
    const char* text;
    const char* want;
  };
  const Case c = GENERATE(values<Case>({
      {"- a\n", "job.yaml:1:1: expected a Kubernetes object (\"key: value\" lines), found a list"},
      {"hello\n",
       "job.yaml:1:1: expected a Kubernetes object (\"key: value\" lines), found \"hello\""},
      {"kind: Pod\n",
       "job.yaml:1:1: apiVersion: expected a text, as every Kubernetes object has it, found "
       "nothing"},
      {"apiVersion: v1\n---\n",
       "job.yaml:1:1: kind: expected a text, as every Kubernetes object has it, found nothing"},
      {"apiVersion: v1\nkind: []\n",
       "job.yaml:1:1: kind: expected a text, as every Kubernetes object has it, found a list"},
      {"apiVersion: v1\nkind: Pod\nkind: Pod\n",
       "job.yaml:3:1: expected each key once, found \"kind\" again (first on line 2)"},
      {"apiVersion: v1\nkind: Pod\nspec: {x: -.inf}\n",
       "job.yaml:3:11: expected a number that JSON can hold, found \"-.inf\""},
  }));
  CAPTURE(c.text);
  CHECK(ParseManifests(c.text, "job.yaml").error().ToString() == c.want);
}

TEST_CASE("a file without objects has none", "[config][manifest]") {
  CHECK(Parsed("").empty());
  CHECK(Parsed("---\n# nothing\n---\n").empty());
}

TEST_CASE("aliases are written out, in JSON and in locations", "[config][manifest]") {
  const auto documents = Parsed("apiVersion: v1\nkind: x\na: &l {b: c}\nd: {e: *l}\n");
  CHECK(documents[0].json() ==
        R"({"apiVersion":"v1","kind":"x","a":{"b":"c"},"d":{"e":{"b":"c"}}})");
  CHECK(documents[0].LocationOf("a.b") == "job.yaml:3:11");
}

}  // namespace
}  // namespace muster::config
