#include "sim/replay/replay_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace muster::sim {

using cluster::Duration;
using cluster::Time;

namespace {

constexpr double kMilliMsPerGpuHour = 1000.0 * 3'600'000.0;

// Jobs of `from` to `to` GPUs.
struct Size {
  const char* name;
  int64_t from = 0;
  int64_t to = std::numeric_limits<int64_t>::max();
};
constexpr Size kSizes[] = {{"all"},         {"1", 0, 1},     {"2-4", 2, 4}, {"5-8", 5, 8},
                           {"9-16", 9, 16}, {"over 16", 17}, {"over 8", 9}};

std::optional<Duration> DelayOf(const JobOutcome& job) {
  if (!job.runs_for)
    return job.started ? std::optional(*job.started - job.submitted) : std::nullopt;
  if (!job.ended) return std::nullopt;
  return *job.ended - job.submitted - *job.runs_for;
}

DelayRow RowOf(const Size& size, const std::vector<JobOutcome>& jobs, const Window& window) {
  DelayRow row;
  row.gpus = size.name;
  std::vector<Duration> delays;
  for (const JobOutcome& job : jobs) {
    // Part of a GPU counts as one.
    const int64_t gpus =
        (job.gpus.value() + cluster::kWholeGpu.value() - 1) / cluster::kWholeGpu.value();
    if (gpus < size.from || gpus > size.to || !window.contains(job.submitted)) continue;
    ++row.jobs;
    row.evictions += job.evictions;
    if (const std::optional<Duration> delay = DelayOf(job)) {
      delays.push_back(*delay);
    } else {
      ++row.unfinished;
    }
  }
  row.delay_s = Summarize(std::move(delays));
  return row;
}

std::optional<QueueService> LeastServed(const ReplayHistory& history, const Window& window) {
  struct Sums {
    double used = 0;
    double share = 0;
  };
  std::map<std::string, Sums> queues;
  for (const ShareSample& sample : history.shares) {
    if (!window.contains(sample.at)) continue;
    Sums& sums = queues[sample.queue];
    sums.used += static_cast<double>(sample.used.value());
    sums.share += static_cast<double>(sample.share.value());
  }
  std::optional<QueueService> least;
  for (const auto& [queue, sums] : queues) {
    if (sums.share <= 0) continue;
    const double ratio = sums.used / sums.share;
    if (!least || ratio < least->ratio) least = {queue, ratio};
  }
  return least;
}

// Between two samples in proportion to time.
double IdleUntil(const std::vector<IdleSample>& samples, Time at) {
  IdleSample before;
  for (const IdleSample& sample : samples) {
    if (sample.at >= at) {
      const auto whole = static_cast<double>((sample.at - before.at).value());
      const auto part = static_cast<double>(std::max<int64_t>((at - before.at).value(), 0));
      const auto more = static_cast<double>(sample.milli_ms - before.milli_ms);
      return static_cast<double>(before.milli_ms) + (whole > 0 ? more * part / whole : 0);
    }
    before = sample;
  }
  return static_cast<double>(before.milli_ms);
}

}  // namespace

Distribution Summarize(std::vector<Duration> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const auto rank = [&](double share) {
    const auto n = static_cast<size_t>(std::ceil(share * static_cast<double>(samples.size())));
    return static_cast<double>(samples[std::max<size_t>(n, 1) - 1].value()) / 1000;
  };
  double sum = 0;
  for (const Duration sample : samples) sum += static_cast<double>(sample.value());
  Distribution result;
  result.samples = static_cast<int64_t>(samples.size());
  result.mean = sum / static_cast<double>(samples.size()) / 1000;
  result.p50 = rank(0.50);
  result.p90 = rank(0.90);
  result.p95 = rank(0.95);
  result.p99 = rank(0.99);
  result.max = rank(1.0);
  return result;
}

double UsedIn(const ReplayHistory& history, const Window& window) {
  const Time end = std::min(window.until, history.last);
  double sum = 0;
  for (size_t i = 0; i < history.usage.size(); ++i) {
    const UsageStep& step = history.usage[i];
    const Time next = i + 1 < history.usage.size() ? history.usage[i + 1].at : history.last;
    const int64_t ms = (std::min(next, end) - std::max(step.at, window.from)).value();
    if (ms > 0) sum += static_cast<double>(step.used.value()) * static_cast<double>(ms);
  }
  return sum;
}

ReplayStatistics StatisticsOf(const ReplayHistory& history, const Window& window) {
  ReplayStatistics result;
  result.window = window;
  for (const Size& size : kSizes) result.delays.push_back(RowOf(size, history.jobs, window));
  const int64_t ms = (std::min(window.until, history.last) - window.from).value();
  const double whole =
      static_cast<double>(history.capacity.value()) * static_cast<double>(std::max<int64_t>(ms, 0));
  double lost = 0;
  for (const LostRun& run : history.losses) {
    if (!window.contains(run.at)) continue;
    ++result.evictions;
    lost += static_cast<double>(run.milli_ms);
  }
  const double idle = IdleUntil(history.idle, window.until) - IdleUntil(history.idle, window.from);
  result.lost_gpu_hours = lost / kMilliMsPerGpuHour;
  result.booked_idle_gpu_hours = idle / kMilliMsPerGpuHour;
  if (whole > 0) {
    result.utilization = UsedIn(history, window) / whole;
    result.lost_ratio = lost / whole;
    result.booked_idle_ratio = idle / whole;
  }
  result.least_served = LeastServed(history, window);
  return result;
}

}  // namespace muster::sim
