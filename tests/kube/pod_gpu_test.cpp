#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "kube/decode/decode.hpp"

namespace muster::kube {
namespace {

using cluster::GpuMilli;
using cluster::GpuRequest;
using cluster::MiB;
using cluster::Pod;

Pod DecodeGpuPod(const std::string& annotations, const std::string& limits) {
  const cluster::Result<Pod> pod = DecodePod(
      R"({"metadata":{"name":"p","namespace":"n","uid":"u","annotations":{)" + annotations +
      R"(}},"spec":{"containers":[{"resources":{"limits":{)" + limits + "}}}]}}");
  REQUIRE(pod.ok());
  return *pod;
}

GpuRequest Request(int32_t count, int64_t milli, int64_t memory) {
  return {count, GpuMilli(milli), MiB(memory)};
}
GpuRequest Parts(int32_t count, int64_t compute_milli, int64_t memory_milli, int64_t memory = 0) {
  return {count, {GpuMilli(compute_milli), GpuMilli(memory_milli)}, MiB(memory)};
}

TEST_CASE("GPUs are asked for whole, as KAI's share, or as HAMi's", "[kube][pod][gpu]") {
  struct Case {
    std::string name;
    std::string annotations;
    std::string limits;
    GpuRequest want;
  };
  const Case c = GENERATE(values<Case>({
      {"none", "", "", GpuRequest{}},
      {"none, said so", "", R"("nvidia.com/gpu":"0")", GpuRequest{}},
      {"whole", "", R"("nvidia.com/gpu":"8")", Request(8, 1000, 0)},
      {"KAI share", R"("gpu-fraction":"0.46")", "", Request(1, 460, 0)},
      {"KAI share of two", R"("gpu-fraction":"0.5","gpu-fraction-num-devices":"2")", "",
       Request(2, 500, 0)},
      {"KAI memory", R"("gpu-memory":"4096")", "", Request(1, 0, 4096)},
      {"KAI memory on two", R"("gpu-memory":"4096","gpu-fraction-num-devices":"2")", "",
       Request(2, 0, 4096)},
      {"HAMi memory", "", R"("nvidia.com/gpu":1,"nvidia.com/gpumem":3000)", Request(1, 0, 3000)},
      {"HAMi memory, one device when it does not say", "", R"("nvidia.com/gpumem":3000)",
       Request(1, 0, 3000)},
      {"HAMi memory and cores", "",
       R"("nvidia.com/gpu":2,"nvidia.com/gpumem":3000,"nvidia.com/gpucores":30)",
       Parts(2, 300, 0, 3000)},
      {"HAMi percentage", "", R"("nvidia.com/gpu":1,"nvidia.com/gpumem-percentage":25)",
       Parts(1, 0, 250)},
      {"cores and memory are apart", "",
       R"("nvidia.com/gpu":1,"nvidia.com/gpumem-percentage":25,"nvidia.com/gpucores":"40")",
       Parts(1, 400, 250)},
      {"cores alone take all of the memory", "", R"("nvidia.com/gpu":1,"nvidia.com/gpucores":30)",
       Request(1, 1000, 0)},
      {"zero is not given, as HAMi has it", "",
       R"("nvidia.com/gpu":1,"nvidia.com/gpumem":0,"nvidia.com/gpucores":0)", Request(1, 1000, 0)},
      {"all of the cores is the whole device", "",
       R"("nvidia.com/gpu":1,"nvidia.com/gpumem-percentage":25,"nvidia.com/gpucores":100)",
       Request(1, 1000, 0)},
      {"no device, no share", "", R"("nvidia.com/gpu":0,"nvidia.com/gpumem":3000)", GpuRequest{}},
  }));
  CAPTURE(c.name);
  const Pod pod = DecodeGpuPod(c.annotations, c.limits);
  CHECK(pod.defect.empty());
  CHECK(pod.spec->gpus.count == c.want.count);
  CHECK(pod.spec->gpus.each == c.want.each);
  CHECK(pod.spec->gpus.memory_each.value() == c.want.memory_each.value());
}

TEST_CASE("devices that are not planned are told apart from none", "[kube][pod][gpu]") {
  struct Case {
    std::string limits;
    std::string want;
  };
  const Case c = GENERATE(values<Case>({
      {R"("nvidia.com/mig-1g.10gb":"1")", "nvidia.com/mig-1g.10gb"},
      {R"("nvidia.com/mig-3g.40gb+me":1)", "nvidia.com/mig-3g.40gb+me"},
      {R"("nvidia.com/gpu":1,"nvidia.com/mig-1g.10gb":2)", "nvidia.com/mig-1g.10gb"},
      {R"("nvidia.com/mig-1g.10gb":"0")", ""},
      {R"("nvidia.com/mig-1g.10gb":"some")", "nvidia.com/mig-1g.10gb"},
      {R"("nvidia.com/gpu.shared":1)", "nvidia.com/gpu.shared"},
      {R"("amd.com/gpu":8)", "amd.com/gpu"},
      {R"("amd.com/cpx_nps4":1)", "amd.com/cpx_nps4"},
      {R"("amd.com/xilinx_u30":1)", ""},
      {R"("gpu.intel.com/i915":1)", "gpu.intel.com/i915"},
      {R"("gpu.intel.com/xe":"1")", "gpu.intel.com/xe"},
      {R"("gpu.intel.com/i915_monitoring":1)", ""},
      {R"("gpu.intel.com/monitoring":1)", ""},
      {R"("huawei.com/Ascend910B3":1)", "huawei.com/Ascend910B3"},
      {R"("volcano.sh/vgpu-memory":4096)", "volcano.sh/vgpu-memory"},
      {R"("deviceclass.resource.kubernetes.io/gpu.nvidia.com":1)",
       "deviceclass.resource.kubernetes.io/gpu.nvidia.com"},
      {R"("nvidia.com/gpu":1,"nvidia.com/gpumem":4096,"nvidia.com/priority":1)", ""},
      {R"("rdma/hca":1,"nvidia.com/hostdev":1,"ephemeral-storage":"1Gi","hugepages-2Mi":"1Gi")",
       ""},
  }));
  CAPTURE(c.limits);
  const Pod pod = DecodeGpuPod("", c.limits);
  CHECK(pod.spec->unplanned_devices == c.want);
  CHECK(pod.defect.empty());
}

TEST_CASE("any container may ask for devices that are not planned, in requests too",
          "[kube][pod][gpu]") {
  const auto unplanned = [](const std::string& spec) {
    const cluster::Result<Pod> pod =
        DecodePod(R"({"metadata":{"name":"p","namespace":"n","uid":"u"},"spec":{)" + spec + "}}");
    REQUIRE(pod.ok());
    return pod->spec->unplanned_devices;
  };
  const std::string asks = R"({"resources":{"requests":{"cpu":"1","amd.com/gpu":"1"}}})";
  CHECK(unplanned(R"("containers":[{},)" + asks + "]") == "amd.com/gpu");
  CHECK(unplanned(R"("containers":[{}],"initContainers":[)" + asks + "]") == "amd.com/gpu");
}

TEST_CASE("resource claims may be a pod's GPUs where it asks for none otherwise",
          "[kube][pod][gpu]") {
  const auto unplanned = [](const std::string& annotations, const std::string& limits) {
    const cluster::Result<Pod> pod = DecodePod(
        R"({"metadata":{"name":"p","namespace":"n","uid":"u","annotations":{)" + annotations +
        R"(}},"spec":{"resourceClaims":[{"name":"c","resourceClaimTemplateName":"t"}],)" +
        R"("containers":[{"resources":{"claims":[{"name":"c"}],"limits":{)" + limits + "}}}]}}");
    REQUIRE(pod.ok());
    CHECK(pod->defect.empty());
    return pod->spec->unplanned_devices;
  };
  CHECK(unplanned("", "") == "spec.resourceClaims");
  CHECK(unplanned("", R"("nvidia.com/gpu":"0")") == "spec.resourceClaims");
  CHECK(unplanned("", R"("nvidia.com/gpu":"8")").empty());
  CHECK(unplanned(R"("gpu-fraction":"0.5")", "").empty());
  CHECK(unplanned("", R"("nvidia.com/gpu":"1","nvidia.com/mig-1g.10gb":"1")") ==
        "nvidia.com/mig-1g.10gb");
}

TEST_CASE("containers that ask for different HAMi shares get the greatest each",
          "[kube][pod][gpu]") {
  const cluster::Result<Pod> pod = DecodePod(R"({"metadata":{"name":"p","namespace":"n","uid":"u"},
    "spec":{"containers":[
      {"resources":{"limits":{"nvidia.com/gpu":1,"nvidia.com/gpumem":1000,"nvidia.com/gpucores":50}}},
      {"resources":{"limits":{"nvidia.com/gpu":1,"nvidia.com/gpumem":2000,"nvidia.com/gpucores":20}}}]}})");
  REQUIRE(pod.ok());
  CHECK(pod->spec->gpus == Parts(2, 500, 0, 2000));
}

TEST_CASE("a GPU request that contradicts itself is a defect", "[kube][pod][gpu]") {
  struct Case {
    std::string annotations;
    std::string limits;
    std::string want;
  };
  const std::string share = R"(Pod.metadata.annotations.gpu-fraction: )";
  const std::string memory = R"(Pod.metadata.annotations.gpu-memory: )";
  const std::string devices = R"(Pod.metadata.annotations.gpu-fraction-num-devices: )";
  const std::string limit = R"(Pod.spec.containers[0].resources.limits["nvidia.com/)";
  const Case c = GENERATE_COPY(values<Case>({
      {R"("gpu-fraction":"0.5")", R"("nvidia.com/gpu":1)", share + "contradicts nvidia.com/gpu of"},
      {R"("gpu-fraction":"0.5")", R"("nvidia.com/gpumem":1)",
       share + "contradicts nvidia.com/gpumem"},
      {R"("gpu-fraction":"0.5","gpu-memory":"100")", "", memory + "contradicts gpu-fraction"},
      {R"("gpu-memory":"100")", R"("nvidia.com/gpu":1)", memory + "contradicts nvidia.com/gpu of"},
      {R"("gpu-fraction":"1")", "", share + "expected more than 0 and less than 1"},
      {R"("gpu-fraction":"0")", "", share + "expected more than 0 and less than 1"},
      {R"("gpu-fraction":"-0.5")", "", share},
      {R"("gpu-fraction":"half")", "", share},
      {R"("gpu-fraction":"")", "", share},
      {R"("gpu-fraction":0.5)", "", share + "expected a text, found a number"},
      {R"("gpu-memory":"0")", "", memory + "expected a whole number of MiB"},
      {R"("gpu-memory":"1.5")", "", memory + "expected a whole number of MiB"},
      {R"("gpu-fraction":"0.5","gpu-fraction-num-devices":"0")", "",
       devices + "expected a whole number"},
      {R"("gpu-fraction":"0.5","gpu-fraction-num-devices":"99999999999")", "",
       devices + "expected a whole number"},
      {R"("gpu-fraction-num-devices":"2")", "", devices + "expected gpu-fraction or gpu-memory"},
      {"", R"("nvidia.com/gpu":1,"nvidia.com/gpucores":101)",
       limit + R"(gpucores"]: expected a perc)"},
      {"", R"("nvidia.com/gpu":1,"nvidia.com/gpumem-percentage":"150")",
       limit + R"(gpumem-percentage"]: expected a percentage)"},
      {"", R"("nvidia.com/gpu":1,"nvidia.com/gpumem":"some")", limit + R"(gpumem"]: )"},
  }));
  CAPTURE(c.annotations, c.limits);
  const Pod pod = DecodeGpuPod(c.annotations, c.limits);
  CHECK_THAT(pod.defect, Catch::StartsWith(c.want));
  // Never a share of nothing, whatever was malformed.
  const GpuRequest& gpus = pod.spec->gpus;
  CHECK((gpus.none() || !gpus.each.none() || gpus.memory_each > MiB(0)));
}

