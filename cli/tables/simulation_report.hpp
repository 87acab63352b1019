// SimulationReport: the result of `muster simulate`, for people and for programs. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "sim/replay/replay.hpp"

namespace muster::cli {

struct SimulationRun {
  std::string policy;  // its file; empty: the defaults
  sim::ReplayReport report;
  // Of gang jobs: of all of them, then of the window that was asked for.
  std::vector<sim::ReplayStatistics> statistics;
  double wall_s = 0;
  double decisions_per_s = 0;
};

std::string ToJson(const SimulationRun& run);
// {"policies": […]}, each as above with its "policy".
std::string ToJson(const std::vector<SimulationRun>& runs);
// Rows that say nothing of this replay (partial gangs where there are none) are left out.
std::string ToTable(const SimulationRun& run);

// Nothing at all was placed.
bool InVain(const sim::ReplayReport& report);
// Of jobs that could never start, and of all that did not where the replay was in vain: how many
// and why, a line each; empty: there are none.
std::vector<std::string> NeverStarted(const SimulationRun& run);

// "12 s", "4 min 10 s", "3 h 12 min", "2 d 4 h".
std::string Lasting(double seconds);
std::string Decimal(double value, int digits);
// Of a ratio: "12.34 %".
std::string Percent(double ratio);

}  // namespace muster::cli
