#include "sim/replay/csv.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace muster::sim {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kWideByteOrderMarks[] = {"\xFF\xFE", "\xFE\xFF"};

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Of the cell that `text` begins with, quoted: where its closing quotation mark is. Two in a row
// stand for one.
size_t ClosingMark(std::string_view text) {
  size_t at = text.find('"', 1);
  while (at != std::string_view::npos && text.substr(at + 1).starts_with('"'))
    at = text.find('"', at + 2);
  return at;
}

std::string WithSingleMarks(std::string_view text) {
  std::string single;
  for (size_t i = 0; i < text.size(); ++i) {
    single += text[i];
    if (text[i] == '"') ++i;
  }
  return single;
}

}  // namespace

Result<std::vector<std::string_view>> CsvFile::Split(std::string_view line) {
  std::vector<std::string_view> cells;
  const auto refuse = [](const char* message) {
    return Error{Code::kInvalidArgument, message, ""};
  };
  while (true) {
    line = Trimmed(line);
    std::string_view quoted;
    const bool has_marks = line.starts_with('"');
    if (has_marks) {
      const size_t end = ClosingMark(line);
      if (end == std::string_view::npos)
        return refuse("a cell's closing quotation mark is not in its line");
      quoted = line.substr(1, end - 1);
      line = Trimmed(line.substr(end + 1));
      if (!line.empty() && line.front() != ',')
        return refuse("expected a comma behind a closing quotation mark");
      if (quoted.find('"') != std::string_view::npos) {
        unquoted_.push_back(std::make_unique<std::string>(WithSingleMarks(quoted)));
        quoted = *unquoted_.back();
      }
    }
    const size_t comma = line.find(',');
    cells.push_back(has_marks ? quoted : Trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

Result<CsvFile> CsvFile::Parse(std::string_view text, std::string file_name,
                               const std::vector<std::string>& columns,
                               const std::vector<std::string>& optional) {
  CsvFile csv;
  csv.file_name_ = std::move(file_name);
  csv.columns_ = columns;
  csv.columns_.insert(csv.columns_.end(), optional.begin(), optional.end());
  const auto fail = [&](size_t line, const std::string& message) {
    return Error{Code::kInvalidArgument, message, csv.file_name_ + ":" + std::to_string(line)};
  };
  for (const std::string_view mark : kWideByteOrderMarks) {
    if (text.starts_with(mark)) return fail(1, "the text is UTF-16, expected UTF-8");
  }
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<std::string_view> header;
  size_t line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (Trimmed(line).empty()) continue;
    Result<std::vector<std::string_view>> cells = csv.Split(line);
    if (!cells.ok()) return fail(line_number, cells.error().message);
    if (header.empty()) {
      header = *std::move(cells);
      for (size_t i = 0; i < csv.columns_.size(); ++i) {
        const auto found = std::find(header.begin(), header.end(), csv.columns_[i]);
        const bool missing = found == header.end();
        if (missing && i < columns.size())
          return fail(line_number, "column " + csv.columns_[i] + " is missing from the header");
        csv.index_.push_back(missing ? kMissing : static_cast<size_t>(found - header.begin()));
      }
      continue;
    }
    if (cells->size() != header.size()) {
      return fail(line_number, "expected " + std::to_string(header.size()) +
                                   " cells as in the header, found " +
                                   std::to_string(cells->size()));
    }
    csv.rows_.push_back(*std::move(cells));
    csv.lines_.push_back(line_number);
  }
  if (header.empty()) return fail(1, "the file is empty, expected a header line");
  return csv;
}

Result<int64_t> CsvFile::Integer(size_t row, size_t column, int64_t least, int64_t most) const {
  const std::string_view text = Text(row, column);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most)
    return value;
  return ErrorAt(row, column,
                 "expected a whole number from " + std::to_string(least) + " to " +
                     std::to_string(most) + ", found \"" + std::string(text) + "\"");
}

Error CsvFile::ErrorAt(size_t row, size_t column, const std::string& message) const {
  return {Code::kInvalidArgument, "column " + columns_[column] + ": " + message,
          file_name_ + ":" + std::to_string(lines_[row])};
}

}  // namespace muster::sim
