#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "kube/decode/decode.hpp"
#include "kube/encode/encode.hpp"

namespace muster::kube {
namespace {

using cluster::GpuRequest;
using cluster::Pod;

Pod DecodeSpec(const std::string& spec) {
  const cluster::Result<Pod> pod =
      DecodePod(R"({"metadata":{"name":"p","namespace":"n","uid":"u"},"spec":)" + spec + "}");
  REQUIRE(pod.ok());
  return *pod;
}

// A container that requests these amounts.
std::string Container(const std::string& cpu, const std::string& memory, const std::string& gpus,
                      const std::string& more = "") {
  return R"({"resources":{"requests":{"cpu":")" + cpu + R"(","memory":")" + memory +
         R"(","nvidia.com/gpu":")" + gpus + R"("}})" + more + "}";
}
std::string Sidecar(const std::string& cpu, const std::string& memory, const std::string& gpus) {
  return Container(cpu, memory, gpus, R"(,"restartPolicy":"Always")");
}
std::string Spec(const std::string& containers, const std::string& init_containers,
                 const std::string& more = "") {
  return R"({"containers":[)" + containers + R"(],"initContainers":[)" + init_containers + "]" +
         more + "}";
}

TEST_CASE("the effective request is the one that kube-scheduler counts", "[kube][pod]") {
  struct Case {
    std::string name;
    std::string spec;
    int64_t cpu;     // milli
    int64_t memory;  // MiB
    int32_t gpus;
  };
  const Case c = GENERATE(values<Case>({
      {"nothing asked", R"({"containers":[{"name":"a"}]})", 0, 0, 0},
      {"containers add up",
       Spec(Container("500m", "1Gi", "1") + "," + Container("1.5", "512Mi", "2"), ""), 2000, 1536,
       3},
      {"memory is rounded once, not for each container",
       Spec(Container("0", "1", "0") + "," + Container("0", "1", "0"), ""), 0, 1, 0},
      {"memory in decimal units",
       Spec(Container("0", "100M", "0") + "," + Container("0", "100M", "0") + "," +
                Container("0", "100M", "0"),
            ""),
       0, 287, 0},
      {"a greater init container counts in place of the containers",
       Spec(Container("1", "1Gi", "1"), Container("4", "512Mi", "8")), 4000, 1024, 8},
      {"init containers run one after another",
       Spec(Container("1", "1Gi", "1"),
            Container("2", "2Gi", "2") + "," + Container("3", "1Gi", "0")),
       3000, 2048, 2},
      {"sidecars run along with the containers",
       Spec(Container("1", "1Gi", "1"), Sidecar("2", "1Gi", "1")), 3000, 2048, 2},
      {"an init container runs along with the sidecars before it",
       Spec(Container("1", "1Gi", "0"),
            Sidecar("2", "1Gi", "1") + "," + Container("5", "1Gi", "4")),
       7000, 2048, 5},
      {"and without those after it",
       Spec(Container("1", "1Gi", "0"),
            Container("5", "1Gi", "4") + "," + Sidecar("2", "1Gi", "1")),
       5000, 2048, 4},
      {"overhead comes on top",
       Spec(Container("1", "1Gi", "1"), Container("4", "4Gi", "0"),
            R"(,"overhead":{"cpu":"250m","memory":"120Mi"})"),
       4250, 4216, 1},
      {"pod-level requests replace the sum, overhead still on top",
       Spec(Container("1", "1Gi", "2"), Container("9", "9Gi", "0"),
            R"(,"resources":{"requests":{"cpu":"3"}},"overhead":{"cpu":"1"})"),
       4000, 9216, 2},
      {"a pod-level limit stands in where no container says anything",
       Spec("{}", "", R"(,"resources":{"limits":{"cpu":"3","memory":"2Gi"}})"), 3000, 2048, 0},
      {"but not where one does",
       Spec(Container("1", "1Gi", "0"), "",
            R"(,"resources":{"limits":{"cpu":"3","memory":"2Gi"}})"),
       1000, 1024, 0},
      {"a request that is missing is the limit",
       R"({"containers":[{"resources":{"limits":{"cpu":"2","memory":"1Gi","nvidia.com/gpu":4},)"
       R"("requests":{"cpu":"1"}}}]})",
       1000, 1024, 4},
      {"a request of zero is not missing",
       R"({"containers":[{"resources":{"limits":{"cpu":"2"},"requests":{"cpu":"0"}}}]})", 0, 0, 0},
      {"numbers are quantities too",
       R"({"containers":[{"resources":{"requests":{"cpu":0.1,"memory":1073741824,"nvidia.com/gpu":8}}}]})",
       100, 1024, 8},
      {"quantities have exponents and suffixes", Spec(Container("1e1", "1E3", "1k"), ""), 10000, 1,
       1000},
      {"amounts too large for bytes do not wrap", Spec(Container("1", "8Ei", "0"), ""), 1000,
       (int64_t{1} << 43), 0},
      {"null is absent",
       R"({"containers":[{"resources":{"limits":null,"requests":null}}],)"
       R"("initContainers":null,"overhead":null})",
       0, 0, 0},
  }));
  CAPTURE(c.name);
  const Pod pod = DecodeSpec(c.spec);
  CHECK(pod.defect.empty());
  CHECK(pod.spec->requests.cpu.value() == c.cpu);
  CHECK(pod.spec->requests.memory.value() == c.memory);
  CHECK(pod.spec->requests.pods == 1);
  CHECK(pod.spec->gpus.count == c.gpus);
  CHECK_FALSE(pod.spec->gpus.fractional());
}

