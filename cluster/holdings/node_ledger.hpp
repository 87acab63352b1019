// NodeLedger: who holds what on one node.
//
// It keeps the pods that hold something there, and computes their devices from the records
// whenever asked, so that the outcome depends on which pods there are and not on the order in which
// they were heard of:
//   1. Bound pods whose annotation names devices get them, first come (created, UID) first served.
//   2. Reserved pods get the devices of their reservation, and so do bound pods that had one and
//   got nothing in 1.
//   3. The other bound pods are assumed on the devices that the DeviceAssigner names.
// Nobody gets more of a device than is left of it; who comes out short has `devices_known` false.
//
// An earmark holds nothing: its pod waits for pods that make way. What a claim (the earmarks that
// were made together) will take beyond what those who make way for it give up is not shown as free,
// device by device and resource by resource:
//   offered = balance − Σ over claims of max(0, Σ its earmarks − Σ held by those who make way)
// Nothing is given out that is not offered, so each claim fits when its last one is gone.
//
// kube-scheduler knows no devices: it compares the number of GPUs asked for with the number of
// healthy ones. Where a device broke down under a pod, it counts one free device less than there
// are, so one healthy device is withheld for each: it is neither reserved nor shown as free. (Not
// so where devices are given in shares, which it does not count.)
//
// Owned by ClusterState, one per node; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "cluster/holdings/allocation.hpp"
#include "cluster/holdings/device_assigner.hpp"
#include "cluster/records/node.hpp"
#include "cluster/records/pod.hpp"

namespace muster::cluster {

// Every node has a channel of a ComputeDomain, whatever its record says: the driver gives it to one
// pod at a time.
inline constexpr int64_t kChannelsPerNode = 1;
// What there is to be held of a node.
inline Resources OfferOf(const Node& node) {
  Resources offer = node.allocatable;
  offer.channels = kChannelsPerNode;
  return offer;
}

// A pod as ClusterState keeps it.
struct PodEntry {
  Pod pod;
  // Its reservation or earmark. Once the pod is bound to that node: where its devices come from, if
  // not from the annotation.
  std::unique_ptr<const Placement> plan;
  bool earmark = false;  // what `plan` is while the pod is not bound
  // Not 0: its earmark belongs to that claim or, when the pod is bound, it makes way for it.
  uint64_t claim = 0;
  // What it holds on a known node; the truth that AllocationOf shows.
  std::optional<Allocation> held;

  bool reserved() const { return plan != nullptr && !pod.bound() && !earmark; }
  bool earmarked() const { return plan != nullptr && !pod.bound() && earmark; }
};

// What is left of a node.
struct NodeTally {
  Resources balance;  // OfferOf − held; below zero when over-committed
  Resources offered;  // what of it may be given to pods to come; see above
  // Free, in the order of Node::gpus; nothing where one is not usable, nothing at all when a
  // holder's devices are not known.
  std::vector<DeviceAmount> gpus;
  bool devices_known = true;  // every holder's
  // GPUs by number, healthy − held; below zero when over-committed. 0 where devices are shared.
  int64_t gpu_balance = 0;
  bool operator==(const NodeTally&) const = default;

  // True when more is held than there is of something that a pod asks for with these.
  bool Short(const Resources& requests, const GpuRequest& gpu_request) const;
  // True when more is held than there is of anything at all.
  bool overcommitted() const;
};

// The planned shares are what the request takes of these devices, as they are given out now.
bool Meets(const Node& node, const std::vector<GpuShare>& plan, const GpuRequest& request);

class NodeLedger {
 public:
  // The entry must stay where it is, and its `created`, its UID and whether it is earmarked
  // unchanged, until it is removed again.
  void Add(PodEntry& entry);
  void Remove(const PodEntry& entry);

  // Works out what every holder holds of `node`, at `index`. `changed` is set when any allocation
  // changed.
  NodeTally Settle(const Node& node, NodeIndex index, const DeviceAssigner& assigner,
                   bool& changed);
  // The claim's earmarks here will fit when those who make way for it are gone: by the devices that
  // the others will hold then, which are not always those that they hold now.
  bool Holds(const Node& node, const DeviceAssigner& assigner, uint64_t claim) const;

  // Ordered by (created, UID).
  const std::vector<PodEntry*>& entries() const { return entries_; }
  const std::vector<PodEntry*>& earmarks() const { return earmarks_; }
  const std::set<PodUid>& holders() const { return holders_; }

 private:
  struct Need {
    Resources resources;
    std::map<GpuIndex, DeviceAmount> gpus;
  };
  Need NeedOf(uint64_t claim) const;
  // Takes from `tally` what claims will need beyond what is left to them.
  void WithholdForEarmarks(const Node& node, uint64_t except, NodeTally& tally) const;

  std::vector<PodEntry*> entries_;
  std::vector<PodEntry*> earmarks_;
  std::set<PodUid> holders_;
};

}  // namespace muster::cluster
