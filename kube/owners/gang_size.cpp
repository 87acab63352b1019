#include "kube/owners/gang_size.hpp"

#include <algorithm>
#include <utility>

#include "kube/dialects/label_names.hpp"

namespace muster::kube {

using cluster::GroupingCase;
using cluster::GroupingEarly;
using cluster::GroupingRole;
using cluster::GroupingRule;
using cluster::RoleMinimum;

namespace {

// Of one owner.
constexpr size_t kMostRoles = 1024;
// Each pod may have its own word: of so many answers it is not worked out again.
constexpr size_t kMostAsked = 16;

using Role = GangSize::Role;

std::string InLowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::string Pods(int64_t count) { return std::to_string(count) + (count == 1 ? " pod" : " pods"); }

// What holds of any of them now; null: nothing.
const GroupingEarly* EarlyOf(const std::vector<Role>& roles) {
  const auto held = std::find_if(roles.begin(), roles.end(),
                                 [](const Role& role) { return role.early != nullptr; });
  return held == roles.end() ? nullptr : held->early;
}

// Nothing where one role does not say it, or there is none.
std::optional<int64_t> SumOf(const std::vector<Role>& roles, std::optional<int64_t> Role::*number) {
  if (roles.empty()) return std::nullopt;
  int64_t sum = 0;
  for (const Role& role : roles) {
    if (!(role.*number)) return std::nullopt;
    sum += *(role.*number);
  }
  return sum;
}

// None where they are together more than the gang needs: then any pods of it will do.
SharedList<RoleMinimum> RoleMinima(const std::vector<Role>& roles, bool early, int64_t minimum) {
  std::vector<RoleMinimum> minima;
  int64_t sum = 0;
  for (const Role& role : roles) {
    int64_t count = role.needs.value_or(0);
    if (early && role.first) count = std::min(count, *role.first);
    if (role.name.empty() || count <= 0) continue;
    sum += count;
    minima.push_back({role.name, count});
  }
  if (sum > minimum) minima.clear();
  return minima;
}

}  // namespace

GangSize::GangSize(const GroupingRule& rule, const GroupingCase& one, const GroupingValues& values)
    : rule_(rule), case_(one) {
  for (const GroupingRole& role : rule.roles) {
    if (role.each.none()) {
      AddRole(role, values);
    } else {
      values.ForEach(role.each, [&](const GroupingValues& inside) { AddRole(role, inside); });
    }
  }
  for (size_t i = 0; i < roles_.size(); ++i) {
    by_name_.emplace(roles_[i].name, i);
    by_letters_.emplace(InLowerCase(roles_[i].name), i);
  }
}

void GangSize::ReadMinimum(const GroupingValues& values) {
  by_rule_ = values.Amount(case_.minimum);
}

void GangSize::AddRole(const GroupingRole& role, const GroupingValues& values) {
  if (too_many_ || !values.Holds(role.when)) return;
  too_many_ = roles_.size() == kMostRoles;
  if (too_many_) return;
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
const Role* GangSize::Find(const std::string& name) const {
  if (name.empty()) return nullptr;
  const auto same = by_name_.find(name);
  if (same != by_name_.end()) return &roles_[same->second];
  const auto alike = by_letters_.find(InLowerCase(name));
  return alike == by_letters_.end() ? nullptr : &roles_[alike->second];
}

bool GangSize::Splits(const Role& role) {
  const int64_t first = role.first.value_or(0);
  const bool told = role.early != nullptr && !role.early->pods.empty() && !role.name.empty();
  return told && first > 0 && first < role.makes.value_or(0);
}

GangSize::Roles GangSize::SplitRoles(const std::string& only) const {
  Roles split;
  for (const Role& role : roles_) {
    if (!only.empty() && role.name != only) continue;
    if (!Splits(role)) {
      split.push_back(role);
      continue;
    }
    const int64_t first = *role.first;
    const int64_t needs = role.needs.value_or(0);
    split.push_back({role.name + std::string(cluster::kFirstOfRole), first, std::min(needs, first),
                     first, role.early, role.unit});
    split.push_back({role.name, *role.makes - first, std::max<int64_t>(0, needs - first), 0,
                     role.early, role.unit});
  }
  return split;
}

const GangSize::Answer& GangSize::Of(const std::string& role, std::optional<int64_t> asked) {
  const auto found = answers_.find({role, asked});
  if (found != answers_.end()) return found->second;
  if (asked && asked_++ == kMostAsked) {
    std::erase_if(answers_, [](const auto& one) { return one.first.second.has_value(); });
    asked_ = 1;
  }
  return answers_.emplace(std::pair(role, asked), Make(SplitRoles(role), asked)).first->second;
}

GangSize::Answer GangSize::Make(const Roles& roles, std::optional<int64_t> asked) const {
  const GroupingEarly* const early = EarlyOf(roles);
  const std::optional<int64_t> made = SumOf(roles, &Role::makes);
  std::optional<int64_t> first;
  if (early != nullptr) first = SumOf(roles, &Role::first);
  Answer answer;
  answer.minimum = by_rule_ ? *by_rule_ : SumOf(roles, &Role::needs).value_or(1);
  if (asked) answer.minimum = *asked;
  const bool beyond_first = first && answer.minimum > std::max<int64_t>(*first, 1);
  if (too_many_) {
    answer.defect = "has more than " + std::to_string(kMostRoles) + " roles";
  } else if (made && answer.minimum > std::max<int64_t>(*made, 1)) {
    answer.defect = "makes " + Pods(*made) + ", and " +
                    (asked ? std::string(kMinMemberAnnotation) + " asks" : "its minimum is set") +
                    " for " + std::to_string(answer.minimum) + " of them together";
  } else if (asked && beyond_first && !early->passes) {
    answer.defect = "cannot start " + std::to_string(answer.minimum) + " pods together, as " +
                    kMinMemberAnnotation + " asks: " + early->because;
  } else if (beyond_first && early->passes) {
    answer.starts_with = std::max<int64_t>(*first, 1);
    answer.first_roles = RoleMinima(roles, true, answer.starts_with);
  } else if (beyond_first) {
    answer.minimum = *first;
  }
  answer.makes = made;
  std::vector<cluster::RoleUnit> units;
  for (const Role& role : roles) {
    if (role.unit > 1 && !role.name.empty()) units.push_back({role.name, role.unit});
  }
  answer.units = std::move(units);
  answer.minimum = std::max<int64_t>(answer.minimum, 1);
  answer.roles = RoleMinima(roles, early != nullptr && !early->passes, answer.minimum);
  // Others cannot take the place of those that come first in any case.
  if (answer.roles.empty()) answer.roles = answer.first_roles;
  return answer;
}

}  // namespace muster::kube
