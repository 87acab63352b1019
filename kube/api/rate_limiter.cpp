#include "kube/api/rate_limiter.hpp"

#include <algorithm>
#include <cstddef>

namespace muster::kube {

using cluster::MutexLock;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

TokenBucket::TokenBucket(LaneRate rate)
    : interval_(rate.per_second > 0 ? nanoseconds(1'000'000'000 / rate.per_second)
                                    : nanoseconds(0)),
      slack_(interval_ * (std::max(rate.burst, 1) - 1)) {}

TokenBucket::TimePoint TokenBucket::Take(TimePoint now) {
  next_ = std::max(next_, now);
  const TimePoint ready = std::max(now, next_ - slack_);
  next_ += interval_;
  return ready;
}

RateLimiter::RateLimiter(const LaneRates& rates)
    : buckets_{TokenBucket(rates[0]), TokenBucket(rates[1]), TokenBucket(rates[2]),
               TokenBucket(rates[3]), TokenBucket(rates[4]), TokenBucket(rates[5]),
               TokenBucket(rates[6])} {
  static_assert(kLanes == 7);
}

std::optional<nanoseconds> RateLimiter::Wait(Lane lane) {
  const auto at = static_cast<std::size_t>(lane);
  const MutexLock lock(mu_);
  const steady_clock::time_point begin = steady_clock::now();
  const steady_clock::time_point ready = buckets_[at].Take(begin);
  steady_clock::time_point now = begin;
  ++waiting_[at];
  while (!stopped_ && now < ready) {
    stopping_.WaitFor(mu_, std::chrono::ceil<milliseconds>(ready - now));
    now = steady_clock::now();
  }
  --waiting_[at];
  if (stopped_) return std::nullopt;
  return now - begin;
}

void RateLimiter::Stop() {
  {
    const MutexLock lock(mu_);
    stopped_ = true;
  }
  stopping_.NotifyAll();
}

int RateLimiter::waiting(Lane lane) const {
  const MutexLock lock(mu_);
  return waiting_[static_cast<std::size_t>(lane)];
}

}  // namespace muster::kube
