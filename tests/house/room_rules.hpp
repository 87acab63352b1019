// The rules of what stands together: units of code, and the rooms (sub-folders) of a folder.
#pragma once

#include <vector>

#include "tests/house/source_tree.hpp"

namespace muster::house {

// x.hpp, x.cpp and x_impl.hpp are one unit. Of each folder that others may include (rooms.hpp):
//
// 1. No unit includes itself through others of its folder.
// 2. No room includes itself through others of its folder; what stands at the top of a folder is a
//    room, too.
// 3. A room has at most 60 sources.
// 4. Of engine/ at most 12 .cpp take the whole state (`EngineState&`); the others take a lower
//    layer of it.
std::vector<Finding> CheckRooms(const SourceTree& tree);

}  // namespace muster::house
