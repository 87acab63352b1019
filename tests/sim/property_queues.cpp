#include "property_queues.hpp"

#include "sim_support.hpp"

namespace muster::sim::testing {

namespace {

queues::PreemptionSpec SomePreemption(Random& random) {
  queues::PreemptionSpec says;
  says.within_queue = static_cast<queues::WithinQueue>(random.Below(3));
  says.reclaim = static_cast<queues::Reclaim>(random.Below(4));
  if (random.Chance(300)) says.delay = static_cast<int64_t>(random.Below(60'000));
  if (random.Chance(300)) says.min_runtime_preempt = static_cast<int64_t>(random.Below(300'000));
  if (random.Chance(300)) says.min_runtime_reclaim = static_cast<int64_t>(random.Below(300'000));
  if (random.Chance(300)) says.max_evictions_per_hour = static_cast<int64_t>(random.Below(4));
  if (random.Chance(300)) says.max_evicted_ratio = static_cast<int64_t>(random.Below(4));
  if (random.Chance(300)) says.on_evicted = queues::OnEvicted::kFail;
  if (random.Chance(300)) says.restart_window = static_cast<int64_t>(random.Below(200'000));
  for (queues::Budgets* budgets :
       {&says.budgets_preempt, &says.budgets_guarantee, &says.budgets_fair_share})
    *budgets = static_cast<queues::Budgets>(random.Below(3));
  return says;
}

}  // namespace

std::vector<queues::QueueSpec> SomeQueues(Random& random) {
  const auto weight = [&] { return static_cast<int64_t>(random.Below(4)); };
  std::vector<queues::QueueSpec> queues = {{.name = "top", .weight = weight()},
                                           {.name = "a", .parent = "top", .weight = weight()},
                                           {.name = "b", .parent = "top", .weight = weight()},
                                           {.name = "c", .weight = weight()}};
  if (random.Chance(500)) {
    const queues::Resource gpu{queues::Resource::Kind::kGpu};
    queues[0].guarantee.Set(gpu, queues::Amount(8'000));
    queues[1].guarantee.Set(gpu, queues::Amount(4'000));
    if (random.Chance(300)) queues[0].lend.Set(gpu, queues::Limit(6'000));
  }
  for (queues::QueueSpec& queue : queues) {
    if (random.Chance(300)) queue.preemption = SomePreemption(random);
  }
  if (random.Chance(500)) {
    queues::PreemptionSpec& says = queues[1].preemption;
    says.within_queue = queues::WithinQueue::kLowerPriority;
    says.min_runtime_reclaim = 60'000 + static_cast<int64_t>(random.Below(300'000));
    says.restart_window = 10'000 + static_cast<int64_t>(random.Below(190'000));
  }
  if (random.Chance(300)) queues[2].priority_cap = 1;
  if (random.Chance(300)) queues[0].order = queues::Order::kFifo;
  if (random.Chance(300)) queues[3].order = queues::Order::kStrictFifo;
  // Worlds are short: gangs book after seconds.
  for (queues::QueueSpec& queue : queues) {
    queue.bookings = {.depth = static_cast<int64_t>(random.Below(3)),
                      .min_age = Seconds(static_cast<int64_t>(random.Below(10))),
                      .reserve_after = Seconds(5 + static_cast<int64_t>(random.Below(60))),
                      .lend_to_evictable = random.Chance(500),
                      .without_checkpoint = random.Chance(500),
                      .trust = static_cast<queues::Trust>(random.Below(4)),
                      .max_per_user = static_cast<int64_t>(random.Below(3))};
  }
  const auto limit = [&](queues::QueueSpec& queue, queues::Resource::Kind kind, int64_t least) {
    queue.limit.Set({kind}, queues::Limit(1000 * (least + static_cast<int64_t>(random.Below(12)))));
  };
  if (random.Chance(300)) limit(queues[0], queues::Resource::Kind::kGpu, 8);
  if (random.Chance(300)) limit(queues[2], queues::Resource::Kind::kGpu, 1);
  if (random.Chance(300)) limit(queues[3], queues::Resource::Kind::kGpu, 1);
  if (random.Chance(200)) limit(queues[3], queues::Resource::Kind::kCpu, 1);
  const queues::Resource gpu{queues::Resource::Kind::kGpu};
  if (!queues[3].limit.has(gpu) && random.Chance(300))
    queues[3].guarantee.Set(gpu, queues::Amount(6'000));
  if (random.Chance(300))
    queues[0].usage_half_life = Seconds(60 + static_cast<int64_t>(random.Below(600)));
  if (random.Chance(300)) queues[3].usage_half_life = Seconds(60);
  for (const size_t leaf : {1U, 2U, 3U}) {
    if (random.Chance(300)) queues[leaf].fair_by = queues::FairBy::kNamespace;
  }
  for (const size_t shaped : {0U, 1U, 3U}) {
    const int64_t nodes = shaped == 0 ? 2 : 1;
    if (queues[shaped].guarantee.has(gpu) && random.Chance(400))
      queues[shaped].shapes.push_back({nodes, ""});
  }
  return queues;
}

}  // namespace muster::sim::testing
