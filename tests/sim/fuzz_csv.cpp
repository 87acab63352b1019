// libFuzzer: any text is a table whose cells, all of them quoted, are read as the same, or one
// error with its line.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/base/check.hpp"
#include "sim/replay/csv.hpp"

namespace {

using muster::sim::CsvFile;

std::string Quoted(std::string_view cell) {
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto csv = CsvFile::Parse(text, "t", {"a", "b"}, {"c"});
  if (!csv.ok()) {
    MUSTER_CHECK(csv.error().place.starts_with("t:"));
    return 0;
  }
  std::string again = "a,b,c\n";
  for (std::size_t row = 0; row < csv->rows(); ++row) {
    for (std::size_t column = 0; column < 3; ++column)
      again += Quoted(csv->Text(row, column)) + (column < 2 ? "," : "\n");
  }
  const auto other = CsvFile::Parse(again, "t", {"a", "b", "c"});
  MUSTER_CHECK(other.ok() && other->rows() == csv->rows());
  for (std::size_t row = 0; row < csv->rows(); ++row) {
    for (std::size_t column = 0; column < 3; ++column)
      MUSTER_CHECK(other->Text(row, column) == csv->Text(row, column));
  }
  return 0;
}
