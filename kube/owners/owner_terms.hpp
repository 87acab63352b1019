// OwnerTerms: what its rule makes of one version of an owner, for all pods that show it the same:
// the case that holds, how many pods the gangs need, and what else it says of them. It is worked
// out once for all of these pods; what depends on the pod alone (which role, which attempt) is not
// here. One thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/base/units.hpp"
#include "cluster/records/grouping_rule.hpp"
#include "kube/owners/gang_size.hpp"
#include "kube/owners/grouping_values.hpp"
#include "kube/owners/owner_chain.hpp"

namespace muster::kube {

struct OwnerTerms {
  // The rule of `objects.owner` outlives this.
  explicit OwnerTerms(const GroupingValues::Objects& objects);

  const cluster::GroupingCase* one = nullptr;  // that holds; null: none, and nothing is below
  std::optional<GangSize> size;
  int64_t ended = 0;                       // as in cluster::PodGroup
  std::string unheeded;                    // likewise
  std::string queue;                       // likewise
  std::string priority_class;              // of a PriorityClass
  std::optional<cluster::Time> since;      // as in Grouping
  std::vector<std::string> not_honoured;   // likewise
  std::optional<cluster::Error> bad_case;  // what was malformed where the case was looked for,
  std::optional<cluster::Error> bad_role;  // in the roles,
  std::optional<cluster::Error> bad_size;  // and in what else the size is made of
};

// The terms of one version of an owner. Its owner drops it with that version, and when rules
// change.
class OwnersTerms {
 public:
  OwnerTerms& Find(const GroupingValues::Objects& objects);

 private:
  // What rules look at beside the owner: where a pod shows it otherwise, the terms may be others.
  std::optional<std::vector<cluster::GroupingPath>> paths_;
  std::map<std::string, std::unique_ptr<OwnerTerms>> terms_;  // by what stands at these
};

}  // namespace muster::kube
