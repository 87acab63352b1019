#include "sim/schedulers/scheduling_queue.hpp"

#include <algorithm>
#include <vector>

namespace muster::sim {

using cluster::Duration;
using cluster::ObjectKey;
using cluster::PodUid;
using cluster::Time;

namespace {

// kube-scheduler strips the status before it compares: a patch of the status alone wakes nobody.
bool ChangedBeyondStatus(const PodRecord& before, const PodRecord& after) {
  return before.annotations != after.annotations || before.pod.gates != after.pod.gates ||
         before.pod.spec != after.pod.spec || before.pod.pod_group != after.pod.pod_group;
}

}  // namespace

bool SchedulingQueue::Gated(const Entry& entry) const {
  if (!entry.pod->pod.gates.empty() || !entry.group) return !entry.pod->pod.gates.empty();
  const auto& group = groups_.at(*entry.group);
  return std::any_of(group.begin(), group.end(),
                     [](const auto& other) { return !other.second->pod->pod.gates.empty(); });
}

void SchedulingQueue::FollowGroup(const ObjectKey& group, Time now) {
  for (const auto& [order, entry] : groups_.at(group)) {
    const bool gated = Gated(*entry);
    if (entry->place == Place::kInFlight || gated == (entry->place == Place::kGated)) continue;
    Leave(*entry);
    entry->queued = now;
    Enter(*entry, gated ? Place::kGated : Place::kActive);
  }
}

void SchedulingQueue::Upsert(const PodPtr& pod, Time now, const std::optional<ObjectKey>& group) {
  const auto [at, fresh] = entries_.try_emplace(pod->pod.uid);
  Entry& entry = at->second;
  if (fresh) {
    entry.pod = pod;
    entry.group = group;
    entry.queued = now;
    entry.order = next_order_++;
    if (group) groups_[*group].emplace(entry.order, &entry);
    Enter(entry, Gated(entry) ? Place::kGated : Place::kActive);
    if (group) FollowGroup(*group, now);
    return;
  }
  const PodPtr before = entry.pod;
  if (pod->pod.resource_version < before->pod.resource_version) return;
  if (entry.group && before->pod.gates != pod->pod.gates) {
    entry.pod = pod;
    FollowGroup(*entry.group, now);
    return;
  }
  if (entry.place == Place::kInFlight) {
    entry.pod = pod;
    return;
  }
  const bool gated = entry.group ? Gated(entry) : !pod->pod.gates.empty();
  if (gated != (entry.place == Place::kGated)) {
    Leave(entry);
    entry.pod = pod;
    entry.queued = now;
    Enter(entry, gated ? Place::kGated : Place::kActive);
    return;
  }
  entry.pod = pod;
  if (entry.place == Place::kUnschedulable && ChangedBeyondStatus(*before, *pod)) Retry(entry, now);
}

void SchedulingQueue::Remove(const PodUid& pod, Time now) {
  const auto found = entries_.find(pod);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  Leave(entry);
  const std::optional<ObjectKey> group = entry.group;
  if (group) groups_.at(*group).erase(entry.order);
  entries_.erase(found);
  if (!group) return;
  FollowGroup(*group, now);
  if (groups_.at(*group).empty()) groups_.erase(*group);
}

SchedulingQueue::Entry* SchedulingQueue::Find(const PodUid& pod) {
  const auto found = entries_.find(pod);
  return found == entries_.end() ? nullptr : &found->second;
}

SchedulingQueue::Entry* SchedulingQueue::Pop() {
  if (active_.empty()) return nullptr;
  Entry& entry = *active_.begin()->second;
  Leave(entry);
  Enter(entry, Place::kInFlight);
  return &entry;
}

void SchedulingQueue::Reject(Entry& entry, bool by_extender, Time now) {
  Leave(entry);
  ++entry.rejections;
  entry.errors = 0;
  entry.by_extender = by_extender;
  entry.queued = now;
  Enter(entry, Place::kUnschedulable);
}

void SchedulingQueue::Fail(Entry& entry, Time now) {
  Leave(entry);
  ++entry.errors;
  entry.queued = now;
  entry.due = now + BackoffOf(entry);
  Enter(entry, Place::kBackoff);
}

void SchedulingQueue::Stir(bool all, Time now) {
  if (unschedulable_.empty()) return;
  std::vector<Entry*> moving;
  for (const auto& [order, entry] : unschedulable_) {
    if (all || entry->by_extender) moving.push_back(entry);
  }
  for (Entry* entry : moving) Retry(*entry, now);
}

void SchedulingQueue::FlushBackoff(Time now) {
  while (!backing_off_.empty() && backing_off_.begin()->first.first <= now) {
    Entry& entry = *backing_off_.begin()->second;
    Leave(entry);
    Enter(entry, Place::kActive);
  }
}

Time SchedulingQueue::NextBackoff() const {
  return backing_off_.empty() ? Time::Never() : backing_off_.begin()->first.first;
}

void SchedulingQueue::FlushUnschedulable(Time before, Time now) {
  while (!unschedulable_.empty() && unschedulable_.begin()->first.first <= before) {
    Retry(*unschedulable_.begin()->second, now);
  }
}

Time SchedulingQueue::OldestUnschedulable() const {
  return unschedulable_.empty() ? Time::Never() : unschedulable_.begin()->first.first;
}

void SchedulingQueue::Leave(Entry& entry) {
  switch (entry.place) {
    case Place::kGated:
      --gated_;
      break;
    case Place::kActive:
      active_.erase(OrderOf(entry));
      break;
    case Place::kInFlight:
      break;
    case Place::kBackoff:
      backing_off_.erase({entry.due, entry.order});
      break;
    case Place::kUnschedulable:
      unschedulable_.erase({entry.queued, entry.order});
      break;
  }
  entry.place = Place::kInFlight;
}

void SchedulingQueue::Enter(Entry& entry, Place place) {
  entry.place = place;
  switch (place) {
    case Place::kGated:
      ++gated_;
      break;
    case Place::kActive:
      active_.emplace(OrderOf(entry), &entry);
      break;
    case Place::kInFlight:
      break;
    case Place::kBackoff:
      backing_off_.emplace(std::pair(entry.due, entry.order), &entry);
      break;
    case Place::kUnschedulable:
      unschedulable_.emplace(std::pair(entry.queued, entry.order), &entry);
      break;
  }
}

void SchedulingQueue::Retry(Entry& entry, Time now) {
  const Time due = entry.queued + BackoffOf(entry);
  Leave(entry);
  entry.due = due;
  Enter(entry, due > now ? Place::kBackoff : Place::kActive);
}

Duration SchedulingQueue::BackoffOf(const Entry& entry) const {
  const int64_t times = entry.errors > 0 ? entry.errors : entry.rejections;
  // first × 2^(times - 1); 30 doublings are beyond every limit in use.
  const int64_t doublings = std::clamp<int64_t>(times - 1, 0, 30);
  return std::min(backoff_.most, backoff_.first * (int64_t{1} << doublings));
}

}  // namespace muster::sim
