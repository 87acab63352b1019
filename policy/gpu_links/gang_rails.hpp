// GangRails: beside which NICs the members of one gang lie, node by node, and which GPUs a further
// member gets (internal to policy/).
//
// Of the sets with the best ring a member gets the one that most NICs serve which the gang uses on
// other nodes and not yet on this one; then the one that most other NICs serve which the gang does
// not use here yet; then as usual (topology/links/gpu_chooser.hpp). A NIC serves one GPU beside it
// (topology/links/rails.hpp). NICs of different nodes are the same when their places in the matrix
// are, and a NIC is wanted when at least half as many nodes use it as the one that most use, so
// that a few members that had no choice draw nobody after them. A member that has a whole machine
// lies beside all of its NICs and says nothing.
//
// For one attempt to place a gang; not thread-safe. The same members on the same nodes, in whatever
// order, leave it in the same state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "cluster/amounts/device_amount.hpp"
#include "cluster/base/ids.hpp"
#include "policy/gpu_links/device_links.hpp"

namespace muster::policy {

class GangRails {
 public:
  // A member has these GPUs of the node, by place in the machine.
  void Add(cluster::NodeIndex node, const DeviceLinks& links, topology::GpuMask gpus);
  // As links.Choose, for a member that then has them.
  std::vector<size_t> Take(cluster::NodeIndex node, const DeviceLinks& links,
                           std::span<const cluster::DeviceAmount> free, size_t count);
  // How many NICs the gang uses in all, and on the node where it uses the most.
  size_t nics() const;
  size_t most_nics() const;
  // Nobody has any; what was found out stays known.
  void Clear();

 private:
  struct Use {
    topology::GpuMask gpus = 0;
    std::vector<size_t> nics;  // that serve them, rising
  };
  // The machine, what the kubelet turns away there, what is free, how many, which NICs.
  using Question = std::tuple<const topology::NodeTopology*, topology::NumaPolicy,
                              topology::GpuMask, size_t, topology::RailOrder>;

  topology::RailOrder OrderOn(cluster::NodeIndex node, size_t nics) const;
  void Count(const Use& use, int32_t nodes);

  std::map<cluster::NodeIndex, Use> uses_;
  std::vector<int32_t> nodes_;  // by NIC: on how many nodes the gang uses it
  std::map<Question, topology::GpuMask> answers_;
};

// A GangRails as the choice of devices on one node sees it.
struct RailsOnNode {
  GangRails& rails;
  cluster::NodeIndex node;
};

}  // namespace muster::policy
