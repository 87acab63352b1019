#include "extender/embedded/manifests.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <variant>
#include <vector>

namespace muster::extender {
namespace {

std::string Topology(const std::string& rest, const std::string& version = "v1alpha2") {
  return "apiVersion: topology.node.k8s.io/" + version +
         "\nkind: NodeResourceTopology\nmetadata: {name: n0}\n" + rest;
}

std::string Domain(const std::string& spec) {
  return "apiVersion: resource.nvidia.com/v1beta1\nkind: ComputeDomain\nmetadata: {name: d}\n"
         "spec: " +
         spec;
}

TEST_CASE("objects of optional kinds are manifests", "[manifests]") {
  const auto read = ReadManifests(
      Topology("attributes: [{name: topologyManagerPolicy, value: restricted}]\n") + "---\n" +
          Domain("{numNodes: 0, channel: {resourceClaimTemplate: {name: c}}}\n") +
          "---\napiVersion: resource.k8s.io/v1beta1\nkind: ResourceSlice\nmetadata: {name: s}\n"
          "spec: {driver: gpu.nvidia.com, nodeName: n0, pool: {name: n0}}\n",
      "x.yaml", Malformed::kRefused);
  REQUIRE(read.ok());
  std::vector<std::string> named;
  CHECK(read->warnings.empty());
  for (const ManifestObject& object : read->objects)
    named.push_back(KindOf(object) + " " + KeyOf(object).ToString());
  CHECK(named == std::vector<std::string>{"NodeResourceTopology /n0", "ComputeDomain default/d",
                                          "ResourceSlice /s"});
}

TEST_CASE("what an object of an optional kind says wrong is refused with file, line and field",
          "[manifests]") {
  struct Case {
    std::string yaml;
    std::string want;
  };
  const auto [yaml, want] = GENERATE_COPY(values<Case>({
      {Topology("attributes:\n- {name: topologyManagerPolicy, value: strict}\n"),
       "x.yaml:5:40: attributes[0].value: expected none, best-effort, restricted or "
       "single-numa-node, found \"strict\""},
      {Topology("topologyPolicies:\n- SingleNUMA\n"),
       "x.yaml:5:3: topologyPolicies[0]: expected None, or BestEffort, Restricted or "
       "SingleNUMANode with ContainerLevel or PodLevel, found \"SingleNUMA\""},
      {Topology("attributes: none\n"), "x.yaml:4:13: attributes: expected"},
      {Topology("zones: []\n", "v1"),
       "x.yaml:1:13: apiVersion: expected topology.node.k8s.io/v1alpha2 or v1alpha1"},
      {Domain("{numNodes: 2}\n"),
       "x.yaml:4:7: spec.channel.resourceClaimTemplate.name: expected the name of a "
       "ResourceClaimTemplate"},
      {Domain("{channel: {resourceClaimTemplate: {name: 7}}}\n"),
       "x.yaml:4:48: spec.channel.resourceClaimTemplate.name: expected"},
      {"apiVersion: resource.nvidia.com/v1\nkind: ComputeDomain\nmetadata: {name: d}\n",
       "x.yaml:1:13: apiVersion: expected resource.nvidia.com/v1beta1"},
      {"apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: s}\nspec:\n"
       "  driver: gpu.nvidia.com\n  nodeName: n0\n  pool: {name: n0}\n  devices:\n"
       "  - {name: gpu-0, attributes: {type: {string: gpu}, pciBusID: {string: seven}}}\n",
       "x.yaml:9:5: spec.devices[0]: expected a PCI address like 0000:17:00.0, found \"seven\""},
      {"apiVersion: v1\nkind: List\nitems:\n- apiVersion: topology.node.k8s.io/v1alpha2\n"
       "  kind: NodeResourceTopology\n  metadata: {name: n0}\n  topologyPolicies: [Odd]\n",
       "x.yaml:7:22: items[0].topologyPolicies[0]: expected None"},
  }));
  CAPTURE(yaml);
  const auto read = ReadManifests(yaml, "x.yaml", Malformed::kRefused);
  REQUIRE_FALSE(read.ok());
  CHECK_THAT(read.error().ToString(), Catch::StartsWith(want));
}

TEST_CASE("what an API server would refuse or drop is refused, and all of it told to a check",
          "[manifests]") {
  const std::string yaml =
      "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n"
      "  metadata: {name: p, labels: {rank: 0}}\n  spec:\n    containers:\n    - name: main\n"
      "      resources: {limits: {nvidia.com/gpus: 8}}\n---\n"
      "apiVersion: x.io/v1\nkind: Training\nmetadata: {name: s}\n---\n"
      "apiVersion: v1\nkind: Pod\nmetadata: {name: Q}\nspec: {containers: [{name: main}]}\n";
  const std::string first =
      "x.yaml:6:38: items[0].metadata.labels[\"rank\"]: expected text, found 0, which YAML takes "
      "for "
      "a number or a truth value: put it in quotes";
  const auto read = ReadManifests(yaml, "x.yaml", Malformed::kRefused);
  REQUIRE_FALSE(read.ok());
  CHECK(read.error().ToString() == first + " (the first fault of 3; muster check tells all)");
  const ManifestCheck check = CheckManifests(yaml, "x.yaml");
  REQUIRE(check.faults.size() == 3);
  CHECK(check.faults[0].ToString() == first);
  CHECK(check.faults[1].ToString() ==
        "x.yaml:10:45: items[0].spec.containers[0].resources.limits[\"nvidia.com/gpus\"]: unknown "
        "resource, did you mean nvidia.com/gpu?");
  CHECK_THAT(check.faults[2].ToString(),
             Catch::StartsWith("x.yaml:18:18: metadata.name: expected"));
  CHECK(check.objects == 3);
  CHECK(check.others == std::set<std::string>{"Training"});
}

TEST_CASE("a fault of a pool is reported once, not for each of its nodes", "[manifests]") {
  const ManifestCheck check = CheckManifests(
      "apiVersion: sim.muster.dev/v1alpha1\nkind: NodePool\nmetadata: {name: n}\nspec:\n"
      "  count: 3\n  template:\n    spec: {unschedulabel: true, pocCIDR: x}\n"
      "    status: {allocatable: {cpu: 1}}\n",
      "x.yaml");
  CHECK(check.objects == 3);
  REQUIRE(check.faults.size() == 2);
  CHECK_THAT(check.faults[1].ToString(), Catch::Contains("did you mean podCIDR?"));
}

TEST_CASE("pods may name the PriorityClasses of their file", "[manifests]") {
  const std::string pod =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
      "spec: {priorityClassName: high, containers: [{name: main}]}\n";
  const std::string one =
      "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\n"
      "value: 1000\n";
  CHECK_FALSE(ReadManifests(pod, "x.yaml", Malformed::kRefused).ok());
  CHECK(ReadManifests(pod, "x.yaml", Malformed::kRefused, {{"high", 7}}).ok());
  const auto read = ReadManifests(pod + "---\n" + one, "x.yaml", Malformed::kRefused);
  REQUIRE(read.ok());
  REQUIRE(read->objects.size() == 2);
  CHECK(std::get<sim::PodRecord>(read->objects[0]).pod.spec->priority == 1000);
  CHECK(KindOf(read->objects[1]) == "PriorityClass");
  CHECK(KeyOf(read->objects[1]).name == "high");
  CHECK(CheckManifests(pod + "---\n" + one, "x.yaml").faults.empty());
}

TEST_CASE("objects of kinds that are not simulated are named and left out", "[manifests]") {
  const std::string others =
      "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n"
      "  metadata: {name: web}\n- apiVersion: jobset.x-k8s.io/v1alpha2\n  kind: JobSet\n"
      "  metadata: {name: s, namespace: a}\n";
  const auto read = ReadManifests(
      others +
          "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: "
          "main}]}\n",
      "x.yaml", Malformed::kRefused);
  REQUIRE(read.ok());
  CHECK(read->objects.size() == 1);
  CHECK(read->warnings ==
        std::vector<std::string>{
            "x.yaml:4:3: items[0]: Service web: v1 Service is not simulated and left out",
            "x.yaml:7:3: items[1]: JobSet s: jobset.x-k8s.io/v1alpha2 JobSet is not "
            "simulated and left out"});
  const auto none = ReadManifests(others, "x.yaml", Malformed::kRefused);
  REQUIRE_FALSE(none.ok());
  CHECK_THAT(none.error().ToString(),
             Catch::StartsWith("x.yaml:4:3: items[0]: Service web: v1 Service is not simulated, "
                               "and the file has nothing else: expected a Node, NodePool, "));
  // A check is of what a cluster takes.
  CHECK(CheckManifests(others, "x.yaml").warnings.empty());
}

TEST_CASE("a field of a PodGroup that is not honoured is reported with its place", "[manifests]") {
  const ManifestCheck check = CheckManifests(
      "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: g}\n"
      "spec:\n  subGroups:\n  - {name: a, minMember: 1}\n  minSubGroup: 1\n",
      "x.yaml");
  CHECK(check.faults.empty());
  CHECK(check.warnings ==
        std::vector<std::string>{"x.yaml:7:16: spec.minSubGroup: PodGroup g: has no effect: all "
                                 "subgroups are needed"});
}

TEST_CASE("an object that exists on a cluster whatever it says is kept", "[manifests]") {
  for (const std::string& yaml : {Topology("topologyPolicies: [Odd]\n"), Domain("{numNodes: 2}\n")})
    CHECK(ReadManifests(yaml, "x.yaml", Malformed::kKept).ok());
  const auto read =
      ReadManifests(Topology("topologyPolicies: [Odd]\n"), "x.yaml", Malformed::kKept);
  REQUIRE(read.ok());
  REQUIRE(read->warnings.size() == 1);
  CHECK_THAT(read->warnings.front(),
             Catch::StartsWith("x.yaml:4:20: topologyPolicies[0]: NodeResourceTopology n0: "));
}

TEST_CASE("what is ignored of a node is reported with file, line and field", "[manifests]") {
  struct Case {
    std::string metadata;  // from the fifth line on
    std::string want;
  };
  const auto [metadata, want] = GENERATE_COPY(values<Case>({
      {"  annotations:\n    muster.dev/gpu-topology: |\n      GPU0 GPU1\n      GPU0 X\n",
       "x.yaml:6:30: metadata.annotations[\"muster.dev/gpu-topology\"]: Node n0: the topology is "
       "ignored: "},
      {"  annotations: {muster.dev/gpu-devices: \"[\"}\n",
       "x.yaml:5:41: metadata.annotations[\"muster.dev/gpu-devices\"]: Node n0: annotation "
       "ignored: muster.dev/gpu-devices.byte 1: not valid JSON"},
      {"  annotations: {hami.io/device-cordon: GPU-x}\n",
       "x.yaml:5:40: metadata.annotations[\"hami.io/device-cordon\"]: Node n0: "},
      {"  labels: {nvidia.com/gpu.memory: many}\n",
       "x.yaml:5:35: metadata.labels[\"nvidia.com/gpu.memory\"]: Node n0: label "},
      {"spec: {taints: [{key: a, effect: Never}]}\n",
       "x.yaml:5:34: spec.taints[0].effect: Node n0: not known, taken as NoSchedule"},
  }));
  const auto read = ReadManifests("apiVersion: v1\nkind: Node\nmetadata:\n  name: n0\n" + metadata +
                                      "status: {allocatable: {nvidia.com/gpu: 2}}\n",
                                  "x.yaml", Malformed::kRefused);
  CAPTURE(metadata);
  REQUIRE(read.ok());
  CHECK(read->objects.size() == 1);
  REQUIRE(read->warnings.size() == 1);
  CHECK_THAT(read->warnings.front(), Catch::StartsWith(want));
}

TEST_CASE("pods name the templates of their claims, unless an annotation says what they are for",
          "[manifests]") {
  const std::string claims =
      "resourceClaims: [{name: a, resourceClaimTemplateName: t}, {name: b, resourceClaimName: c}]";
  const auto pod = [&](const std::string& metadata) {
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: p" + metadata + "}\nspec:\n  " + claims +
           "\n  containers: [{name: main}]\n";
  };
  const auto job = ReadManifests(
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  template:\n    spec:\n"
      "      containers: [{name: main}]\n      " +
          claims + "\n",
      "x.yaml", Malformed::kRefused);
  REQUIRE(job.ok());
  const std::vector<std::string> want = {"t"};
  CHECK(std::get<sim::JobRecord>(job->objects.front()).pod.claim_templates == want);
  const auto read = ReadManifests(
      pod("") + "---\n" + pod(", annotations: {muster.dev/compute-domain: \"false\"}"), "x.yaml",
      Malformed::kRefused);
  REQUIRE(read.ok());
  CHECK(std::get<sim::PodRecord>(read->objects.front()).claim_templates == want);
  CHECK(std::get<sim::PodRecord>(read->objects.back()).claim_templates.empty());
}

}  // namespace
}  // namespace muster::extender
