// What queues have used (queues::UsageRecord) as text, and back. Pure.
//
//   {"resources": ["gpu", "gpuMemory", "cpu", "memory"],
//    "queues": {"research": {"halfLife": 604800000, "since": 1800000000000,
//                            "used": [8000, 655360, 96000, 786432],
//                            "mean": [5999, 491520, 72000, 589824], "rest": [16777215, 0, 0, 0]}}}
//
// Times are in milliseconds, amounts in the units of queues/resource.hpp. The mean is `mean` and
// `rest` 2^24ths.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cluster/base/result.hpp"
#include "queues/usage_record.hpp"

namespace muster::kube {

// A ConfigMap takes 1 MiB.
inline constexpr size_t kMostUsageBytes = 1'000'000;

struct UsageText {
  std::string json;
  size_t left_out = 0;  // queues for which there was no room: the first of queues::LeastFirst
};

UsageText EncodeUsage(const queues::UsageRecord& record, size_t most_bytes = kMostUsageBytes);
// What it gives has amounts of each resource; the rest is for queues::CheckUsage to see.
cluster::Result<queues::UsageRecord> DecodeUsage(std::string_view json);

}  // namespace muster::kube
