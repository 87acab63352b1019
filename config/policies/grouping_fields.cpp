#include "config/policies/grouping_fields.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "config/dns_names.hpp"
#include "config/fields/elements.hpp"
#include "config/policies/grouping_text.hpp"
#include "config/yaml/yaml_scalar.hpp"

namespace muster::config {

using cluster::GroupingAmount;
using cluster::GroupingCase;
using cluster::GroupingCondition;
using cluster::GroupingConditions;
using cluster::GroupingEarly;
using cluster::GroupingException;
using cluster::GroupingPath;
using cluster::GroupingRole;
using cluster::GroupingRule;
using cluster::GroupingRules;
using cluster::Result;

namespace {

constexpr std::size_t kMostText = 300;

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsKind(std::string_view text) {
  return !text.empty() && text.size() <= 63 && text[0] >= 'A' && text[0] <= 'Z' &&
         std::all_of(text.begin(), text.end(), [](char c) { return IsLetter(c) || IsDigit(c); });
}
bool IsGroup(std::string_view text) { return IsDnsSubdomain(text); }
bool IsVersion(std::string_view text) { return IsDnsLabel(text) && text[0] == 'v'; }
bool IsSentence(std::string_view text) { return !text.empty() && text.size() <= kMostText; }
bool IsNoOrSentence(std::string_view text) { return text.size() <= kMostText; }
bool IsRoleName(std::string_view text) { return text.size() <= 63; }

template <typename T>
std::string Wrong(const Result<T>& parsed) {
  return parsed.ok() ? std::string() : parsed.error().message;
}

constexpr TextRule kOwnerKind{"a kind such as JobSet", IsKind};
constexpr TextRule kApiGroup{"an API group such as batch, or core", IsGroup};
constexpr TextRule kGroupVersion{"a version such as v1", IsVersion};
constexpr TextRule kPlural{"the plural of the kind, such as jobsets", IsDnsLabel};
constexpr TextRule kBecause{"the reason, in words for people", IsSentence};
constexpr TextRule kBecauseOrNone{"the reason, in words for people", IsNoOrSentence};
constexpr TextRule kPathText{"a path such as pod.metadata.labels[app]",
                             [](std::string_view text) { return ParseGroupingPath(text).ok(); },
                             [](std::string_view text) { return Wrong(ParseGroupingPath(text)); }};
constexpr TextRule kAmountText{
    "an amount such as owner.spec.replicas or 1",
    [](std::string_view text) { return ParseGroupingAmount(text).ok(); },
    [](std::string_view text) { return Wrong(ParseGroupingAmount(text)); }, true};
constexpr TextRule kConditionText{
    "a condition such as owner.spec.mode is Indexed",
    [](std::string_view text) { return ParseGroupingCondition(text).ok(); },
    [](std::string_view text) { return Wrong(ParseGroupingCondition(text)); }};
// "item.name", "key", or a word that is the name itself.
constexpr TextRule kRoleName{"a name such as worker, item.name or key", IsRoleName};

void VisitPath(const FieldInfo& info, GroupingPath* path, FieldVisitor* visitor) {
  std::string text = FormatGroupingPath(*path);
  visitor->Text(info, kPathText, &text);
  Result<GroupingPath> read = ParseGroupingPath(text);
  if (read.ok()) *path = *std::move(read);
}

void VisitAmount(const FieldInfo& info, GroupingAmount* amount, FieldVisitor* visitor) {
  std::string text = FormatGroupingAmount(*amount);
  visitor->Text(info, kAmountText, &text);
  Result<GroupingAmount> read = ParseGroupingAmount(text);
  if (read.ok()) *amount = *std::move(read);
}

void VisitConditions(const FieldInfo& info, GroupingConditions* conditions, FieldVisitor* visitor) {
  std::vector<std::string> texts;
  texts.reserve(conditions->size());
  for (const GroupingCondition& one : *conditions) texts.push_back(FormatGroupingCondition(one));
  visitor->TextList(info, kConditionText, &texts);
  conditions->clear();
  for (const std::string& text : texts) {
    Result<GroupingCondition> read = ParseGroupingCondition(text);
    if (read.ok()) conditions->push_back(*std::move(read));
  }
}

bool IsFromElement(const GroupingPath& path) {
  return path.root == GroupingPath::Root::kItem || path.root == GroupingPath::Root::kKey;
}

void VisitName(const FieldInfo& info, GroupingRole* role, FieldVisitor* visitor) {
  std::string text = role->name_from.none() ? role->name : FormatGroupingPath(role->name_from);
  visitor->Text(info, kRoleName, &text);
  const Result<GroupingPath> path = ParseGroupingPath(text);
  const bool from = path.ok() && IsFromElement(*path);
  role->name_from = from ? *path : GroupingPath{};
  role->name = from ? std::string() : text;
}

void VisitException(GroupingException* one, FieldVisitor* visitor) {
  VisitConditions({"when", "All of them hold."}, &one->when, visitor);
  visitor->Text({"because", ""}, kBecause, &one->because);
}

void VisitRole(GroupingRole* role, FieldVisitor* visitor) {
  VisitName({"name", "A word, or item.… or key."}, role, visitor);
  VisitPath({"each", "A list or map of the owner: a role for each element, which is item here."},
            &role->each, visitor);
  VisitConditions({"when", "Only then the owner makes it."}, &role->when, visitor);
  VisitConditions({"pods", "Whose role it is, where no label names it."}, &role->pods, visitor);
  VisitAmount({"makes", "How many pods the owner makes; not given: nobody knows."}, &role->makes,
              visitor);
  VisitAmount({"needs", "How many the gang needs; not given: all."}, &role->needs, visitor);
  VisitAmount({"first", "How many are there early; not given: all."}, &role->first, visitor);
  VisitAmount(
      {"unit", "Beyond what the gang needs so many start together; not given: each by itself."},
      &role->unit, visitor);
}

void VisitEarly(GroupingEarly* early, FieldVisitor* visitor) {
  VisitConditions({"when", "All of them hold."}, &early->when, visitor);
  visitor->Flag({"passes", "It will end, and the gang needs more from then on."}, &early->passes);
  VisitConditions({"pods", "Which pods of a role come first; not given: any."}, &early->pods,
                  visitor);
  visitor->Text({"because", ""}, kBecause, &early->because);
}

void VisitCase(GroupingCase* one, FieldVisitor* visitor) {
  VisitConditions({"when", "All of them hold; not given: always."}, &one->when, visitor);
  Enumeration(visitor, {"gang", "All pods of the owner, those of each role, or every pod alone."},
              {"whole", "perRole", "alone"}, &one->gang);
  VisitAmount({"minimum", "Of the whole; not given: what the roles need."}, &one->minimum, visitor);
  VisitAmount({"ended", "How many pods have ended well, as the owner counts; not given: unknown."},
              &one->ended, visitor);
  visitor->Flag({"keepsRest", "Once it has run, those that are left stay when others are lost."},
                &one->keeps_rest);
  visitor->Text({"because", "Why every pod is alone."}, kBecauseOrNone, &one->because);
}

void VisitRule(GroupingRule* rule, FieldVisitor* visitor) {
  visitor->Text({"kind", "Of the owner."}, kOwnerKind, &rule->kind);
  visitor->Text({"group", "Its API group; core for that without a name."}, kApiGroup, &rule->group);
  visitor->TextList({"versions", "Of the group; [] for all."}, kGroupVersion, &rule->versions);
  visitor->Text({"resource", "The plural that the API server serves it under."}, kPlural,
                &rule->resource);
  visitor->Flag({"wrapper", "It makes no pods but what makes them, whose own rule counts."},
                &rule->wrapper);
  SectionList(visitor, {"notMembers", "Pods below it that are in no gang."}, &rule->not_members,
              VisitException);
  VisitPath({"per", "A gang for each value of this."}, &rule->per, visitor);
  VisitPath({"attempt", "Another value is another gang."}, &rule->attempt, visitor);
  VisitPath({"role", "What names a pod's role."}, &rule->role, visitor);
  VisitPath({"queue", "The gang's queue, where its pods name none."}, &rule->queue, visitor);
  VisitPath({"priorityClass", "The PriorityClass of the gang, whatever its pods have."},
            &rule->priority_class, visitor);
  SectionList(visitor, {"roles", "The pods that the owner makes."}, &rule->roles, VisitRole);
  SectionList(visitor, {"early", "While one holds, only the first pods of each role exist."},
              &rule->early, VisitEarly);
  SectionList(visitor, {"cases", "The first whose conditions hold counts."}, &rule->cases,
              VisitCase);
  SectionList(visitor, {"notHonoured", "What the owner says and does not count, for people."},
              &rule->unheeded, VisitException);
}

bool Uses(const GroupingPath& path, bool (*is)(const GroupingPath&)) { return is(path); }
bool Uses(const GroupingAmount& amount, bool (*is)(const GroupingPath&)) {
  return is(amount.path) || std::any_of(amount.parts.begin(), amount.parts.end(),
                                        [&](const GroupingAmount& part) { return Uses(part, is); });
}
bool Uses(const GroupingConditions& conditions, bool (*is)(const GroupingPath&)) {
  return std::any_of(conditions.begin(), conditions.end(), [&](const GroupingCondition& one) {
    return is(one.path) || Uses(one.left, is) || Uses(one.right, is);
  });
}
bool HasEach(const GroupingPath& path) {
  return std::find(path.steps.begin(), path.steps.end(), cluster::kEach) != path.steps.end();
}

bool HasNames(const GroupingRule& rule) {
  return std::any_of(rule.roles.begin(), rule.roles.end(),
                     [](const auto& role) { return !role.name.empty() || !role.name_from.none(); });
}

// Finds what contradicts itself in one rule.
class RuleCheck {
 public:
  RuleCheck(std::string at, const GroupingRule& rule, std::vector<Contradiction>* found)
      : at_(std::move(at)), rule_(rule), found_(*found) {}

