#include "cluster/usage.hpp"

namespace muster::cluster {

namespace {

int64_t MilliOf(const Placement& held) {
  int64_t milli = 0;
  for (const GpuShare& share : held.gpus) milli += share.taken.most().value();
  return milli;
}

}  // namespace

void UsageTable::Add(const std::string& queue, const Placement& held) {
  Usage& usage = queues_[queue];
  ++usage.pods;
  usage.requests += held.requests;
  usage.gpu_milli += MilliOf(held);
}

void UsageTable::Remove(const std::string& queue, const Placement& held) {
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return;
  Usage& usage = found->second;
  usage.requests -= held.requests;
  usage.gpu_milli -= MilliOf(held);
  if (--usage.pods <= 0) queues_.erase(found);
}

void UsageTable::Join(const UsageTable& other) {
  for (const auto& [queue, more] : other.queues_) {
    Usage& usage = queues_[queue];
    usage.pods += more.pods;
    usage.requests += more.requests;
    usage.gpu_milli += more.gpu_milli;
  }
}

void UsageTable::Subtract(const UsageTable& other) {
  for (const auto& [queue, less] : other.queues_) {
    const auto found = queues_.find(queue);
    if (found == queues_.end()) continue;
    Usage& usage = found->second;
    usage.pods -= less.pods;
    usage.requests -= less.requests;
    usage.gpu_milli -= less.gpu_milli;
    if (usage.pods <= 0) queues_.erase(found);
  }
}

Usage UsageTable::of(const std::string& queue) const {
  const auto found = queues_.find(queue);
  return found == queues_.end() ? Usage{} : found->second;
}

}  // namespace muster::cluster
