#include "kube/watch/channel_claims.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "kube/dialects/topology_terms.hpp"

namespace muster::kube {

using cluster::ObjectKey;
using cluster::Pod;

namespace {

Pod WithChannel(Pod pod) {
  auto spec = std::make_shared<cluster::PodSpec>(*pod.spec);
  spec->requests.channels = 1;
  WishForClique(spec->topology);
  pod.spec = std::move(spec);
  if (pod.resized != nullptr) {
    auto resized = std::make_shared<cluster::Resources>(*pod.resized);
    resized->channels = 1;
    pod.resized = std::move(resized);
  }
  return pod;
}

}  // namespace

ChannelClaims::Joined ChannelClaims::Join(const PodOfClaims& claiming) {
  const Pod& pod = claiming.pod;
  if (channels_.contains(pod.uid)) return {WithChannel(pod), false};
  Drop(pod.uid);
  const bool has_channel = std::any_of(claiming.templates.begin(), claiming.templates.end(),
                                       [&](const std::string& name) {
                                         return templates_.contains(ObjectKey{pod.key.ns, name});
                                       });
  if (!has_channel) {
    Keep(claiming);
    return {pod, false};
  }
  channels_.insert(pod.uid);
  return {WithChannel(pod), true};
}

void ChannelClaims::Forget(const cluster::PodUid& uid) {
  channels_.erase(uid);
  Drop(uid);
}

std::vector<Pod> ChannelClaims::Observe(const ComputeDomain& domain) {
  const auto [at, is_new] = template_of_.emplace(domain.uid, domain.claim_template);
  if (!is_new && at->second == domain.claim_template) return {};
  if (!is_new) {
    Observe(ComputeDomainRemoved{domain.uid});
    template_of_.emplace(domain.uid, domain.claim_template);
  }
  if (++templates_[domain.claim_template] > 1) return {};
  const auto found = claimants_.find(domain.claim_template);
  if (found == claimants_.end()) return {};
  std::vector<Pod> pods;
  const std::set<cluster::PodUid> uids = found->second;
  pods.reserve(uids.size());
  for (const cluster::PodUid& uid : uids) {
    pods.push_back(WithChannel(kept_.at(uid).pod));
    Drop(uid);
    channels_.insert(uid);
  }
  return pods;
}

void ChannelClaims::Observe(const ComputeDomainRemoved& removed) {
  const auto found = template_of_.find(removed.uid);
  if (found == template_of_.end()) return;
  const auto count = templates_.find(found->second);
  if (--count->second == 0) templates_.erase(count);
  template_of_.erase(found);
}

void ChannelClaims::Keep(const PodOfClaims& claiming) {
  if (claiming.pod.terminal()) return;
  for (const std::string& name : claiming.templates) {
    claimants_[ObjectKey{claiming.pod.key.ns, name}].insert(claiming.pod.uid);
  }
  kept_.insert_or_assign(claiming.pod.uid, claiming);
}

void ChannelClaims::Drop(const cluster::PodUid& uid) {
  const auto found = kept_.find(uid);
  if (found == kept_.end()) return;
  for (const std::string& name : found->second.templates) {
    const auto at = claimants_.find(ObjectKey{found->second.pod.key.ns, name});
    if (at == claimants_.end()) continue;
    at->second.erase(uid);
    if (at->second.empty()) claimants_.erase(at);
  }
  kept_.erase(found);
}

}  // namespace muster::kube
