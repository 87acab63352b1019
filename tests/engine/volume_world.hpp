// VolumeWorld: an engine in two racks of two nodes, with classes of volumes, and what tests tell it
// of claims and volumes. All in namespace "default".
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/fabric_options.hpp"
#include "tests/engine/harness.hpp"

namespace muster::testing {

inline cluster::NodeSelectorTerm NodesWith(const std::string& label,
                                           const std::vector<std::string>& values) {
  cluster::NodeSelectorTerm term;
  term.match_expressions.push_back({label, cluster::SelectorOperator::kIn, values});
  return term;
}

inline cluster::VolumeClaim UnboundClaim(const std::string& name,
                                         const std::string& storage_class) {
  cluster::VolumeClaim claim;
  claim.key = {"default", name};
  claim.storage_class = storage_class;
  return claim;
}

inline cluster::VolumeClaim BoundClaim(const std::string& name) {
  cluster::VolumeClaim claim = UnboundClaim(name, "fast");
  claim.volume = "pv-" + name;
  claim.bound = true;
  return claim;
}

// The volume of BoundClaim(name).
inline cluster::Volume VolumeOf(const std::string& name,
                                std::vector<cluster::NodeSelectorTerm> places) {
  return {"pv-" + name, "fast", {"default", name}, std::move(places)};
}

inline cluster::Pod NamingClaim(const PodBuilder& builder, const std::string& claim,
                                bool own = false) {
  cluster::Pod pod = builder.Build();
  cluster::PodVolumes volumes;
  volumes.claims.push_back({claim, own});
  pod.volumes = std::make_shared<const cluster::PodVolumes>(std::move(volumes));
  return pod;
}

// Racks a0 and a1 of two nodes of eight GPUs each.
struct VolumeWorld : Harness {
  explicit VolumeWorld(engine::Options options = {}) : Harness(WithFabric(std::move(options))) {
    for (const std::string name : {"a0x", "a0y", "a1x", "a1y"})
      Add(MakeNode(name)
              .Gpus(8)
              .Label("block", "a")
              .Label("rack", name.substr(0, 2))
              .Label("name", name));
    Tell(cluster::StorageClass{"fast", "csi.example.com", false, {}});
    Tell(cluster::StorageClass{"late", "csi.example.com", true, {}});
    engine().Apply(engine::StorageReadable{true}, now());
  }
  using Harness::Add;
  void Tell(const cluster::StorageRecord& record) {
    storage.push_back(record);
    engine().Apply(record, now());
  }
  void Forget(cluster::StorageKind kind, const cluster::ObjectKey& key) {
    engine().Apply(engine::StorageRemoved{kind, key}, now());
  }
  // `count` pods of a GPU each within one rack, of which the last one names the claim.
  void AddWorkers(const std::string& group, int count, const std::string& claim,
                  int32_t priority = 0) {
    Add(MakePodGroup(group).MinMember(count).Within("rack"));
    for (int i = 0; i < count; ++i) {
      PodBuilder pod = MakePod(group + "-" + (i < 10 ? "0" : "") + std::to_string(i));
      pod.Gpus(1).Priority(priority).InGroup(group).Gated();
      Add(i + 1 == count ? NamingClaim(pod, claim) : pod.Build());
    }
  }
  // On that node volumes of csi.example.com.
  void Limit(const std::string& node, int64_t count) {
    Tell(cluster::NodeDrivers{node, {{"csi.example.com", count}}});
  }
  // `count` pods of a GPU each, of which each names a claim PREFIX-0 …
  void AddWithClaims(const std::string& group, int count, const std::string& prefix,
                     int32_t priority = 0) {
    Add(MakePodGroup(group).MinMember(count));
    for (int i = 0; i < count; ++i) {
      PodBuilder pod = MakePod(group + "-" + std::to_string(i));
      pod.Gpus(1).Priority(priority).InGroup(group).Gated();
      Add(NamingClaim(pod, prefix + "-" + std::to_string(i)));
    }
  }
  std::string Why(const std::string& gang) const { return Gang(gang).reason.detail; }
  std::string NodeOf(const std::string& pod) { return Pod(pod).nominated_node; }
  // Of the first `count` members.
  int OnNode(const std::string& group, int count, const std::string& node) {
    int there = 0;
    for (int i = 0; i < count; ++i)
      there += NodeOf(group + "-" + std::to_string(i)) == node ? 1 : 0;
    return there;
  }
  int PlannedOn(const std::string& group, const std::string& rack) {
    int count = 0;
    for (int i = 0; i < 16; ++i) {
      const std::string pod = group + "-" + (i < 10 ? "0" : "") + std::to_string(i);
      count += NodeOf(pod).starts_with(rack) ? 1 : 0;
    }
    return count;
  }
  std::vector<cluster::StorageRecord> storage;
};

}  // namespace muster::testing
