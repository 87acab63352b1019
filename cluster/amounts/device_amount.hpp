// DeviceAmount: how much of one device, in thousandths of its compute and of its memory.
//
// A device is full when its memory is used up: a part of a device is some of its memory, however
// little (see SharingModel), and need not be any of its compute.
//
// A plain value of four bytes, for there is one for each device of a cluster, and one for each that
// a pod holds. Arithmetic saturates. Amounts below zero are differences of others.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>

#include "cluster/base/units.hpp"

namespace muster::cluster {

class DeviceAmount {
 public:
  constexpr DeviceAmount() = default;
  constexpr DeviceAmount(GpuMilli compute, GpuMilli memory)
      : compute_(Stored(compute.value())), memory_(Stored(memory.value())) {}
  // The same part of both: half a GPU is half of its compute and half of its memory.
  constexpr DeviceAmount(GpuMilli both)  // NOLINT(google-explicit-constructor)
      : DeviceAmount(both, both) {}
  static constexpr DeviceAmount All() { return {kWholeGpu, kWholeGpu}; }

  constexpr GpuMilli compute() const { return GpuMilli(compute_); }
  constexpr GpuMilli memory() const { return GpuMilli(memory_); }
  constexpr GpuMilli least() const { return GpuMilli(std::min(compute_, memory_)); }
  constexpr GpuMilli most() const { return GpuMilli(std::max(compute_, memory_)); }
  constexpr bool none() const { return compute_ <= 0 && memory_ <= 0; }
  // For maps and sorting only, compute first. What fits is Holds.
  constexpr auto operator<=>(const DeviceAmount&) const = default;

  // `part` is within it, in compute and in memory.
  constexpr bool Holds(const DeviceAmount& part) const {
    return part.compute_ <= compute_ && part.memory_ <= memory_;
  }
  // How many parts like that are within it; 0 when the part is nothing.
  constexpr int64_t Times(const DeviceAmount& part) const {
    if (part.none()) return 0;
    const int64_t compute = part.compute_ > 0 ? compute_ / part.compute_ : kNoLimit;
    const int64_t memory = part.memory_ > 0 ? memory_ / part.memory_ : kNoLimit;
    return std::max<int64_t>(std::min(compute, memory), 0);
  }
  // Of each dimension the greater, or the smaller, of both amounts.
  constexpr DeviceAmount AtLeast(const DeviceAmount& other) const {
    return {std::max(compute(), other.compute()), std::max(memory(), other.memory())};
  }
  constexpr DeviceAmount AtMost(const DeviceAmount& other) const {
    return {std::min(compute(), other.compute()), std::min(memory(), other.memory())};
  }

  constexpr DeviceAmount& operator+=(const DeviceAmount& other) {
    compute_ = Stored(int64_t{compute_} + other.compute_);
    memory_ = Stored(int64_t{memory_} + other.memory_);
    return *this;
  }
  constexpr DeviceAmount& operator-=(const DeviceAmount& other) {
    compute_ = Stored(int64_t{compute_} - other.compute_);
    memory_ = Stored(int64_t{memory_} - other.memory_);
    return *this;
  }
  friend constexpr DeviceAmount operator+(DeviceAmount a, const DeviceAmount& b) { return a += b; }
  friend constexpr DeviceAmount operator-(DeviceAmount a, const DeviceAmount& b) { return a -= b; }
  friend constexpr DeviceAmount operator*(const DeviceAmount& a, int64_t times) {
    return {a.compute() * times, a.memory() * times};
  }

 private:
  static constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  static constexpr int16_t Stored(int64_t milli) {
    return static_cast<int16_t>(std::clamp<int64_t>(milli, std::numeric_limits<int16_t>::min(),
                                                    std::numeric_limits<int16_t>::max()));
  }

  int16_t compute_ = 0;
  int16_t memory_ = 0;
};

}  // namespace muster::cluster
