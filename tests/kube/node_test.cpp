#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "kube/decode/decode.hpp"
#include "kube/encode/encode.hpp"

namespace muster::kube {
namespace {

using cluster::GpuSharing;
using cluster::Node;
using cluster::Taint;
using cluster::TaintEffect;

DecodedNode Decode(const std::string& text, Source source = Source::kApiServer) {
  DecodeOptions options;
  options.source = source;
  const cluster::Result<DecodedNode> node = DecodeNode(text, options);
  REQUIRE(node.ok());
  return *node;
}

std::string ErrorOf(const std::string& text) {
  const cluster::Result<DecodedNode> node = DecodeNode(text);
  return node.ok() ? "" : node.error().ToString();
}

TEST_CASE("a node from the API server", "[kube][node]") {
  const DecodedNode decoded = Decode(R"({"kind":"Node","apiVersion":"v1",
    "metadata":{"name":"gpu-1","uid":"77aa","labels":{"zone":"a","nvidia.com/gpu.product":"NVIDIA-L4",
      "nvidia.com/gpu.memory":"23034"}},
    "spec":{"unschedulable":true,"taints":[{"key":"a","value":"b","effect":"NoExecute"},
      {"key":"c","effect":"PreferNoSchedule"},{"key":"d","effect":"NoSchedule"}]},
    "status":{"capacity":{"cpu":"99"},
      "allocatable":{"cpu":"95500m","memory":"1055762864Ki","pods":"110","nvidia.com/gpu":"2"},
      "conditions":[{"type":"MemoryPressure","status":"False"},{"type":"Ready","status":"True"}]}})");
  CHECK(decoded.warnings.empty());
  const Node& node = decoded.node;
  CHECK(node.uid.text() == "77aa");
  CHECK(node.name == "gpu-1");
  CHECK(node.labels.at("zone") == "a");
  CHECK(node.unschedulable);
  CHECK(node.ready);
  CHECK(node.taints == std::vector<Taint>{{"a", "b", TaintEffect::kNoExecute},
                                          {"c", "", TaintEffect::kPreferNoSchedule},
                                          {"d", "", TaintEffect::kNoSchedule}});
  CHECK(node.allocatable.cpu.value() == 95500);
  CHECK(node.allocatable.memory.value() == 1055762864 / 1024);  // rounded down
  CHECK(node.allocatable.pods == 110);
  REQUIRE(node.gpus.size() == 2);
  CHECK(node.gpus[1].index.value == 1);
  CHECK(node.gpus[1].model == "NVIDIA-L4");
  CHECK(node.gpus[1].memory.value() == 23034);
  CHECK(node.gpus[1].sharing == GpuSharing::Exclusive());
}

TEST_CASE("readiness is what the kubelet last said", "[kube][node]") {
  const std::string head = R"({"metadata":{"name":"n","uid":"u"},"status":{"conditions":[)";
  CHECK(Decode(head + R"({"type":"Ready","status":"True"}]}})").node.ready);
  CHECK_FALSE(Decode(head + R"({"type":"Ready","status":"False"}]}})").node.ready);
  CHECK_FALSE(Decode(head + R"({"type":"Ready","status":"Unknown"}]}})").node.ready);
  CHECK_FALSE(Decode(head + "]}}").node.ready);
  CHECK_FALSE(Decode(R"({"metadata":{"name":"n","uid":"u"}})").node.ready);
}

TEST_CASE("a node from a manifest is ready and takes pods", "[kube][node]") {
  const Node node = Decode(R"({"metadata":{"name":"n"},"status":{"capacity":{"cpu":8,"memory":"1Gi",
    "nvidia.com/gpu":1}}})",
                           Source::kManifest)
                        .node;
  CHECK(node.ready);
  CHECK(node.uid.empty());
  CHECK(node.allocatable.cpu.value() == 8000);  // capacity stands in for allocatable
  CHECK(node.allocatable.pods == 110);
  CHECK(node.gpus.size() == 1);
}