TEST_CASE("a request that makes no sense is a defect that names the field", "[kube][pod]") {
  struct Case {
    std::string spec;
    std::string want;  // how the defect begins
  };
  const std::string place = "Pod.spec.containers[0].resources.";
  const Case c = GENERATE_COPY(values<Case>({
      {Spec(Container("1", "1Gi", "1500m"), ""), place + R"(requests["nvidia.com/gpu"]: )"},
      {Spec(Container("1", "1Gi", "-1"), ""), place + R"(requests["nvidia.com/gpu"]: )"},
      {Spec(Container("one", "1Gi", "1"), ""), place + "requests.cpu: "},
      {Spec(Container("1", "-1Gi", "1"), ""), place + "requests.memory: "},
      {Spec(Container("1", "1GiB", "1"), ""), place + "requests.memory: "},
      {Spec(Container("1", "1Gi", "1e30"), ""), place + R"(requests["nvidia.com/gpu"]: )"},
      {Spec(Container("1", "1Gi", "4G"), ""), "Pod.spec: asks for more GPUs than"},
      {Spec("{}", Container("1", "", "1")),
       "Pod.spec.initContainers[0].resources.requests.memory: "},
      {Spec("{}", "", R"(,"overhead":{"cpu":[]})"), "Pod.spec.overhead.cpu: expected a quantity"},
      {Spec("{}", "", R"(,"resources":{"requests":{"cpu":"x"}})"),
       "Pod.spec.resources.requests.cpu: "},
      {Spec("{}", "", R"(,"resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}})"),
       "Pod.spec.resources.requests.cpu: is more than the limit"},
      {R"({"containers":[{"resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}}]})",
       place + "requests.cpu: is more than the limit"},
      {R"({"containers":[{"resources":{"requests":{"nvidia.com/gpu":1},"limits":{"nvidia.com/gpu":2}}}]})",
       place + R"(requests["nvidia.com/gpu"]: must be the same as the limit)"},
      {R"({"containers":[{"resources":{"limits":{"memory":"lots"}}}]})", place + "limits.memory: "},
      {R"({"containers":{}})", "Pod.spec.containers: expected a list, found an object"},
      {R"({"containers":["x"]})", "Pod.spec.containers[0]: expected an object, found a text"},
      {R"({"containers":[{"resources":5}]})",
       "Pod.spec.containers[0].resources: expected an object"},
      {"[]", "Pod.spec: expected an object, found a list"},
      {"null", "Pod.spec: is missing"},
  }));
  CAPTURE(c.spec);
  CHECK_THAT(DecodeSpec(c.spec).defect, Catch::StartsWith(c.want));
}

TEST_CASE("a manifest's request of a device needs a limit, a pod that was admitted does not",
          "[kube][pod]") {
  const auto defect = [](const std::string& resources, Source source) {
    DecodeOptions options;
    options.source = source;
    const cluster::Result<Pod> pod =
        DecodePod(R"({"metadata":{"name":"p","namespace":"n","uid":"u"},"spec":{"containers":[{}],)"
                  R"("initContainers":[{"resources":{)" +
                      resources + R"(}}]}})",
                  options);
    REQUIRE(pod.ok());
    return pod->defect;
  };
  for (const char* one : {R"("requests":{"nvidia.com/gpu":1})",
                          R"("requests":{"rdma/hca":1},"limits":{"nvidia.com/gpu":1})",
                          R"("requests":{"hugepages-2Mi":"4Mi"},"limits":null)"}) {
    CAPTURE(one);
    CHECK_THAT(defect(one, Source::kManifest),
               Catch::StartsWith("Pod.spec.initContainers[0].resources.requests") &&
                   Catch::EndsWith(": needs a limit of the same size"));
    CHECK(defect(one, Source::kApiServer).empty());
  }
  for (const char* one : {R"("limits":{"nvidia.com/gpu":1})",
                          R"("requests":{"nvidia.com/gpu":1},"limits":{"nvidia.com/gpu":1})",
                          R"("requests":{"cpu":1,"memory":"1Gi","nvidia.com/gpu":null})"}) {
    CAPTURE(one);
    CHECK(defect(one, Source::kManifest).empty());
  }
}

