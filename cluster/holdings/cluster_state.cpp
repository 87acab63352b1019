#include "cluster/holdings/cluster_state.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "cluster/base/check.hpp"
#include "cluster/holdings/cluster_state_impl.hpp"

namespace muster::cluster {

ClusterState::ClusterState() : ClusterState(std::make_shared<const LowestNumbered>()) {}
ClusterState::ClusterState(std::shared_ptr<const DeviceAssigner> assigner)
    : impl_(std::make_unique<Impl>()) {
  MUSTER_CHECK(assigner != nullptr);
  impl_->assigner = std::move(assigner);
}
ClusterState::~ClusterState() = default;
ClusterState::ClusterState(ClusterState&&) noexcept = default;
ClusterState& ClusterState::operator=(ClusterState&&) noexcept = default;

Applied ClusterState::Upsert(Node node) { return impl_->Upsert(std::move(node)); }
Applied ClusterState::Upsert(Pod pod) { return impl_->Upsert(std::move(pod)); }
Applied ClusterState::Upsert(PodGroup group) { return impl_->groups.Upsert(std::move(group)); }
Applied ClusterState::Upsert(Namespace ns) {
  const Namespace* known = FindNamespace(ns.key.name);
  const bool other_labels = known == nullptr || known->labels != ns.labels;
  Applied applied = impl_->namespaces.Upsert(std::move(ns));
  if (other_labels) impl_->NamespacesChanged();
  return applied;
}
Applied ClusterState::Upsert(PriorityClass priority) {
  return impl_->priorities.Upsert(std::move(priority));
}
Applied ClusterState::Upsert(DisruptionBudget budget) {
  return impl_->budgets.Upsert(std::move(budget));
}

bool ClusterState::Remove(const NodeUid& uid) {
  impl_->dead_nodes.Add(uid.text());
  const auto known = impl_->node_by_uid.find(uid);
  if (known == impl_->node_by_uid.end()) return false;
  impl_->RemoveNode(known->second);
  return true;
}

bool ClusterState::Remove(const PodUid& uid) {
  impl_->dead_pods.Add(uid.text());
  PodEntry* known = impl_->Find(uid);
  if (known == nullptr) return false;
  impl_->RemovePod(*known);
  return true;
}

bool ClusterState::Forget(const PodUid& uid) {
  PodEntry* known = impl_->Find(uid);
  if (known == nullptr) return false;
  impl_->RemovePod(*known);
  return true;
}

bool ClusterState::Remove(const PodGroupUid& uid) { return impl_->groups.Remove(uid.text()); }
bool ClusterState::Forget(const PodGroupUid& uid) { return impl_->groups.Forget(uid.text()); }
bool ClusterState::Remove(const NamespaceUid& uid) {
  impl_->NamespacesChanged();
  return impl_->namespaces.Remove(uid.text());
}
bool ClusterState::Remove(const PriorityClassUid& uid) {
  return impl_->priorities.Remove(uid.text());
}
bool ClusterState::Remove(const DisruptionBudgetUid& uid) {
  return impl_->budgets.Remove(uid.text());
}

Status ClusterState::Reserve(const std::vector<Placement>& placements) {
  return impl_->Take(placements, false, impl_->free);
}

Status ClusterState::Move(const std::vector<Placement>& placements) {
  FreeTable left = impl_->free;
  std::set<PodUid> seen;
  for (const Placement& placement : placements) {
    if (!seen.insert(placement.pod).second || !Sound(placement.pod)) {
      return Error{Code::kConflict,
                   "pod " + placement.pod.text() + " has no reservation that can be moved",
                   {}};
    }
    const Placement& old = *impl_->Find(placement.pod)->plan;
    left.Give(*impl_->slots[old.node.value].node, old);
  }
  return impl_->Take(placements, true, std::move(left));
}

Status ClusterState::Earmark(const std::vector<Placement>& placements,
                             const std::vector<PodUid>& victims) {
  return impl_->Earmark(placements, victims);
}

bool ClusterState::EarmarksHold(const std::vector<PodUid>& pods) const {
  std::set<std::pair<NodeIndex, uint64_t>> seen;
  return std::all_of(pods.begin(), pods.end(), [&](const PodUid& uid) {
    const PodEntry* entry = impl_->Find(uid);
    if (entry == nullptr || !entry->earmarked()) return false;
    if (!seen.insert({entry->plan->node, entry->claim}).second) return true;
    const Impl::Slot& slot = impl_->slots[entry->plan->node.value];
    return slot.ledger.Holds(*slot.node, *impl_->assigner, entry->claim);
  });
}

Status ClusterState::Redeem(const std::vector<PodUid>& pods) { return impl_->Redeem(pods); }

void ClusterState::KeepHolding(const PodUid& pod) {
  PodEntry* entry = impl_->Find(pod);
  if (entry != nullptr) impl_->KeepHolding(*entry);
}

bool ClusterState::Release(const PodUid& pod) {
  PodEntry* entry = impl_->Find(pod);
  if (entry == nullptr || entry->pod.bound() || entry->plan == nullptr) return false;
  impl_->Release(*entry);
  return true;
}

const Node* ClusterState::FindNode(const std::string& name) const { return node(IndexOf(name)); }

NodeIndex ClusterState::IndexOf(const std::string& name) const { return impl_->IndexOf(name); }

NodeIndex ClusterState::IndexOf(const NodeUid& uid) const {
  const auto known = impl_->node_by_uid.find(uid);
  return known == impl_->node_by_uid.end() ? NodeIndex{} : known->second;
}

const Node* ClusterState::node(NodeIndex index) const {
  const Impl::Slot* slot = impl_->SlotAt(index);
  return slot == nullptr ? nullptr : slot->node.get();
}

const Pod* ClusterState::FindPod(const PodUid& uid) const {
  const PodEntry* entry = impl_->Find(uid);
  return entry == nullptr ? nullptr : &entry->pod;
}

const Pod* ClusterState::FindPod(const ObjectKey& key) const {
  const PodEntry* entry = impl_->Find(key);
  return entry == nullptr ? nullptr : &entry->pod;
}

const PodGroup* ClusterState::FindPodGroup(const ObjectKey& key) const {
  return impl_->groups.Find(key);
}

const Namespace* ClusterState::FindNamespace(const std::string& name) const {
  return impl_->namespaces.Find({"", name});
}

const PriorityClass* ClusterState::FindPriorityClass(const std::string& name) const {
  return impl_->priorities.Find({"", name});
}

const Allocation* ClusterState::AllocationOf(const PodUid& pod) const {
  const PodEntry* entry = impl_->Find(pod);
  return entry == nullptr || !entry->held ? nullptr : &*entry->held;
}

const std::optional<Allocation>* ClusterState::FindHolding(const PodUid& pod) const {
  const PodEntry* entry = impl_->Find(pod);
  return entry == nullptr ? nullptr : &entry->held;
}

const std::set<PodUid>& ClusterState::HoldersOn(NodeIndex node) const {
  const Impl::Slot* slot = impl_->SlotAt(node);
  return slot == nullptr ? impl_->nobody : slot->ledger.holders();
}

std::vector<PodUid> ClusterState::EarmarksOn(NodeIndex node) const {
  std::vector<PodUid> pods;
  const Impl::Slot* slot = impl_->SlotAt(node);
  if (slot == nullptr) return pods;
  for (const PodEntry* entry : slot->ledger.earmarks()) pods.push_back(entry->pod.uid);
  std::sort(pods.begin(), pods.end());
  return pods;
}

bool ClusterState::Earmarked(const PodUid& pod) const {
  const PodEntry* entry = impl_->Find(pod);
  return entry != nullptr && entry->earmarked();
}

bool ClusterState::Overcommitted(NodeIndex node) const {
  const Impl::Slot* slot = impl_->SlotAt(node);
  return slot != nullptr && slot->tally.overcommitted();
}

bool ClusterState::Sound(const PodUid& pod) const {
  const PodEntry* entry = impl_->Find(pod);
  if (entry == nullptr || !entry->held || !entry->reserved()) return false;
  const Impl::Slot* slot = impl_->SlotAt(entry->held->placement.node);
  return entry->held->devices_known && entry->held->placement == *entry->plan &&
         !slot->tally.Short(entry->plan->requests, entry->pod.spec->gpus);
}

std::shared_ptr<const Snapshot> ClusterState::TakeSnapshot() {
  if (impl_->snapshot != nullptr && impl_->snapshot->generation() == impl_->generation) {
    return impl_->snapshot;
  }
  impl_->snapshot = std::make_shared<const Snapshot>(
      impl_->table, impl_->free, impl_->generation, impl_->layout,
      std::make_shared<const UsageTable>(impl_->usage),
      impl_->faces.Follow(static_cast<uint32_t>(impl_->slots.size()), impl_->namespaces,
                          [this](uint32_t slot) { return impl_->FacesOn(slot); }));
  return impl_->snapshot;
}

const UsageTable& ClusterState::usage() const { return impl_->usage; }

void ClusterState::ChargeTo(const PodUid& pod, const std::string& queue, bool non_preemptible) {
  PodEntry* entry = impl_->Find(pod);
  if (entry == nullptr) return;
  if (entry->pod.queue == queue && entry->pod.non_preemptible == non_preemptible) return;
  entry->pod.queue = queue;
  entry->pod.non_preemptible = non_preemptible;
  const Impl::Site site = impl_->SiteOf(*entry);
  if (site.slot.valid()) impl_->Charge(impl_->slots[site.slot.value]);
}

uint64_t ClusterState::generation() const { return impl_->generation; }
uint64_t ClusterState::growth() const { return impl_->growth; }
size_t ClusterState::node_count() const { return impl_->node_by_uid.size(); }
size_t ClusterState::pod_count() const { return impl_->pods.size(); }
size_t ClusterState::reservation_count() const { return impl_->reservations; }

std::vector<const Node*> ClusterState::Nodes() const {
  std::vector<const Node*> nodes;
  nodes.reserve(impl_->node_by_uid.size());
  for (const Impl::Slot& slot : impl_->slots) {
    if (slot.node != nullptr) nodes.push_back(slot.node.get());
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const Node* a, const Node* b) { return a->name < b->name; });
  return nodes;
}

std::vector<const Pod*> ClusterState::Pods() const {
  std::vector<const Pod*> pods;
  pods.reserve(impl_->pods.size());
  for (const auto& entry : impl_->pods) pods.push_back(&entry->pod);
  std::sort(pods.begin(), pods.end(), [](const Pod* a, const Pod* b) { return a->uid < b->uid; });
  return pods;
}

void ClusterState::EachPod(const std::function<void(const Pod&)>& visit) const {
  for (const auto& entry : impl_->pods) visit(entry->pod);
}

std::vector<const PodGroup*> ClusterState::PodGroups() const { return impl_->groups.All(); }
std::vector<const Namespace*> ClusterState::Namespaces() const { return impl_->namespaces.All(); }
std::vector<const PriorityClass*> ClusterState::PriorityClasses() const {
  return impl_->priorities.All();
}
std::vector<const DisruptionBudget*> ClusterState::DisruptionBudgets() const {
  return impl_->budgets.All();
}

std::string ClusterState::Dump() const { return DumpState(*this, impl_->free); }

}  // namespace muster::cluster
