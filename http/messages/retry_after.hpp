// Retry-After, as RFC 9110 has it. Pure functions. By hand: strptime depends on the
// locale.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace muster::http {

inline constexpr std::chrono::milliseconds kMostRetryAfter{60'000};

// "Sun, 06 Nov 1994 08:49:37 GMT", the only form that is still written.
std::optional<std::chrono::sys_seconds> ParseHttpDate(std::string_view text);

// `value`: seconds, or a date, which counts from `date` (the header of that name) or, where that
// makes no sense, from `now`. Between 0 and kMostRetryAfter; nothing when it is neither.
std::optional<std::chrono::milliseconds> ParseRetryAfter(std::string_view value,
                                                         std::string_view date,
                                                         std::chrono::sys_seconds now);

}  // namespace muster::http
