// News: what the reader of one resource tells. Most of it is a fact. The rest is a part of facts
// about objects of another kind, and is joined to them before the engine is told (NumaPolicies,
// ChannelClaims). Plain values.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "cluster/ids.hpp"
#include "cluster/node.hpp"
#include "cluster/pod.hpp"
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

// A pod whose claims are made of these ResourceClaimTemplates of its namespace, and of which no
// annotation says whether one is for a channel of a ComputeDomain.
struct PodOfClaims {
  cluster::Pod pod;
  std::vector<std::string> templates;  // names, at least one
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
                          PodOfClaims, ComputeDomain, ComputeDomainRemoved>;

}  // namespace muster::kube
