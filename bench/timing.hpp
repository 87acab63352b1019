// Times, Stopwatch and Percentile: how long a piece of planning takes. For programs of bench/ that
// measure within one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <vector>

#include "cluster/base/check.hpp"

namespace muster::bench {

// Microseconds: by the clock, and of them those in which this thread had a CPU. Placing waits for
// nothing, so on an idle machine they are the same.
struct Times {
  std::vector<double> wall;
  std::vector<double> cpu;
};

class Stopwatch {
 public:
  void AddTo(Times& times) const {
    const auto passed = std::chrono::steady_clock::now() - start_;
    times.cpu.push_back((CpuSeconds() - cpu_start_) * 1e6);
    times.wall.push_back(std::chrono::duration<double, std::micro>(passed).count());
  }

 private:
  static double CpuSeconds() {
    timespec now{};
    MUSTER_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double cpu_start_ = CpuSeconds();
};

// Of at least one value.
inline double Percentile(std::vector<double> values, double percent) {
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<size_t>(last * percent / 100)];
}

}  // namespace muster::bench
