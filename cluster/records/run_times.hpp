// RunTimes: how long a pod or a gang runs, as far as its objects say. Plain value.
#pragma once

#include <algorithm>
#include <compare>
#include <string>

#include "cluster/base/units.hpp"

namespace muster::cluster {

// Annotation of a PodGroup, a pod or a Job: how long it is expected to run, as Go writes durations.
inline constexpr const char* kExpectedDuration = "muster.dev/expected-duration";
// Annotation of the same, "true": it goes on from its last checkpoint when it is started again.
inline constexpr const char* kCheckpoint = "muster.dev/checkpoint";

// A duration of 0: nothing says so.
struct RunTimes {
  Duration enforced = {};    // it is ended after this
  Duration declared = {};    // its owner expects so much
  bool checkpoints = false;  // an eviction costs it the time since the last one alone
  // It is ended then, whether it runs or waits; milliseconds since 1970, 0: nothing says so.
  Time ends_at = {};
  std::string fault = {};  // what of it cannot be read, with its place; empty: nothing
  auto operator<=>(const RunTimes&) const = default;
  bool none() const { return *this == RunTimes{}; }

  // Of several pods that end when the last of them does.
  void Lengthen(const RunTimes& other) {
    enforced = std::max(enforced, other.enforced);
    declared = std::max(declared, other.declared);
    ends_at = std::max(ends_at, other.ends_at);
    if (fault.empty()) fault = other.fault;
  }
  // Of one thing, said twice.
  void Tighten(const RunTimes& other) {
    const auto tighter = [](auto a, auto b) {
      return a == decltype(a)() || b == decltype(b)() ? std::max(a, b) : std::min(a, b);
    };
    checkpoints = checkpoints || other.checkpoints;
    enforced = tighter(enforced, other.enforced);
    declared = tighter(declared, other.declared);
    ends_at = tighter(ends_at, other.ends_at);
    if (fault.empty()) fault = other.fault;
  }
};

}  // namespace muster::cluster
