#include "kube/gang_size.hpp"

#include <algorithm>
#include <utility>

#include "kube/decode.hpp"

namespace muster::kube {

using cluster::GroupingCase;
using cluster::GroupingEarly;
using cluster::GroupingRole;
using cluster::GroupingRule;
using cluster::RoleMinimum;

namespace {

// Of one owner; what it says of more does not count.
constexpr size_t kMostRoles = 1024;

bool SameLetters(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

std::string Pods(int64_t count) { return std::to_string(count) + (count == 1 ? " pod" : " pods"); }

}  // namespace

GangSize::GangSize(const GroupingRule& rule, const GroupingCase& one, const GroupingValues& values)
    : rule_(rule), case_(one), values_(values) {
  for (const GroupingRole& role : rule.roles) {
    if (role.each.none()) {
      AddRole(role, values);
    } else {
      values.ForEach(role.each, [&](const GroupingValues& inside) { AddRole(role, inside); });
    }
  }
  FindRole();
}

void GangSize::AddRole(const GroupingRole& role, const GroupingValues& values) {
  if (roles_.size() == kMostRoles || !values.Holds(role.when)) return;
  Role added;
  added.name = role.name_from.none() ? role.name : values.Text(role.name_from);
  added.makes = values.Amount(role.makes);
  added.needs = values.Amount(role.needs);
  if (!added.needs) added.needs = added.makes;
  const auto held = std::find_if(rule_.early.begin(), rule_.early.end(),
                                 [&](const GroupingEarly& one) { return values.Holds(one.when); });
  if (held != rule_.early.end()) {
    added.early = &*held;
    added.first = values.Amount(role.first);
  }
  if (!added.first) added.first = added.makes;
  added.unit = values.Amount(role.unit).value_or(1);
  if (role_.empty() && !role.pods.empty() && values.Holds(role.pods)) role_ = added.name;
  roles_.push_back(std::move(added));
}

// A label may have the name in lower case, as those of the training operator have.
void GangSize::FindRole() {
  if (!rule_.role.none()) role_ = values_.Text(rule_.role);
  if (role_.empty()) return;
  auto found = std::find_if(roles_.begin(), roles_.end(),
                            [&](const Role& role) { return role.name == role_; });
  if (found == roles_.end()) {
    found = std::find_if(roles_.begin(), roles_.end(),
                         [&](const Role& role) { return SameLetters(role.name, role_); });
  }
  known_role_ = found != roles_.end();
  if (known_role_) role_ = found->name;
}

bool GangSize::KeepRole() {
  if (!known_role_) return false;
  roles_.erase(std::remove_if(roles_.begin(), roles_.end(),
                              [&](const Role& role) { return role.name != role_; }),
               roles_.end());
  return true;
}

const GroupingEarly* GangSize::Early() const {
  const auto held = std::find_if(roles_.begin(), roles_.end(),
                                 [](const Role& role) { return role.early != nullptr; });
  return held == roles_.end() ? nullptr : held->early;
}

void GangSize::SplitFirst() {
  std::vector<Role> split;
  for (Role& role : roles_) {
    const int64_t first = role.first.value_or(0);
    const bool told = role.early != nullptr && !role.early->pods.empty() && !role.name.empty();
    if (told && first > 0 && first < role.makes.value_or(0)) {
      const int64_t needs = role.needs.value_or(0);
      const std::string name = role.name + std::string(cluster::kFirstOfRole);
      const bool its = known_role_ && role_ == role.name;
      if (its && values_.Holds(role.early->pods)) role_ = name;
      split.push_back({name, first, std::min(needs, first), first, role.early, role.unit});
      const int64_t rest = *role.makes - first;
      role = {role.name, rest, std::max<int64_t>(0, needs - first), 0, role.early, role.unit};
    }
    split.push_back(std::move(role));
  }
  roles_ = std::move(split);
}

std::optional<int64_t> GangSize::Sum(std::optional<int64_t> Role::*number) const {
  if (roles_.empty()) return std::nullopt;
  int64_t sum = 0;
  for (const Role& role : roles_) {
    if (!(role.*number)) return std::nullopt;
    sum += *(role.*number);
  }
  return sum;
}

// None where they are together more than the gang needs: then any pods of it will do.
std::vector<RoleMinimum> GangSize::RoleMinima(bool early, int64_t minimum) const {
  std::vector<RoleMinimum> minima;
  int64_t sum = 0;
  for (const Role& role : roles_) {
    int64_t count = role.needs.value_or(0);
    if (early && role.first) count = std::min(count, *role.first);
    if (role.name.empty() || count <= 0) continue;
    sum += count;
    minima.push_back({role.name, count});
  }
  if (sum > minimum) minima.clear();
  return minima;
}

GangSize::Answer GangSize::Of(std::optional<int64_t> asked) const {
  const GroupingEarly* const early = Early();
  const std::optional<int64_t> made = Sum(&Role::makes);
  std::optional<int64_t> first;
  if (early != nullptr) first = Sum(&Role::first);
  Answer answer;
  const std::optional<int64_t> by_rule = values_.Amount(case_.minimum);
  answer.minimum = by_rule ? *by_rule : Sum(&Role::needs).value_or(1);
  if (asked) answer.minimum = *asked;
  const bool beyond_first = first && answer.minimum > std::max<int64_t>(*first, 1);
  if (made && answer.minimum > std::max<int64_t>(*made, 1)) {
    answer.defect = "makes " + Pods(*made) + ", and " +
                    (asked ? std::string(kMinMemberAnnotation) + " asks" : "its minimum is set") +
                    " for " + std::to_string(answer.minimum) + " of them together";
  } else if (asked && beyond_first && !early->passes) {
    answer.defect = "cannot start " + std::to_string(answer.minimum) + " pods together, as " +
                    kMinMemberAnnotation + " asks: " + early->because;
  } else if (beyond_first && early->passes) {
    answer.starts_with = std::max<int64_t>(*first, 1);
    answer.first_roles = RoleMinima(true, answer.starts_with);
  } else if (beyond_first) {
    answer.minimum = *first;
  }
  answer.makes = made;
  for (const Role& role : roles_) {
    if (role.unit > 1 && !role.name.empty()) answer.units.push_back({role.name, role.unit});
  }
  answer.minimum = std::max<int64_t>(answer.minimum, 1);
  answer.roles = RoleMinima(early != nullptr && !early->passes, answer.minimum);
  // Others cannot take the place of those that come first in any case.
  if (answer.roles.empty()) answer.roles = answer.first_roles;
  return answer;
}

}  // namespace muster::kube
