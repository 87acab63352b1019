// What rules among pods, and their volumes, see: the part of ClusterState that keeps PodField up to
// date.
#include <algorithm>
#include <string>
#include <utility>

#include "cluster/holdings/cluster_state_impl.hpp"

namespace muster::cluster {

namespace {

// Where another pod has the volume, one more can always use it.
bool SharesVolumes(const Pod& pod) {
  const auto demand = pod.volume_demand();
  return demand != nullptr &&
         std::any_of(demand->attached.begin(), demand->attached.end(),
                     [](const AttachedVolume& one) { return !one.shared_as.empty(); });
}

}  // namespace

bool FaceBook::Count(const Pod& pod, int sign) {
  const PodRules& rules = pod.spec->rules;
  if ((rules.none() && pod.volume_demand() == nullptr) || pod.terminal()) return false;
  const bool before = in_use();
  ruled_ += sign;
  for (const PodTerm& term : rules.anti_affinity) {
    const auto at = guards_.try_emplace(term, 0).first;
    at->second += sign;
    if (at->second == 0) guards_.erase(at);
  }
  const bool looks = !rules.affinity.empty() || !rules.spread.empty() || SharesVolumes(pod);
  if (!pod.bound() && looks) looking_ += sign;
  return in_use() != before;
}

bool ClusterState::has_pod_rules() const { return impl_->faces.in_use(); }

bool ClusterState::RulesConcern(const Pod& pod) const {
  if (!has_pod_rules()) return false;
  if (!pod.spec->rules.none() || pod.volume_demand() != nullptr) return true;
  const Namespace* ns = FindNamespace(pod.key.ns);
  const auto& guards = impl_->faces.guards();
  return std::any_of(guards.begin(), guards.end(), [&](const auto& guard) {
    return Means(guard.first, pod.key.ns, pod.labels, ns == nullptr ? nullptr : &ns->labels);
  });
}

void FaceBook::Touch(NodeIndex node, uint64_t* growth) {
  if (!in_use()) return;
  touched_.insert(node.value);
  if (looking_ > 0 && growth != nullptr) ++*growth;
}

void FaceBook::FollowNamespaces(const RecordTable<Namespace>& namespaces) {
  if (std::exchange(namespaces_known_, true)) return;
  PodField::NamespaceLabels labels;
  for (const Namespace* one : namespaces.All()) labels[one->key.name] = one->labels;
  field_.SetNamespaces(std::move(labels));
}

void ClusterState::Impl::NamespacesChanged() {
  faces.TouchNamespaces();
  if (faces.in_use()) ++generation;
}

PodField::Faces ClusterState::Impl::FacesOn(uint32_t slot) const {
  PodField::Faces all;
  const NodeLedger& ledger = slots[slot].ledger;
  for (const auto* list : {&ledger.entries(), &ledger.earmarks()}) {
    for (const PodEntry* entry : *list) all.push_back(FaceOf(entry->pod));
  }
  return all;
}

}  // namespace muster::cluster
