// Nodes of clouds without GPU feature discovery: what their GPUs are, and how many there are.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "kube/decode/node_devices.hpp"

namespace muster::kube {
namespace {

using cluster::Gpu;
using cluster::GpuSharing;
using cluster::Labels;

const Labels kNoAnnotations;

std::vector<Gpu> GpusOfCloud(const Labels& labels, int64_t advertised,
                             std::vector<std::string>* warnings = nullptr) {
  std::vector<std::string> ours;
  std::vector<Gpu> gpus = ReadNodeDevices({labels, kNoAnnotations, advertised}, ours);
  if (warnings == nullptr) CHECK(ours.empty());
  if (warnings != nullptr) *warnings = ours;
  return gpus;
}

std::string ModelBy(const Labels& labels) { return GpusOfCloud(labels, 8).at(0).model; }

constexpr const char* kGke = "cloud.google.com/gke-accelerator";
constexpr const char* kType = "node.kubernetes.io/instance-type";
constexpr const char* kKarpenter = "karpenter.k8s.aws/instance-gpu-name";
constexpr const char* kStrategy = "cloud.google.com/gke-gpu-sharing-strategy";
constexpr const char* kClients = "cloud.google.com/gke-max-shared-clients-per-gpu";
constexpr const char* kPartition = "cloud.google.com/gke-gpu-partition-size";

TEST_CASE("clouds' own labels tell the model of a node's GPUs", "[kube][node][cloud]") {
  const std::string h100 = "NVIDIA-H100-80GB-HBM3";
  CHECK(ModelBy({{kGke, "nvidia-h100-mega-80gb"}, {kType, "a3-megagpu-8g"}}) == h100);
  CHECK(ModelBy({{kGke, "nvidia-tesla-a100"}}) == "NVIDIA-A100-SXM4-40GB");
  CHECK(ModelBy({{kGke, "nvidia-a100-80gb"}}) == "NVIDIA-A100-SXM4-80GB");
  CHECK(ModelBy({{kGke, "nvidia-l4"}}) == "NVIDIA-L4");
  CHECK(ModelBy({{kGke, "nvidia-tesla-t4"}}) == "Tesla-T4");
  CHECK(ModelBy({{kType, "p5.48xlarge"}, {kKarpenter, "h100"}}) == h100);
  CHECK(ModelBy({{"beta.kubernetes.io/instance-type", "p5en.48xlarge"}}) == "NVIDIA-H200");
  CHECK(ModelBy({{"eks.amazonaws.com/instance-gpu-name", "l40s"}}) == "NVIDIA-L40S");
  CHECK(ModelBy({{"k8s.amazonaws.com/accelerator", "nvidia-tesla-v100"}}) ==
        "Tesla-V100-SXM2-16GB");
  CHECK(ModelBy({{kType, "Standard_ND96isr_H100_v5"}}) == h100);
  CHECK(ModelBy({{kType, "Standard_NC24ads_A100_v4"}}) == "NVIDIA-A100-80GB-PCIe");
  CHECK(ModelBy({{kType, "standard_nc4as_t4_v3"},
                 {"kubernetes.azure.com/accelerator", "nvidia"}}) == "Tesla-T4");
}

TEST_CASE("the better source of a model counts", "[kube][node][cloud]") {
  // A size of machine knows which of two A100 it is, and so does the memory.
  CHECK(ModelBy({{kType, "p4de.24xlarge"}, {kKarpenter, "a100"}}) == "NVIDIA-A100-SXM4-80GB");
  CHECK(ModelBy({{kType, "p9.large"}, {kKarpenter, "a100"}}) == "NVIDIA-A100-SXM4-40GB");
  const Labels large = {{kKarpenter, "a100"}, {"karpenter.k8s.aws/instance-gpu-memory", "81920"}};
  CHECK(ModelBy(large) == "NVIDIA-A100-SXM4-80GB");
  CHECK(GpusOfCloud(large, 8).at(0).memory.value() == 81'920);
  CHECK(ModelBy({{"nvidia.com/gpu.product", "NVIDIA-L4-X"}, {kGke, "nvidia-l4"}}) == "NVIDIA-L4-X");
  // What a cloud calls its GPUs is a model, though nobody here knows it; what people set may be
  // none.
  CHECK(ModelBy({{kGke, "nvidia-x9"}}) == "nvidia-x9");
  CHECK(ModelBy({{"k8s.amazonaws.com/accelerator", "true"}}).empty());
  CHECK(ModelBy({{kType, "m5.large"}, {"kubernetes.azure.com/accelerator", "nvidia"}}).empty());
  CHECK(ModelBy({{kType, "Standard_NV6ads_A10_v5"}}).empty());
}

TEST_CASE("GKE's labels for sharing make shares, not GPUs", "[kube][node][cloud]") {
  const Labels slicing = {{kGke, "nvidia-l4"}, {kClients, "4"}, {kStrategy, "time-sharing"}};
  const std::vector<Gpu> one = GpusOfCloud(slicing, 4);
  REQUIRE(one.size() == 1);
  CHECK(one[0].sharing == GpuSharing::TimeSliced());
  CHECK(one[0].replicas == 4);
  CHECK(one[0].model == "NVIDIA-L4");
  CHECK(AdvertisedGpus(one) == 4);

  Labels mps = slicing;
  mps[kStrategy] = "mps";
  CHECK(GpusOfCloud(mps, 8).size() == 2);
  CHECK(GpusOfCloud(mps, 8).at(1).sharing == GpuSharing::Mps());

  // GPU feature discovery does not know what GKE's plugin does.
  Labels both = slicing;
  both["nvidia.com/gpu.product"] = "NVIDIA-L4";
  both["nvidia.com/gpu.replicas"] = "1";
  both["nvidia.com/gpu.sharing-strategy"] = "none";
  CHECK(GpusOfCloud(both, 4) == one);

  // One client is no sharing; NVIDIA's own plugin may then share.
  Labels alone = slicing;
  alone[kClients] = "1";
  CHECK(GpusOfCloud(alone, 4).size() == 4);
  alone["nvidia.com/gpu.replicas"] = "2";
  CHECK(GpusOfCloud(alone, 4).size() == 2);

  std::vector<std::string> warnings;
  CHECK(GpusOfCloud(slicing, 6, &warnings).size() == 1);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], Catch::Contains("no multiple of label") && Catch::Contains(kClients));
}

TEST_CASE("GKE's partitions of GPUs are MIG devices", "[kube][node][cloud]") {
  const Labels labels = {{kGke, "nvidia-tesla-a100"}, {kPartition, "1g.5gb"}};
  const std::vector<Gpu> gpus = GpusOfCloud(labels, 7);
  REQUIRE(gpus.size() == 7);
  CHECK(gpus[0].sharing == GpuSharing::Mig());
  CHECK(gpus[0].model == "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb");
  Labels shared = labels;
  shared[kClients] = "2";
  shared[kStrategy] = "time-sharing";
  const std::vector<Gpu> halves = GpusOfCloud(shared, 14);
  REQUIRE(halves.size() == 7);
  CHECK(halves[0].sharing == GpuSharing::TimeSliced());
  CHECK(halves[0].model == gpus[0].model);
}

}  // namespace
}  // namespace muster::kube
