#include "config/fields/amounts.hpp"

#include <array>
#include <charconv>

#include "cluster/base/check.hpp"
#include "config/yaml/yaml_scalar.hpp"

namespace muster::config {

using cluster::Duration;

namespace {

struct Unit {
  std::string_view name;
  int64_t value;
};

// The larger before the smaller.
constexpr std::array<Unit, 4> kDurationUnits = {{
    {"h", 3'600'000},
    {"m", 60'000},
    {"s", 1'000},
    {"ms", 1},
}};
constexpr std::array<Unit, 4> kSizeUnits = {{
    {"GiB", int64_t{1} << 30U},
    {"MiB", int64_t{1} << 20U},
    {"KiB", int64_t{1} << 10U},
    {"B", 1},
}};

// Kubernetes' suffixes of the same.
constexpr std::array<Unit, 4> kBinarySuffixes = {{
    {"Ti", int64_t{1} << 40U},
    {"Gi", int64_t{1} << 30U},
    {"Mi", int64_t{1} << 20U},
    {"Ki", int64_t{1} << 10U},
}};

// Takes a number and then a unit from the front of `text`.
std::optional<std::string_view> TakeWord(std::string_view* text, bool digits) {
  std::size_t end = 0;
  while (end < text->size() && IsDigit((*text)[end]) == digits) ++end;
  if (end == 0) return std::nullopt;
  const std::string_view word = text->substr(0, end);
  text->remove_prefix(end);
  return word;
}

// Terms of number and unit, units in falling order.
template <std::size_t kSize>
std::optional<int64_t> ParseTerms(std::string_view text, const std::array<Unit, kSize>& units) {
  int64_t sum = 0;
  std::size_t next_unit = 0;
  do {
    const std::optional<std::string_view> digits = TakeWord(&text, true);
    if (!digits) return std::nullopt;
    const std::optional<std::string_view> name = TakeWord(&text, false);
    const std::optional<int64_t> number = ParseWhole(*digits);
    if (!number || !name) return std::nullopt;
    while (next_unit < kSize && units[next_unit].name != *name) ++next_unit;
    int64_t term = 0;
    if (next_unit == kSize || __builtin_mul_overflow(*number, units[next_unit].value, &term) ||
        __builtin_add_overflow(sum, term, &sum)) {
      return std::nullopt;
    }
    ++next_unit;
  } while (!text.empty());
  return sum;
}

}  // namespace

std::optional<Duration> ParseDuration(std::string_view text) {
  const std::optional<int64_t> milliseconds = ParseTerms(text, kDurationUnits);
  if (!milliseconds) return std::nullopt;
  return Duration(*milliseconds);
}

std::string FormatDuration(Duration duration) {
  MUSTER_CHECK(duration >= Duration());
  if (duration == Duration()) return "0s";
  std::string text;
  int64_t rest = duration.value();
  for (const Unit& unit : kDurationUnits) {
    if (rest / unit.value == 0) continue;
    text += std::to_string(rest / unit.value);
    text += unit.name;
    rest %= unit.value;
  }
  return text;
}

std::optional<int64_t> ParseSize(std::string_view text) {
  const std::size_t unit = text.find_first_not_of("0123456789");
  // One term: "1MiB512KiB" is nothing that anybody writes.
  if (unit == std::string_view::npos ||
      text.find_first_of("0123456789", unit) != std::string_view::npos) {
    return std::nullopt;
  }
  const std::optional<int64_t> size = ParseTerms(text, kSizeUnits);
  return size ? size : ParseTerms(text, kBinarySuffixes);
}

std::string FormatSize(int64_t bytes) {
  MUSTER_CHECK(bytes >= 0);
  for (const Unit& unit : kSizeUnits) {
    if (bytes % unit.value != 0 || (bytes == 0 && unit.value != 1)) continue;
    return std::to_string(bytes / unit.value) + std::string(unit.name);
  }
  return std::to_string(bytes) + "B";
}

std::optional<int64_t> ParseWhole(std::string_view text) {
  if (text.empty() || !IsDigit(text[0]) || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace muster::config
