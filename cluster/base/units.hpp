// Strong integer units: an amount of one kind cannot be mixed with another, and never wraps.
//
//   MilliCpu   1/1000 of a core
//   MiB        2^20 bytes of memory (host or GPU)
//   GpuMilli   1/1000 of one GPU; 1000 is one whole GPU
//   Time       milliseconds since 1970; in simulations, since the beginning of what is simulated
//   Duration   milliseconds
//
// Arithmetic saturates at the ends of int64, so "no limit" (Quantity::Unlimited()) survives
// addition and subtraction. Plain values: threads share them as they share an int.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace muster::cluster {

constexpr int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

constexpr int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a > 0) == (b > 0) ? std::numeric_limits<int64_t>::max()
                            : std::numeric_limits<int64_t>::min();
}

template <typename Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(int64_t value) : value_(value) {}
  static constexpr Quantity Unlimited() { return Quantity(std::numeric_limits<int64_t>::max()); }

  constexpr int64_t value() const { return value_; }
  constexpr bool unlimited() const { return *this == Unlimited(); }
  constexpr auto operator<=>(const Quantity&) const = default;

  constexpr Quantity& operator+=(Quantity other) {
    if (!unlimited())
      value_ = other.unlimited() ? other.value_ : SaturatingAdd(value_, other.value_);
    return *this;
  }
  // An unlimited amount stays unlimited whatever is taken from it.
  constexpr Quantity& operator-=(Quantity other) {
    if (!unlimited()) value_ = SaturatingAdd(value_, SaturatingMultiply(other.value_, -1));
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator*(Quantity a, int64_t times) {
    return a.unlimited() && times > 0 ? a : Quantity(SaturatingMultiply(a.value_, times));
  }

 private:
  int64_t value_ = 0;
};

using MilliCpu = Quantity<struct MilliCpuTag>;
using MiB = Quantity<struct MiBTag>;
using GpuMilli = Quantity<struct GpuMilliTag>;
using Duration = Quantity<struct DurationTag>;

inline constexpr GpuMilli kWholeGpu{1000};

constexpr Duration Seconds(int64_t seconds) { return Duration(SaturatingMultiply(seconds, 1000)); }

// A point on the engine's time line. The engine is given the time; it never reads a clock.
class Time {
 public:
  constexpr Time() = default;
  constexpr explicit Time(int64_t milliseconds) : milliseconds_(milliseconds) {}
  static constexpr Time Never() { return Time(std::numeric_limits<int64_t>::max()); }

  constexpr int64_t milliseconds() const { return milliseconds_; }
  constexpr auto operator<=>(const Time&) const = default;
  friend constexpr Time operator+(Time t, Duration d) {
    return t == Never() || d.unlimited() ? Never()
                                         : Time(SaturatingAdd(t.milliseconds_, d.value()));
  }
  friend constexpr Duration operator-(Time a, Time b) {
    return Duration(SaturatingAdd(a.milliseconds_, SaturatingMultiply(b.milliseconds_, -1)));
  }

 private:
  int64_t milliseconds_ = 0;
};

}  // namespace muster::cluster