TEST_CASE("what each container asks of GPUs is kept where that is more than the sum",
          "[kube][pod][gpu]") {
  using cluster::ContainerGpus;
  using cluster::ContainerKind;
  const auto containers = [](const std::string& spec) {
    const cluster::Result<Pod> pod =
        DecodePod(R"({"metadata":{"name":"p","namespace":"n","uid":"u"},"spec":{)" + spec + "}}");
    REQUIRE(pod.ok());
    CHECK(pod->defect.empty());
    return pod->spec->gpu_containers;
  };
  const auto asks = [](const std::string& limits) {
    return R"({"name":"c","resources":{"limits":{)" + limits + "}}}";
  };
  const std::string two = asks(R"("nvidia.com/gpu":2)");
  const std::string none = R"({"name":"sleeper","image":"x"})";
  CHECK(containers(R"("containers":[)" + two + "]").empty());
  CHECK(containers(R"("containers":[)" + none + "," + none + "]").empty());
  CHECK(containers(R"("containers":[)" + none + "," + two + "," + none + "]") ==
        std::vector<ContainerGpus>{{}, {.count = 2}, {}});
  CHECK(containers(R"("containers":[)" + asks(R"("nvidia.com/gpumem":3000)") + "]") ==
        std::vector<ContainerGpus>{{.memory_mib = 3000}});
  // Without a word about memory it is all of it; zeros are no words.
  CHECK(containers(R"("containers":[)" +
                   asks(R"("nvidia.com/gpu":1,"nvidia.com/gpucores":30,"nvidia.com/gpumem":0)") +
                   "]") ==
        std::vector<ContainerGpus>{{.cores = 30, .memory_percent = 100, .count = 1}});
  // Init containers come first, as HAMi counts containers.
  CHECK(containers(R"("containers":[)" + two + R"(],"initContainers":[)" + none +
                   R"(,{"name":"s","restartPolicy":"Always","resources":{"limits":)" +
                   R"({"nvidia.com/gpu":1,"nvidia.com/gpumem-percentage":25}}}])") ==
        std::vector<ContainerGpus>{
            {.kind = ContainerKind::kInit},
            {.kind = ContainerKind::kSidecar, .memory_percent = 25, .count = 1},
            {.count = 2}});
  // An annotation asks: no container does.
  CHECK(DecodeGpuPod(R"("gpu-fraction":"0.5")", "").spec->gpu_containers.empty());
}

}  // namespace
}  // namespace muster::kube
