// ShapeLess: pods are interchangeable for placement when they ask for the same resources, the same
// GPUs, the same nodes and the same of pods around them, and the kubelet gives them their GPUs in
// one go or not. Such pods have one shape; priority, say, is no part of it (internal to policy/).
// Pure; any thread.
#pragma once

#include <compare>
#include <memory>

#include "cluster/records/pod.hpp"

namespace muster::policy {

// Orders specs by shape, cheap comparisons first: whole gangs and long traces are looked up by it.
inline std::strong_ordering CompareShapes(const cluster::PodSpec& a, const cluster::PodSpec& b) {
  if (&a == &b) return std::strong_ordering::equal;
  if (const auto order = a.requests <=> b.requests; order != 0) return order;
  if (const auto order = a.gpus <=> b.gpus; order != 0) return order;
  if (const auto order = a.constraints <=> b.constraints; order != 0) return order;
  if (const auto order = a.rules <=> b.rules; order != 0) return order;
  return a.one_gpu_container() <=> b.one_gpu_container();
}

struct ShapeLess {
  using is_transparent = void;
  using Shared = std::shared_ptr<const cluster::PodSpec>;
  bool operator()(const Shared& a, const Shared& b) const { return CompareShapes(*a, *b) < 0; }
  bool operator()(const cluster::PodSpec* a, const cluster::PodSpec* b) const {
    return CompareShapes(*a, *b) < 0;
  }
};

}  // namespace muster::policy
