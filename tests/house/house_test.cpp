// The repository itself against every rule of its layout.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/house/document_rules.hpp"
#include "tests/house/guard_rules.hpp"
#include "tests/house/include_rules.hpp"
#include "tests/house/room_rules.hpp"
#include "tests/house/rule_book.hpp"
#include "tests/house/source_rules.hpp"
#include "tests/house/source_tree.hpp"

namespace muster::house {
namespace {

SourceTree ReadRepository() {
  auto tree = ReadTree(MUSTER_SOURCE_DIR);
  if (!tree.ok()) FAIL(tree.error().ToString());
  return std::move(tree).value();
}

std::string Join(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) text += "\n  " + ToString(finding);
  return text;
}

TEST_CASE("the repository is seen as it is, without what was built", "[house]") {
  const SourceTree tree = ReadRepository();
  for (const char* path : {"README.md", "Makefile", "cluster/base/mutex.hpp",
                           "tests/house/house_test.cpp", ".ci/run"}) {
    INFO(path);
    CHECK(tree.paths.contains(path));
  }
  CHECK_FALSE(tree.paths.contains("build"));
  CHECK_FALSE(tree.paths.contains(".git"));
}

TEST_CASE("no file includes what the order of the folders forbids", "[house]") {
  const auto findings = CheckIncludes(ReadRepository());
  INFO(Join(findings));
  CHECK(findings.empty());
}

TEST_CASE("no unit and no room includes itself through others", "[house]") {
  const auto findings = CheckRooms(ReadRepository());
  INFO(Join(findings));
  CHECK(findings.empty());
}

TEST_CASE("sizes, names and habits of the code follow the rules", "[house]") {
  const auto findings = CheckSources(ReadRepository());
  INFO(Join(findings));
  CHECK(findings.empty());
}

TEST_CASE("every source of the tests is built", "[house]") {
  const auto findings = CheckTestsAreBuilt(ReadRepository());
  INFO(Join(findings));
  CHECK(findings.empty());
}

TEST_CASE("every folder introduces itself and no document promises what is not there", "[house]") {
  const auto findings = CheckDocuments(ReadRepository());
  INFO(Join(findings));
  CHECK(findings.empty());
}

TEST_CASE("every rule that is cited is in the rule book, with its test", "[house]") {
  const auto findings = CheckRuleBook(ReadRepository());
  INFO(Join(findings));
  CHECK(findings.empty());
}

TEST_CASE("the guard allows what people may write on pods, and nothing else", "[house]") {
  const auto findings = CheckGuard(ReadRepository());
  INFO(Join(findings));
  CHECK(findings.empty());
}

TEST_CASE("every annotation and label of Muster's is in the list of its keys", "[house]") {
  const auto findings = CheckMusterKeys(ReadRepository());
  INFO(Join(findings));
  CHECK(findings.empty());
}

}  // namespace
}  // namespace muster::house
