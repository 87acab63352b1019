// News: what the reader of one resource tells. Most of it is a fact. The rest is a part of facts
// about objects of another kind, and is joined to them before the engine gets them (NodeParts,
// ChannelClaims, GroupingBook). Plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/records/node.hpp"
#include "cluster/records/pod.hpp"
#include "engine/contract/facts.hpp"

namespace muster::kube {

// A node whose annotation says its NUMA policy, so that no other object does.
struct NodeOfOwnPolicy {
  cluster::Node node;
};

// A NodeResourceTopology: which topologyManagerPolicy the kubelet of a node has.
struct NodeTopology {
  std::string uid;
  std::string node;  // name
  cluster::NumaPolicy policy = cluster::NumaPolicy::kNone;
};
// It is gone, or not served any more.
struct NodeTopologyRemoved {
  std::string uid;
};

// A GPU, as NVIDIA's DRA driver describes it in a ResourceSlice. What is empty is not told.
struct SliceGpu {
  std::string uuid;
  std::string pcie_root;                // GPUs with the same are under one PCIe root complex
  std::optional<uint64_t> pci_address;  // rises with domain, bus, device, function
  std::optional<int> numa;
  auto operator<=>(const SliceGpu&) const = default;
};
// A ResourceSlice: the GPUs of a node, or a part of them. Those of one pool belong together.
struct ResourceSlice {
  std::string uid;
  std::string node;  // name; empty: it is of another driver or of no single node, and says nothing
  std::string pool;
  int64_t generation = 0;  // of a pool only the highest counts
  int64_t slices = 1;      // of this generation of the pool
  std::vector<SliceGpu> gpus;
  bool whole = true;  // all of it could be read
};
// It is gone, or not served any more.
struct ResourceSliceRemoved {
  std::string uid;
};

// A pod whose claims are made of these ResourceClaimTemplates of its namespace, and of which no
// annotation says whether one is for a channel of a ComputeDomain.
struct PodOfClaims {
  cluster::Pod pod;
  std::vector<std::string> templates;  // names, at least one
};

// A pod that names no PodGroup, so that its owners say whether it is in a gang.
struct PodOfOwners {
  cluster::Pod pod;
  std::vector<std::string> templates;       // as in PodOfClaims; none: it claims nothing
  std::shared_ptr<const std::string> text;  // what grouping rules look at of it, as JSON
};

// A ComputeDomain: claims of this template are for a channel of it.
struct ComputeDomain {
  std::string uid;
  cluster::ObjectKey claim_template;
};
// It is gone, or not served any more.
struct ComputeDomainRemoved {
  std::string uid;
};

using News = std::variant<engine::Fact, NodeOfOwnPolicy, NodeTopology, NodeTopologyRemoved,
                          ResourceSlice, ResourceSliceRemoved, PodOfClaims, PodOfOwners,
                          ComputeDomain, ComputeDomainRemoved>;

}  // namespace muster::kube
