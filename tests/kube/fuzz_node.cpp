// Any bytes: nodes decode or are refused; one that decodes survives a round trip. The same bytes
// also serve as the annotations that describe devices and links.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/check.hpp"
#include "kube/decode/decode.hpp"
#include "kube/decode/node_devices.hpp"
#include "kube/decode/node_links.hpp"
#include "kube/encode/encode.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace kube = muster::kube;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const muster::cluster::Labels labels;
  for (const char* key : {"hami.io/node-nvidia-register", kube::kGpuDevicesAnnotation}) {
    std::vector<std::string> warnings;
    const auto gpus = kube::ReadNodeDevices({labels, {{key, std::string(text)}}, 8}, warnings);
    MUSTER_CHECK(gpus.size() == 8 || warnings.empty());
  }
  muster::cluster::Node bare;
  for (const char* uuid : {"a", "GPU-1"}) {
    muster::cluster::Gpu gpu;
    gpu.index.value = static_cast<uint16_t>(bare.gpus.size());
    gpu.uuid = uuid;
    bare.gpus.push_back(gpu);
  }
  for (const char* key : {kube::kHamiScoresAnnotation, kube::kGpuTopologyAnnotation}) {
    std::vector<std::string> warnings;
    muster::cluster::Node linked = bare;
    kube::ReadNodeLinks({{key, std::string(text)}}, linked, warnings);
    MUSTER_CHECK(linked.topology.empty() || warnings.empty());
  }
  const auto node = kube::DecodeNode(text);
  if (!node.ok()) return 0;
  const auto again = kube::DecodeNode(kube::EncodeNode(node->node));
  MUSTER_CHECK(again.ok());
  MUSTER_CHECK(again->node == node->node);
  return 0;
}