  void Run() {
    CheckPaths();
    CheckParts();
    for (std::size_t i = 0; i < rule_.not_members.size(); ++i) {
      const std::string at = ".notMembers" + Index(i) + ".when";
      Expect(!rule_.not_members[i].when.empty(), at, "expected at least one condition");
      Conditions(at, rule_.not_members[i].when, false);
    }
    const bool elements = std::any_of(rule_.roles.begin(), rule_.roles.end(),
                                      [](const auto& role) { return !role.each.none(); });
    for (std::size_t i = 0; i < rule_.early.size(); ++i) {
      const cluster::GroupingEarly& early = rule_.early[i];
      const std::string at = ".early" + Index(i);
      Conditions(at + ".when", early.when, elements);
      Conditions(at + ".pods", early.pods, false);
      Expect(early.pods.empty() || early.passes, at + ".pods",
             "expected passes: true beside it: else only those that come first exist");
      Expect(early.pods.empty() || HasNames(rule_), at + ".pods",
             "expected roles with names beside it");
    }
    for (std::size_t i = 0; i < rule_.unheeded.size(); ++i) {
      const std::string at = ".notHonoured" + Index(i) + ".when";
      Expect(!rule_.unheeded[i].when.empty(), at, "expected at least one condition");
      Conditions(at, rule_.unheeded[i].when, false);
    }
    for (std::size_t i = 0; i < rule_.roles.size(); ++i) CheckRole(i);
    for (std::size_t i = 0; i < rule_.cases.size(); ++i) CheckCase(i);
  }

