// World: a small cluster to place gangs in, and FaultOf, which checks an answer against sums
// computed from the records, without any of cluster/'s or policy/'s arithmetic.
#pragma once

#include <string>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
#include "policy/placing/placement.hpp"
#include "tests/support/builders.hpp"

namespace muster::testing {

class World {
 public:
  void Add(const cluster::Node& node);
  // A demand for a new pending pod of the cluster.
  policy::Demand Ask(PodBuilder pod);
  // `count` alike.
  std::vector<policy::Demand> Ask(int count, const PodBuilder& pod);

  // On a fresh transaction; nothing is held afterwards.
  policy::PlaceAnswer Place(policy::Placer& placer, const std::vector<policy::Demand>& demands,
                            policy::NodeFilter filter = policy::NodeFilter::kSchedulable);
  // Place, and reserve what was found.
  policy::PlaceAnswer PlaceAndHold(policy::Placer& placer,
                                   const std::vector<policy::Demand>& demands);
  // A bound pod that takes these devices of the node.
  void Occupy(const std::string& node, const PodBuilder& pod, const std::vector<int>& gpus = {});

  cluster::NodeIndex Index(const std::string& node) const { return state.IndexOf(node); }
  // "node", or "node:0,1" with the devices.
  std::string Where(const cluster::Placement& placement) const;
  std::vector<std::string> Where(const policy::PlaceAnswer& answer) const;

  cluster::ClusterState state;

 private:
  std::string NextName();
  int pods_ = 0;
};

// What is wrong with a placed answer for a gang that is not held yet; empty: nothing.
std::string FaultOf(const World& world, const std::vector<policy::Demand>& demands,
                    const policy::PlaceAnswer& answer);

// May the pod run on the node, its resources aside? Understands selectors, and tolerations by
// key (kExists) only.
bool Allowed(const cluster::PodSpec& spec, const cluster::Node& node);

// GPU-milli that the request takes of the device; 0: it cannot serve it.
struct Share {
  int compute = 0;
  int memory = 0;
};
Share ShareByHand(const cluster::Gpu& gpu, const cluster::GpuRequest& request);

// The amounts, in order, of every node and device that are free in the table.
std::string Numbers(const cluster::FreeTable& free);

std::string Text(const policy::Shortage& shortage);

}  // namespace muster::testing
