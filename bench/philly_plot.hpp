// The drawing of bench_philly. Pure function: the same cases give the same text.
#pragma once

#include <string>
#include <vector>

#include "bench/philly_case.hpp"

namespace muster::bench {

// SVG. For each number of nodes and kind of run times a row: mean delay by size, and use over time,
// one colour a policy.
std::string PlotCases(const std::vector<PhillyCase>& cases);

}  // namespace muster::bench
