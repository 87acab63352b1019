// Planted cites of rules that are not there, and rules without a test.
#include "tests/house/rule_book.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace muster::house {
namespace {

const std::string kBook = "docs/reference/rules.md";

std::vector<Finding> Check(const std::string& book, const std::string& code) {
  return CheckRuleBook(
      MakeTree({MakeFile(kBook, book), MakeFile("engine/x.hpp", code),
                MakeFile("tests/x_test.cpp", "TEST_CASE(\"a thing holds\", \"[x]\") {}\n")}));
}

TEST_CASE("a rule that code cites is in the rule book", "[house][rules]") {
  const std::string book = "## R1 One\n\n- **Test.** `tests/x_test.cpp`: \"a thing holds\"\n";
  CHECK(Check(book, "// By R1.\nint R2D2 = 0;\n").empty());
  CHECK(Check(book, "\n// By R1 and R12.\n") ==
        std::vector<Finding>{{"engine/x.hpp", 2, "R12 is no rule of " + kBook}});
  CHECK(CheckRuleBook(MakeTree({MakeFile("engine/x.hpp", "\n")})) ==
        std::vector<Finding>{{kBook, 0, "there is no rule book"}});
}

TEST_CASE("each rule names a test that is there", "[house][rules]") {
  const auto book = [](const std::string& line) { return "## I1 One\n" + line + "\n"; };
  CHECK(Check(book("- **Test.** `tests/x_test.cpp`: \"a thing holds\""), "").empty());
  CHECK(Check(book("- **Test.** `tests/x_test.cpp`: \"a thing\""), "") ==
        std::vector<Finding>{{kBook, 2, "tests/x_test.cpp has no such test"}});
  CHECK(Check(book("- **Test.** `tests/y_test.cpp`: \"a thing holds\""), "") ==
        std::vector<Finding>{{kBook, 2, "tests/y_test.cpp has no such test"}});
  CHECK(Check(book("- **Rule.** It holds."), "") ==
        std::vector<Finding>{{kBook, 1, "I1 names no test"}});
  CHECK(Check(book("- **Test.** `tests/x_test.cpp`: \"a thing holds\"") + "## I1 Again\n", "") ==
        std::vector<Finding>{{kBook, 3, "I1 is there twice"}});
}

}  // namespace
}  // namespace muster::house
