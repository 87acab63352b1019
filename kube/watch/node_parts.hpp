// NodeParts: joins to nodes what objects of other kinds say of them, whichever is read, changes or
// goes first. What the node's own object says takes precedence.
//
//   NodeResourceTopology   the NUMA policy, where no annotation says it (numa_policies.hpp)
//   ResourceSlice          links between GPUs, where no annotation says them (slice_links.hpp)
//
// To tell a node again when such an object changes, a copy of it is kept: 20 to 30 kB where a node
// has a hundred labels. So it keeps only nodes that such an object can say something of, and none
// for a kind of which there are no objects. One thread at a time.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/records/node.hpp"
#include "kube/decode/news.hpp"
#include "kube/watch/numa_policies.hpp"
#include "kube/watch/slice_links.hpp"

namespace muster::kube {

class NodeParts {
 public:
  struct Told {
    std::vector<cluster::Node> nodes;   // as the engine is to be told
    std::vector<std::string> warnings;  // once, until it is something else
    // The first object of its kind since Settle: the nodes that it may be of are not known, and
    // have to be read again.
    bool read_nodes = false;
  };

  // `own_policy`: the node's annotation says its NUMA policy. Its own links it has already.
  Told Join(cluster::Node node, bool own_policy);
  // It is gone.
  void Forget(const cluster::NodeUid& uid);
  // The nodes that this changes.
  Told Observe(const NodeTopology& topology);
  Told Observe(const NodeTopologyRemoved& removed);
  Told Observe(const ResourceSlice& slice);
  Told Observe(const ResourceSliceRemoved& removed);
  // What there is has been read: for kinds of which there are no objects no copies are kept from
  // now on.
  void Settle();
  size_t copies() const { return copies_.size(); }

 private:
  struct Copy {
    cluster::Node node;  // as it was told last
    bool own_policy = false;
    bool own_links = false;
    std::string warned;
  };

  bool Wanted(const Copy& copy) const;
  void Complete(Copy& copy, Told& told) const;
  void Update(const std::string& node, Told& told);

  NumaPolicies policies_;
  SliceLinks links_;
  // No copies are kept for this kind.
  bool policies_rest_ = false;
  bool links_rest_ = false;
  // Looked up, never ordered.
  std::unordered_map<std::string, Copy> copies_;  // by the node's name
  std::unordered_map<cluster::NodeUid, std::string> name_of_;
};

}  // namespace muster::kube
