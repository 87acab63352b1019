// Durations and sizes as policy files write them. Whole numbers only, so nothing is ever rounded.
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/base/units.hpp"

namespace muster::config {

// "90s", "5m", "1h30m", "250ms": units h, m, s, ms, the larger before the smaller, each at most
// once. Nothing when the text is anything else or does not fit.
std::optional<cluster::Duration> ParseDuration(std::string_view text);
// The same in its shortest form: 90 s is "1m30s". For durations that are not negative.
std::string FormatDuration(cluster::Duration duration);

// "4MiB": a whole number of B, KiB, MiB or GiB, in bytes. Nothing for anything else.
std::optional<int64_t> ParseSize(std::string_view text);
std::string FormatSize(int64_t bytes);

// "16384": digits only, without sign, without zeros in front ("012" is eight times one and two more
// to some readers). Nothing for anything else or beyond int64.
std::optional<int64_t> ParseWhole(std::string_view text);

}  // namespace muster::config
