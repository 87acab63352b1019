#include "http/messages/retry_after.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace muster::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::sys_seconds;

// All of `text` as a number.
std::optional<int> Number(std::string_view text) {
  int value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (text.empty() || error != std::errc() || end != last || value < 0) return std::nullopt;
  return value;
}

std::optional<unsigned> Month(std::string_view name) {
  constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto* found = std::find(kMonths.begin(), kMonths.end(), name);
  if (found == kMonths.end()) return std::nullopt;
  return static_cast<unsigned>(found - kMonths.begin()) + 1;
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::optional<sys_seconds> ParseHttpDate(std::string_view text) {
  constexpr std::string_view kShape = "Sun, 06 Nov 1994 08:49:37 GMT";
  text = Trimmed(text);
  if (text.size() != kShape.size() || text.substr(3, 2) != ", " || !text.ends_with(" GMT") ||
      text[7] != ' ' || text[11] != ' ' || text[16] != ' ' || text[19] != ':' || text[22] != ':')
    return std::nullopt;
  const auto day = Number(text.substr(5, 2));
  const auto month = Month(text.substr(8, 3));
  const auto year = Number(text.substr(12, 4));
  const auto hour = Number(text.substr(17, 2));
  const auto minute = Number(text.substr(20, 2));
  const auto second = Number(text.substr(23, 2));
  if (!day || !month || !year || !hour || !minute || !second) return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(*month),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second);
}

std::optional<milliseconds> ParseRetryAfter(std::string_view value, std::string_view date,
                                            sys_seconds now) {
  value = Trimmed(value);
  const auto all_digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (all_digits(value)) {
    const std::optional<int> seconds = Number(value);  // nothing: more than fits
    return seconds ? std::min<milliseconds>(std::chrono::seconds(*seconds), kMostRetryAfter)
                   : kMostRetryAfter;
  }
  const std::optional<sys_seconds> when = ParseHttpDate(value);
  if (!when) return std::nullopt;
  const milliseconds wait = *when - ParseHttpDate(date).value_or(now);
  return std::clamp(wait, milliseconds(0), kMostRetryAfter);
}

}  // namespace muster::http
