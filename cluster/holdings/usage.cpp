#include "cluster/holdings/usage.hpp"

#include <algorithm>

namespace muster::cluster {

Usage& Usage::operator+=(const Usage& more) {
  pods += more.pods;
  requests += more.requests;
  gpu_milli += more.gpu_milli;
  gpu_memory += more.gpu_memory;
  for (const auto& [model, milli] : more.gpu_milli_by_model) gpu_milli_by_model[model] += milli;
  return *this;
}

Usage& Usage::operator-=(const Usage& less) {
  pods -= less.pods;
  requests -= less.requests;
  gpu_milli -= less.gpu_milli;
  gpu_memory -= less.gpu_memory;
  for (const auto& [model, milli] : less.gpu_milli_by_model) gpu_milli_by_model[model] -= milli;
  std::erase_if(gpu_milli_by_model, [](const auto& entry) { return entry.second == 0; });
  return *this;
}

namespace {

// Null: the node has no such device. They are ordered by index, and mostly all are there.
const Gpu* DeviceOf(const Node& node, GpuIndex index) {
  if (index.value < node.gpus.size() && node.gpus[index.value].index == index)
    return &node.gpus[index.value];
  const auto found =
      std::lower_bound(node.gpus.begin(), node.gpus.end(), index,
                       [](const Gpu& gpu, GpuIndex wanted) { return gpu.index < wanted; });
  return found == node.gpus.end() || found->index != index ? nullptr : &*found;
}

// visit(gpu, milli) for each device that the node has, and of which something is held.
template <typename Visit>
void AddHeld(Usage& usage, const Placement& held, const Node& node, const Visit& visit) {
  ++usage.pods;
  Resources requests = held.requests;
  requests.named = {};
  usage.requests += requests;
  for (const GpuShare& share : held.gpus) {
    const int64_t milli = share.taken.most().value();
    usage.gpu_milli += milli;
    const Gpu* gpu = DeviceOf(node, share.index);
    if (gpu == nullptr || milli == 0) continue;
    usage.gpu_memory += MiB(gpu->memory.value() * share.taken.memory().value() / kWholeGpu.value());
    visit(*gpu, milli);
  }
}

}  // namespace

void Usage::Add(const Placement& held, const Node& node) {
  AddHeld(*this, held, node,
          [&](const Gpu& gpu, int64_t milli) { gpu_milli_by_model[gpu.model] += milli; });
}

void AddBesideModels(Usage& usage, const Placement& held, const Node& node) {
  AddHeld(usage, held, node, [](const Gpu& /*gpu*/, int64_t /*milli*/) {});
}

Usage UsageOf(const Placement& held, const Node& node) {
  Usage usage;
  usage.Add(held, node);
  return usage;
}

namespace {

using ByQueue = std::map<std::string, Usage>;

void Less(ByQueue& from, const std::string& queue, const Usage& less) {
  const auto found = from.find(queue);
  if (found == from.end()) return;
  found->second -= less;
  if (found->second.pods <= 0) from.erase(found);
}

void More(ByQueue& to, const ByQueue& more) {
  for (const auto& [queue, usage] : more) to[queue] += usage;
}

void Less(ByQueue& from, const ByQueue& less) {
  for (const auto& [queue, usage] : less) Less(from, queue, usage);
}

}  // namespace

void UsageTable::Add(const std::string& queue, const Placement& held, const Node& node,
                     bool non_preemptible) {
  queues_[queue].Add(held, node);
  if (non_preemptible) non_preemptible_[queue].Add(held, node);
}

void UsageTable::Remove(const std::string& queue, const Placement& held, const Node& node,
                        bool non_preemptible) {
  const Usage less = UsageOf(held, node);
  Less(queues_, queue, less);
  if (non_preemptible) Less(non_preemptible_, queue, less);
}

void UsageTable::Join(const UsageTable& other) {
  More(queues_, other.queues_);
  More(non_preemptible_, other.non_preemptible_);
}

void UsageTable::Subtract(const UsageTable& other) {
  Less(queues_, other.queues_);
  Less(non_preemptible_, other.non_preemptible_);
}

Usage UsageTable::of(const std::string& queue) const {
  const auto found = queues_.find(queue);
  return found == queues_.end() ? Usage{} : found->second;
}

}  // namespace muster::cluster
