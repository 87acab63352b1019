// GangRows: the gangs of /v1/gangs as rows of a table, and only those that changed when it receives
// the page again. Owned by `get gangs`; one thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/tables/table.hpp"
#include "cluster/base/result.hpp"

namespace muster::cli {

class GangRows {
 public:
  // `wide`: with the columns that few need. `width`: see Table::ToString. `colours`: states have
  // them.
  GangRows(bool wide, std::size_t width, bool colours = false);

  // The first time the title and all rows; then the rows of gangs that are new or other than
  // before, times not counted, and of those that are gone. Empty: there are none.
  cluster::Result<std::string> Update(std::string_view json);

 private:
  const bool wide_;
  const std::size_t width_;
  bool first_ = true;
  Table table_;
  std::map<std::string, std::vector<std::string>> shown_;  // by namespace and name
};

// All of them, or a line that says that there are none.
cluster::Result<std::string> GangsTable(std::string_view json, bool wide, std::size_t width,
                                        bool colours = false);

}  // namespace muster::cli