TEST_CASE("a node that cannot be understood is refused", "[kube][node]") {
  const std::string head = R"({"metadata":{"name":"n","uid":"u"},)";
  CHECK(ErrorOf(R"({"metadata":{"name":"n"}})") == "Node.metadata.uid: is missing");
  CHECK(ErrorOf(R"({"metadata":{"uid":"u"}})") == "Node.metadata.name: is missing");
  CHECK_THAT(ErrorOf(head + R"("status":{"allocatable":{"cpu":"many"}}})"),
             Catch::StartsWith("Node.status.allocatable.cpu: "));
  CHECK_THAT(ErrorOf(head + R"("status":{"allocatable":{"nvidia.com/gpu":"1500m"}}})"),
             Catch::StartsWith(R"(Node.status.allocatable["nvidia.com/gpu"]: )"));
  CHECK(ErrorOf(head + R"("spec":{"taints":{}}})") ==
        "Node.spec.taints: expected a list, found an object");
  CHECK(ErrorOf(head + R"("spec":{"unschedulable":"yes"}})") ==
        "Node.spec.unschedulable: expected true or false, found a text");
}

TEST_CASE("a taint with an effect that is not known keeps pods away", "[kube][node]") {
  const DecodedNode decoded = Decode(
      R"({"metadata":{"name":"n","uid":"u"},"spec":{"taints":[{"key":"a","effect":"NoFun"}]}})");
  REQUIRE(decoded.node.taints.size() == 1);
  CHECK(decoded.node.taints[0].effect == TaintEffect::kNoSchedule);
  CHECK(decoded.warnings ==
        std::vector<std::string>{"Node.spec.taints[0].effect: not known, taken as NoSchedule"});
}

TEST_CASE("GPUs that the plugin has and does not offer are unhealthy", "[kube][node]") {
  const auto decode = [](const std::string& offered, const std::string& labels = "") {
    return Decode(R"({"kind":"Node","metadata":{"name":"n","uid":"u","labels":{)" + labels +
                  R"(}},"status":{"capacity":{"nvidia.com/gpu":"8"},"allocatable":{)" + offered +
                  "}}}")
        .node.gpus;
  };
  const auto healthy = [](const std::vector<cluster::Gpu>& gpus) {
    return std::count_if(gpus.begin(), gpus.end(),
                         [](const cluster::Gpu& gpu) { return gpu.healthy; });
  };
  CHECK(healthy(decode(R"("nvidia.com/gpu":"8")")) == 8);
  const std::vector<cluster::Gpu> seven = decode(R"("nvidia.com/gpu":"7")");
  REQUIRE(seven.size() == 8);
  CHECK(healthy(seven) == 7);
  CHECK_FALSE(seven.back().healthy);
  // The plugin has gone: the kubelet offers none of them for the while.
  CHECK(decode(R"("nvidia.com/gpu":"0")").size() == 8);
  CHECK(healthy(decode(R"("nvidia.com/gpu":"0")")) == 0);
  // Four shares of each of two GPUs.
  const std::vector<cluster::Gpu> shared =
      decode(R"("nvidia.com/gpu":"4")", R"("nvidia.com/gpu.replicas":"4")");
  CHECK(shared.size() == 2);
  CHECK(healthy(shared) == 1);
}

std::string WithTopology(const std::string& text) {
  return R"({"kind":"Node","metadata":{"name":"n","uid":"u","annotations":{"muster.dev/gpu-topology":")" +
         text + R"("}},"status":{"allocatable":{"nvidia.com/gpu":"2"}}})";
}

