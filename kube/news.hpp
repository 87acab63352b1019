// News: what the reader of one resource tells. Most of it is a fact. The rest is a part of facts
// about objects of another kind, and is joined to them before the engine is told (NumaPolicies).
// Plain values.
#pragma once

#include <string>
#include <variant>

#include "cluster/node.hpp"
#include "engine/facts.hpp"

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

using News = std::variant<engine::Fact, NodeOfOwnPolicy, NodeTopology, NodeTopologyRemoved>;

}  // namespace muster::kube
