#include "queues/usage_record.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "queues/queue_spec.hpp"

namespace muster::queues {

using cluster::Code;
using cluster::Duration;
using cluster::Error;
using cluster::Ok;
using cluster::Status;
using cluster::Time;

namespace {

Error Wrong(std::string message, const std::string& place) {
  return {Code::kInvalidArgument, std::move(message), place};
}

Status CheckPast(const PastUse& past, size_t resources, Time now) {
  if (past.half_life < Duration(0))
    return Wrong("expected a duration, got less than 0", "halfLife");
  if (past.since < Time(0)) return Wrong("expected a time after 1970", "since");
  if (past.since > now + kMostClockSkew) {
    return Wrong(std::to_string(past.since.milliseconds()) +
                     " ms since 1970 is more than 5 minutes ahead of this machine's clock",
                 "since");
  }
  if (past.used.size() != resources || past.mean.size() != resources)
    return Wrong("expected an amount of each of the resources", "used");
  for (const int64_t used : past.used) {
    if (used < 0 || used > kMostAmount)
      return Wrong("expected amounts from 0 to " + std::to_string(kMostAmount), "used");
  }
  for (const Uint128 mean : past.mean) {
    if (mean > Uint128{static_cast<uint64_t>(kMostAmount)} << kMeanDigits)
      return Wrong("expected amounts up to " + std::to_string(kMostAmount), "mean");
  }
  return Ok{};
}

}  // namespace

Status CheckUsage(const UsageRecord& record, Time now) {
  const std::set<Resource> distinct(record.resources.begin(), record.resources.end());
  if (distinct.size() != record.resources.size())
    return Wrong("a resource is there twice", "resources");
  for (const auto& [queue, past] : record.queues) {
    if (queue.empty()) return Wrong("a queue has no name", "queues");
    if (Status sound = CheckPast(past, record.resources.size(), now); !sound.ok())
      return sound.error().At("queues." + queue);
  }
  return Ok{};
}

std::vector<std::string> LeastFirst(const PastUses& queues) {
  std::vector<std::tuple<bool, Time, std::string>> order;
  order.reserve(queues.size());
  for (const auto& [queue, past] : queues) {
    const bool uses =
        std::any_of(past.used.begin(), past.used.end(), [](int64_t used) { return used > 0; });
    order.emplace_back(uses, past.since, queue);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> names;
  names.reserve(order.size());
  for (auto& [uses, since, queue] : order) names.push_back(std::move(queue));
  return names;
}

void Reorder(PastUses& queues, const std::vector<Resource>& before,
             const std::vector<Resource>& after) {
  if (before == after) return;
  std::vector<std::optional<size_t>> from;  // by position in `after`
  for (const Resource& resource : after) {
    const auto found = std::find(before.begin(), before.end(), resource);
    from.push_back(found == before.end()
                       ? std::nullopt
                       : std::optional(static_cast<size_t>(found - before.begin())));
  }
  for (auto& [queue, past] : queues) {
    Vector used(after.size());
    std::vector<Uint128> mean(after.size());
    for (size_t r = 0; r < after.size(); ++r) {
      if (!from[r]) continue;
      used[r] = past.used[*from[r]];
      mean[r] = past.mean[*from[r]];
    }
    past.used = std::move(used);
    past.mean = std::move(mean);
  }
}

}  // namespace muster::queues
