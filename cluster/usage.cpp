#include "cluster/usage.hpp"

namespace muster::cluster {

Usage& Usage::operator+=(const Usage& more) {
  pods += more.pods;
  requests += more.requests;
  gpu_milli += more.gpu_milli;
  return *this;
}

Usage& Usage::operator-=(const Usage& less) {
  pods -= less.pods;
  requests -= less.requests;
  gpu_milli -= less.gpu_milli;
  return *this;
}

Usage UsageTable::UsageOf(const Placement& held) {
  Usage usage{.pods = 1, .requests = held.requests};
  for (const GpuShare& share : held.gpus) usage.gpu_milli += share.taken.most().value();
  return usage;
}

void UsageTable::Remove(const std::string& queue, const Usage& less) {
  const auto found = queues_.find(queue);
  if (found == queues_.end()) return;
  found->second -= less;
  if (found->second.pods <= 0) queues_.erase(found);
}

void UsageTable::Join(const UsageTable& other) {
  for (const auto& [queue, more] : other.queues_) Add(queue, more);
}

void UsageTable::Subtract(const UsageTable& other) {
  for (const auto& [queue, less] : other.queues_) Remove(queue, less);
}

Usage UsageTable::of(const std::string& queue) const {
  const auto found = queues_.find(queue);
  return found == queues_.end() ? Usage{} : found->second;
}

}  // namespace muster::cluster
