// The rules of who may include what: Muster's folders among each other, third-party and system
// headers.
#pragma once

#include <vector>

#include "tests/house/source_tree.hpp"

namespace muster::house {

// 1. A folder includes only itself and the folders below it (rooms.hpp).
// 2. Our own headers exist, and are included in quotes by their name from the top of the tree
// ("cluster/records/node.hpp");
//    a test may name a header beside it by its file name alone.
// 3. A third-party header is one of those known, in a folder that owns it; outside tests/ and
// bench/ only in a .cpp.
// 4. The pure folders include nothing with which to do I/O, start a thread or read the calendar.
// 5. Locks come from cluster/base/mutex.hpp alone, so that clang can prove who holds them.
std::vector<Finding> CheckIncludes(const SourceTree& tree);

}  // namespace muster::house
