// Quotas: the ResourceQuotas of each namespace, and what they mean for a gang that misses members
// (internal to engine/). Guarded by Scheduler.
//
// What exists is charged already, so a quota never keeps a gang from being planned whose pods are
// all there. It tells why the others do not come.
//
// A restart forgets them; they are told again.
#pragma once

#include <map>
#include <string>

#include "cluster/records/resource_quota.hpp"
#include "engine/gangs/gang.hpp"

namespace muster::cluster {
class ClusterState;
}

namespace muster::engine {

class Quotas {
 public:
  using OfNamespace = std::map<cluster::ResourceQuotaUid, cluster::ResourceQuota>;

  // True: something is known now that was not.
  bool Upsert(cluster::ResourceQuota quota);
  // The namespace it was of; empty: there was none.
  std::string Remove(const cluster::ResourceQuotaUid& uid);
  const OfNamespace* Of(const std::string& ns) const;  // null: none
  const std::map<std::string, OfNamespace>& all() const { return quotas_; }

 private:
  std::map<std::string, OfNamespace> quotas_;  // by namespace; none is empty
};

// The members that the gang lacks cannot be created: which quota, of what, and how much is used.
// kNone: they can, as far as is known. They are taken to ask for what the others of their role ask
// for, where the gang has a minimum by role, else for the least that any member asks for. Tally and
// minimum must be of now.
Reason QuotaBar(const Quotas& quotas, const cluster::ClusterState& cluster, const Gang& gang);

}  // namespace muster::engine
