#include "cluster/records/grouping_paths.hpp"

namespace muster::cluster {

namespace {

using Visit = std::function<void(const GroupingPath&)>;

void EachOf(const GroupingAmount& amount, const Visit& visit) {
  if (!amount.path.none()) visit(amount.path);
  for (const GroupingAmount& part : amount.parts) EachOf(part, visit);
}

void EachOf(const GroupingConditions& conditions, const Visit& visit) {
  for (const GroupingCondition& one : conditions) {
    if (!one.path.none()) visit(one.path);
    EachOf(one.left, visit);
    EachOf(one.right, visit);
  }
}

void EachOfRole(const GroupingRole& role, const Visit& visit) {
  if (!role.name_from.none()) visit(role.name_from);
  for (const GroupingConditions* conditions : {&role.when, &role.pods}) EachOf(*conditions, visit);
  for (const GroupingAmount* amount : {&role.makes, &role.needs, &role.first, &role.unit})
    EachOf(*amount, visit);
}

void EachOfCase(const GroupingCase& one, const Visit& visit) {
  EachOf(one.when, visit);
  for (const GroupingAmount* amount : {&one.minimum, &one.ended}) EachOf(*amount, visit);
}

}  // namespace

void EachPath(
    const GroupingRule& rule,
    const std::function<void(const GroupingPath& path, const GroupingPath& each)>& visit) {
  const Visit plain = [&](const GroupingPath& path) { visit(path, {}); };
  for (const GroupingPath* path :
       {&rule.per, &rule.attempt, &rule.role, &rule.queue, &rule.priority_class}) {
    if (!path->none()) plain(*path);
  }
  for (const auto* exceptions : {&rule.not_members, &rule.unheeded})
    for (const GroupingException& one : *exceptions) EachOf(one.when, plain);
  for (const GroupingCase& one : rule.cases) EachOfCase(one, plain);
  for (const GroupingEarly& early : rule.early) EachOf(early.pods, plain);
  for (const GroupingRole& role : rule.roles) {
    if (!role.each.none()) plain(role.each);
    const Visit inside = [&](const GroupingPath& path) { visit(path, role.each); };
    EachOfRole(role, inside);
    for (const GroupingEarly& early : rule.early) EachOf(early.when, inside);
  }
}

}  // namespace muster::cluster
