// Any bytes, a line an object: objects of the optional and storage kinds decode or are refused, and
// what they say of a node, in any order, leaves it with a matrix that can be read, or none.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "cluster/base/check.hpp"
#include "kube/decode/kept_object.hpp"
#include "kube/watch/node_parts.hpp"
#include "kube/watch/resource.hpp"
#include "kube/watch/storage_kinds.hpp"
#include "topology/vendors/parse_machine.hpp"

namespace muster::kube {
namespace {

cluster::Node NodeWithGpus() {
  cluster::Node node;
  node.name = "n";
  node.uid = cluster::NodeUid("n-uid");
  for (const char* uuid : {"GPU-0", "GPU-1"}) {
    cluster::Gpu gpu;
    gpu.index.value = static_cast<uint16_t>(node.gpus.size());
    gpu.uuid = uuid;
    node.gpus.push_back(gpu);
  }
  return node;
}

void CheckNodes(const NodeParts::Told& told) {
  for (const cluster::Node& node : told.nodes) {
    if (!node.topology.empty()) MUSTER_CHECK(topology::ParseMachine(node.topology, "node").ok());
  }
}

void Observe(NodeParts& parts, const News& news) {
  if (const auto* topology = std::get_if<NodeTopology>(&news)) {
    CheckNodes(parts.Observe(*topology));
  } else if (const auto* slice = std::get_if<ResourceSlice>(&news)) {
    CheckNodes(parts.Observe(*slice));
  }
}

}  // namespace
}  // namespace muster::kube

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace kube = muster::kube;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const kube::Resource kinds[] = {
      kube::NodeTopologyResource("topology.node.k8s.io/v1alpha2"),
      kube::ComputeDomainResource("resource.nvidia.com/v1beta1"),
      kube::ResourceSliceResource("resource.k8s.io/v1"),
      kube::StorageResource(muster::cluster::StorageKind::kClaim),
      kube::StorageResource(muster::cluster::StorageKind::kVolume),
      kube::StorageResource(muster::cluster::StorageKind::kClass),
      kube::StorageResource(muster::cluster::StorageKind::kNodeDrivers),
  };
  kube::NodeParts parts;
  parts.Join(kube::NodeWithGpus(), false);
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    for (const kube::Resource& kind : kinds) {
      const auto object = kube::KeptObject::Read(line, kind.fields, kind.kind, {});
      if (!object.ok()) continue;
      const auto observed = kind.decode(*object);
      if (observed.ok()) kube::Observe(parts, observed->news);
    }
  }
  kube::CheckNodes(parts.Join(kube::NodeWithGpus(), true));
  return 0;
}
