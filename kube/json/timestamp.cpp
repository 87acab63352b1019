#include "kube/json/timestamp.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>

namespace muster::kube {

using cluster::Code;
using cluster::Error;
using cluster::Result;
using cluster::Time;

namespace {

constexpr int64_t kMillisPerDay = 86'400'000;

int64_t DaysOf(int year, unsigned month, unsigned day) {
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{month},
                                         std::chrono::day{day}};
  return std::chrono::sys_days{date}.time_since_epoch().count();
}

// Reads fixed-width parts of a timestamp from the front; once something is wrong it stays wrong.
class Parts {
 public:
  explicit Parts(std::string_view rest) : rest_(rest) {}

  int Number(size_t digits, int least, int most) {
    int value = 0;
    if (rest_.size() < digits) return Wrong();
    for (size_t i = 0; i < digits; ++i) {
      if (rest_[i] < '0' || rest_[i] > '9') return Wrong();
      value = value * 10 + (rest_[i] - '0');
    }
    rest_.remove_prefix(digits);
    return value < least || value > most ? Wrong() : value;
  }
  // One of the characters in `choices`.
  char OneOf(std::string_view choices) {
    if (rest_.empty() || choices.find(rest_.front()) == std::string_view::npos) {
      Wrong();
      return '\0';
    }
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  // ".123456" if there is one; in milliseconds.
  int Fraction() {
    if (rest_.empty() || rest_.front() != '.') return 0;
    rest_.remove_prefix(1);
    int millis = 0;
    int scale = 100;
    size_t digits = 0;
    for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
      millis += (rest_[digits] - '0') * scale;
      scale /= 10;
    }
    rest_.remove_prefix(digits);
    return digits == 0 ? Wrong() : millis;
  }
  bool good() const { return good_; }
  bool done() const { return good_ && rest_.empty(); }

 private:
  int Wrong() {
    good_ = false;
    return 0;
  }

  std::string_view rest_;
  bool good_ = true;
};

std::optional<Time> Read(std::string_view text) {
  Parts parts(text);
  const int year = parts.Number(4, 1, 9999);
  parts.OneOf("-");
  const int month = parts.Number(2, 1, 12);
  parts.OneOf("-");
  const int day = parts.Number(2, 1, 31);
  parts.OneOf("Tt");
  const int hour = parts.Number(2, 0, 23);
  parts.OneOf(":");
  const int minute = parts.Number(2, 0, 59);
  parts.OneOf(":");
  const int second = parts.Number(2, 0, 59);
  const int millis = parts.Fraction();
  const char zone = parts.OneOf("Zz+-");
  int offset = 0;
  if (zone == '+' || zone == '-') {
    offset = parts.Number(2, 0, 23) * 60;
    parts.OneOf(":");
    offset += parts.Number(2, 0, 59);
    if (zone == '-') offset = -offset;
  }
  if (!parts.done()) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return std::nullopt;
  const int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  const int64_t seconds = (int64_t{hour} * 60 + minute - offset) * 60 + second;
  return Time(days * kMillisPerDay + seconds * 1000 + millis);
}

}  // namespace

Result<Time> ParseTimestamp(std::string_view text) {
  if (const std::optional<Time> time = Read(text)) return *time;
  return Error{Code::kInvalidArgument, "expected a timestamp such as 2024-05-01T09:30:00Z", ""};
}

namespace {

// "2006-01-02T15:04:05" and the milliseconds.
struct Moment {
  std::string seconds;
  int millis = 0;
};

Moment MomentOf(Time time) {
  const int64_t first = DaysOf(1, 1, 1) * kMillisPerDay;
  const int64_t last = (DaysOf(9999, 12, 31) + 1) * kMillisPerDay - 1;
  const int64_t millis = std::clamp(time.milliseconds(), first, last);
  const int64_t days = millis >= 0 ? millis / kMillisPerDay : (millis + 1) / kMillisPerDay - 1;
  const int64_t of_day = millis - days * kMillisPerDay;
  const std::chrono::year_month_day date{
      std::chrono::sys_days{std::chrono::days{static_cast<int>(days)}}};
  char text[40];
  const int length =
      std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d",
                    static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                    static_cast<unsigned>(date.day()), static_cast<int>(of_day / 3'600'000),
                    static_cast<int>(of_day / 60'000 % 60), static_cast<int>(of_day / 1000 % 60));
  return {std::string(text, static_cast<size_t>(length)), static_cast<int>(of_day % 1000)};
}

std::string Fraction(int millis) {
  char text[16];
  const int length = std::snprintf(text, sizeof text, ".%03d", millis);
  return {text, static_cast<size_t>(length)};
}

}  // namespace

std::string FormatTimestamp(Time time) {
  const Moment moment = MomentOf(time);
  return moment.seconds + (moment.millis == 0 ? "" : Fraction(moment.millis)) + "Z";
}

std::string FormatSeconds(Time time) { return MomentOf(time).seconds + "Z"; }

std::string FormatMicroTime(Time time) {
  const Moment moment = MomentOf(time);
  return moment.seconds + Fraction(moment.millis) + "000Z";
}

}  // namespace muster::kube
