// SimulationComparison: replays of one trace under several policies, side by side. Pure function.
#pragma once

#include <string>
#include <vector>

#include "cli/tables/simulation_report.hpp"

namespace muster::cli {

// A column for each run, a row for each measure in which at least one run has something to say.
std::string ComparisonTable(const std::vector<SimulationRun>& runs);

}  // namespace muster::cli
