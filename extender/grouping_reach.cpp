#include "extender/grouping_reach.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>

#include "config/grouping_text.hpp"
#include "kube/kept_fields.hpp"

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
  for (const cluster::GroupingEarly& early : rule.early) Add(early.when, paths);
  for (const cluster::GroupingCase& one : rule.cases) {
    Add(one.when, paths);
    Add(one.minimum, paths);
    Add(one.ended, paths);
  }
  return paths;
}

constexpr std::string_view kKeptMeta[] = {"name", "namespace", "uid", "labels", "ownerReferences"};

// As GroupingText (kube/grouping_book.cpp) gives a pod to the rules.
bool IsKept(const GroupingPath& path) {
  const std::vector<std::string>& steps = path.steps;
  if (steps.empty()) return true;
  if (steps[0] == "spec") return steps.size() == 2 && steps[1] == "nodeName";
  if (steps[0] != "metadata") return false;
  if (steps.size() < 2) return true;
  if (steps[1] == "annotations") return steps.size() < 3 || kube::KeepsPodAnnotation(steps[2]);
  return std::find(std::begin(kKeptMeta), std::end(kKeptMeta), steps[1]) != std::end(kKeptMeta);
}

}  // namespace

std::vector<std::string> UnkeptPodPaths(const cluster::GroupingRules& rules) {
  std::vector<std::string> sentences;
  for (const GroupingRule& rule : rules) {
    for (const GroupingPath& path : PathsOf(rule)) {
      if (path.root != GroupingPath::Root::kPod || IsKept(path)) continue;
      sentences.push_back("the grouping rule for " + rule.kind + " of " + rule.group + " reads " +
                          config::FormatGroupingPath(path) +
                          ", which Muster does not keep of pods: it is always absent; all labels "
                          "are kept");
    }
  }
  return sentences;
}

}  // namespace muster::extender
