// What Muster keeps of PersistentVolumeClaims, PersistentVolumes and StorageClasses: what
// kube-scheduler demands of a node because of a pod's volumes. Plain values, built by the decoders.
//
// Each is known by its name: what comes under a name takes the place of what had it.
#pragma once

#include <compare>
#include <string>
#include <variant>
#include <vector>

#include "cluster/ids.hpp"
#include "cluster/selector.hpp"

namespace muster::cluster {

// A provisioner by which nothing is made: volumes of its class are made by hand.
inline constexpr const char* kNoProvisioner = "kubernetes.io/no-provisioner";

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
  auto operator<=>(const VolumeClaim&) const = default;
};

struct Volume {
  std::string name;
  std::string storage_class;
  ObjectKey claim;  // to which it is bound, or kept for; an empty name: to none
  // nodeAffinity.required: any term suffices. Empty: every node reaches it.
  std::vector<NodeSelectorTerm> places;
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

using StorageRecord = std::variant<VolumeClaim, Volume, StorageClass>;
// By position in StorageRecord.
enum class StorageKind { kClaim, kVolume, kClass };

inline StorageKind KindOf(const StorageRecord& record) {
  return static_cast<StorageKind>(record.index());
}

}  // namespace muster::cluster
