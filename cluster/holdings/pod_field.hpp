// PodField: which pods are on which node, as far as rules among pods (pod_rules.hpp) and their
// volumes (volume_demand.hpp) see them. Part of a Snapshot, immutable there.
//
// There is one only while some pod has such rules or volumes: who has none pays nothing. It costs a
// pointer for each pod that holds something, and one face of it: some 150 bytes, beside its labels,
// which its record shares.
//
// Written by ClusterState; copies share nodes that have not changed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/base/shared_chunk.hpp"
#include "cluster/records/pod.hpp"

namespace muster::cluster {

// What rules see of a pod, and its own.
struct PodFace {
  PodUid uid;
  std::string ns;
  PodLabels labels;
  std::shared_ptr<const PodSpec> spec;  // not null
  bool deleting = false;
  std::shared_ptr<const VolumeDemand> volumes = nullptr;  // Pod::volume_demand
};
using FacePtr = std::shared_ptr<const PodFace>;

FacePtr FaceOf(const Pod& pod);

class PodField {
 public:
  using Faces = std::vector<FacePtr>;
  using NamespaceLabels = std::map<std::string, Labels>;

  uint32_t size() const { return size_; }
  // Held, reserved or earmarked there.
  std::span<const FacePtr> on(NodeIndex node) const;
  // Labels of the namespaces that there are; null: none is known.
  const NamespaceLabels* namespaces() const { return namespaces_.get(); }

  void Set(NodeIndex node, Faces faces);
  void SetNamespaces(NamespaceLabels labels);
  // Without these pods, by UID; for what-ifs.
  PodField Without(const std::vector<std::pair<NodeIndex, PodUid>>& gone) const;

 private:
  static constexpr uint32_t kChunk = 64;
  using Chunk = std::array<std::shared_ptr<const Faces>, kChunk>;  // null: nobody

  uint32_t size_ = 0;
  std::vector<SharedChunk<Chunk>> chunks_;
  std::shared_ptr<const NamespaceLabels> namespaces_;
};

}  // namespace muster::cluster
