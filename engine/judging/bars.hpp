// What keeps a gang from being started, beside itself (internal to engine/). Reads the engine's
// state, changes nothing of it.
#pragma once

#include <string>

#include "engine/gangs/gang.hpp"

namespace muster::engine {

struct KnownState;

// Why no gang of the namespace may start; kNone: one may.
Reason NamespaceBar(const KnownState& state, const std::string& ns);
// A pod of the gang is not fenced: an earlier leader may still bind it. kNone: all are.
Reason FenceBar(const KnownState& state, const Gang& gang);

}  // namespace muster::engine
