// Look-ups in the tables of ClusterState, reservations, and which pod is linked where.
#include <algorithm>
#include <set>
#include <utility>

#include "cluster/base/check.hpp"
#include "cluster/holdings/cluster_state_impl.hpp"

namespace muster::cluster {

PodEntry* ClusterState::Impl::Find(const PodUid& uid) const {
  const auto entry = pods.find(uid);
  return entry == pods.end() ? nullptr : entry->get();
}

PodEntry* ClusterState::Impl::Find(const ObjectKey& key) const {
  const auto entry = pod_by_name.find(key);
  return entry == pod_by_name.end() ? nullptr : *entry;
}

NodeIndex ClusterState::Impl::IndexOf(const std::string& name) const {
  const auto index = node_by_name.find(name);
  return index == node_by_name.end() ? NodeIndex{} : index->second;
}

const ClusterState::Impl::Slot* ClusterState::Impl::SlotAt(NodeIndex index) const {
  if (index.value >= slots.size() || slots[index.value].node == nullptr) return nullptr;
  return &slots[index.value];
}

ClusterState::Impl::Site ClusterState::Impl::SiteOf(const PodEntry& entry) const {
  if (entry.pod.terminal()) return {};
  if (entry.pod.bound()) {
    const NodeIndex index = IndexOf(entry.pod.node_name);
    return index.valid() ? Site{index, {}} : Site{{}, entry.pod.node_name};
  }
  return entry.plan == nullptr ? Site{} : Site{entry.plan->node, {}};
}

void ClusterState::Impl::Link(PodEntry& entry, const Site& site) {
  if (site.slot.valid()) {
    slots[site.slot.value].ledger.Add(entry);
  } else if (!site.waiting.empty()) {
    waiting[site.waiting].push_back(&entry);
  }
}

void ClusterState::Impl::Unlink(PodEntry& entry, const Site& site) {
  if (site.slot.valid()) {
    slots[site.slot.value].ledger.Remove(entry);
  } else if (!site.waiting.empty()) {
    const auto list = waiting.find(site.waiting);
    MUSTER_CHECK(list != waiting.end());
    std::erase(list->second, &entry);
    if (list->second.empty()) waiting.erase(list);
  }
}

void ClusterState::Impl::DropPlan(PodEntry& entry) {
  if (entry.reserved()) --reservations;
  if (entry.earmarked()) entry.claim = 0;
  entry.plan.reset();
  entry.earmark = false;
}

Status ClusterState::Impl::Check(const Placement& placement, bool moves,
                                 const FreeTable& left) const {
  const auto conflict = [](const std::string& message) {
    return Error{Code::kConflict, message, {}};
  };
  const PodEntry* entry = Find(placement.pod);
  const Slot* slot = SlotAt(placement.node);
  const std::string on =
      slot == nullptr ? " on a node that is not known" : " on " + slot->node->name;
  if (entry == nullptr) return conflict("pod " + placement.pod.text() + on + " is not known");
  const std::string pod = "pod " + entry->pod.key.ToString();
  if (slot == nullptr) return conflict(pod + " is planned" + on);
  if (entry->pod.terminal()) return conflict(pod + on + " has ended");
  if (entry->pod.bound()) return conflict(pod + on + " is bound to " + entry->pod.node_name);
  if (!moves && entry->plan != nullptr) return conflict(pod + on + " has a reservation");
  if (!left.Fits(*slot->node, placement)) return conflict(pod + " does not fit" + on);
  if (!Meets(*slot->node, placement.gpus, entry->pod.spec->gpus))
    return conflict(pod + on + " is planned for devices that are given out in another way now");
  return Ok{};
}

Status ClusterState::Impl::CheckAll(const std::vector<Placement>& placements, bool moves,
                                    FreeTable left) const {
  std::set<PodUid> seen;
  for (const Placement& placement : placements) {
    const Status status = Check(placement, moves, left);
    if (!status.ok()) return status.error();
    const Node& node = *slots[placement.node.value].node;
    if (!seen.insert(placement.pod).second) {
      const std::string pod = Find(placement.pod)->pod.key.ToString();
      return Error{Code::kConflict, "pod " + pod + " on " + node.name + " is planned twice", {}};
    }
    left.Take(node, placement);
  }
  return Ok{};
}

// Reserves every placement or none of what is `left`.
Status ClusterState::Impl::Take(const std::vector<Placement>& placements, bool moves,
                                FreeTable left) {
  const Status fits = CheckAll(placements, moves, std::move(left));
  if (!fits.ok()) return fits.error();
  std::vector<NodeIndex> touched;
  for (const Placement& placement : placements) {
    PodEntry& entry = *Find(placement.pod);
    if (moves) {
      touched.push_back(entry.plan->node);
      slots[entry.plan->node.value].ledger.Remove(entry);
      DropPlan(entry);
      entry.held.reset();
      ++generation;
    }
    Plan(placement, 0);
    touched.push_back(placement.node);
  }
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  for (NodeIndex index : touched) Settle(index);
  return Ok{};
}

Status ClusterState::Impl::Earmark(const std::vector<Placement>& placements,
                                   const std::vector<PodUid>& victims) {
  FreeTable left = free;
  for (const PodUid& uid : victims) {
    const PodEntry* entry = Find(uid);
    if (entry == nullptr || !entry->held || entry->claim != 0 || !entry->pod.bound()) {
      return Error{Code::kConflict, "pod " + uid.text() + " has nothing to leave", {}};
    }
    const Placement& held = entry->held->placement;
    left.Give(*slots[held.node.value].node, held);
  }
  const Status fits = CheckAll(placements, false, std::move(left));
  if (!fits.ok()) return fits.error();
  std::set<NodeIndex> touched;
  const uint64_t claim = next_claim++;
  for (const PodUid& uid : victims) {
    PodEntry& entry = *Find(uid);
    entry.claim = claim;
    touched.insert(entry.held->placement.node);
  }
  for (const Placement& placement : placements) {
    Plan(placement, claim);
    touched.insert(placement.node);
  }
  const auto unsound = std::find_if(touched.begin(), touched.end(), [&](NodeIndex index) {
    return !slots[index.value].ledger.Holds(*slots[index.value].node, *assigner, claim);
  });
  if (unsound != touched.end()) {
    for (const PodUid& uid : victims) Find(uid)->claim = 0;
    for (const Placement& placement : placements) {
      PodEntry& entry = *Find(placement.pod);
      slots[placement.node.value].ledger.Remove(entry);
      DropPlan(entry);
    }
    return Error{Code::kConflict, "others will have what is left there",
                 slots[unsound->value].node->name};
  }
  for (NodeIndex index : touched) Settle(index);
  return Ok{};
}

// In the meantime more is shown as free than before, which nobody sees: what could grow did not.
Status ClusterState::Impl::Redeem(const std::vector<PodUid>& who) {
  const uint64_t growth_before = growth;
  std::vector<Placement> placements;
  std::vector<uint64_t> claims;
  for (const PodUid& uid : who) {
    PodEntry* entry = Find(uid);
    if (entry == nullptr || !entry->earmarked()) {
      return Error{Code::kConflict, "pod " + uid.text() + " has no earmark", {}};
    }
    placements.push_back(*entry->plan);
    claims.push_back(entry->claim);
  }
  for (const PodUid& uid : who) Release(*Find(uid));
  const Status taken = Take(placements, false, free);
  if (!taken.ok()) {
    for (size_t i = 0; i < placements.size(); ++i) {
      Plan(placements[i], claims[i]);
      Settle(placements[i].node);
    }
  }
  growth = growth_before;
  if (!taken.ok()) return taken.error();
  return Ok{};
}

void ClusterState::Impl::Plan(const Placement& placement, uint64_t claim) {
  PodEntry& entry = *Find(placement.pod);
  entry.plan = std::make_unique<const Placement>(placement);
  entry.earmark = claim != 0;
  entry.claim = claim;
  reservations += claim == 0 ? 1 : 0;
  slots[placement.node.value].ledger.Add(entry);
}

void ClusterState::Impl::KeepHolding(PodEntry& entry) {
  if (entry.claim == 0 || !entry.pod.bound()) return;
  entry.claim = 0;
  if (const Site site = SiteOf(entry); site.slot.valid()) Settle(site.slot);
}

void ClusterState::Impl::Release(PodEntry& entry) {
  const NodeIndex index = entry.plan->node;
  slots[index.value].ledger.Remove(entry);
  DropPlan(entry);
  entry.held.reset();
  ++generation;
  Settle(index);
}

}  // namespace muster::cluster
