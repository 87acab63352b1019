// SchedulerCache: what the simulated kube-scheduler knows of nodes and of the pods on them: bound,
// assumed and nominated. Counts GPUs as kube-scheduler does, as an extended resource in whole
// devices, or as GpuCount says. Deliberately independent of
// cluster::ClusterState, so that the two check each other.
//
// Every operation on one pod costs O(1), of which O(pods nominated on one node). Internal to
// KubeScheduler.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/api_server/records.hpp"
#include "sim/schedulers/volume_rules.hpp"

namespace muster::sim {

// What kube-scheduler counts of the GPUs that a pod asks for.
//   kWhole      whole ones; a share is nothing to it, for Muster gives it
//   kEvery      a share as a whole GPU: what a pod must ask the stock device plugin for
//   kNothing    none: its extender gives them out (ignoredByScheduler)
enum class GpuCount { kWhole, kEvery, kNothing };

// CPU, memory, pod slots, whatever has but a name, and whole GPUs.
struct Amounts {
  cluster::Resources resources;
  int64_t gpus = 0;

  Amounts& operator+=(const Amounts& other) {
    resources += other.resources;
    gpus += other.gpus;
    return *this;
  }
  Amounts& operator-=(const Amounts& other) {
    resources -= other.resources;
    gpus -= other.gpus;
    return *this;
  }
};
Amounts RequestOf(const cluster::PodSpec& spec, GpuCount count = GpuCount::kWhole);
// Of a pod that has its node: it may be resized.
Amounts HeldBy(const cluster::Pod& pod, GpuCount count = GpuCount::kWhole);
Amounts AllocatableOf(const cluster::Node& node);

// What kube-scheduler's built-in checks say of a pod and a node.
enum class Fit {
  kFits,
  kNoNode,
  kNotReady,
  kUnschedulable,
  kTaints,
  kAffinity,
  kVolumes,
  kAttachLimit,
  kNoVolumeLeft,
  kPods,
  kCpu,
  kMemory,
  kNamed,
  kGpus,
  kPorts,
  kSpread,
  kSpreadLabel,
  kPodAffinity,
  kPodAntiAffinity,
  kExistingAntiAffinity
};
inline constexpr int kFitKinds = 20;
// As in kube-scheduler's messages ("Insufficient cpu").
const char* ToString(Fit fit);

class SchedulerCache {
 public:
  explicit SchedulerCache(GpuCount count = GpuCount::kWhole) : count_(count) {}

  struct NodeInfo {
    NodePtr record;  // null: pods are known on it, the node is not
    Amounts allocatable;
    Amounts requested;  // by bound and assumed pods
    struct Nominated {
      cluster::PodUid pod;
      int32_t priority = 0;
      Amounts request;
      cluster::Pod record;
    };
    std::vector<Nominated> nominated;
  };

  VolumeRules& volumes() { return volumes_; }
  const VolumeRules& volumes() const { return volumes_; }
  void SetNode(const NodePtr& node);
  void RemoveNode(const std::string& name);
  // The pod holds what it has on `node` (instead of what and wherever it held before). True: it
  // held more there.
  bool Hold(const cluster::Pod& pod, const std::string& node);
  bool Release(const cluster::PodUid& pod);
  bool Holds(const cluster::PodUid& pod) const { return held_.contains(pod); }
  // The pod's nomination, instead of an earlier one; an empty `node` takes it away.
  void Nominate(const cluster::Pod& pod, const std::string& node);
  void Unnominate(const cluster::PodUid& pod);

  // Null when nothing is known of that name.
  const NodeInfo* Find(const std::string& name) const;
  // Nodes that exist, in the order in which they were first seen.
  const std::vector<const NodeInfo*>& nodes() const { return present_; }

  // What the pod takes of a node, as this kube-scheduler counts it.
  Amounts Request(const cluster::PodSpec& spec) const { return RequestOf(spec, count_); }
  // The built-in checks. Pods nominated to the node, of equal or higher priority, are counted as if
  // they ran there; then the node must do without them as well, since they may never come. Of a pod
  // that no rule of volumes refuses as such.
  Fit Check(const cluster::Pod& pod, const NodeInfo& node) const;
  // Some pod has rules among pods, by which more pods may mean more room.
  bool has_pod_rules() const { return ruled_ > 0; }

 private:
  struct Held {
    uint32_t node = 0;
    Amounts request;
    cluster::Pod record;
  };
  // NodeVolumeLimits and VolumeBinding, likewise.
  Fit CheckVolumes(const cluster::Pod& pod, const NodeInfo& node) const;
  // CheckPods with those that are there, and with those nominated too.
  Fit CheckPodsAround(const cluster::Pod& pod, const NodeInfo& node) const;
  void Count(const cluster::Pod& pod, int sign) { ruled_ += pod.spec->rules.none() ? 0 : sign; }

  uint32_t IndexOf(const std::string& name);

  const GpuCount count_;
  int64_t ruled_ = 0;  // held or nominated pods with rules among pods
  VolumeRules volumes_;
  std::vector<std::unique_ptr<NodeInfo>> infos_;
  std::unordered_map<std::string, uint32_t> index_;  // into infos_, by name
  std::vector<const NodeInfo*> present_;
  std::unordered_map<cluster::PodUid, Held> held_;
  std::unordered_map<cluster::PodUid, uint32_t> nominated_;  // node of each nominated pod
};

}  // namespace muster::sim
