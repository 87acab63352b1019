// VolumeRules: what the simulated kube-scheduler knows of claims, volumes and classes, and whether
// a node may take a pod that names claims. Written after kube-scheduler's VolumeBinding and
// VolumeRestrictions plugins, and not after Muster's rules, so that the two
// check each other. Internal to KubeScheduler.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/pod.hpp"
#include "cluster/storage.hpp"
#include "sim/records.hpp"
#include "sim/watch.hpp"

namespace muster::sim {

class VolumeRules {
 public:
  void OnStorage(Change change, const OtherRecord& record);
  // A pod has the node, or has it no more.
  void Hold(const cluster::Pod& pod);
  void Release(const cluster::PodUid& pod);

  // Why no node takes the pod; empty: one may. Nothing is asked of clusters without any storage.
  std::string Refuses(const cluster::Pod& pod) const;
  // Of a pod that is not refused.
  bool Reaches(const cluster::Pod& pod, const cluster::Node& node) const;

 private:
  using Claims = std::vector<cluster::ObjectKey>;
  static Claims ClaimsOf(const cluster::Pod& pod);
  bool ReachesUnbound(const cluster::VolumeClaim& claim, const cluster::Node& node) const;

  bool any_ = false;
  std::map<cluster::ObjectKey, cluster::VolumeClaim> claims_;
  std::map<std::string, cluster::Volume> volumes_;
  std::map<std::string, cluster::StorageClass> classes_;
  std::map<cluster::PodUid, Claims> held_;  // of pods that have a node
};

}  // namespace muster::sim
