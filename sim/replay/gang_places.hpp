// GangPlaces: how the gangs of a replay lay in the fabric when they started, and the rings over the
// GPUs of their members. Gangs of one pod do not count for the fabric. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
#include "policy/gpu_links/device_links.hpp"
#include "policy/placing/placement.hpp"
#include "topology/fabric/fabric.hpp"

namespace muster::sim {

struct LevelPlaces {
  std::string tree;
  std::string level;
  int64_t whole = 0;      // gangs of which all members were in one domain
  int64_t domains = 0;    // Σ over gangs of the domains that they were in; each outside counts one
  int64_t crossings = 0;  // of PlacesReport::links those between two domains, or outside of all
};

struct PlacesReport {
  int64_t gangs = 0;                // of several pods that started
  int64_t one_node = 0;             // with all members on one
  int64_t links = 0;                // between neighbours in rank, the last and the first too
  std::vector<LevelPlaces> levels;  // that nodes have; of each tree the outermost first
  // Members with two whole GPUs or more on nodes whose links are known; GPUs that nobody wrote down
  // are not known.
  int64_t ringed = 0;
  double ring_gbps = 0;      // mean of the slowest links of their rings
  int64_t ringed_gangs = 0;  // that have such members, single pods too
  double slowest_gbps = 0;   // mean over gangs of the slowest ring
};

class GangPlaces {
 public:
  // `options`: its fabric and profiles count.
  GangPlaces(const std::vector<cluster::Node>& nodes, const policy::Options& options);

  struct Place {
    std::string node;
    std::vector<cluster::GpuIndex> gpus;
  };
  // All of its members are on nodes that are there; in the order of rank.
  void Started(const std::vector<Place>& members);
  PlacesReport Report() const;

 private:
  struct Level {
    topology::LevelRef at;
    LevelPlaces places;
  };
  void CountLevel(const std::vector<cluster::NodeIndex>& nodes, Level& level) const;
  void CountRings(const std::vector<Place>& members);

  cluster::ClusterState state_;
  std::shared_ptr<const topology::Fabric> fabric_;
  policy::LinksMemory links_;
  std::vector<Level> levels_;
  PlacesReport report_;  // without levels; sums in place of means
};

}  // namespace muster::sim
