// ChannelClaims: pods whose claims are for a channel of a ComputeDomain count as if they had the
// annotation muster.dev/compute-domain: "true", whichever is read first: the pod, which names a
// ResourceClaimTemplate, or the ComputeDomain, which names the same.
//
// A channel once known stays the pod's: what a ComputeDomain leaves behind when it goes is still
// held. Of pods that claim something else a copy is kept, in case their ComputeDomain comes. One
// thread at a time.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cluster/records/pod.hpp"
#include "kube/decode/news.hpp"

namespace muster::kube {

class ChannelClaims {
 public:
  struct Joined {
    cluster::Pod pod;       // as it is to be told
    bool corrects = false;  // it has a channel, and what was told of it before had none
  };
  Joined Join(const PodOfClaims& claiming);
  // It is gone, or an annotation says whether it has a channel.
  void Forget(const cluster::PodUid& uid);
  // Pods that turn out to claim a channel, by UID.
  std::vector<cluster::Pod> Observe(const ComputeDomain& domain);
  void Observe(const ComputeDomainRemoved& removed);

 private:
  void Keep(const PodOfClaims& claiming);
  void Drop(const cluster::PodUid& uid);

  std::unordered_map<std::string, cluster::ObjectKey> template_of_;  // by ComputeDomain's UID
  std::map<cluster::ObjectKey, int> templates_;  // of how many ComputeDomains, each of at least one
  std::unordered_set<cluster::PodUid> channels_;  // pods that have one
  // Those that have none.
  std::unordered_map<cluster::PodUid, PodOfClaims> kept_;
  std::map<cluster::ObjectKey, std::set<cluster::PodUid>> claimants_;  // by template
};

}  // namespace muster::kube
