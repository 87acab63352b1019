// ClusterState::Impl: the tables behind ClusterState. Internal to cluster/; see cluster_state.hpp
// for the rules.
//
// A pod that holds something is linked in one place: in the ledger of its node's slot, or, when it
// is bound to a node that is not known, in `waiting` under that name. Where that is follows from
// its record (SiteOf), so it is unlinked before the record changes and linked again after.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
#include "cluster/holdings/node_ledger.hpp"
#include "cluster/holdings/pod_field.hpp"
#include "cluster/holdings/record_table.hpp"
#include "cluster/holdings/tombstones.hpp"

namespace muster::cluster {

struct UidHash {
  using is_transparent =
      void;  // NOLINT(readability-identifier-naming): the standard library's name
  size_t operator()(const PodUid& uid) const { return std::hash<PodUid>{}(uid); }
  size_t operator()(const std::unique_ptr<PodEntry>& entry) const {
    return (*this)(entry->pod.uid);
  }
};
struct UidEqual {
  using is_transparent = void;  // NOLINT(readability-identifier-naming)
  static const PodUid& Key(const PodUid& uid) { return uid; }
  static const PodUid& Key(const std::unique_ptr<PodEntry>& entry) { return entry->pod.uid; }
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return Key(a) == Key(b);
  }
};
struct NameHash {
  using is_transparent = void;  // NOLINT(readability-identifier-naming)
  size_t operator()(const ObjectKey& key) const {
    return std::hash<std::string>{}(key.ns) * 31 + std::hash<std::string>{}(key.name);
  }
  size_t operator()(const PodEntry* entry) const { return (*this)(entry->pod.key); }
};
struct NameEqual {
  using is_transparent = void;  // NOLINT(readability-identifier-naming)
  static const ObjectKey& Key(const ObjectKey& key) { return key; }
  static const ObjectKey& Key(const PodEntry* entry) { return entry->pod.key; }
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    return Key(a) == Key(b);
  }
};

// The PodField of ClusterState: kept only while some pod has rules among pods or a VolumeDemand.
class FaceBook {
 public:
  // One pod more or less. True when it was the first with such, or the last.
  bool Count(const Pod& pod, int sign);
  // Other pods are on the node, or they look different. Where a pod that waits looks for others, it
  // may find more room then: `growth`; null: nothing is different for it.
  void Touch(NodeIndex node, uint64_t* growth);
  bool in_use() const { return ruled_ > 0; }
  void TouchNamespaces() { namespaces_known_ = false; }
  // Required anti-affinity of all pods that have some, and of how many each is.
  const std::map<PodTerm, int64_t>& guards() const { return guards_; }

  // As things are. `faces(i)` gives those of that node.
  template <typename FacesOf>
  std::shared_ptr<const PodField> Follow(uint32_t nodes, const RecordTable<Namespace>& namespaces,
                                         const FacesOf& faces) {
    if (!in_use()) {
      field_ = PodField();
      touched_.clear();
      known_ = namespaces_known_ = false;
      return nullptr;
    }
    if (!known_) {
      for (uint32_t i = 0; i < nodes; ++i) touched_.insert(i);
    }
    known_ = true;
    for (const uint32_t i : touched_) field_.Set(NodeIndex{i}, faces(i));
    touched_.clear();
    FollowNamespaces(namespaces);
    return std::make_shared<const PodField>(field_);
  }

 private:
  void FollowNamespaces(const RecordTable<Namespace>& namespaces);

  PodField field_;
  bool known_ = false;  // but for `touched_`
  bool namespaces_known_ = false;
  std::set<uint32_t> touched_;
  std::map<PodTerm, int64_t> guards_;
  int64_t ruled_ = 0;    // pods with rules or a VolumeDemand
  int64_t looking_ = 0;  // of these, those that wait and may find room where others are
};

struct ClusterState::Impl {
  static constexpr size_t kTombstones = 65'536;  // per kind

  struct Slot {
    std::shared_ptr<const Node> node;  // null: the slot is free
    NodeLedger ledger;
    NodeTally tally;   // as `free` shows it
    UsageTable usage;  // as `usage` counts it
  };
  // Where a pod's holding belongs: a slot, or the name of a node that is not known; neither when it
  // holds nothing.
  struct Site {
    NodeIndex slot;
    std::string waiting;
    bool operator==(const Site&) const = default;
  };

  std::shared_ptr<const DeviceAssigner> assigner;  // constant after construction
  std::vector<Slot> slots;
  std::set<uint32_t> free_slots;
  std::unordered_map<NodeUid, NodeIndex> node_by_uid;
  std::unordered_map<std::string, NodeIndex> node_by_name;
  Tombstones dead_nodes{kTombstones};

  std::unordered_set<std::unique_ptr<PodEntry>, UidHash, UidEqual> pods;
  std::unordered_set<PodEntry*, NameHash, NameEqual> pod_by_name;
  std::unordered_map<std::string, std::vector<PodEntry*>> waiting;
  size_t reservations = 0;
  uint64_t next_claim = 1;
  Tombstones dead_pods{kTombstones};

  RecordTable<PodGroup> groups{kTombstones};
  RecordTable<Namespace> namespaces{kTombstones};
  RecordTable<PriorityClass> priorities{kTombstones};
  RecordTable<DisruptionBudget> budgets{kTombstones};

  FreeTable free;
  FaceBook faces;
  UsageTable usage;
  uint64_t generation = 1;
  uint64_t growth = 1;
  uint64_t layout = 1;
  NodeTable table;  // the records in `slots`
  std::shared_ptr<const Snapshot> snapshot;

  const std::set<PodUid> nobody{};  // holders of a node that is not there

  Applied Upsert(Node node);
  Applied Upsert(Pod pod);
  void RemoveNode(NodeIndex index);
  void RemovePod(PodEntry& entry);

  PodEntry* Find(const PodUid& uid) const;
  PodEntry* Find(const ObjectKey& key) const;
  NodeIndex IndexOf(const std::string& name) const;
  const Slot* SlotAt(NodeIndex index) const;

  // `moves`: the pod gives a reservation back for this one, else it must have none.
  Status Check(const Placement& placement, bool moves, const FreeTable& left) const;
  Status CheckAll(const std::vector<Placement>& placements, bool moves, FreeTable left) const;
  Status Take(const std::vector<Placement>& placements, bool moves, FreeTable left);
  Status Earmark(const std::vector<Placement>& placements, const std::vector<PodUid>& victims);
  Status Redeem(const std::vector<PodUid>& who);
  // As a reservation, or as an earmark of that claim.
  void Plan(const Placement& placement, uint64_t claim);
  void KeepHolding(PodEntry& entry);
  void Release(PodEntry& entry);

  void NamespacesChanged();
  PodField::Faces FacesOn(uint32_t slot) const;
  // Replaces the record of `entry`; its UID stays.
  void Replace(PodEntry& entry, Pod pod);
  Site SiteOf(const PodEntry& entry) const;
  void Link(PodEntry& entry, const Site& site);
  void Unlink(PodEntry& entry, const Site& site);
  void DropPlan(PodEntry& entry);
  // Brings a node's numbers up to date after its record or its holders changed.
  void Settle(NodeIndex index);
  // Charges what is held there to the queues.
  void Charge(Slot& slot);
  void NodeChanged(NodeIndex index);
};

// The text of ClusterState::Dump.
std::string DumpState(const ClusterState& state, const FreeTable& free);

}  // namespace muster::cluster
