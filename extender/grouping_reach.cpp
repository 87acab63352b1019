#include "extender/grouping_reach.hpp"

#include <set>

#include "config/grouping_text.hpp"
#include "kube/grouping_book.hpp"

namespace muster::extender {

using cluster::GroupingAmount;
using cluster::GroupingConditions;
using cluster::GroupingPath;
using cluster::GroupingRule;

namespace {

using Paths = std::set<GroupingPath>;

void Add(const GroupingAmount& amount, Paths& paths) {
  paths.insert(amount.path);
  for (const GroupingAmount& part : amount.parts) Add(part, paths);
}

void Add(const GroupingConditions& conditions, Paths& paths) {
  for (const cluster::GroupingCondition& condition : conditions) {
    paths.insert(condition.path);
    Add(condition.left, paths);
    Add(condition.right, paths);
  }
}

Paths PathsOf(const GroupingRule& rule) {
  Paths paths = {rule.per, rule.attempt, rule.role};
  for (const cluster::GroupingException& exception : rule.not_members) Add(exception.when, paths);
  for (const cluster::GroupingRole& role : rule.roles) {
    paths.insert({role.each, role.name_from});
    for (const GroupingConditions* conditions : {&role.when, &role.pods}) Add(*conditions, paths);
    for (const GroupingAmount* amount : {&role.makes, &role.needs, &role.first})
      Add(*amount, paths);
  }
  for (const cluster::GroupingEarly& early : rule.early) {
    for (const GroupingConditions* conditions : {&early.when, &early.pods}) Add(*conditions, paths);
  }
  for (const cluster::GroupingCase& one : rule.cases) {
    Add(one.when, paths);
    Add(one.minimum, paths);
    Add(one.ended, paths);
  }
  return paths;
}

}  // namespace

std::vector<std::string> UnkeptPodPaths(const cluster::GroupingRules& rules) {
  std::vector<std::string> sentences;
  for (const GroupingRule& rule : rules) {
    for (const GroupingPath& path : PathsOf(rule)) {
      if (path.root != GroupingPath::Root::kPod || kube::IsInGroupingText(path)) continue;
      sentences.push_back("the grouping rule for " + rule.kind + " of " + rule.group + " reads " +
                          config::FormatGroupingPath(path) +
                          ", which Muster does not keep of pods: it is always absent; all labels "
                          "are kept");
    }
  }
  return sentences;
}

}  // namespace muster::extender
