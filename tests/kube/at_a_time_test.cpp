#include "kube/api/at_a_time.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

namespace muster::kube {
namespace {

TEST_CASE("each task is done once, so many at a time at most", "[kube][at_a_time]") {
  struct Case {
    size_t count;
    int most;
  };
  const Case one = GENERATE(values<Case>({{0, 4}, {1, 4}, {3, 8}, {50, 4}, {5, 1}}));
  const size_t count = one.count;
  const int most = one.most;
  CAPTURE(count, most);
  std::vector<std::atomic<int>> done(count);
  std::atomic<int> running{0};
  std::atomic<bool> too_many{false};
  DoAtATime(count, most, [&](size_t i) {
    if (++running > most) too_many = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++done[i];
    --running;
  });
  CHECK(std::all_of(done.begin(), done.end(), [](const auto& times) { return times == 1; }));
  CHECK_FALSE(too_many);
}

}  // namespace
}  // namespace muster::kube
