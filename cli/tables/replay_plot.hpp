// The plot of `muster simulate --plot`: how late jobs were by their size, and how much of the
// cluster was in use over time. Pure function; the same history gives the same text.
#pragma once

#include <string>

#include "sim/replay/replay_statistics.hpp"

namespace muster::cli {

// `statistics`: the delays that are drawn; its window is shaded in the drawing of time.
std::string PlotReplay(const sim::ReplayHistory& history, const sim::ReplayStatistics& statistics);

}  // namespace muster::cli
