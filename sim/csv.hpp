// CsvFile: a small strict reader of comma-separated traces: one header line that names the columns,
// no quoting, every row as wide as the header. Errors name file, line and column. Holds views into
// the text it was given.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/result.hpp"

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

  std::string file_name_;
  std::vector<std::string> columns_;
  std::vector<size_t> index_;  // of columns_ in a row
  std::vector<std::vector<std::string_view>> rows_;
  std::vector<size_t> lines_;  // line number of each row
};

}  // namespace muster::sim