 private:
  static std::string Index(std::size_t i) { return "[" + std::to_string(i) + "]"; }
  void Expect(bool good, const std::string& field, std::string message) {
    if (!good) found_.push_back({at_ + field, std::move(message)});
  }
  void AtMost(std::size_t count, const std::string& field) {
    Expect(count <= kMostGroupingParts, field,
           "expected at most " + std::to_string(kMostGroupingParts) + ", found " +
               std::to_string(count));
  }
  template <typename Used>
  void Value(const std::string& field, const Used& used, bool element) {
    Expect(!Uses(used, HasEach), field,
           "expected one value, found a path with []: write a role with each, or a condition");
    Element(field, used, element);
  }
  template <typename Used>
  void Element(const std::string& field, const Used& used, bool element) {
    Expect(element || !Uses(used, IsFromElement), field,
           "item and key are known only in a role with each");
  }
  void Conditions(const std::string& field, const GroupingConditions& conditions, bool element) {
    AtMost(conditions.size(), field);
    Element(field, conditions, element);
    for (const GroupingCondition& one : conditions) {
      Expect(!Uses(one.left, HasEach) && !Uses(one.right, HasEach), field,
             "expected single numbers, found a path with []");
    }
  }

  void CheckPaths() {
    Value(".per", rule_.per, false);
    Value(".attempt", rule_.attempt, false);
    Value(".role", rule_.role, false);
    Value(".queue", rule_.queue, false);
    Value(".priorityClass", rule_.priority_class, false);
    AtMost(rule_.versions.size(), ".versions");
    AtMost(rule_.not_members.size(), ".notMembers");
    AtMost(rule_.roles.size(), ".roles");
    AtMost(rule_.early.size(), ".early");
    AtMost(rule_.cases.size(), ".cases");
    AtMost(rule_.unheeded.size(), ".notHonoured");
  }
  void CheckParts() {
    const bool plain = rule_.per.none() && rule_.attempt.none() && rule_.role.none() &&
                       rule_.queue.none() && rule_.priority_class.none() && rule_.roles.empty() &&
                       rule_.early.empty() && rule_.cases.empty() && rule_.unheeded.empty();
    Expect(!rule_.wrapper || plain, ".wrapper",
           "expected no per, attempt, role, queue, priorityClass, roles, early, cases or "
           "notHonoured beside it: the rules of what it makes say them");
    Expect(rule_.wrapper || !rule_.cases.empty(), ".cases",
           "expected at least one case, or wrapper: true");
    Expect(rule_.role.none() || HasNames(rule_), ".role", "expected roles with names beside it");
  }
  void CheckRole(std::size_t i) {
    const GroupingRole& role = rule_.roles[i];
    const std::string at = ".roles" + Index(i);
    const bool element = !role.each.none();
    Expect(role.each.none() || role.each.root == GroupingPath::Root::kOwner, at + ".each",
           "expected a path that begins with owner");
    Value(at + ".each", role.each, false);
    Value(at + ".name", role.name_from, element);
    Expect(!element || !role.name_from.none(), at + ".name",
           "expected item.… or key: every element is a role of its own");
    Expect(role.pods.empty() || rule_.role.none(), at + ".pods",
           "expected none beside role, which names every pod's");
    Conditions(at + ".when", role.when, element);
    Conditions(at + ".pods", role.pods, element);
    Value(at + ".makes", role.makes, element);
    Value(at + ".needs", role.needs, element);
    Value(at + ".first", role.first, element);
    Value(at + ".unit", role.unit, element);
    Expect(role.unit.none() || !role.name.empty() || !role.name_from.none(), at + ".unit",
           "expected a name beside it");
    Expect(role.first.none() || !rule_.early.empty(), at + ".first",
           "expected early beside it, which says when");
  }
  void CheckCase(std::size_t i) {
    const GroupingCase& one = rule_.cases[i];
    const std::string at = ".cases" + Index(i);
    const bool alone = one.gang == GroupingCase::Gang::kAlone;
    Conditions(at + ".when", one.when, false);
    Value(at + ".minimum", one.minimum, false);
    Value(at + ".ended", one.ended, false);
    Expect(!alone || !one.because.empty(), at + ".because",
           "expected why every pod is alone, found nothing");
    Expect(alone || one.because.empty(), at + ".because", "expected none but with gang: alone");
    Expect(!alone || !one.keeps_rest, at + ".keepsRest", "expected none with gang: alone");
    Expect(one.gang == GroupingCase::Gang::kWhole || one.minimum.none(), at + ".minimum",
           "expected none but with gang: whole");
    const bool per_role = one.gang == GroupingCase::Gang::kPerRole;
    Expect(one.ended.none() || (!per_role && !HasNames(rule_)), at + ".ended",
           "expected none with gang: perRole, or with roles that have names");
    const bool names =
        !rule_.role.none() || std::any_of(rule_.roles.begin(), rule_.roles.end(),
                                          [](const auto& role) { return !role.pods.empty(); });
    Expect(!per_role || names, at + ".gang", "expected role, or roles with pods, beside perRole");
    for (std::size_t before = 0; before < i; ++before) {
      if (rule_.cases[before].when != one.when && !rule_.cases[before].when.empty()) continue;
      Expect(false, at, "never counts: case " + std::to_string(before) + " holds before it");
      break;
    }
  }