TEST_CASE("the links between a node's GPUs are those of its annotation", "[kube][node][topology]") {
  const DecodedNode decoded =
      Decode(WithTopology(R"(\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X )"));
  CHECK(decoded.warnings.empty());
  CHECK_FALSE(decoded.node.topology.empty());
  // Another copy of the same output makes the same record.
  CHECK(Decode(WithTopology(R"( GPU0 GPU1\r\nGPU0 X NV4\r\nGPU1 NV4 X\r\n\r\nLegend:\r\n)"))
            .node.topology == decoded.node.topology);
  std::string json;
  AppendNode(json, decoded.node);
  CHECK(Decode(json).node.topology == decoded.node.topology);
}

TEST_CASE("the policy of the kubelet's topology manager is an annotation",
          "[kube][node][topology]") {
  const auto decode = [](const std::string& said) {
    return Decode(R"({"kind":"Node","metadata":{"name":"n","uid":"u","annotations":{)"
                  R"("muster.dev/topology-manager-policy":")" +
                  said + R"("}}})");
  };
  CHECK(decode("single-numa-node").node.numa_policy == cluster::NumaPolicy::kSingleNumaNode);
  CHECK(decode("restricted").node.numa_policy == cluster::NumaPolicy::kRestricted);
  CHECK(decode("best-effort").warnings.empty());
  const auto wrong = decode("single");
  CHECK(wrong.node.numa_policy == cluster::NumaPolicy::kNone);
  REQUIRE(wrong.warnings.size() == 1);
  CHECK_THAT(wrong.warnings.front(), Catch::Contains("muster.dev/topology-manager-policy") &&
                                         Catch::Contains("single-numa-node, found \"single\""));
}

TEST_CASE("links that cannot be understood are said and ignored", "[kube][node][topology]") {
  const DecodedNode decoded = Decode(WithTopology(R"( GPU0 GPU1\nGPU0 X NV4\nGPU1 NV3 X)"));
  CHECK(decoded.node.topology.empty());
  CHECK(decoded.node.gpus.size() == 2);
  REQUIRE(decoded.warnings.size() == 1);
  CHECK(decoded.warnings.front().find("muster.dev/gpu-topology:3:") != std::string::npos);
  const DecodedNode list = Decode(WithTopology("GPU 0: Tesla T4 (UUID: GPU-1)"));
  CHECK(list.node.topology.empty());
  REQUIRE(list.warnings.size() == 1);
  CHECK(list.warnings.front().find("nvidia-smi topo -m") != std::string::npos);
}

TEST_CASE("a node whose devices HAMi has registered has HAMi's plugin", "[kube][node]") {
  const auto read = [](const std::string& annotations) {
    return Decode(R"({"kind":"Node","metadata":{"name":"n","uid":"u","annotations":{)" +
                  annotations + R"(}},"status":{"allocatable":{"nvidia.com/gpu":"20"}}})")
        .node;
  };
  const auto plugin = [&](const std::string& annotations) { return read(annotations).plugin; };
  const std::string hami =
      R"("hami.io/node-nvidia-register":"GPU-a,10,100,100,T4,0,true:GPU-b,10,100,100,T4,0,true:")";
  CHECK(plugin("") == cluster::DevicePlugin::kStock);
  CHECK(plugin(hami) == cluster::DevicePlugin::kHami);
  CHECK(read(hami).hami_lock.empty());
  const std::string lock = R"("hami.io/mutex.lock":"2026-08-21T06:20:39Z,team,a")";
  CHECK(read(hami + "," + lock).hami_lock == "team/a");
  CHECK(read(lock).hami_lock.empty());
  // What the devices are is one thing, who hands them out another.
  CHECK(plugin(hami + R"(,"muster.dev/gpu-devices":"[{\"index\":0}]")") ==
        cluster::DevicePlugin::kHami);
  CHECK(plugin(R"("hami.io/node-nvidia-register":"[]")") == cluster::DevicePlugin::kStock);
  CHECK(plugin(R"("hami.io/node-nvidia-register":"")") == cluster::DevicePlugin::kStock);
}

}  // namespace
}  // namespace muster::kube
