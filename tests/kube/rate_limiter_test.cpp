// Lanes: how often, in which order, and how waiting ends.
#include "kube/api/rate_limiter.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "api_server_support.hpp"

using namespace muster::kube;
using namespace muster::kube::testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

using TimePoint = TokenBucket::TimePoint;
constexpr TimePoint kStart{std::chrono::hours(5)};

}  // namespace

TEST_CASE("a bucket gives its burst at once and then its rate", "[kube][rate]") {
  TokenBucket bucket({10, 3});
  for (int i = 0; i < 3; ++i) CHECK(bucket.Take(kStart) == kStart);
  CHECK(bucket.Take(kStart) == kStart + milliseconds(100));
  CHECK(bucket.Take(kStart) == kStart + milliseconds(200));
  CHECK(bucket.Take(kStart + milliseconds(50)) == kStart + milliseconds(300));
}

TEST_CASE("a bucket fills up again, to its burst and no further", "[kube][rate]") {
  TokenBucket bucket({10, 3});
  for (int i = 0; i < 3; ++i) static_cast<void>(bucket.Take(kStart));
  const TimePoint later = kStart + milliseconds(200);
  CHECK(bucket.Take(later) == later);
  CHECK(bucket.Take(later) == later);
  CHECK(bucket.Take(later) == later + milliseconds(100));
  const TimePoint much_later = kStart + seconds(1000);
  for (int i = 0; i < 3; ++i) CHECK(bucket.Take(much_later) == much_later);
  CHECK(bucket.Take(much_later) == much_later + milliseconds(100));
}

TEST_CASE("calls go in the order in which they asked", "[kube][rate]") {
  TokenBucket bucket({1'000, 5});
  TimePoint last = kStart;
  TimePoint now = kStart;
  for (int i = 0; i < 10'000; ++i) {
    now += std::chrono::microseconds(i % 7 * 200);
    const TimePoint ready = bucket.Take(now);
    CHECK(ready >= now);
    CHECK(ready >= last);
    last = ready;
  }
}

TEST_CASE("no rate is no wait, and a burst below one is one", "[kube][rate]") {
  TokenBucket free_lane({0, 1});
  for (int i = 0; i < 100; ++i) CHECK(free_lane.Take(kStart) == kStart);
  TokenBucket narrow({10, 0});
  CHECK(narrow.Take(kStart) == kStart);
  CHECK(narrow.Take(kStart) == kStart + milliseconds(100));
}

TEST_CASE("a gang of 1,024 is bound within three seconds", "[kube][rate]") {
  TokenBucket bucket(kDefaultLaneRates[static_cast<std::size_t>(Lane::kBind)]);
  TimePoint last = kStart;
  // Each member's binding and a read after it.
  for (int i = 0; i < 2 * 1'024; ++i) last = bucket.Take(kStart);
  CHECK(last - kStart < seconds(3));
}

TEST_CASE("lanes do not wait for each other, and Stop wakes all", "[kube][rate]") {
  LaneRates rates{};
  rates[static_cast<std::size_t>(Lane::kReport)] = {1, 1};
  RateLimiter limiter(rates);
  CHECK(limiter.Wait(Lane::kReport).has_value());
  // The next of these would go only after seconds.
  std::atomic<int> refused = 0;
  std::vector<std::thread> waiting;
  for (int i = 0; i < 8; ++i) {
    waiting.emplace_back([&] {
      for (int j = 0; j < 100; ++j) {
        if (!limiter.Wait(Lane::kReport)) {
          ++refused;
          return;
        }
      }
    });
  }
  REQUIRE(Eventually([&] { return limiter.waiting(Lane::kReport) == 8; }));
  for (int i = 0; i < 1'000; ++i) CHECK(limiter.Wait(Lane::kLease).has_value());
  limiter.Stop();
  for (std::thread& thread : waiting) thread.join();
  CHECK(refused == 8);
  CHECK(limiter.waiting(Lane::kReport) == 0);
  CHECK_FALSE(limiter.Wait(Lane::kLease).has_value());
}