TEST_CASE("a claim for a channel of a ComputeDomain is one channel, and the wish for one clique",
          "[kube][pod]") {
  const auto decode = [](const std::string& annotations) {
    const cluster::Result<Pod> pod =
        DecodePod(R"({"metadata":{"name":"p","namespace":"n","uid":"u","annotations":{)" +
                  annotations + R"(}},"spec":{"containers":[{}]}})");
    REQUIRE(pod.ok());
    return *pod;
  };
  const std::string channel = R"("muster.dev/compute-domain":"true")";
  CHECK(decode("").spec->requests.channels == 0);
  CHECK(decode(R"("muster.dev/compute-domain":"false")").spec->requests.channels == 0);
  CHECK(decode(R"("muster.dev/compute-domain":"false")").spec->topology.none());
  CHECK(decode(channel).spec->requests.channels == 1);
  CHECK(decode(channel).spec->topology.preferred == "nvidia.com/gpu.clique");
  CHECK(decode(channel).spec->topology.said_by == "muster.dev/compute-domain");
  // Whatever else is said of levels comes first.
  const Pod rack = decode(channel + R"(,"muster.dev/topology-required":"rack")");
  CHECK(rack.spec->topology.required == "rack");
  CHECK(rack.spec->topology.preferred.empty());
  CHECK(rack.spec->requests.channels == 1);
  const Pod odd = decode(R"("muster.dev/compute-domain":"yes")");
  CHECK_THAT(odd.defect, Catch::Contains("muster.dev/compute-domain") &&
                             Catch::Contains("expected true or false"));
  for (const Pod& pod : {decode(channel), rack}) {
    const cluster::Result<Pod> back = DecodePod(EncodePod(pod));
    REQUIRE(back.ok());
    CHECK(*back->spec == *pod.spec);
  }
}

TEST_CASE("resources that have but a name are counted as kube-scheduler counts them",
          "[kube][pod][named]") {
  struct Case {
    std::string name;
    std::string spec;
    std::vector<cluster::NamedAmount> want;
  };
  const auto limits = [](const std::string& list, const std::string& more = "") {
    return R"({"resources":{"limits":{)" + list + "}}" + more + "}";
  };
  const std::string sidecar = R"(,"restartPolicy":"Always")";
  const Case c = GENERATE_COPY(values<Case>({
      {"containers add up, a limit stands in for a request",
       Spec(limits(R"("vpc.amazonaws.com/efa":"4")") + "," +
                limits(R"("vpc.amazonaws.com/efa":1,"rdma/hca":"2")"),
            ""),
       {{"rdma/hca", 2}, {"vpc.amazonaws.com/efa", 5}}},
      {"a greater init container counts, beside the sidecars before it",
       Spec(limits(R"("rdma/hca":"1")"),
            limits(R"("rdma/hca":"2")", sidecar) + "," + limits(R"("rdma/hca":"3")")),
       {{"rdma/hca", 5}}},
      {"ephemeral storage in bytes; of 0 nothing is kept",
       Spec(R"({"resources":{"requests":{"ephemeral-storage":"2Gi","hugepages-1Gi":"0"},)"
            R"("limits":{"ephemeral-storage":"9Gi","hugepages-1Gi":"0"}}})",
            ""),
       {{"ephemeral-storage", int64_t{2} << 30}}},
      {"pod-level huge pages replace the sum, overhead comes on top",
       Spec(limits(R"("hugepages-2Mi":"4Mi")"), "",
            R"(,"resources":{"requests":{"hugepages-2Mi":"6Mi"}},"overhead":)"
            R"({"ephemeral-storage":"1Ki"})"),
       {{"ephemeral-storage", 1024}, {"hugepages-2Mi", int64_t{6} << 20}}},
      {"GPUs, and devices that are refused by their names, are none of them",
       Spec(limits(R"("nvidia.com/gpu":"1","nvidia.com/gpumem":"100","amd.com/gpu":"1")"), ""),
       {}},
  }));
  CAPTURE(c.name);
  CHECK(DecodeSpec(c.spec).spec->requests.named == cluster::NamedAmounts(c.want));
}

TEST_CASE("a request of a named resource that differs from its limit is no request",
          "[kube][pod][named]") {
  const Pod pod = DecodeSpec(
      R"({"containers":[{"resources":{"requests":{"rdma/hca":"1"},"limits":{"rdma/hca":"2"}}}]})");
  CHECK(pod.defect.find("rdma/hca") != std::string::npos);
  CHECK(pod.defect.find("must be the same as the limit") != std::string::npos);
}

TEST_CASE("a node offers what it lists, by name", "[kube][node][named]") {
  const auto node = DecodeNode(
      R"({"metadata":{"name":"n","uid":"u"},"status":{"allocatable":{"cpu":"4","memory":"8Gi",)"
      R"("pods":"110","nvidia.com/gpu":"8","ephemeral-storage":"100Gi","hugepages-1Gi":"0",)"
      R"("vpc.amazonaws.com/efa":"32","amd.com/gpu":"4","storage":"1"}}})");
  REQUIRE(node.ok());
  CHECK(node->node.allocatable.named ==
        cluster::NamedAmounts(
            {{"ephemeral-storage", int64_t{100} << 30}, {"vpc.amazonaws.com/efa", 32}}));
  std::string text;
  AppendNode(text, node->node);
  CHECK(DecodeNode(text)->node.allocatable == node->node.allocatable);
}

}  // namespace
}  // namespace muster::kube
