#include "kube/dialects/unplanned_devices.hpp"

#include <algorithm>

namespace muster::kube {
namespace {

// With * at its end: all names that begin so. From the vendors' device plugins and HAMi's
// configuration (charts/hami, device-configmap).
constexpr std::string_view kNames[] = {
    "nvidia.com/mig-*",       // MIG strategy mixed
    "nvidia.com/gpu.shared",  // replicas under a name of their own (renameByDefault)
    "nvidia.com/pgpu",
    "nvidia.com/vgpu",
    "amd.com/gpu*",
    "amd.com/spx_*",  // partitions (resource_naming_strategy mixed)
    "amd.com/dpx_*",
    "amd.com/qpx_*",
    "amd.com/cpx_*",
    "gpu.intel.com/*",
    "habana.ai/*",
    "huawei.com/Ascend*",
    "huawei.com/npu*",
    "cambricon.com/*",
    "hygon.com/dcu*",
    "enflame.com/*",
    "metax-tech.com/*",
    "mthreads.com/*",
    "iluvatar.ai/*",
    "kunlunxin.com/*",
    "birentech.com/*",
    "vastaitech.com/*",
    "aws.amazon.com/neuron*",
    "google.com/tpu",
    "volcano.sh/vgpu-*",
    "volcano.sh/gpu-*",
    "koordinator.sh/gpu*",
    "aliyun.com/gpu-*",
    "tencent.com/vcuda-*",
    // A DeviceClass asked for as a resource.
    "deviceclass.resource.kubernetes.io/*",
};

// For watching, on every node: no device is given to the pod.
bool IsMonitoring(std::string_view resource) {
  return resource.starts_with("gpu.intel.com/") && resource.ends_with("monitoring");
}

}  // namespace

bool IsUnplannedDevice(std::string_view resource) {
  const bool named = std::any_of(std::begin(kNames), std::end(kNames), [&](std::string_view name) {
    return name.ends_with('*') ? resource.starts_with(name.substr(0, name.size() - 1))
                               : resource == name;
  });
  return named && !IsMonitoring(resource);
}

}  // namespace muster::kube
