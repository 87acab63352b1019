// Ids that cannot be mixed up. Uid types wrap the API server's UIDs; NodeIndex is a dense index
// into a Snapshot.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace muster::cluster {

template <typename Tag>
class TextId {
 public:
  TextId() = default;
  explicit TextId(std::string text) : text_(std::move(text)) {}
  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  auto operator<=>(const TextId&) const = default;

 private:
  std::string text_;
};

using PodUid = TextId<struct PodUidTag>;
using NodeUid = TextId<struct NodeUidTag>;
using PodGroupUid = TextId<struct PodGroupUidTag>;
using NamespaceUid = TextId<struct NamespaceUidTag>;
using PriorityClassUid = TextId<struct PriorityClassUidTag>;
using DisruptionBudgetUid = TextId<struct DisruptionBudgetUidTag>;
using ResourceQuotaUid = TextId<struct ResourceQuotaUidTag>;
using JobUid = TextId<struct JobUidTag>;

// Namespace and name of a namespaced object; ordered by namespace, then name.
struct ObjectKey {
  std::string ns;
  std::string name;
  auto operator<=>(const ObjectKey&) const = default;
  std::string ToString() const { return ns + "/" + name; }
};

// Position of a node in one ClusterState's dense arrays. Valid as long as the node lives; a freed
// index is used again.
struct NodeIndex {
  uint32_t value = UINT32_MAX;
  bool valid() const { return value != UINT32_MAX; }
  auto operator<=>(const NodeIndex&) const = default;
};

// Index of a GPU on its node, as nvidia-smi numbers it.
struct GpuIndex {
  uint16_t value = 0;
  auto operator<=>(const GpuIndex&) const = default;
};

}  // namespace muster::cluster

template <typename Tag>
struct std::hash<muster::cluster::TextId<Tag>> {
  size_t operator()(const muster::cluster::TextId<Tag>& id) const {
    return std::hash<std::string>{}(id.text());
  }
};
