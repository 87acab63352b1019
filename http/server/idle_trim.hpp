// IdleTrim: when a server gives the process's free memory back to the system. After a load the
// allocator keeps pages that nobody uses; giving them back costs milliseconds, so it is done once,
// when the load is over:
//
//   more than kLoad were kept at a time, or more than kAnswered answered since
//     ─▶ for kRest no more than half of that kept, and next to nothing answered ─▶ due, once
//
// Answers stand for the memory that handlers worked with. A server that has had no such load is
// never due, and nothing is waited for. Used by one thread; reads no clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace muster::http {

class IdleTrim {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kLoad = std::size_t{8} << 20U;
  static constexpr std::size_t kAnswered = std::size_t{32} << 20U;
  static constexpr std::size_t kLittle = std::size_t{256} << 10U;  // answered between two calls
  static constexpr std::chrono::milliseconds kRest{2'000};

  // `peak`: the most that was kept at a time, `answered`: bytes; both since the last call.
  bool Due(Time now, std::size_t peak, std::size_t answered) {
    if (peak > kLoad) load_ = std::max(load_, peak);
    answered_ += answered;
    const bool loaded = load_ > 0 || answered_ > kAnswered;
    const bool rests = (load_ == 0 || peak <= load_ / 2) && answered <= kLittle;
    if (!loaded || !rests) {
      over_since_ = Time::max();
    } else if (over_since_ == Time::max()) {
      over_since_ = now;
    } else if (now - over_since_ >= kRest) {
      *this = {};
      return true;
    }
    return false;
  }

 private:
  std::size_t load_ = 0;      // the peak of what was kept; 0: no load
  std::size_t answered_ = 0;  // since it was due
  Time over_since_ = Time::max();
};

}  // namespace muster::http
