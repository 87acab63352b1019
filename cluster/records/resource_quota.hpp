// ResourceQuota: what a namespace's pods may ask for in all, as far as it concerns gangs. A pod is
// charged when it is created, behind a scheduling gate or not, so only pods that do not exist yet
// can be over it. Plain value, built by the decoders.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/records/selector.hpp"

namespace muster::cluster {

struct QuotaLine {
  // What a pod counts against it: 1, its GPUs, its CPU, its memory.
  enum class Kind { kPods, kGpus, kCpu, kMemory };
  Kind kind = Kind::kPods;
  std::string resource;  // as the quota names it: "requests.nvidia.com/gpu"
  // Pods; thousandths of a GPU or core; MiB, `hard` rounded down and `used` up.
  int64_t hard = 0;
  int64_t used = 0;
  auto operator<=>(const QuotaLine&) const = default;
};

struct ResourceQuota {
  ResourceQuotaUid uid;
  ObjectKey key;
  std::vector<QuotaLine> lines;
  // Only of pods whose PriorityClass is one of these names, or none of them (kIn, kNotIn); all of
  // it must hold.
  std::vector<SelectorRequirement> priority_classes;
  int64_t resource_version = 0;
  auto operator<=>(const ResourceQuota&) const = default;
};

}  // namespace muster::cluster
