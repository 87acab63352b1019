// VolumeTable: the claims, volumes and classes of the cluster, how many volumes its nodes take, and
// what pods need because of their claims (internal to engine/). Guarded by Scheduler.
//
// 1. What kube-scheduler's VolumeBinding, VolumeRestrictions and NodeVolumeLimits plugins demand is
//    what a pod needs here. Where it may be becomes part of its spec, and what depends on other
//    pods' volumes goes with the pod (VolumeDemand), so that planner, victims, estimates and
//    reasons see the same (ApplyPod).
// 2. While one of the kinds cannot be read, no pod needs anything.
// 3. A record is known by its name. Classes and places that are equal are kept once: most volumes
//    of a cluster are in a few places. What a volume offers is kept while a claim may be bound to
//    it (VolumePools).
// 4. A volume is counted against limits only where some node limits its driver. That of a claim
//    which one pod alone uses has no name there: pods that differ by it alone are alike.
//
// A restart forgets them; they are told again.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/base/shared_values.hpp"
#include "cluster/records/pod.hpp"
#include "cluster/records/storage.hpp"
#include "engine/machines/volume_pools.hpp"

namespace muster::cluster {
class ClusterState;
}

namespace muster::engine {

class VolumeTable {
 public:
  using Places = std::vector<cluster::NodeSelectorTerm>;
  // What a pod needs beside what it says itself.
  struct Needs {
    std::vector<Places> places;  // as NodeConstraints::volume_places
    std::string bar;             // why it may not start at all
    cluster::VolumeDemand demand;
    std::vector<int64_t> asked;  // bytes, for each of `demand.choices`; rising
  };
  using PodUids = std::vector<cluster::PodUid>;

  // `cluster`: where pods are looked up. It outlives this.
  explicit VolumeTable(const cluster::ClusterState& cluster) : cluster_(cluster) {}

  // Each returns the pods that may need something else now, in order.
  PodUids SetReadable(bool readable);
  PodUids Upsert(const cluster::StorageRecord& record);
  PodUids Remove(cluster::StorageKind kind, const cluster::ObjectKey& key);
  // The pod is as ClusterState has it now.
  PodUids Follow(const cluster::Pod& pod);
  PodUids Forget(const cluster::PodUid& pod);

  bool readable() const { return readable_; }
  Needs NeedsOf(const cluster::Pod& pod);
  // Of CSI drivers on that node, in order.
  const std::vector<cluster::AttachLimit>& LimitsOf(const std::string& node) const;
  std::vector<cluster::StorageRecord> All() const;

 private:
  using Text = std::shared_ptr<const std::string>;
  // What few claims have: those of one pod, and those that are not bound.
  struct Rest {
    std::string owner_pod;
    std::string selected_node;
    VolumePools::Wish wish;
    auto operator<=>(const Rest&) const = default;
  };
  struct Claim {
    std::string volume;
    Text storage_class;
    std::unique_ptr<Rest> rest;
    bool bound = false;
    bool lost = false;
    bool deleting = false;
    bool single_pod = false;
  };
  // What many volumes have alike.
  struct VolumeKind {
    std::string storage_class;
    std::string driver;  // empty: none of CSI
    Places places;
    auto operator<=>(const VolumeKind&) const = default;
  };
  struct Volume {
    std::shared_ptr<const VolumeKind> kind;
    std::string claim;                    // "namespace/name"; empty: none
    std::unique_ptr<std::string> handle;  // as cluster::Volume has it; null: empty
  };
  using Limits = std::vector<cluster::AttachLimit>;
  struct Use {
    std::vector<cluster::ObjectKey> claims;
    bool holds = false;  // bound, and not ended
  };

  PodUids UpsertClaim(const cluster::VolumeClaim& claim);
  PodUids UpsertVolume(const cluster::Volume& volume);
  PodUids UpsertClass(const cluster::StorageClass& one);
  PodUids SetLimits(const std::string& node, Limits limits);
  bool Offers(const cluster::Volume& volume) const;
  PodUids RemoveVolume(const std::string& name);
  // Of those, the pods.
  PodUids UsersOf(const cluster::ObjectKey& claim) const;
  PodUids UsersOfClass(const std::string& storage_class) const;
  PodUids UsersOfPool(const std::string& storage_class) const;
  PodUids UsersOfClaimOf(const Volume& volume) const;
  PodUids UsersOfDrivers(const std::set<std::string>& drivers) const;
  PodUids RivalsOf(const cluster::PodUid& pod, const Use& use, size_t alone) const;
  const cluster::Pod* PodBefore(const cluster::Pod& pod, const cluster::ObjectKey& claim) const;
  // What one claim adds; why it keeps the pod from starting, or nothing.
  std::string Add(const cluster::Pod& pod, const cluster::ClaimUse& use, Needs& needs);
  std::string AddUnbound(const cluster::Pod& pod, const cluster::ObjectKey& key, const Claim& claim,
                         Needs& needs);
  void AddAttached(const cluster::Pod& pod, const cluster::ObjectKey& key, const Claim& claim,
                   Needs& needs) const;
  bool UsedByOthers(const cluster::Pod& pod, const cluster::ObjectKey& claim) const;
  // Of the claim's volume, or of the one that is made for it; null: none of CSI.
  const std::string* DriverOf(const Claim& claim) const;

  const cluster::ClusterState& cluster_;
  bool readable_ = false;
  cluster::SharedValues<std::string> texts_;
  cluster::SharedValues<VolumeKind> kinds_;
  cluster::SharedValues<Limits> limit_lists_;
  std::map<cluster::ObjectKey, Claim> claims_;
  std::map<std::string, Volume> volumes_;
  std::map<std::string, cluster::StorageClass> classes_;
  VolumePools pools_;
  std::map<std::string, std::shared_ptr<const Limits>> limits_;  // by node
  const Limits no_limits_;
  std::map<std::string, int64_t> limited_;  // drivers, and how many nodes limit them
  std::map<cluster::ObjectKey, std::set<cluster::PodUid>> users_;
  std::map<cluster::PodUid, Use> uses_;
};

}  // namespace muster::engine
