#include "sim/api_server/informer.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "sim/api_server/random.hpp"

namespace muster::sim {

using cluster::Duration;
using cluster::Time;

struct Informer::Shared {
  EventLoop& loop;
  const WatchFaults faults;
  Random random;
  Deliver deliver;
  AfterBatch after_batch;
  std::unique_ptr<Watch> watch;
  bool drain_posted = false;
  bool stopped = false;
  Time last_arrival;  // with jitter, nothing in order comes before this
};

namespace {

bool HasVersion(const WatchEvent& event) {
  return !std::holds_alternative<NodePtr>(event.object) &&
         !std::holds_alternative<OtherPtr>(event.object) &&
         !std::holds_alternative<RequestPtr>(event.object);
}

}  // namespace

Informer::Informer(EventLoop& loop, ApiServer& api, Kinds kinds, WatchFaults faults, uint64_t seed,
                   Deliver deliver, AfterBatch after_batch)
    : shared_(std::make_shared<Shared>(Shared{loop, faults, Random(seed), std::move(deliver),
                                              std::move(after_batch), nullptr, false, false,
                                              loop.now()})) {
  shared_->watch = api.OpenWatch(kinds, [this] { Noticed(); });
  for (const WatchEvent& event : api.List(kinds)) shared_->deliver(event);
  shared_->after_batch();
}

Informer::~Informer() {
  shared_->stopped = true;
  shared_->watch.reset();
}

void Informer::Noticed() {
  if (shared_->drain_posted) return;
  shared_->drain_posted = true;
  const Time at = shared_->loop.now() + shared_->faults.latency;
  shared_->loop.Post(at, [shared = shared_] {
    if (!shared->stopped) Drain(shared);
  });
}

void Informer::Drain(const std::shared_ptr<Shared>& shared) {
  shared->drain_posted = false;
  bool delivered = false;
  while (const WatchEvent* next = shared->watch->Peek()) {
    const Time due = next->at + shared->faults.latency;
    if (due > shared->loop.now()) {
      shared->drain_posted = true;
      shared->loop.Post(due, [shared] {
        if (!shared->stopped) Drain(shared);
      });
      break;
    }
    const WatchEvent event = *next;
    shared->watch->Pop();
    delivered = Pass(shared, event) || delivered;
    if (shared->stopped) return;
  }
  if (delivered) shared->after_batch();
}

bool Informer::Pass(const std::shared_ptr<Shared>& shared, const WatchEvent& event) {
  const WatchFaults& faults = shared->faults;
  if (faults.jitter == Duration() && faults.duplicate_per_mille == 0) {
    shared->deliver(event);
    return true;
  }
  const auto late = [&] { return Duration(shared->random.Between(0, faults.jitter.value())); };
  Time arrival = shared->loop.now() + late();
  if (!faults.reorder || !HasVersion(event)) {
    arrival = std::max(arrival, shared->last_arrival);
    shared->last_arrival = arrival;
  }
  const auto post = [&](Time at) {
    shared->loop.Post(at, [shared, event] {
      if (shared->stopped) return;
      shared->deliver(event);
      if (!shared->stopped) shared->after_batch();
    });
  };
  post(arrival);
  if (HasVersion(event) && shared->random.Chance(faults.duplicate_per_mille))
    post(arrival + late());
  return false;
}

}  // namespace muster::sim
