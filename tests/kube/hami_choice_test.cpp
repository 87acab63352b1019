// HAMi's annotations about which GPUs a pod gets.
#include "kube/dialects/hami_choice.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "cluster/records/node.hpp"
#include "kube/decode/decode.hpp"

namespace muster::kube {
namespace {

cluster::Pod DecodeHami(const std::string& annotations, const std::string& gpus = "1") {
  const auto pod = DecodePod(
      R"({"metadata":{"name":"p","namespace":"n","uid":"u","annotations":{)" + annotations +
      R"(}},"spec":{"containers":[{"resources":{"limits":{"nvidia.com/gpu":")" + gpus +
      R"(","nvidia.com/gpumem":"3000"}}}]}})");
  REQUIRE(pod.ok());
  return *pod;
}

cluster::Gpu Device(const std::string& model, const std::string& uuid = "GPU-1",
                    cluster::HamiMode mode = cluster::HamiMode::kHamiCore) {
  cluster::Gpu gpu;
  gpu.model = model;
  gpu.uuid = uuid;
  gpu.hami_mode = mode;
  return gpu;
}

TEST_CASE("which devices a pod lets by HAMi's annotations", "[kube][hami]") {
  using cluster::HamiMode;
  const auto allows = [](const std::string& annotations, const cluster::Gpu& gpu) {
    const cluster::Pod pod = DecodeHami(annotations);
    CHECK(pod.defect.empty());
    return pod.spec->gpus.choice.Allows(gpu.model, gpu.uuid, gpu.hami_mode);
  };
  const cluster::Gpu a100 = Device("NVIDIA-NVIDIA A100-PCIE-40GB");
  const cluster::Gpu v100 = Device("NVIDIA-Tesla V100-PCIE-32GB", "GPU-2");
  CHECK(allows("", a100));
  CHECK(allows(R"("nvidia.com/use-gputype":" ")", a100));  // no constraint, as for HAMi
  for (const char* list : {"A100", "a100", "H100, a100 ", "pcie-40"}) {
    CAPTURE(list);
    const std::string use = R"("nvidia.com/use-gputype":")" + std::string(list) + "\"";
    CHECK(allows(use, a100));
    CHECK_FALSE(allows(use, v100));
    const std::string not_use = R"("nvidia.com/nouse-gputype":")" + std::string(list) + "\"";
    CHECK_FALSE(allows(not_use, a100));
    CHECK(allows(not_use, v100));
  }
  CHECK_FALSE(
      allows(R"("nvidia.com/use-gputype":"NVIDIA","nvidia.com/nouse-gputype":"V100")", v100));
  CHECK(allows(R"("nvidia.com/use-gpuuuid":"GPU-7, GPU-2")", v100));
  CHECK_FALSE(allows(R"("nvidia.com/use-gpuuuid":"GPU-2")", a100));
  CHECK_FALSE(allows(R"("nvidia.com/use-gpuuuid":"GPU-22")", v100));  // not a part of it
  CHECK_FALSE(allows(R"("nvidia.com/nouse-gpuuuid":"GPU-2")", v100));
  const cluster::Gpu mig = Device("A100", "GPU-3", HamiMode::kMig);
  CHECK(allows(R"("nvidia.com/vgpu-mode":"mig")", mig));
  CHECK_FALSE(allows(R"("nvidia.com/vgpu-mode":"mig")", a100));
  CHECK(allows(R"("nvidia.com/vgpu-mode":"mig,hami-core")", a100));
  CHECK(allows(R"("nvidia.com/vgpu-mode":"mig")", Device("A100", "", HamiMode::kNone)));
}

TEST_CASE("a word of HAMi's that can let no device is refused by name", "[kube][hami]") {
  CHECK_THAT(DecodeHami(R"("nvidia.com/vgpu-mode":"exclusive")").defect,
             Catch::Contains("nvidia.com/vgpu-mode") && Catch::Contains("hami-core, mig or mps"));
  CHECK_THAT(DecodeHami(R"("nvidia.com/use-gputype":" , ")").defect,
             Catch::Contains("nvidia.com/use-gputype"));
  // Of pods without GPUs they say nothing.
  const cluster::Pod none = DecodeHami(R"("nvidia.com/vgpu-mode":"exclusive")", "0");
  CHECK(none.defect.empty());
}

TEST_CASE("how devices are chosen by HAMi's annotations, and what is not heeded", "[kube][hami]") {
  using Filling = cluster::GpuWords::Filling;
  const auto words = [](const std::string& annotations) {
    const cluster::Pod pod = DecodeHami(annotations);
    const cluster::GpuWords* said = pod.spec->gpus.choice.words();
    return said == nullptr ? cluster::GpuWords() : *said;
  };
  CHECK(words(R"("hami.io/node-scheduler-policy":"spread")").nodes == Filling::kSpread);
  CHECK(words(R"("hami.io/gpu-scheduler-policy":"binpack")").devices == Filling::kBinpack);
  const cluster::GpuWords both = words(R"("hami.io/gpu-scheduler-policy":"mutex,spread,binpack")");
  CHECK(both.devices == Filling::kSpread);
  CHECK(both.untouched);
  const auto unheeded = [](const std::string& annotations) {
    const cluster::Pod pod = DecodeHami(annotations);
    CHECK(pod.defect.empty());
    return pod.gang_words == nullptr ? std::string() : pod.gang_words->unheeded;
  };
  CHECK(unheeded(R"("hami.io/gpu-scheduler-policy":"topology-aware,mutex")").empty());
  CHECK(unheeded(R"("nvidia.com/numa-bind":"false")").empty());
  CHECK_THAT(unheeded(R"("hami.io/gpu-scheduler-policy":"binpack,numa")"),
             Catch::Contains("hami.io/gpu-scheduler-policy numa"));
  CHECK_THAT(unheeded(R"("nvidia.com/numa-bind":"true")"),
             Catch::Contains("nvidia.com/numa-bind: "));
}

}  // namespace
}  // namespace muster::kube
