// NumaPolicies: joins the NUMA policies that NodeResourceTopologies say to the nodes that have
// their names, whichever is read, changes or goes first. Nodes whose annotation says a policy are
// none of its business: the annotation takes precedence.
//
// It keeps a copy of every other node, to tell it again when its policy changes: 20 to 30 kB where
// a node has a hundred labels. So it keeps none while it rests. One thread at a time.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "cluster/node.hpp"
#include "kube/news.hpp"

namespace muster::kube {

class NumaPolicies {
 public:
  // NodeResourceTopologies are not served, so none is told until Wake: no copies are kept.
  void Rest();
  // They are read from now on. True after Rest: nodes that were joined already are not known, and
  // have to be read again.
  bool Wake();
  // The node as it is to be told.
  cluster::Node Join(cluster::Node node);
  // It is gone, or its annotation says its policy now.
  void Forget(const cluster::NodeUid& uid);
  // The node whose policy this changes, as it is to be told again.
  std::optional<cluster::Node> Observe(const NodeTopology& topology);
  std::optional<cluster::Node> Observe(const NodeTopologyRemoved& removed);

 private:
  struct Said {
    std::string uid;  // of the object
    cluster::NumaPolicy policy = cluster::NumaPolicy::kNone;
  };

  cluster::NumaPolicy PolicyOf(const std::string& node) const;
  std::optional<cluster::Node> Update(const std::string& node);

  bool rests_ = false;
  // All by the node's name; looked up, never ordered.
  std::unordered_map<std::string, Said> said_;
  std::unordered_map<std::string, cluster::Node> nodes_;  // as they were told last
  std::unordered_map<std::string, std::string> node_of_;  // by the UID of the object that says it
  std::unordered_map<cluster::NodeUid, std::string> name_of_;
};

}  // namespace muster::kube
