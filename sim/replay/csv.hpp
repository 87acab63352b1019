// CsvFile: a small strict reader of comma-separated traces: one header line that names the columns,
// every row as wide as the header. RFC 4180 in UTF-8, save line breaks within a cell; a byte order
// mark and blanks around a cell do not count. Errors name file, line and column. Holds views into
// the text it was given.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"

namespace muster::sim {

class CsvFile {
 public:
  // `text` must outlive the CsvFile. `columns` are the ones that the caller reads, then come
  // `optional` ones, which may be missing; others may be there too.
  static cluster::Result<CsvFile> Parse(std::string_view text, std::string file_name,
                                        const std::vector<std::string>& columns,
                                        const std::vector<std::string>& optional = {});

  size_t rows() const { return rows_.size(); }
  // Empty where the file lacks the column.
  std::string_view Text(size_t row, size_t column) const {
    return index_[column] == kMissing ? std::string_view() : rows_[row][index_[column]];
  }
  // A whole number from `least` to `most`.
  cluster::Result<int64_t> Integer(size_t row, size_t column, int64_t least, int64_t most) const;
  // An Error at this cell, "FILE:LINE: column NAME: message".
  cluster::Error ErrorAt(size_t row, size_t column, const std::string& message) const;

 private:
  static constexpr size_t kMissing = SIZE_MAX;

  // The cells of one line.
  cluster::Result<std::vector<std::string_view>> Split(std::string_view line);

  std::string file_name_;
  std::vector<std::string> columns_;
  std::vector<size_t> index_;  // of columns_ in a row
  std::vector<std::vector<std::string_view>> rows_;
  std::vector<size_t> lines_;  // line number of each row
  // Cells that differ from the text; rows_ points here, too.
  std::vector<std::unique_ptr<std::string>> unquoted_;
};

}  // namespace muster::sim
