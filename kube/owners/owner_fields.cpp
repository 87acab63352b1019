#include "kube/owners/owner_fields.hpp"

#include <algorithm>
#include <string_view>

#include "cluster/records/grouping_paths.hpp"
#include "kube/dialects/dialect_fields.hpp"
#include "kube/dialects/dialect_keys.hpp"
#include "kube/dialects/label_names.hpp"
#include "kube/owners/grouping.hpp"

namespace muster::kube {

using cluster::GroupingPath;
using Steps = std::vector<std::string>;

namespace {

const std::string kAny = "*";  // as the sieve names what has any name

// "spec.subGroups[].name" of the table of dialects, "metadata.uid".
Steps Split(std::string_view path) {
  Steps steps;
  while (!path.empty()) {
    std::string_view step = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), step.size() + 1));
    const bool list = step.ends_with("[]");
    if (list) step.remove_suffix(2);
    steps.emplace_back(step);
    if (list) steps.push_back(kAny);
  }
  return steps;
}

Steps Inside(Steps outer, const Steps& more) {
  for (const std::string& step : more) outer.push_back(step == cluster::kEach ? kAny : step);
  return outer;
}

// What every judgement looks at.
constexpr std::string_view kRead[] = {"apiVersion",
                                      "kind",
                                      "metadata.name",
                                      "metadata.namespace",
                                      "metadata.uid",
                                      "metadata.resourceVersion",
                                      "metadata.creationTimestamp",
                                      "metadata.ownerReferences[].apiVersion",
                                      "metadata.ownerReferences[].kind",
                                      "metadata.ownerReferences[].name",
                                      "metadata.ownerReferences[].uid",
                                      "metadata.ownerReferences[].controller",
                                      "status.startTime"};

}  // namespace

OwnerFields::OwnerFields(const cluster::GroupingRules& rules, const OwnerKey& owner) {
  AddJudging();
  AddRules(rules, owner);
  SpreadEach(root_);
  kept_ = Keep(root_);
}

bool OwnerFields::Covers(const OwnerFields& other) const { return Covers(root_, other.root_); }

void OwnerFields::Add(const Steps& steps, bool whole) {
  Place* place = &root_;
  for (const std::string& step : steps) place = &place->inside[step];
  place->whole = place->whole || whole;
}

void OwnerFields::AddJudging() {
  for (const std::string_view path : kRead) Add(Split(path), true);
  for (const char* texts : {"labels", "annotations"}) {
    for (const char* key : {kGroupingOff, kMinMemberAnnotation})
      Add({"metadata", texts, key}, true);
    for (const DialectField& word : MusterWords())
      Add({"metadata", texts, std::string(word.path)}, false);
  }
  // Of a field that does not count it is said only that it is set.
  for (const Dialect& dialect : DialectsOfOwners())
    for (const DialectField& field : dialect.fields)
      Add(Split(field.path), field.heed != Heed::kNotHonoured);
}

void OwnerFields::AddRules(const cluster::GroupingRules& rules, const OwnerKey& owner) {
  using Root = GroupingPath::Root;
  const cluster::GroupingRule* const own = FindRule(rules, owner);
  const bool pod = owner.kind == "Pod" && owner.group() == cluster::kCoreGroup;
  for (const cluster::GroupingRule& rule : rules) {
    const auto read = [&](Root root) {
      return (root == Root::kOwner && &rule == own) || (root == Root::kLeader && pod);
    };
    cluster::EachPath(rule, [&](const GroupingPath& path, const GroupingPath& each) {
      if (read(path.root)) Add(Inside({}, path.steps), true);
      if (path.root != Root::kItem || !read(each.root)) return;
      Steps element = Inside({}, each.steps);
      element.push_back(kAny);
      Add(Inside(std::move(element), path.steps), true);
    });
    for (const cluster::GroupingRole& role : rule.roles) {
      if (!read(role.each.root)) continue;
      Steps element = Inside({}, role.each.steps);
      element.push_back(kAny);
      Add(element, false);  // each of them counts, whatever is read of it
    }
    // A wrapper says of the object that the gang is made of which pods are in none.
    for (const cluster::GroupingException& one : rule.not_members) {
      cluster::GroupingRule says;
      says.not_members = {one};
      cluster::EachPath(says, [&](const GroupingPath& path, const GroupingPath& /*each*/) {
        if (path.root == Root::kOwner) Add(Inside({}, path.steps), true);
      });
    }
  }
}

void OwnerFields::Merge(const Place& from, Place& into) {
  into.whole = into.whole || from.whole;
  for (const auto& [step, inside] : from.inside) Merge(inside, into.inside[step]);
}

// What is read of any is read of those that are named, too: the sieve takes the first that fits.
void OwnerFields::SpreadEach(Place& place) {
  if (const auto any = place.inside.find(kAny); any != place.inside.end()) {
    const Place each = any->second;
    for (auto& [step, inside] : place.inside) Merge(each, inside);
  }
  for (auto& [step, inside] : place.inside) SpreadEach(inside);
}

bool OwnerFields::Covers(const Place& place, const Place& other) {
  if (other.whole && !place.whole) return false;
  return std::all_of(other.inside.begin(), other.inside.end(), [&](const auto& one) {
    auto found = place.inside.find(one.first);
    if (found == place.inside.end()) found = place.inside.find(kAny);
    return found != place.inside.end() && Covers(found->second, one.second);
  });
}

std::span<const Kept> OwnerFields::Keep(const Place& place) {
  std::vector<Kept> members;
  const auto add = [&](const std::string& step, const Place& inside) {
    const bool mark = inside.inside.empty() && !inside.whole;
    members.push_back({.name = step,
                       .kind = mark ? Kept::Kind::kMark : Kept::Kind::kTree,
                       .members = Keep(inside)});
  };
  for (const auto& [step, inside] : place.inside)
    if (step != kAny) add(step, inside);
  // The last, for it fits any name.
  if (const auto any = place.inside.find(kAny); any != place.inside.end()) add(kAny, any->second);
  if (members.empty()) return {};
  return lists_.emplace_back(std::move(members));
}

}  // namespace muster::kube
