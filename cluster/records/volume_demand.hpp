// VolumeDemand: what the volumes of a pod ask of a node beside being reached from there, and what
// depends on the volumes of other pods: that one more can be attached, and that one is left for
// each claim. AttachLimit: how many a node takes. Plain values; what kube-scheduler's
// NodeVolumeLimits and VolumeBinding plugins look at.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cluster/records/selector.hpp"

namespace muster::cluster {

// So many volumes of a CSI driver may be attached to a node (CSINode).
struct AttachLimit {
  std::string driver;
  int64_t count = 0;
  auto operator<=>(const AttachLimit&) const = default;
};

// A volume of a driver of which some node takes a limited number.
struct AttachedVolume {
  std::string driver;
  // Equal for pods that use the same one, which counts once on their node. Empty: no other pod uses
  // it.
  std::string shared_as;
  auto operator<=>(const AttachedVolume&) const = default;
};

struct FreeVolume {
  std::string name;
  // As Volume::places, not null.
  std::shared_ptr<const std::vector<NodeSelectorTerm>> places;
  bool operator==(const FreeVolume& other) const {
    return name == other.name && (places == other.places || *places == *other.places);
  }
};

// The volumes to one of which a claim may be bound, in the order in which kube-scheduler takes
// them.
struct FreeVolumes {
  std::string key;  // lists with equal keys are equal
  std::vector<FreeVolume> volumes;
};

struct VolumeChoice {
  std::shared_ptr<const FreeVolumes> volumes;  // not null
  std::string shared_as;                       // its claim, where other pods use it, too
  bool operator==(const VolumeChoice& other) const {
    return shared_as == other.shared_as &&
           (volumes == other.volumes || volumes->key == other.volumes->key);
  }
};

struct VolumeDemand {
  std::vector<AttachedVolume> attached;  // ordered
  // One for each claim that is to be bound, in the order in which kube-scheduler takes them.
  std::vector<VolumeChoice> choices;

  bool none() const { return attached.empty() && choices.empty(); }
  bool operator==(const VolumeDemand&) const = default;
};

// Null is none.
inline bool SameDemand(const std::shared_ptr<const VolumeDemand>& a,
                       const std::shared_ptr<const VolumeDemand>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

}  // namespace muster::cluster
