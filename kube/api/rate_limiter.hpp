// RateLimiter: how often each lane may call, by token buckets. Calls are served in the order in
// which they came. Any thread.
#pragma once

#include <array>
#include <chrono>
#include <optional>

#include "cluster/base/mutex.hpp"
#include "kube/api/api_caller.hpp"

namespace muster::kube {

struct LaneRate {
  int per_second = 0;  // 0: as often as it likes
  int burst = 1;       // at once after a pause; at least 1
};

// Of each lane, in the order of Lane. A gang of 1,024 members must be bound within 3 s, with reads
// for those bindings whose answer was lost: 2,000 at once and 1,000 more each second leave the time
// to the API server. What is merely told may lag behind.
using LaneRates = std::array<LaneRate, kLanes>;
inline constexpr LaneRates kDefaultLaneRates = {{
    {0, 1},          // kLease
    {1'000, 2'000},  // kBind
    {1'000, 2'000},  // kGang
    {20, 40},        // kReport
    {50, 100},       // kList
    {200, 400},      // kOwner
    {100, 200},      // kReview
}};

// One bucket, without a clock: asked at `now`, says when that call may go. Answers never go back,
// so calls go in the order in which they asked. Not shared by threads.
class TokenBucket {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit TokenBucket(LaneRate rate);
  TimePoint Take(TimePoint now);

 private:
  std::chrono::nanoseconds interval_;  // between two tokens
  std::chrono::nanoseconds slack_;     // how far ahead of its time a token may be taken
  TimePoint next_{};                   // when the next token is due if none is taken early
};

class RateLimiter {
 public:
  explicit RateLimiter(const LaneRates& rates);

  // Returns when the lane may call: how long that took, or nothing after Stop.
  std::optional<std::chrono::nanoseconds> Wait(Lane lane);
  // Wakes all who wait and lets nobody wait any more.
  void Stop();
  int waiting(Lane lane) const;

 private:
  mutable cluster::Mutex mu_;
  cluster::CondVar stopping_;
  bool stopped_ MUSTER_GUARDED_BY(mu_) = false;
  std::array<TokenBucket, kLanes> buckets_ MUSTER_GUARDED_BY(mu_);
  std::array<int, kLanes> waiting_ MUSTER_GUARDED_BY(mu_){};
};

}  // namespace muster::kube
