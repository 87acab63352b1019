// Down: what is out of use where a gang could run, until it returns or is fixed: nodes that are
// cordoned or not ready, GPUs that are cordoned or unhealthy (internal to engine/). What Muster
// itself leaves out is reported elsewhere (Node::left_out). Pure functions of a snapshot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cluster/holdings/node_set.hpp"
#include "cluster/holdings/snapshot.hpp"
#include "cluster/records/pod.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::engine {

struct Down {
  // At most so many nodes are named.
  static constexpr size_t kMostNamed = 4;

  std::string domain;     // that it is of; empty: of the one that the shortage names
  std::string what;       // "n1 (1 GPU unhealthy), n2 (not ready)", by name; empty: nothing
  bool others = false;    // pods hold some of what the pod asks for on the nodes that are in use
  int64_t pods_more = 0;  // like this one that would find room if all that is down came back now
};

// On these nodes, as far as they match the pod's selector and affinity. `among` null: all nodes.
// Where fewer than `least` more pods would find room: nothing. That costs O(nodes / 64) where
// nothing is down.
Down DownAmong(const cluster::Snapshot& nodes, const cluster::NodeSet* among,
               const cluster::PodSpec& pod, int64_t least = 0);

// The nodes of the domain `name` of that level; null: no such domain exists.
std::shared_ptr<const cluster::NodeSet> NodesOfDomain(const topology::Fabric& fabric,
                                                      const std::string& level,
                                                      const std::string& name);

}  // namespace muster::engine
