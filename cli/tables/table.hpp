// Table: aligned columns for a terminal.
//
//   NAME        STATE    GPUS
//   team-a/x    Running    80
//
// Columns are as wide as the widest cell that they ever had, two spaces apart; the last
// left-aligned one is not padded, and is cut, with "…" at its end, where a line would be longer
// than the width given. Widths count characters (UTF-8), not bytes; control characters in cells
// become '?', so that an object's name cannot steer the terminal. Colours count for nothing. Plain
// value.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster::cli {

class Table {
 public:
  struct Column {
    std::string title;
    bool right = false;  // numbers
    // What shows a cell in a colour, "32" for green; empty: nothing. Null: the column has none.
    std::string_view (*colour)(std::string_view cell) = nullptr;
  };

  explicit Table(std::vector<Column> columns);

  // Missing cells are empty, surplus ones are dropped.
  void Add(std::vector<std::string> cells);
  std::size_t rows() const { return rows_.size(); }
  // Removes the rows; the columns stay as wide as they are.
  void Clear() { rows_.clear(); }
  // Title line and rows, each ending in a newline without trailing spaces. `width`: characters of a
  // line; 0: no limit.
  std::string ToString(std::size_t width = 0) const;
  // Without the title line.
  std::string RowsToString(std::size_t width = 0) const;

 private:
  std::string Line(const std::vector<std::string>& cells, std::size_t width, bool coloured) const;

  const std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

// `text` fit for a terminal: control characters and broken UTF-8 become '?'.
std::string Printable(std::string_view text);
// Its first characters and "…", so that it is `width` wide; as it is where it is no wider.
std::string Cut(const std::string& text, std::size_t width);
// "-" for an empty cell.
std::string OrDash(std::string text);
// Characters, not bytes.
std::size_t DisplayWidth(std::string_view text);

}  // namespace muster::cli
