#include "cluster/holdings/pod_field.hpp"

#include <algorithm>

namespace muster::cluster {

FacePtr FaceOf(const Pod& pod) {
  return std::make_shared<const PodFace>(
      PodFace{pod.uid, pod.key.ns, pod.labels, pod.spec, pod.deleting, pod.volume_demand()});
}

std::span<const FacePtr> PodField::on(NodeIndex node) const {
  if (node.value >= size_) return {};
  const auto& faces = chunks_[node.value / kChunk].read()[node.value % kChunk];
  if (faces == nullptr) return {};
  return *faces;
}

void PodField::Set(NodeIndex node, Faces faces) {
  if (faces.empty() && node.value >= size_) return;
  if (node.value >= size_) {
    size_ = node.value + 1;
    chunks_.resize((size_ + kChunk - 1) / kChunk);
  }
  chunks_[node.value / kChunk].write()[node.value % kChunk] =
      faces.empty() ? nullptr : std::make_shared<const Faces>(std::move(faces));
}

void PodField::SetNamespaces(NamespaceLabels labels) {
  namespaces_ = std::make_shared<const NamespaceLabels>(std::move(labels));
}

PodField PodField::Without(const std::vector<std::pair<NodeIndex, PodUid>>& gone) const {
  PodField left = *this;
  for (const auto& one : gone) {
    const auto there = left.on(one.first);
    Faces faces(there.begin(), there.end());
    std::erase_if(faces, [&](const FacePtr& face) { return face->uid == one.second; });
    left.Set(one.first, std::move(faces));
  }
  return left;
}

}  // namespace muster::cluster
