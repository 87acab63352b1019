#include "extender/live/grouping_reach.hpp"

#include <catch2/catch.hpp>

#include "config/policies/grouping_file.hpp"
#include "config/policies/grouping_text.hpp"

namespace muster::extender {
namespace {

using cluster::GroupingRule;

cluster::GroupingPath Path(const std::string& text) {
  const auto path = config::ParseGroupingPath(text);
  REQUIRE(path.ok());
  return *path;
}

// What is said of a rule that looks at this of its pods.
std::vector<std::string> Told(const std::string& text) {
  GroupingRule rule;
  rule.kind = "Foo";
  rule.group = "example.com";
  rule.attempt = Path(text);
  return UnkeptPodPaths({rule});
}

TEST_CASE("the rules that ship look only at what is kept of pods", "[extender][grouping]") {
  CHECK(UnkeptPodPaths(config::ShippedGroupingRules()) == std::vector<std::string>{});
}

TEST_CASE("a rule that looks at what is not kept of pods is named", "[extender][grouping]") {
  for (const char* kept : {"pod.metadata.labels[any/label]", "pod.metadata.name",
                           "pod.spec.nodeName", "pod.metadata.annotations[muster.dev/role]",
                           "pod.metadata.annotations[volcano.sh/job-version]",
                           "owner.metadata.annotations[example.com/try]"}) {
    INFO(kept);
    CHECK(Told(kept).empty());
  }
  for (const char* unkept : {"pod.metadata.annotations[example.com/try]", "pod.spec.hostname",
                             "pod.metadata.generation", "pod.status.phase"}) {
    INFO(unkept);
    CHECK(Told(unkept) ==
          std::vector<std::string>{"the grouping rule for Foo of example.com reads " +
                                   std::string(unkept) +
                                   ", which Muster does not keep of pods: it is always absent; "
                                   "all labels are kept"});
  }
}

TEST_CASE("paths in conditions, amounts and roles are looked at, too", "[extender][grouping]") {
  const std::string path = "pod.metadata.annotations[example.com/try]";
  GroupingRule rule;
  const auto condition = config::ParseGroupingCondition(path + " is present");
  const auto amount = config::ParseGroupingAmount("(" + path + " or 2) - 1");
  REQUIRE((condition.ok() && amount.ok()));
  rule.roles.resize(1);
  rule.early.resize(1);
  rule.cases.resize(1);
  SECTION("who is no member") { rule.not_members = {{{*condition}, "it helps"}}; }
  SECTION("whose role it is") { rule.roles[0].pods = {*condition}; }
  SECTION("how many pods there are") { rule.roles[0].makes = *amount; }
  SECTION("what is made early") { rule.early[0].when = {*condition}; }
  SECTION("how many start together") { rule.roles[0].unit = *amount; }
  SECTION("what does not count") { rule.unheeded = {{{*condition}, "it helps"}}; }
  SECTION("the queue") { rule.queue = condition->path; }
  SECTION("the minimum of a case") { rule.cases[0].minimum = *amount; }
  CHECK(UnkeptPodPaths({rule}).size() == 1);
}

}  // namespace
}  // namespace muster::extender
