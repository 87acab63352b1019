// One replay of bench_philly: what was asked, and what became of it. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/replay/replay_statistics.hpp"

namespace muster::bench {

struct PhillyCase {
  std::string policy;
  std::string durations;
  int64_t nodes = 0;
  std::string refused;  // why the policy could not be read; empty: it was
  sim::ReplayStatistics window;
  sim::ReplayStatistics all;
  std::vector<double> usage;  // parts of the GPUs in use, in slices of equal length
  double days = 0;            // from the first job to the last event
  double wall_s = 0;
};

// Of gangs of that size; nothing: there are none. "all", "1", …, see sim::DelayRow.
inline const sim::DelayRow* DelayOf(const sim::ReplayStatistics& statistics,
                                    std::string_view gpus) {
  for (const sim::DelayRow& row : statistics.delays) {
    if (row.gpus == gpus && row.delay_s.samples > 0) return &row;
  }
  return nullptr;
}

inline std::optional<double> MeanHours(const sim::ReplayStatistics& statistics,
                                       std::string_view gpus) {
  const sim::DelayRow* row = DelayOf(statistics, gpus);
  return row == nullptr ? std::nullopt : std::optional(row->delay_s.mean / 3600);
}

}  // namespace muster::bench
