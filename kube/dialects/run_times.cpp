#include "kube/dialects/run_times.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace muster::kube {

using cluster::Duration;
using cluster::RunTimes;

namespace {

struct Unit {
  std::string_view name;
  int64_t milliseconds;
};
// The run time of a pod is never given in smaller units.
constexpr std::array<Unit, 4> kUnits = {{{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr int64_t kMostSeconds = std::numeric_limits<int32_t>::max();
constexpr size_t kMostFaultText = 64;

std::string_view TakeDigits(std::string_view& text) {
  const size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  return digits;
}

std::optional<int64_t> Whole(std::string_view digits) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

// One number and its unit, from the front of `text`.
std::optional<int64_t> TakeTerm(std::string_view& text) {
  const std::string_view whole = TakeDigits(text);
  std::string_view fraction;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    fraction = TakeDigits(text);
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  const size_t end = std::min(text.find_first_of(".0123456789"), text.size());
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(),
                                  [&](const Unit& one) { return one.name == text.substr(0, end); });
  if (unit == kUnits.end()) return std::nullopt;
  text.remove_prefix(end);
  const std::optional<int64_t> number = whole.empty() ? 0 : Whole(whole);
  if (!number || *number > kMostSeconds) return std::nullopt;
  int64_t sum = *number * unit->milliseconds;
  int64_t part = unit->milliseconds;
  for (const char digit : fraction) {
    part /= 10;
    sum += (digit - '0') * part;
  }
  return sum;
}

void Blame(RunTimes& times, const JsonView& value, std::string_view expected,
           std::string_view found) {
  if (!times.fault.empty()) return;
  times.fault = value.Place() + ": expected " + std::string(expected) + ", found \"" +
                std::string(found.substr(0, kMostFaultText)) + "\"";
}

// As text in a label, as a number in a spec.
void ReadSeconds(const JsonView& value, RunTimes& times) {
  if (!value.present()) return;
  const std::string text = value.QuantityText();
  const std::optional<int64_t> seconds = Whole(text);
  if (!seconds || *seconds <= 0 || *seconds > kMostSeconds)
    return Blame(times, value, "a whole number of seconds above 0", text);
  times.Tighten({.enforced = cluster::Seconds(*seconds)});
}

}  // namespace

std::optional<Duration> ParseGoDuration(std::string_view text) {
  int64_t sum = 0;
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    const std::optional<int64_t> term = TakeTerm(text);
    if (!term || __builtin_add_overflow(sum, *term, &sum)) return std::nullopt;
  }
  if (sum <= 0 || sum > kMostSeconds * 1000) return std::nullopt;
  return Duration(sum);
}

std::string FormatGoDuration(Duration duration) {
  std::string text;
  int64_t rest = duration.value();
  for (const Unit& unit : kUnits) {
    if (rest / unit.milliseconds == 0) continue;
    text += std::to_string(rest / unit.milliseconds);
    text += unit.name;
    rest %= unit.milliseconds;
  }
  return text;
}

RunTimes ReadRunTimes(const JsonView& metadata, const JsonView& active_deadline) {
  RunTimes times;
  const JsonView annotations = metadata.Get("annotations");
  const JsonView labels = metadata.Get("labels");
  const JsonView expected = annotations.Get(cluster::kExpectedDuration);
  if (expected.present()) {
    const std::optional<Duration> declared = ParseGoDuration(expected.Text());
    if (declared) {
      times.declared = *declared;
    } else {
      Blame(times, expected, "a duration such as 90m or 1h30m", expected.Text());
    }
  }
  times.checkpoints = annotations.Get(cluster::kCheckpoint).Text() == "true";
  ReadSeconds(labels.Get(kMaxExecTime), times);
  ReadSeconds(annotations.Get(kMaxExecTime), times);
  ReadSeconds(active_deadline, times);
  return times;
}

}  // namespace muster::kube
