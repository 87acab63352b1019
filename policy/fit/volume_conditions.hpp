// VolumeConditions: what volumes say of a pod on a node, as kube-scheduler's NodeVolumeLimits and
// VolumeBinding judge it among the pods that have their nodes: whether one more volume of a CSI
// driver can be attached, and whether a volume is left for each claim. Part of PodConditions, which
// says who comes and goes (internal to policy/).
//
// A claim takes the first volume that is left and reached from its node. What a pod took it gives
// back when it goes.
//
// One thread, one PlaceGang call.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/holdings/pod_field.hpp"
#include "cluster/holdings/transaction.hpp"

namespace muster::policy {

class VolumeConditions {
 public:
  explicit VolumeConditions(const cluster::Transaction& tx) : tx_(tx) {}

  // Before anybody comes: whose volumes are asked about.
  void AskFor(const cluster::PodFace& face);
  bool asked() const { return !drivers_.empty() || choosing_; }

  // The pod has the node now (1), or has it no more (-1).
  void Apply(const cluster::PodFace& face, cluster::NodeIndex node, int64_t sign);

  // Of one that was asked for: its volumes can be attached to the node as well.
  bool Attach(const cluster::PodFace& face, cluster::NodeIndex node);
  // Likewise: from the node a volume is reached for each of its claims.
  bool Bind(const cluster::PodFace& face, cluster::NodeIndex node);

 private:
  // Volumes of a driver on nodes, those of which are limited.
  struct Driver {
    std::vector<int64_t> left;                                  // by node: how many more it takes
    std::map<std::pair<uint32_t, std::string>, int64_t> users;  // of shared ones, by node
  };
  // What one pod attaches of a driver.
  struct Wanted {
    Driver* driver = nullptr;
    int64_t own = 0;
    std::vector<const std::string*> shared;
  };
  // By node: the volumes of one list that are reached from there, in their order, by number.
  using Reach = std::vector<std::vector<uint32_t>>;
  using Numbers = std::vector<uint32_t>;
  static constexpr uint32_t kNoVolume = UINT32_MAX;
  // A claim of several pods, and the volume that the first of them took.
  struct Claimed {
    uint32_t volume = kNoVolume;
    int64_t users = 0;
  };
  using NodesByValue = std::unordered_map<std::string, Numbers>;

  Driver& DriverOf(const std::string& name);
  const std::vector<Wanted>& WantedOf(const cluster::VolumeDemand& demand);
  const Reach& ReachOf(const cluster::FreeVolumes& list);
  // Those that may match; nothing is sure of them.
  Numbers NodesNear(const cluster::FreeVolume& volume);
  const NodesByValue& ByValue(const std::string& label);
  // For each claim the volume that it has, or one that is not taken.
  Numbers Choose(const cluster::VolumeDemand& demand, cluster::NodeIndex node);

  const cluster::Transaction& tx_;
  bool choosing_ = false;  // some pod that is asked for has claims to be bound
  std::map<std::string, Driver> drivers_;
  std::map<const cluster::VolumeDemand*, std::vector<Wanted>> wanted_;
  std::map<const cluster::FreeVolumes*, Reach> reach_;
  std::map<std::string, NodesByValue> by_value_;       // of labels
  std::unordered_map<std::string, uint32_t> numbers_;  // of volumes, by name
  std::vector<int64_t> taken_;                         // by number: by how many pods
  std::unordered_map<std::string, Claimed> claimed_;   // by claim
  std::unordered_map<cluster::PodUid, Numbers> took_;  // for each of its choices
};

}  // namespace muster::policy
