// What Muster keeps of PersistentVolumeClaims, PersistentVolumes, StorageClasses and CSINodes: what
// kube-scheduler demands of a node because of a pod's volumes. Plain values, built by the decoders.
//
// Each is known by its name: what comes under a name takes the place of what had it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/records/selector.hpp"
#include "cluster/records/volume_demand.hpp"

namespace muster::cluster {

// A provisioner by which nothing is made: volumes of its class are made by hand.
inline constexpr const char* kNoProvisioner = "kubernetes.io/no-provisioner";

// accessModes, each a bit.
enum AccessMode : uint8_t { kOneNode = 1, kManyRead = 2, kManyWrite = 4, kOnePod = 8 };

// What a claim asks of a volume, and what a volume has. Those that differ in the last two never
// match.
struct VolumeTerms {
  int64_t bytes = 0;
  uint8_t modes = 0;  // AccessMode
  bool block = false;
  std::string attributes_class = {};
  auto operator<=>(const VolumeTerms&) const = default;
  // One with these is enough for `wanted`.
  bool Suit(const VolumeTerms& wanted) const {
    return bytes >= wanted.bytes && (modes & wanted.modes) == wanted.modes &&
           block == wanted.block && attributes_class == wanted.attributes_class;
  }
};

struct VolumeClaim {
  ObjectKey key;
  std::string volume;  // spec.volumeName; empty: it has none yet
  std::string storage_class;
  std::string owner_pod;      // UID of the pod that controls it; empty: none does
  std::string selected_node;  // for which its volume is being made; empty: none is chosen
  bool bound = false;         // to `volume`, for good
  bool lost = false;          // that volume is gone
  bool deleting = false;
  bool single_pod = false;  // ReadWriteOncePod
  VolumeTerms terms = {};
  std::vector<SelectorRequirement> selector = {};  // of the volume's labels; each must hold
  auto operator<=>(const VolumeClaim&) const = default;
};

struct Volume {
  std::string name;
  std::string storage_class;
  ObjectKey claim;  // to which it is bound, or kept for; an empty name: to none
  // nodeAffinity.required: any term suffices. Empty: every node reaches it.
  std::vector<NodeSelectorTerm> places = {};
  std::string driver = {};  // of CSI; empty: another kind of volume
  // csi.volumeHandle of one that several pods may use at once; of others empty.
  std::string handle = {};
  //   kFree   a claim may be bound to it: any, or `claim`
  //   kBound  to `claim`
  //   kSpent  to no claim: released, failed, not ready yet, being deleted
  enum class Phase : uint8_t { kFree, kBound, kSpent };
  Phase phase = Phase::kFree;
  VolumeTerms terms = {};
  Labels labels = {};
  auto operator<=>(const Volume&) const = default;
};

struct StorageClass {
  std::string name;
  std::string provisioner;
  bool waits_for_pod = false;  // volumeBindingMode WaitForFirstConsumer
  // allowedTopologies: any suffices. Empty: volumes are made everywhere.
  std::vector<NodeSelectorTerm> places;
  auto operator<=>(const StorageClass&) const = default;
};

// CSINode: of the drivers on a node, those that say how many volumes it takes.
struct NodeDrivers {
  std::string node;
  std::vector<AttachLimit> limits;  // ordered
  auto operator<=>(const NodeDrivers&) const = default;
};

using StorageRecord = std::variant<VolumeClaim, Volume, StorageClass, NodeDrivers>;
// By position in StorageRecord.
enum class StorageKind { kClaim, kVolume, kClass, kNodeDrivers };

inline StorageKind KindOf(const StorageRecord& record) {
  return static_cast<StorageKind>(record.index());
}

}  // namespace muster::cluster
