#include "cli/tables/table.hpp"

#include <algorithm>
#include <utility>

#include "cluster/base/utf8.hpp"

namespace muster::cli {
namespace {

constexpr std::size_t kLeastLastColumn = 20;

// ECMA-48, "select graphic rendition".
std::string Coloured(const std::string& cell, std::string_view colour) {
  if (colour.empty()) return cell;
  return "\x1b[" + std::string(colour) + "m" + cell + "\x1b[0m";
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = cluster::CharacterLength(text);
    if (length == 0 || cluster::IsHidden(text.substr(0, length))) {
      out += '?';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string OrDash(std::string text) { return text.empty() ? "-" : std::move(text); }

std::size_t DisplayWidth(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
  }));
}

std::string Cut(const std::string& text, std::size_t width) {
  if (DisplayWidth(text) <= width || width == 0) return text;
  std::size_t end = 0;
  for (std::size_t left = width - 1; left > 0; --left)
    end += cluster::CharacterLength(text.substr(end));
  const std::size_t last = text.find_last_not_of(' ', end == 0 ? 0 : end - 1);
  return text.substr(0, last == std::string::npos ? 0 : last + 1) + "…";
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) widths_.push_back(DisplayWidth(column.title));
}

void Table::Add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = Printable(cells[i]);
    widths_[i] = std::max(widths_[i], DisplayWidth(cells[i]));
  }
  rows_.push_back(std::move(cells));
}

std::string Table::Line(const std::vector<std::string>& cells, std::size_t width,
                        bool coloured) const {
  std::string line;
  std::size_t used = 0;  // of the width
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) {
      line += "  ";
      used += 2;
    }
    const bool last = i + 1 == columns_.size() && !columns_[i].right;
    if (last && width > 0) {
      // A column of a few letters says nothing: in a narrow terminal the line goes on below.
      line += Cut(cells[i], std::max(kLeastLastColumn, width - std::min(width, used)));
      continue;
    }
    const std::string padding(widths_[i] - DisplayWidth(cells[i]), ' ');
    const bool shows = coloured && columns_[i].colour != nullptr;
    const std::string cell = shows ? Coloured(cells[i], columns_[i].colour(cells[i])) : cells[i];
    line += columns_[i].right ? padding + cell : cell + padding;
    used += widths_[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string Table::ToString(std::size_t width) const {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  return Line(titles, width, false) + RowsToString(width);
}

std::string Table::RowsToString(std::size_t width) const {
  std::string text;
  for (const std::vector<std::string>& row : rows_) text += Line(row, width, true);
  return text;
}

}  // namespace muster::cli
