// The facts: what an upsert or a removal does to the tables of ClusterState.
#include <algorithm>
#include <tuple>
#include <utility>

#include "cluster/base/check.hpp"
#include "cluster/holdings/cluster_state_impl.hpp"

namespace muster::cluster {
namespace {

bool SameSpec(const Pod& a, const Pod& b) { return a.spec == b.spec || *a.spec == *b.spec; }

template <typename T>
bool SameValue(const std::shared_ptr<const T>& a, const std::shared_ptr<const T>& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

bool SameVolumes(const PodVolumes* a, const PodVolumes* b) {
  if (a == nullptr || b == nullptr) return a == b;
  const bool same =
      a->declared == b->declared ||
      (a->declared != nullptr && b->declared != nullptr && *a->declared == *b->declared);
  return same && a->claims == b->claims && a->bar == b->bar && SameDemand(a->demand, b->demand);
}

// All that a record says but its resource version, for comparison. A field that is added to Pod and
// not named here does not compile.
bool SameRecord(const Pod& a, const Pod& b) {
  const auto values = [](const Pod& pod) {
    const auto& [uid, key, spec, resized, pod_group, declared_min_member, alone, queue, role,
                 owner_uid, index, job_index, daemon, phase, deleting, leaves_by, grace, gates,
                 nominated_node, node_name, bound_gpus, bound_by_muster, bound_in, created,
                 bound_at, resource_version, defect, gang_record, start_failure, running_since,
                 handed_over, asked_queue, hami_turn, says_disruption, run_times, preemptible,
                 labels, gang_words, non_preemptible, unschedulable, volumes] = pod;
    return std::tie(uid, key, pod_group, declared_min_member, alone, queue, role, owner_uid, index,
                    job_index, daemon, phase, deleting, leaves_by, grace, gates, nominated_node,
                    node_name, bound_gpus, bound_by_muster, bound_in, created, bound_at, defect,
                    running_since, handed_over, asked_queue, hami_turn, says_disruption,
                    preemptible, labels, non_preemptible);
  };
  return values(a) == values(b) && SameSpec(a, b) && SameValue(a.resized, b.resized) &&
         SameValue(a.gang_record, b.gang_record) && SameValue(a.start_failure, b.start_failure) &&
         SameValue(a.run_times, b.run_times) && SameValue(a.unschedulable, b.unschedulable) &&
         SameValue(a.gang_words, b.gang_words) && SameVolumes(a.volumes.get(), b.volumes.get());
}

// What the pod holds is the same under both records.
bool SameHolding(const Pod& a, const Pod& b) {
  return a.node_name == b.node_name && a.queue == b.queue &&
         a.non_preemptible == b.non_preemptible && a.terminal() == b.terminal() &&
         a.created == b.created && a.bound_gpus == b.bound_gpus &&
         SameValue(a.resized, b.resized) &&
         (a.spec == b.spec ||
          (a.spec->requests == b.spec->requests && a.spec->gpus == b.spec->gpus));
}

// Rules among pods see the same of it.
bool SameFace(const Pod& a, const Pod& b) {
  return a.deleting == b.deleting && a.labels == b.labels &&
         SameDemand(a.volume_demand(), b.volume_demand()) &&
         (a.spec == b.spec || a.spec->rules == b.spec->rules);
}

// Devices in order of their index, each once: what everything that looks up a device relies on.
void OrderDevices(std::vector<Gpu>& gpus) {
  std::stable_sort(gpus.begin(), gpus.end(),
                   [](const Gpu& a, const Gpu& b) { return a.index < b.index; });
  const auto same = [](const Gpu& a, const Gpu& b) { return a.index == b.index; };
  gpus.erase(std::unique(gpus.begin(), gpus.end(), same), gpus.end());
}

// Something is free that was not: in one kind of resource, or on one device.
bool Rose(const NodeTally& before, const NodeTally& after) {
  if (after.offered.cpu > before.offered.cpu || after.offered.memory > before.offered.memory ||
      after.offered.pods > before.offered.pods ||
      after.offered.channels > before.offered.channels ||
      after.offered.named.RoseFrom(before.offered.named)) {
    return true;
  }
  for (size_t i = 0; i < after.gpus.size(); ++i) {
    const DeviceAmount had = i < before.gpus.size() ? before.gpus[i] : DeviceAmount();
    if (!had.Holds(after.gpus[i])) return true;
  }
  return false;
}

bool HoldsLess(const Usage& now, const Usage& before) {
  return now.requests.cpu < before.requests.cpu || now.requests.memory < before.requests.memory ||
         now.gpu_milli < before.gpu_milli || now.gpu_memory < before.gpu_memory ||
         std::any_of(before.gpu_milli_by_model.begin(), before.gpu_milli_by_model.end(),
                     [&](const auto& entry) {
                       const auto left = now.gpu_milli_by_model.find(entry.first);
                       return left == now.gpu_milli_by_model.end() || left->second < entry.second;
                     });
}

// A queue of these does.
bool AnyHoldsLess(const std::map<std::string, Usage>& now,
                  const std::map<std::string, Usage>& before) {
  return std::any_of(before.begin(), before.end(), [&](const auto& entry) {
    const auto left = now.find(entry.first);
    return !entry.first.empty() &&
           HoldsLess(left == now.end() ? Usage{} : left->second, entry.second);
  });
}

}  // namespace

void ClusterState::Impl::Settle(NodeIndex index) {
  Slot& slot = slots[index.value];
  bool changed = false;
  NodeTally tally = slot.ledger.Settle(*slot.node, index, *assigner, changed);
  if (tally != slot.tally) {
    changed = true;
    if (Rose(slot.tally, tally)) ++growth;
    free.Set(index, tally.offered, tally.gpus);
    slot.tally = std::move(tally);
  }
  if (changed) ++generation;
  faces.Touch(index, changed ? &growth : nullptr);
  const bool idle = slot.ledger.entries().empty() && slot.ledger.earmarks().empty();
  if (changed || !idle || !slot.usage.queues().empty()) Charge(slot);
}

void ClusterState::Impl::Charge(Slot& slot) {
  UsageTable now;
  for (const PodEntry* entry : slot.ledger.entries()) {
    if (entry->held)
      now.Add(entry->pod.queue, entry->held->placement, *slot.node, entry->pod.non_preemptible);
  }
  for (const PodEntry* entry : slot.ledger.earmarks())
    now.Add(entry->pod.queue, *entry->plan, *slot.node, entry->pod.non_preemptible);
  if (now == slot.usage) return;
  // A queue that holds less may take more, also where the node has nothing more to give.
  const bool less = AnyHoldsLess(now.queues(), slot.usage.queues()) ||
                    AnyHoldsLess(now.non_preemptible(), slot.usage.non_preemptible());
  if (less) ++growth;
  usage.Subtract(slot.usage);
  usage.Join(now);
  slot.usage = std::move(now);
  ++generation;
}

void ClusterState::Impl::NodeChanged(NodeIndex index) {
  ++layout;
  ++generation;
  table.Set(index, slots[index.value].node);
}

Applied ClusterState::Impl::Upsert(Node node) {
  if (dead_nodes.Contains(node.uid.text())) return {};
  OrderDevices(node.gpus);
  Applied applied{true, {}};
  const auto known = node_by_uid.find(node.uid);
  if (known != node_by_uid.end()) {
    const NodeIndex index = known->second;
    Slot& slot = slots[index.value];
    if (*slot.node == node) return {};
    if (slot.node->name == node.name) {
      slot.node = std::make_shared<const Node>(std::move(node));
      NodeChanged(index);
      ++growth;
      Settle(index);
      return applied;
    }
    RemoveNode(index);
  }
  const NodeIndex rival = IndexOf(node.name);
  if (rival.valid()) {
    applied.replaced = slots[rival.value].node->uid.text();
    dead_nodes.Add(applied.replaced);
    RemoveNode(rival);
  }
  if (free_slots.empty()) {
    free_slots.insert(static_cast<uint32_t>(slots.size()));
    slots.emplace_back();
    free.Resize(static_cast<uint32_t>(slots.size()));
    table.Resize(static_cast<uint32_t>(slots.size()));
  }
  const NodeIndex index{*free_slots.begin()};
  free_slots.erase(free_slots.begin());
  Slot& slot = slots[index.value];
  slot.node = std::make_shared<const Node>(std::move(node));
  node_by_uid[slot.node->uid] = index;
  node_by_name[slot.node->name] = index;
  if (auto bound = waiting.extract(slot.node->name)) {
    for (PodEntry* entry : bound.mapped()) slot.ledger.Add(*entry);
  }
  NodeChanged(index);
  ++growth;
  Settle(index);
  return applied;
}

// Reservations on the node end with it. Pods bound to it hold nothing until a node of that name is
// there again.
void ClusterState::Impl::RemoveNode(NodeIndex index) {
  Slot& slot = slots[index.value];
  std::vector<PodEntry*> entries = slot.ledger.entries();
  entries.insert(entries.end(), slot.ledger.earmarks().begin(), slot.ledger.earmarks().end());
  for (PodEntry* entry : entries) {
    slot.ledger.Remove(*entry);
    entry->held.reset();
    DropPlan(*entry);
    if (entry->pod.bound()) waiting[slot.node->name].push_back(entry);
  }
  node_by_uid.erase(slot.node->uid);
  node_by_name.erase(slot.node->name);
  usage.Subtract(slot.usage);
  slot = Slot{};
  free.Set(index, {}, {});
  faces.Touch(index, &growth);
  free_slots.insert(index.value);
  NodeChanged(index);
}

Applied ClusterState::Impl::Upsert(Pod pod) {
  MUSTER_CHECK(pod.spec != nullptr);
  if (dead_pods.Contains(pod.uid.text())) return {};
  PodEntry* known = Find(pod.uid);
  if (known != nullptr && Older(pod.resource_version, known->pod.resource_version)) return {};
  Applied applied;
  PodEntry* rival = Find(pod.key);
  if (rival != nullptr && rival != known) {
    if (Older(pod.resource_version, rival->pod.resource_version)) return {};
    applied = {true, rival->pod.uid.text()};
    dead_pods.Add(applied.replaced);
    RemovePod(*rival);
  }
  if (known == nullptr) {
    auto entry = std::make_unique<PodEntry>();
    entry->pod = std::move(pod);
    if (faces.Count(entry->pod, 1)) ++generation;
    pod_by_name.insert(entry.get());
    const Site site = SiteOf(*entry);
    Link(*entry, site);
    pods.insert(std::move(entry));
    if (site.slot.valid()) Settle(site.slot);
    return {true, applied.replaced};
  }
  // A record of unknown version does not make older ones news again.
  pod.resource_version = std::max(pod.resource_version, known->pod.resource_version);
  if (SameRecord(known->pod, pod)) {
    known->pod.resource_version = pod.resource_version;
    known->pod.bound_at = pod.bound_at;  // says when, not whether: nobody has to be told
    return applied;
  }
  Replace(*known, std::move(pod));
  return {true, applied.replaced};
}

void ClusterState::Impl::Replace(PodEntry& entry, Pod pod) {
  const bool same_holding = SameHolding(entry.pod, pod);
  const bool was_bound = entry.pod.bound();
  const bool was_reserved = entry.reserved();
  const Site before = SiteOf(entry);
  if (!same_holding) Unlink(entry, before);
  if (entry.pod.key != pod.key) {
    pod_by_name.erase(&entry);
    entry.pod.key = pod.key;
    pod_by_name.insert(&entry);
  }
  const bool same_face = SameFace(entry.pod, pod);
  const bool fewer = faces.Count(entry.pod, -1);
  entry.pod = std::move(pod);
  if (faces.Count(entry.pod, 1) != fewer) ++generation;
  if (!same_face && before.slot.valid() && faces.in_use()) {
    ++generation;
    faces.Touch(before.slot, &growth);
  }
  if (same_holding) return;
  if (entry.plan != nullptr) {
    const bool elsewhere = entry.pod.bound() && IndexOf(entry.pod.node_name) != entry.plan->node;
    const bool unbound = was_bound && !entry.pod.bound();
    if (entry.pod.terminal() || elsewhere || unbound) entry.plan.reset();
    if (entry.earmark && (entry.plan == nullptr || entry.pod.bound())) {
      entry.earmark = false;
      entry.claim = 0;
    }
  }
  if (was_reserved && !entry.reserved()) --reservations;
  const Site after = SiteOf(entry);
  Link(entry, after);
  if (!after.slot.valid()) entry.held.reset();
  if (before != after) ++generation;
  if (before.slot.valid() && before.slot != after.slot) Settle(before.slot);
  if (after.slot.valid()) Settle(after.slot);
}

void ClusterState::Impl::RemovePod(PodEntry& entry) {
  const Site site = SiteOf(entry);
  if (faces.Count(entry.pod, -1)) ++generation;
  Unlink(entry, site);
  DropPlan(entry);
  pod_by_name.erase(&entry);
  pods.erase(pods.find(entry.pod.uid));
  if (!site.slot.valid()) return;
  ++generation;
  Settle(site.slot);
}

}  // namespace muster::cluster
