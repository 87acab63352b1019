#include "kube/owners/owner_terms.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "cluster/records/grouping_paths.hpp"
#include "kube/dialects/dialect_fields.hpp"
#include "kube/dialects/dialect_keys.hpp"
#include "kube/dialects/queue_name.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"
#include "kube/json/timestamp.hpp"

namespace muster::kube {

using cluster::Error;
using cluster::GroupingPath;
using cluster::GroupingRule;

namespace {

constexpr size_t kMaxName = 253;  // bytes, as the names of objects

// Pods say what they like: so many kinds of them share what was worked out.
constexpr size_t kMostKinds = 16;

// The API server alone writes when it was made: a status that says an earlier time is not believed.
std::optional<cluster::Time> SinceOf(const JsonView& owner) {
  const JsonView status = owner.Get("status");
  const JsonView metadata = owner.Get("metadata");
  const cluster::Result<cluster::Time> made =
      ParseTimestamp(metadata.Get("creationTimestamp").Text());
  if (!made.ok()) return std::nullopt;
  const cluster::Result<cluster::Time> started = ParseTimestamp(status.Get("startTime").Text());
  return started.ok() ? std::max(*made, *started) : *made;
}

std::optional<Error> FirstOf(const JsonProblems& problems) {
  return problems.none() ? std::nullopt : std::optional(problems.first());
}

// What of the owner does not count, and what does: not once somebody wrote the minimum.
std::string UnheededOf(const GroupingRule& rule, const GroupingValues& values) {
  std::string text;
  for (const cluster::GroupingException& one : rule.unheeded) {
    if (values.Holds(one.when)) text += (text.empty() ? "" : "; ") + one.because;
  }
  return text;
}

std::vector<std::string> NotHonoured(const JsonView& owner, const std::string& kind) {
  std::vector<std::string> told;
  const std::string version(owner.Get("apiVersion").Text());
  if (const Dialect* dialect = FindOwnerDialect(version, kind))
    told = FieldsNotHonoured(*dialect, owner);
  const JsonView metadata = owner.Get("metadata");
  for (std::string& one : KeysOfPods(MusterWords(), kind, metadata)) told.push_back(std::move(one));
  return told;
}

// Which role, which gang and whether it is in one is asked of each pod.
GroupingRule WithoutPods(GroupingRule rule) {
  rule.per = rule.attempt = rule.role = {};
  rule.not_members.clear();
  for (cluster::GroupingEarly& early : rule.early) early.pods.clear();
  return rule;
}

std::vector<GroupingPath> PathsBesideOwner(const GroupingRule& rule) {
  using Root = GroupingPath::Root;
  std::set<GroupingPath> paths;
  cluster::EachPath(WithoutPods(rule), [&](const GroupingPath& path, const GroupingPath& /*each*/) {
    if (path.root == Root::kPod || path.root == Root::kLeader) paths.insert(path);
  });
  return {paths.begin(), paths.end()};
}

}  // namespace

OwnerTerms::OwnerTerms(const GroupingValues::Objects& objects) {
  const GroupingRule& rule = *objects.owner->rule;
  JsonProblems in_case;
  const GroupingValues cases(objects, in_case);
  const auto held =
      std::find_if(rule.cases.begin(), rule.cases.end(),
                   [&](const cluster::GroupingCase& each) { return cases.Holds(each.when); });
  bad_case = FirstOf(in_case);
  if (held == rule.cases.end()) return;
  one = &*held;
  JsonProblems in_roles;
  size.emplace(rule, *one, GroupingValues(objects, in_roles));
  bad_role = FirstOf(in_roles);
  JsonProblems in_size;
  const GroupingValues amounts(objects, in_size);
  size->ReadMinimum(amounts);
  ended = amounts.Amount(one->ended).value_or(0);
  bad_size = FirstOf(in_size);
  JsonProblems ignored;
  const GroupingValues words(objects, ignored);
  unheeded = UnheededOf(rule, words);
  queue = SpecQueue(CutText(words.Text(rule.queue), kMaxName));
  priority_class = CutText(words.Text(rule.priority_class), kMaxName);
  const JsonView owner(*objects.owner->object, "owner", ignored);
  since = SinceOf(owner);
  not_honoured = NotHonoured(owner, objects.owner->key.kind);
}

OwnerTerms& OwnersTerms::Find(const GroupingValues::Objects& objects) {
  if (!paths_) paths_ = PathsBesideOwner(*objects.owner->rule);
  JsonProblems ignored;
  const GroupingValues values(objects, ignored);
  std::string shown;
  for (const GroupingPath& path : *paths_) values.AppendShown(path, shown);
  std::unique_ptr<OwnerTerms>& terms = terms_[shown];
  // What is malformed of a pod is said with its name.
  const bool of_pod =
      terms != nullptr && !shown.empty() && (terms->bad_case || terms->bad_role || terms->bad_size);
  if (terms != nullptr && !of_pod) return *terms;
  auto made = std::make_unique<OwnerTerms>(objects);
  if (terms_.size() > kMostKinds) terms_.clear();
  return *(terms_[shown] = std::move(made));
}

}  // namespace muster::kube
