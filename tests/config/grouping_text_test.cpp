#include "config/policies/grouping_text.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace muster::config {
namespace {

using cluster::GroupingAmount;
using cluster::GroupingCondition;
using cluster::GroupingPath;

std::string FaultOfAmount(const std::string& text) {
  const auto read = ParseGroupingAmount(text);
  return read.ok() ? "fine" : read.error().ToString();
}
std::string FaultOfCondition(const std::string& text) {
  const auto read = ParseGroupingCondition(text);
  return read.ok() ? "fine" : read.error().ToString();
}
std::string FaultOfPath(const std::string& text) {
  const auto read = ParseGroupingPath(text);
  return read.ok() ? "fine" : read.error().ToString();
}

}  // namespace

TEST_CASE("a path is a root and the names of members", "[config][grouping]") {
  const auto path = ParseGroupingPath("owner.spec.jobs[].labels[a.b/c-d].x");
  REQUIRE(path.ok());
  CHECK(path->root == GroupingPath::Root::kOwner);
  CHECK(path->steps == std::vector<std::string>{"spec", "jobs", "[]", "labels", "a.b/c-d", "x"});
  CHECK(ParseGroupingPath("item")->steps.empty());
  CHECK(ParseGroupingPath("key")->root == GroupingPath::Root::kKey);
  CHECK(ParseGroupingPath("")->none());
}

TEST_CASE("a path that is none is refused with what is wrong", "[config][grouping]") {
  CHECK(FaultOfPath("ownr.spec") ==
        "expected a path that begins with owner, pod, leader, item or key (did you mean owner?) at "
        "character 1, found \"ownr.spec\"");
  CHECK(FaultOfPath("owner") ==
        "expected what of it is meant, such as owner.metadata.name at character 1, found "
        "\"owner\"");
  CHECK_THAT(FaultOfPath("key.name"), Catch::StartsWith("expected key alone"));
  CHECK_THAT(FaultOfPath("pod.labels[a"), Catch::StartsWith("expected \"]\" in the path"));
  CHECK_THAT(FaultOfPath("pod..x"), Catch::StartsWith("expected a name, [name] or []"));
  CHECK_THAT(FaultOfPath("pod.labels[a]b"), Catch::StartsWith("expected \".\" or \"[\""));
  CHECK_THAT(FaultOfPath("pod.labels[a!]"), Catch::StartsWith("expected a name"));
  CHECK_THAT(FaultOfPath("pod.x pod.y"), Catch::StartsWith("expected nothing more at character 7"));
  CHECK_THAT(FaultOfPath("pod." + std::string(500, 'x')),
             Catch::StartsWith("expected at most 400 characters"));
}

TEST_CASE("what is written of an amount is read as the same amount", "[config][grouping]") {
  struct Case {
    const char* text;
    const char* written;
  };
  const Case c = GENERATE(values<Case>({
      {"3", "3"},
      {"owner.spec.replicas or 1", "owner.spec.replicas or 1"},
      {"(item.a or 1) * min(item.b or 1, item.c)", "item.a or 1 * min(item.b or 1, item.c)"},
      {"item.a + item.b * 2", "item.a + item.b * 2"},
      {"(item.a + item.b) * 2", "(item.a + item.b) * 2"},
      {"item.a - (item.b - 1)", "item.a - (item.b - 1)"},
      {"item.a - item.b - 1", "item.a - item.b - 1"},
      {"item.a or (item.b * 2)", "item.a or (item.b * 2)"},
      {"item.a or item.b or 1", "item.a or item.b or 1"},
      {"max( 1,2 ,item.a )", "max(1, 2, item.a)"},
  }));
  const auto read = ParseGroupingAmount(c.text);
  REQUIRE(read.ok());
  CHECK(FormatGroupingAmount(*read) == c.written);
  CHECK(*ParseGroupingAmount(c.written) == *read);
}

TEST_CASE("an amount that is none is refused with the character", "[config][grouping]") {
  CHECK(FaultOfAmount("owner.a +") ==
        "expected a path that begins with owner, pod, leader, item or key at character 10, found "
        "the end");
  CHECK(FaultOfAmount("(owner.a or 1") == "expected \")\" at character 14, found the end");
  CHECK(FaultOfAmount("min owner.a") == "expected \"(\" at character 5, found \"owner.a\"");
  CHECK(FaultOfAmount("max(1 2)") == "expected \",\" or \")\" at character 7, found \"2\"");
  CHECK(FaultOfAmount("owner.a 1") == "expected nothing more at character 9, found \"1\"");
  CHECK(FaultOfAmount("1.5") ==
        "expected a whole number up to 1000000000 at character 1, found \"1.5\"");
  CHECK_THAT(FaultOfAmount("1000000001"), Catch::StartsWith("expected a whole number"));
  CHECK_THAT(FaultOfAmount("99999999999999999999"), Catch::StartsWith("expected a whole number"));
  CHECK_THAT(FaultOfAmount("012"), Catch::StartsWith("expected a whole number"));
  CHECK_THAT(FaultOfAmount("-1"), Catch::StartsWith("expected a path"));
  CHECK_THAT(FaultOfAmount(std::string(17, '(') + "1" + std::string(17, ')')),
             Catch::StartsWith("expected fewer parentheses"));
  CHECK(FaultOfAmount(std::string(16, '(') + "1" + std::string(16, ')')) == "fine");
}

TEST_CASE("what is written of a condition is read as the same", "[config][grouping]") {
  const std::string text = GENERATE(values<std::string>({
      "owner.spec.a is present",
      "owner.spec.jobs[].dependsOn is absent",
      "pod.metadata.labels[a.b/c] is 0",
      "owner.kind is Job or Pod",
      "item.suspend is not true",
      "owner.spec.a is not one or two",
      "owner.spec.a equals owner.spec.b or 1",
      "owner.spec.a + 1 is above 2",
      "key is Master",
  }));
  const auto read = ParseGroupingCondition(text);
  REQUIRE(read.ok());
  CHECK(FormatGroupingCondition(*read) == text);
}

TEST_CASE("a condition that is none is refused with the character", "[config][grouping]") {
  CHECK(FaultOfCondition("owner.a") ==
        "expected \"is\" or \"equals\" at character 8, found the end");
  CHECK(FaultOfCondition("owner.a = 1") ==
        "expected \"is\" or \"equals\" at character 9, found \"=\"");
  CHECK(FaultOfCondition("owner.a is") ==
        "expected present, absent, above, not or a word at character 11, found the end");
  CHECK(FaultOfCondition("owner.a or 1 is present") ==
        "expected a path alone before \"is\" at character 17, found \"present\"");
  CHECK(FaultOfCondition("owner.a is present or owner.b is absent") ==
        "expected nothing more at character 20, found \"or\"");
  CHECK_THAT(FaultOfCondition("owner.a is b or"), Catch::StartsWith("expected present, absent"));
  CHECK_THAT(FaultOfCondition(""), Catch::StartsWith("expected a path"));
}

}  // namespace muster::config
