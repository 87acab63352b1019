// GangSize: how many pods the gangs of an owner need, in all and of each role, by a rule and by
// what somebody wrote: for all pods that show the owner the same (OwnerTerms). What was answered
// once is kept, so that it is worked out once for all of them. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/records/grouping_rule.hpp"
#include "cluster/records/pod_group.hpp"
#include "kube/owners/grouping_values.hpp"
#include "kube/owners/shared_list.hpp"

namespace muster::kube {

class GangSize {
 public:
  struct Role {
    std::string name;
    std::optional<int64_t> makes;
    std::optional<int64_t> needs;
    std::optional<int64_t> first;
    const cluster::GroupingEarly* early = nullptr;  // what holds of it now; null: nothing
    int64_t unit = 1;
  };
  struct Answer {
    int64_t minimum = 1;
    SharedList<cluster::RoleMinimum> roles;
    int64_t starts_with = 0;  // as in cluster::PodGroup
    SharedList<cluster::RoleMinimum> first_roles;
    SharedList<cluster::RoleUnit> units;  // likewise
    std::optional<int64_t> makes;         // how many pods there can be
    std::string defect;                   // goes on after the owner's name; empty: fine
  };

  // The rule and its case outlive this. What is malformed is a problem of `values`.
  GangSize(const cluster::GroupingRule& rule, const cluster::GroupingCase& one,
           const GroupingValues& values);
  // The rule's own minimum, after the roles.
  void ReadMinimum(const GroupingValues& values);

  // Of the pod, in a rule that says it with each role; empty: it has none.
  const std::string& role() const { return role_; }
  // The first of that name; upper and lower case are alike where no name is the same. Null: none.
  const Role* Find(const std::string& name) const;
  // Where only some pods of a role come first, those are a role of their own ("w/first" beside
  // "w"): others cannot take their place.
  static bool Splits(const Role& role);

  // `role`: of a gang of that role alone; empty: of all. `asked`: the minimum that somebody wrote.
  const Answer& Of(const std::string& role, std::optional<int64_t> asked);

 private:
  using Roles = std::vector<Role>;

  void AddRole(const cluster::GroupingRole& role, const GroupingValues& values);
  Roles SplitRoles(const std::string& only) const;
  Answer Make(const Roles& roles, std::optional<int64_t> asked) const;

  const cluster::GroupingRule& rule_;
  const cluster::GroupingCase& case_;
  Roles roles_;
  bool too_many_ = false;
  std::map<std::string, size_t, std::less<>> by_name_;     // in roles_, the first of each
  std::map<std::string, size_t, std::less<>> by_letters_;  // likewise, in lower case
  std::string role_;
  std::optional<int64_t> by_rule_;
  std::map<std::pair<std::string, std::optional<int64_t>>, Answer> answers_;
  size_t asked_ = 0;  // of these, for what somebody wrote
};

}  // namespace muster::kube
