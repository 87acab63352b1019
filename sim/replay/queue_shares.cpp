#include "sim/replay/queue_shares.hpp"

#include <algorithm>

#include "queues/entitlement.hpp"

namespace muster::sim {

using cluster::GpuMilli;

namespace {

// What a queue is entitled to is the same, however it is divided among namespaces.
std::vector<queues::QueueSpec> Undivided(std::vector<queues::QueueSpec> queues) {
  for (queues::QueueSpec& queue : queues) queue.fair_by = queues::FairBy::kNone;
  return queues;
}

}  // namespace

QueueShares::QueueShares(const std::vector<queues::QueueSpec>& queues, GpuMilli capacity)
    : tree_(Undivided(queues)),
      capacity_(capacity.value()),
      demand_(tree_.size()),
      used_(tree_.size()) {
  const auto& resources = tree_.resources();
  const auto gpu = std::find(resources.begin(), resources.end(), queues::Resource{});
  gpu_ = static_cast<size_t>(gpu - resources.begin());
}

bool QueueShares::Has(const std::string& queue) const {
  const auto found = tree_.Find(queue);
  return found && *found != queues::kRootIndex && *found != tree_.orphan() &&
         tree_.at(*found).leaf();
}

void QueueShares::AddDemand(const std::string& queue, GpuMilli gpus) {
  if (Has(queue)) demand_[tree_.Find(queue)->value] += gpus.value();
}

void QueueShares::AddUse(const std::string& queue, GpuMilli gpus) {
  if (Has(queue)) used_[tree_.Find(queue)->value] += gpus.value();
}

void QueueShares::Sample(cluster::Time at, std::vector<ShareSample>& samples) const {
  if (tree_.size() <= 1) return;
  const auto entitled = queues::Entitle(tree_, gpu_, capacity_, demand_);
  for (uint32_t i = 0; i < tree_.size(); ++i) {
    if (demand_[i] == 0) continue;
    samples.push_back({at, tree_.at(queues::QueueIndex{i}).name, GpuMilli(used_[i]),
                       GpuMilli(entitled[i].share.floor())});
  }
}

}  // namespace muster::sim
