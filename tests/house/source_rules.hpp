// The rules of size, names and habits of C++ that no compiler or linter checks for us.
#pragma once

#include <vector>

#include "tests/house/source_tree.hpp"

namespace muster::house {

// 1. Headers have at most 250 lines, sources 600, sources of tests 500.
// 2. Code is in files named snake_case.hpp or snake_case.cpp.
// 3. A header has `#pragma once`, no `using namespace`, and (outside tests/ and bench/) the
// namespace of its folder.
// 4. No static or thread_local variable outside a class, and none inside a function, unless
// constexpr.
// 5. The pure folders ask no clock, no random device, and do not sleep.
std::vector<Finding> CheckSources(const SourceTree& tree);

// Every source of the tests is named by a CMakeLists.txt of tests/: what is not compiled cannot
// fail.
std::vector<Finding> CheckTestsAreBuilt(const SourceTree& tree);

}  // namespace muster::house
