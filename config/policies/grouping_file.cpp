#include "config/policies/grouping_file.hpp"

#include <algorithm>
#include <utility>

#include "cluster/base/check.hpp"
#include "config/fields/field_file.hpp"
#include "config/policies/grouping_fields.hpp"
#include "config/shipped_files.hpp"

namespace muster::config {

using cluster::GroupingRule;
using cluster::GroupingRules;

namespace {

void VisitFile(GroupingRules* rules, FieldVisitor* visitor) {
  VisitHead(visitor, "apiVersion", "muster.dev/v1alpha1");
  VisitHead(visitor, "kind", "GroupingRules");
  VisitGroupingRules({"rules", "Each for one kind of owner."}, rules, visitor);
}

// What is left of `rule` beside `own`, for the same kind: those of its versions that `own` does not
// name; nothing where either is for all versions.
bool KeepOtherVersions(const GroupingRule& own, GroupingRule* rule) {
  if (own.versions.empty() || rule->versions.empty()) return false;
  auto& versions = rule->versions;
  versions.erase(std::remove_if(versions.begin(), versions.end(),
                                [&](const std::string& version) {
                                  return std::find(own.versions.begin(), own.versions.end(),
                                                   version) != own.versions.end();
                                }),
                 versions.end());
  return !versions.empty();
}

}  // namespace

GroupingReading ReadGroupingRules(std::string_view text, const std::string& file_name) {
  GroupingReading reading;
  FieldFile file;
  file.what = "grouping rules (apiVersion: muster.dev/v1alpha1, kind: GroupingRules)";
  file.fields = [&](FieldVisitor* visitor) { VisitFile(&reading.rules, visitor); };
  file.contradictions = [&] {
    std::vector<Contradiction> found;
    if (reading.rules.empty()) found.push_back({"rules", "expected at least one"});
    FindGroupingContradictions("rules", reading.rules, &found);
    return found;
  };
  file.max_bytes = kMaxGroupingBytes;
  reading.faults = ReadFields(text, file_name, file);
  return reading;
}

std::string WriteGroupingRules(const GroupingRules& rules) {
  GroupingRules copy = rules;  // visitors may change what they visit; the writer does not
  return "apiVersion: muster.dev/v1alpha1\nkind: GroupingRules\n" +
         WriteFields(
             [&](FieldVisitor* visitor) {
               VisitGroupingRules({"rules", ""}, &copy, visitor);
             },
             FieldText::kPlain);
}

// The tests read every file, so none is wrong here, and no two have a rule for the same kind.
GroupingRules ShippedGroupingRules() {
  GroupingRules all;
  for (const ShippedFile& file : ShippedGrouping()) {
    GroupingReading reading = ReadGroupingRules(file.text, std::string(file.name));
    MUSTER_CHECK(reading.ok());
    std::move(reading.rules.begin(), reading.rules.end(), std::back_inserter(all));
  }
  return all;
}

GroupingRules WithOwnRules(GroupingRules shipped, const GroupingRules& own) {
  for (const GroupingRule& rule : own) {
    shipped.erase(std::remove_if(shipped.begin(), shipped.end(),
                                 [&](GroupingRule& one) {
                                   return SameKind(one, rule) && !KeepOtherVersions(rule, &one);
                                 }),
                  shipped.end());
  }
  shipped.insert(shipped.end(), own.begin(), own.end());
  return shipped;
}

bool IsForJobs(const GroupingRule& rule) { return rule.kind == "Job" && rule.group == "batch"; }

GroupingRules WithNonIndexedJobs(GroupingRules rules, const std::vector<std::string>& namespaces) {
  const auto jobs = std::find_if(rules.begin(), rules.end(), IsForJobs);
  if (namespaces.empty() || jobs == rules.end()) return rules;
  using cluster::GroupingCondition;
  const auto is_mode = [](const GroupingCondition& one) {
    return one.kind == GroupingCondition::Kind::kIs &&
           one.words == std::vector<std::string>{"Indexed"};
  };
  const auto indexed = std::find_if(jobs->cases.begin(), jobs->cases.end(), [&](const auto& one) {
    return std::any_of(one.when.begin(), one.when.end(), is_mode);
  });
  if (indexed == jobs->cases.end()) return rules;
  cluster::GroupingCase any_mode = *indexed;
  std::erase_if(any_mode.when, is_mode);
  if (std::find(namespaces.begin(), namespaces.end(), kEveryNamespace) == namespaces.end()) {
    GroupingCondition within;
    within.kind = GroupingCondition::Kind::kIs;
    within.path = {cluster::GroupingPath::Root::kPod, {"metadata", "namespace"}};
    within.words = namespaces;
    any_mode.when.push_back(std::move(within));
  }
  jobs->cases.insert(indexed + 1, std::move(any_mode));
  return rules;
}

}  // namespace muster::config
