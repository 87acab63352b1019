// GangSize: how many pods a gang needs, in all and of each role, by a rule and by what somebody
// wrote. Owner: one judgement (grouping.cpp), on one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/grouping_rule.hpp"
#include "cluster/pod_group.hpp"
#include "kube/grouping_values.hpp"

namespace muster::kube {

class GangSize {
 public:
  // All of them outlive this. What is malformed is a problem of the values.
  GangSize(const cluster::GroupingRule& rule, const cluster::GroupingCase& one,
           const GroupingValues& values);

  // Of the pod; empty: it has none.
  const std::string& role() const { return role_; }
  // From here on the pod's own role is all there is. False: it has none that the rule knows.
  bool KeepRole();
  // Where only some pods of a role come first, those are a role of their own from here on
  // ("w/first" beside "w"): others cannot take their place.
  void SplitFirst();

  struct Answer {
    int64_t minimum = 1;
    std::vector<cluster::RoleMinimum> roles;
    int64_t starts_with = 0;  // as in cluster::PodGroup
    std::vector<cluster::RoleMinimum> first_roles;
    std::vector<cluster::RoleUnit> units;  // likewise
    std::optional<int64_t> makes;          // how many pods there can be
    std::string defect;                    // goes on after the owner's name; empty: fine
  };
  // `asked`: the minimum that somebody wrote.
  Answer Of(std::optional<int64_t> asked) const;

 private:
  struct Role {
    std::string name;
    std::optional<int64_t> makes;
    std::optional<int64_t> needs;
    std::optional<int64_t> first;
    const cluster::GroupingEarly* early = nullptr;  // what holds of it now; null: nothing
    int64_t unit = 1;
  };

  void AddRole(const cluster::GroupingRole& role, const GroupingValues& values);
  void FindRole();
  // What holds of any role now; null: nothing.
  const cluster::GroupingEarly* Early() const;
  // Nothing where one role does not say it, or there is none.
  std::optional<int64_t> Sum(std::optional<int64_t> Role::*number) const;
  std::vector<cluster::RoleMinimum> RoleMinima(bool early, int64_t minimum) const;

  const cluster::GroupingRule& rule_;
  const cluster::GroupingCase& case_;
  const GroupingValues& values_;
  std::vector<Role> roles_;
  std::string role_;
  bool known_role_ = false;
};

}  // namespace muster::kube
