// SimulationReport: the result of `muster simulate`, for people and for programs. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "sim/replay.hpp"

namespace muster::cli {

struct SimulationRun {
  sim::ReplayReport report;
  // Of gang jobs: of all of them, then of the window that was asked for.
  std::vector<sim::ReplayStatistics> statistics;
  double wall_s = 0;
  double decisions_per_s = 0;
};

std::string ToJson(const SimulationRun& run);
std::string ToTable(const SimulationRun& run);

}  // namespace muster::cli