  const std::string at_;
  const GroupingRule& rule_;
  std::vector<Contradiction>& found_;
};

}  // namespace

bool SameKind(const GroupingRule& a, const GroupingRule& b) {
  if (a.kind != b.kind || a.group != b.group) return false;
  return a.versions.empty() || b.versions.empty() ||
         std::any_of(a.versions.begin(), a.versions.end(), [&](const std::string& version) {
           return std::find(b.versions.begin(), b.versions.end(), version) != b.versions.end();
         });
}

void VisitGroupingRules(const FieldInfo& info, GroupingRules* rules, FieldVisitor* visitor) {
  SectionList(visitor, info, rules, VisitRule);
}

void FindGroupingContradictions(const std::string& field, const GroupingRules& rules,
                                std::vector<Contradiction>* found) {
  if (rules.size() > kMostGroupingRules) {
    found->push_back({field, "expected at most " + std::to_string(kMostGroupingRules) +
                                 " rules, found " + std::to_string(rules.size())});
    return;
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::string at = field + "[" + std::to_string(i) + "]";
    RuleCheck(at, rules[i], found).Run();
    for (std::size_t before = 0; before < i; ++before) {
      if (!SameKind(rules[i], rules[before])) continue;
      found->push_back({at + ".kind", "expected one rule for " + rules[i].kind + " of " +
                                          rules[i].group + " in each version, found " + field +
                                          "[" + std::to_string(before) + "] for it too"});
      break;
    }
  }
}

}  // namespace muster::config
