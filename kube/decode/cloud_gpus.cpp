#include "kube/decode/cloud_gpus.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "cluster/base/quantity.hpp"

namespace muster::kube {

using cluster::Labels;

namespace {

// In lower case. Sources: AWS, "Accelerated computing instances"; Azure, "GPU accelerated virtual
// machine sizes". Sizes with a part of a GPU (g6f, NV6ads to NV18ads) are left out.
struct InstanceType {
  std::string_view prefix;
  std::string_view within;  // somewhere behind it
  const char* product;
};
constexpr InstanceType kInstanceTypes[] = {{"p2.", "", "Tesla-K80"},
                                           {"p3.", "", "Tesla-V100-SXM2-16GB"},
                                           {"p3dn.", "", "Tesla-V100-SXM2-32GB"},
                                           {"p4d.", "", "NVIDIA-A100-SXM4-40GB"},
                                           {"p4de.", "", "NVIDIA-A100-SXM4-80GB"},
                                           {"p5.", "", "NVIDIA-H100-80GB-HBM3"},
                                           {"p5e.", "", "NVIDIA-H200"},
                                           {"p5en.", "", "NVIDIA-H200"},
                                           {"p6-b200.", "", "NVIDIA-B200"},
                                           {"p6-b300.", "", "NVIDIA-B300-SXM6-AC"},
                                           {"p6e-gb200.", "", "NVIDIA-GB200"},
                                           {"g4dn.", "", "Tesla-T4"},
                                           {"g5.", "", "NVIDIA-A10G"},
                                           {"g5g.", "", "NVIDIA-T4G"},
                                           {"g6.", "", "NVIDIA-L4"},
                                           {"gr6.", "", "NVIDIA-L4"},
                                           {"g6e.", "", "NVIDIA-L40S"},
                                           {"standard_nc", "_t4_", "Tesla-T4"},
                                           {"standard_nc", "s_v3", "Tesla-V100-PCIE-16GB"},
                                           {"standard_nc", "_a100_", "NVIDIA-A100-80GB-PCIe"},
                                           {"standard_nc", "_h100_", "NVIDIA-H100-NVL"},
                                           {"standard_nd40rs_v2", "", "Tesla-V100-SXM2-32GB"},
                                           {"standard_nd96asr_v4", "", "NVIDIA-A100-SXM4-40GB"},
                                           {"standard_nd", "_a100_", "NVIDIA-A100-SXM4-80GB"},
                                           {"standard_nd", "_h100_", "NVIDIA-H100-80GB-HBM3"},
                                           {"standard_nd", "_h200_", "NVIDIA-H200"},
                                           {"standard_nd", "_gb200_", "NVIDIA-GB200"},
                                           {"standard_nd", "_gb300_", "NVIDIA-GB300"},
                                           {"standard_nv36", "_a10_", "NVIDIA-A10"},
                                           {"standard_nv72", "_a10_", "NVIDIA-A10"}};

// In lower case, without "nvidia-" and "tesla-". Earlier ones first.
struct GpuName {
  std::string_view name;
  int64_t least_memory;  // MiB, where a name has two
  const char* product;
};
constexpr GpuName kGpuNames[] = {{"k80", 0, "Tesla-K80"},
                                 {"m60", 0, "Tesla-M60"},
                                 {"p4", 0, "Tesla-P4"},
                                 {"p100", 0, "Tesla-P100-PCIE-16GB"},
                                 {"t4", 0, "Tesla-T4"},
                                 {"t4g", 0, "NVIDIA-T4G"},
                                 {"v100", 24'576, "Tesla-V100-SXM2-32GB"},
                                 {"v100", 0, "Tesla-V100-SXM2-16GB"},
                                 {"a10g", 0, "NVIDIA-A10G"},
                                 {"l4", 0, "NVIDIA-L4"},
                                 {"l40s", 0, "NVIDIA-L40S"},
                                 {"a100", 65'536, "NVIDIA-A100-SXM4-80GB"},
                                 {"a100", 0, "NVIDIA-A100-SXM4-40GB"},
                                 {"a100-80gb", 0, "NVIDIA-A100-SXM4-80GB"},
                                 {"h100", 0, "NVIDIA-H100-80GB-HBM3"},
                                 {"h100-80gb", 0, "NVIDIA-H100-80GB-HBM3"},
                                 {"h100-mega-80gb", 0, "NVIDIA-H100-80GB-HBM3"},
                                 {"h200", 0, "NVIDIA-H200"},
                                 {"h200-141gb", 0, "NVIDIA-H200"},
                                 {"b200", 0, "NVIDIA-B200"},
                                 {"b300", 0, "NVIDIA-B300-SXM6-AC"},
                                 {"gb200", 0, "NVIDIA-GB200"},
                                 {"gb300", 0, "NVIDIA-GB300"}};

struct NameLabel {
  const char* key;
  bool of_cloud;  // else people set it: "true", "gpu"
};
constexpr NameLabel kNameLabels[] = {{"cloud.google.com/gke-accelerator", true},
                                     {"karpenter.k8s.aws/instance-gpu-name", true},
                                     {"eks.amazonaws.com/instance-gpu-name", true},
                                     {"k8s.amazonaws.com/accelerator", false}};
constexpr const char* kInstanceTypeLabels[] = {"node.kubernetes.io/instance-type",
                                               "beta.kubernetes.io/instance-type"};
constexpr const char* kMemoryLabels[] = {"karpenter.k8s.aws/instance-gpu-memory",
                                         "eks.amazonaws.com/instance-gpu-memory"};

std::string LowerLabel(const Labels& labels, const char* key) {
  const auto found = labels.find(key);
  std::string lower = found == labels.end() ? std::string() : found->second;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

const char* ProductOfInstance(std::string_view type) {
  const auto* found =
      std::find_if(std::begin(kInstanceTypes), std::end(kInstanceTypes), [&](const auto& one) {
        return type.starts_with(one.prefix) &&
               type.find(one.within, one.prefix.size()) != std::string_view::npos;
      });
  return found == std::end(kInstanceTypes) ? nullptr : found->product;
}

const char* ProductOfName(std::string_view name, int64_t memory) {
  for (const std::string_view vendor : {"nvidia-", "tesla-"}) {
    if (name.starts_with(vendor)) name.remove_prefix(vendor.size());
  }
  const auto* found =
      std::find_if(std::begin(kGpuNames), std::end(kGpuNames),
                   [&](const auto& one) { return one.name == name && memory >= one.least_memory; });
  return found == std::end(kGpuNames) ? nullptr : found->product;
}

}  // namespace

const char* CloudMemoryLabel(const Labels& labels) {
  const auto* found = std::find_if(std::begin(kMemoryLabels), std::end(kMemoryLabels),
                                   [&](const char* key) { return labels.contains(key); });
  return found == std::end(kMemoryLabels) ? nullptr : *found;
}

std::string CloudModel(const Labels& labels) {
  for (const char* key : kInstanceTypeLabels) {
    if (const char* product = ProductOfInstance(LowerLabel(labels, key))) return product;
  }
  const char* const memory_label = CloudMemoryLabel(labels);
  const cluster::Result<int64_t> told =
      cluster::ParseCount(memory_label == nullptr ? "0" : labels.at(memory_label));
  const int64_t memory = told.ok() ? *told : 0;
  for (const NameLabel& label : kNameLabels) {
    const std::string name = LowerLabel(labels, label.key);
    if (const char* product = ProductOfName(name, memory)) return product;
    if (!name.empty() && label.of_cloud) return labels.at(label.key);
  }
  return {};
}

}  // namespace muster::kube
