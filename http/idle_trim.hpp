// IdleTrim: when a server gives the process's free memory back to the system. After a load the
// allocator keeps pages that nobody uses; giving them back costs milliseconds, so it is done once,
// when the load is over:
//
//   more than kLoad were kept at a time ─▶ for kRest no more than half of that ─▶ due, once
//
// A server that has had no such load is never due, and nothing is waited for. Used by one thread;
// reads no clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace muster::http {

class IdleTrim {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kLoad = std::size_t{8} << 20U;
  static constexpr std::chrono::milliseconds kRest{2'000};

  // `peak`: the most that was kept at a time since the last call.
  bool Due(Time now, std::size_t peak) {
    if (peak > kLoad) load_ = std::max(load_, peak);
    if (peak > load_ / 2 || load_ == 0) {
      over_since_ = Time::max();
    } else if (over_since_ == Time::max()) {
      over_since_ = now;
    } else if (now - over_since_ >= kRest) {
      load_ = 0;
      over_since_ = Time::max();
      return true;
    }
    return false;
  }

 private:
  std::size_t load_ = 0;  // its peak; 0: none since it was due
  Time over_since_ = Time::max();
};

}  // namespace muster::http
