// NumaPolicies: which NUMA policy the NodeResourceTopologies say of each node, by its name. Part of
// NodeParts, which joins it to the nodes. One thread at a time.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "cluster/records/node.hpp"
#include "kube/decode/news.hpp"

namespace muster::kube {

class NumaPolicies {
 public:
  // The name of the node of which it may say something else now.
  std::string Observe(const NodeTopology& topology);
  std::optional<std::string> Observe(const NodeTopologyRemoved& removed);
  // kNone where nothing says it.
  cluster::NumaPolicy Of(const std::string& node) const;
  bool empty() const { return said_.empty(); }

 private:
  struct Said {
    std::string uid;  // of the object
    cluster::NumaPolicy policy = cluster::NumaPolicy::kNone;
  };

  // Looked up, never ordered.
  std::unordered_map<std::string, Said> said_;            // by the node's name
  std::unordered_map<std::string, std::string> node_of_;  // by the UID of the object that says it
};

}  // namespace muster::kube
