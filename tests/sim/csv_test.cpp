// CSV as spreadsheets and people write it (RFC 4180).
#include "sim/replay/csv.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace muster::sim {
namespace {

using Cells = std::vector<std::string>;

// By row, the cells of columns a and b.
Cells CellsOf(const std::string& text) {
  const auto csv = CsvFile::Parse(text, "f.csv", {"a", "b"});
  INFO((csv.ok() ? "" : csv.error().ToString()));
  REQUIRE(csv.ok());
  Cells cells;
  for (size_t row = 0; row < csv->rows(); ++row) {
    for (size_t column = 0; column < 2; ++column) cells.emplace_back(csv->Text(row, column));
  }
  return cells;
}

TEST_CASE("a table may have a byte order mark, blanks and quotation marks", "[sim][csv]") {
  const Cells want = {"1", "two", "3", "four"};
  CHECK(CellsOf("a,b\n1,two\n3,four\n") == want);
  CHECK(CellsOf("\xEF\xBB\xBF"
                "a,b\r\n1,two\r\n3,four\r\n") == want);
  CHECK(CellsOf("\xEF\xBB\xBF\"a\",\"b\"\n\"1\",\"two\"\n3,four") == want);
  CHECK(CellsOf("a, b\n1, two\n 3 ,\tfour \n") == want);
  CHECK(CellsOf("\"a\" , \"b\"\n1, \"two\" \n\"3\",four\n \t\n") == want);
}

TEST_CASE("a quoted cell keeps its commas, blanks and quotation marks", "[sim][csv]") {
  CHECK(CellsOf("a,b\n\"x, y\",\" z \"\n") == Cells{"x, y", " z "});
  CHECK(CellsOf("b,a\n\"say \"\"no\"\"\",\"\"\"\"\n") == Cells{"\"", "say \"no\""});
  CHECK(CellsOf("a,b\n\"\",\n") == Cells{"", ""});
  // Only at its beginning does a quotation mark say that a cell is quoted.
  CHECK(CellsOf("a,b\n19\" rack,two\n") == Cells{"19\" rack", "two"});
}

TEST_CASE("a table that survives its file keeps its cells", "[sim][csv]") {
  const std::string text = "a,b\n\"1\"\"\",2\n";
  auto csv = CsvFile::Parse(text, "f.csv", {"a", "b"});
  REQUIRE(csv.ok());
  const CsvFile moved = *std::move(csv);
  CHECK(moved.Text(0, 0) == "1\"");
}

TEST_CASE("what is no table is refused with its line", "[sim][csv]") {
  struct Bad {
    std::string text;
    std::string want;
  };
  const Bad bad = GENERATE(values<Bad>({
      {"a,b\n1,\"two\n", "f.csv:2: a cell's closing quotation mark is not in its line"},
      {"a,b\n1,\"two\nlines\"\n", "f.csv:2: a cell's closing quotation mark is not in its line"},
      {"a,b\n\n\"1\"2,3\n", "f.csv:3: expected a comma behind a closing quotation mark"},
      {"a,b\n1,2,\n", "f.csv:2: expected 2 cells as in the header, found 3"},
      {"\xEF\xBB\xBF", "f.csv:1: the file is empty, expected a header line"},
      {std::string("\xFF\xFE"
                   "a\0,\0",
                   6),
       "f.csv:1: the text is UTF-16, expected UTF-8"},
      {"a;b\n1;2\n", "f.csv:1: column a is missing from the header"},
  }));
  CAPTURE(bad.text);
  const auto csv = CsvFile::Parse(bad.text, "f.csv", {"a", "b"});
  REQUIRE_FALSE(csv.ok());
  CHECK(csv.error().ToString() == bad.want);
}

}  // namespace
}  // namespace muster::sim
