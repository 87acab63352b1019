// What bench_philly prints of its cases.
#pragma once

#include <vector>

#include "bench/philly_case.hpp"

namespace muster::bench {

// One row a case: for the window, for the whole list; then delays by size of both.
void PrintTables(const std::vector<PhillyCase>& cases);
// How far each case is from the goals.
void PrintGoals(const std::vector<PhillyCase>& cases);

}  // namespace muster::bench
