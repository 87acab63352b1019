// FabricReport: tells in the log what is wrong with the nodes' labels of the fabric, each finding
// once when it comes and once when it is gone. Thread-compatible: one thread at a time.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "extender/log.hpp"

namespace muster::extender {

class FabricReport {
 public:
  explicit FabricReport(const Logger& log) : log_(log) {}
  // All that hold now, see topology::Fabric::findings.
  void Follow(const std::vector<std::string>& findings);

 private:
  const Logger& log_;
  std::set<std::string> told_;
};

}  // namespace muster::extender
