// NodeList: a file of Nodes as Kubernetes YAML (or JSON), for a simulation. Pure function.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "cluster/records/node.hpp"

namespace muster::extender {

struct NodeList {
  std::vector<cluster::Node> nodes;
  std::vector<std::string> warnings;  // what was ignored of them, each with its node
};

// Nodes, NodePools (config/documents/node_pool.hpp) and Lists of Nodes, decoded as those of a real
// cluster are. Anything else, a name that comes twice, or no node at all is an error with its
// place: file, line, column and field. Namespaces are passed over.
cluster::Result<NodeList> ReadNodeList(std::string_view text, const std::string& file_name);

}  // namespace muster::extender
