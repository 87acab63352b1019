// QueueShares: what each queue uses and is entitled to (R1) in a replay, reckoned from the jobs
// themselves and not from what Muster says. GPUs only. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/base/units.hpp"
#include "queues/tree.hpp"
#include "sim/replay/replay_statistics.hpp"

namespace muster::sim {

class QueueShares {
 public:
  // `queues` has no fault; of one queue, or none, nothing is reckoned.
  QueueShares(const std::vector<queues::QueueSpec>& queues, cluster::GpuMilli capacity);

  // Whether a job can name it. Others are not followed.
  bool Has(const std::string& queue) const;
  // A job of the queue came, or went (less than 0).
  void AddDemand(const std::string& queue, cluster::GpuMilli gpus);
  void AddUse(const std::string& queue, cluster::GpuMilli gpus);
  // Of each queue that wants something.
  void Sample(cluster::Time at, std::vector<ShareSample>& samples) const;

 private:
  queues::Tree tree_;
  size_t gpu_ = 0;  // in tree_.resources()
  int64_t capacity_ = 0;
  // By QueueIndex.
  std::vector<int64_t> demand_;
  std::vector<int64_t> used_;
};

}  // namespace muster::sim
