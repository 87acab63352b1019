// Informer: a Watch read for a subscriber, with the latency and the faults that a network would
// add.
//
// Must not outlive its ApiServer. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "cluster/base/units.hpp"
#include "sim/api_server/api_server.hpp"
#include "sim/api_server/event_loop.hpp"
#include "sim/api_server/watch.hpp"

namespace muster::sim {

// What happens to events on their way. Objects of one kind stay in order unless `reorder`; nodes,
// requests and others always do, because a reader could not tell old from new.
struct WatchFaults {
  cluster::Duration latency{};      // every event is that late
  cluster::Duration jitter{};       // plus up to this, seeded
  bool reorder = false;             // pods and PodGroups may overtake each other and themselves
  int64_t duplicate_per_mille = 0;  // delivered twice, the second time up to `jitter` later
};

class Informer {
 public:
  using Deliver = std::function<void(const WatchEvent&)>;
  using AfterBatch = std::function<void()>;

  // Starts by delivering everything that exists, as kAdded, before the constructor returns; then
  // events as they come, `after_batch` after each run of events delivered together (also after the
  // first).
  Informer(EventLoop& loop, ApiServer& api, Kinds kinds, WatchFaults faults, uint64_t seed,
           Deliver deliver, AfterBatch after_batch);
  ~Informer();
  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;

 private:
  struct Shared;  // outlives the Informer inside posted tasks
  void Noticed();
  static void Drain(const std::shared_ptr<Shared>& shared);
  // Delivers the event now, or posts its delivery; true when it was now.
  static bool Pass(const std::shared_ptr<Shared>& shared, const WatchEvent& event);
  std::shared_ptr<Shared> shared_;
};

}  // namespace muster::sim
