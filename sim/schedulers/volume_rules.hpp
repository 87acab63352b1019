// VolumeRules: what the simulated kube-scheduler knows of claims, volumes, classes and the limits
// of nodes, and whether a node may take a pod that names claims. Written after kube-scheduler's
// VolumeBinding, VolumeRestrictions and NodeVolumeLimits plugins, and not after Muster's rules, so
// that the two check each other. Internal to KubeScheduler.
//
// Nobody binds claims here: a claim has the volume that was found for it as long as its pod has its
// node.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/records/pod.hpp"
#include "cluster/records/storage.hpp"
#include "sim/api_server/records.hpp"
#include "sim/api_server/watch.hpp"

namespace muster::sim {

class VolumeRules {
 public:
  void OnStorage(Change change, const OtherRecord& record);
  // A pod has the node (null: it is not known), or has it no more.
  void Hold(const cluster::Pod& pod, const cluster::Node* node);
  void Release(const cluster::PodUid& pod);

  // Why no node takes the pod; empty: one may. Nothing is asked of clusters without any storage.
  std::string Refuses(const cluster::Pod& pod) const;
  // Of a pod that is not refused.
  bool Reaches(const cluster::Pod& pod, const cluster::Node& node) const;
  // Likewise: for each of its claims that are to be bound there is a volume, or one can be made.
  bool Binds(const cluster::Pod& pod, const cluster::Node& node) const;
  // Likewise: the node takes its volumes beside those of `there`, which are on it.
  bool Attaches(const cluster::Pod& pod, const cluster::Node& node,
                const std::vector<const cluster::Pod*>& there) const;
  bool any() const { return any_; }

 private:
  using Claims = std::vector<cluster::ObjectKey>;
  // Volumes, by the claims that get them.
  using Matches = std::map<cluster::ObjectKey, std::string>;
  static Claims ClaimsOf(const cluster::Pod& pod);
  // Unique names of its volumes, with their drivers.
  std::map<std::string, std::string> AttachmentsOf(const cluster::Pod& pod) const;
  // The volume of those that there are; empty: none.
  std::string Find(const cluster::VolumeClaim& claim, const cluster::Node& node,
                   const Matches& chosen) const;
  // Nothing: the node does not do for one of its claims.
  std::optional<Matches> Match(const cluster::Pod& pod, const cluster::Node& node) const;

  bool any_ = false;
  std::map<cluster::ObjectKey, cluster::VolumeClaim> claims_;
  std::map<std::string, cluster::Volume> volumes_;
  std::map<std::string, cluster::StorageClass> classes_;
  std::map<std::string, cluster::NodeDrivers> drivers_;  // by node
  std::map<cluster::PodUid, Claims> held_;               // of pods that have a node
  std::map<cluster::PodUid, Matches> assumed_;           // what was found for them
};

}  // namespace muster::sim
