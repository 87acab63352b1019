// Table: aligned columns for a terminal.
//
//   NAME        STATE    GPUS
//   team-a/x    Running    80
//
// Columns are as wide as their widest cell, two spaces apart; the last left-aligned one is not
// padded. Widths count characters (UTF-8), not bytes; control characters in cells become '?', so
// that an object's name cannot steer the terminal. Plain value.
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
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Missing cells are empty, surplus ones are dropped.
  void Add(std::vector<std::string> cells);
  std::size_t rows() const { return rows_.size(); }
  // Title line and rows, each ending in a newline without trailing spaces.
  std::string ToString() const;

 private:
  const std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// `text` fit for a terminal: control characters and broken UTF-8 become '?'.
std::string Printable(std::string_view text);
// Characters, not bytes.
std::size_t DisplayWidth(std::string_view text);

}  // namespace muster::cli
