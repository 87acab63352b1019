#include "sim/api_server/resize.hpp"

#include <algorithm>

namespace muster::sim {

using cluster::Resources;

namespace {

bool SameSize(const Resources& a, const Resources& b) {
  return a.cpu == b.cpu && a.memory == b.memory;
}

// Neither of the two is more.
bool Within(const Resources& size, const Resources& of) {
  return size.cpu <= of.cpu && size.memory <= of.memory;
}

}  // namespace

std::shared_ptr<const Resources> ResizedOf(const PodRecord& pod) {
  if (!pod.resize) return nullptr;
  const ResizeStatus& status = *pod.resize;
  const Resources& asked = pod.pod.spec->requests;
  Resources held = asked;
  held.cpu = std::max(status.allocated.cpu, status.in_force.cpu);
  held.memory = std::max(status.allocated.memory, status.in_force.memory);
  if (status.pending != ResizePending::kInfeasible) {
    held.cpu = std::max(held.cpu, asked.cpu);
    held.memory = std::max(held.memory, asked.memory);
  }
  return SameSize(held, asked) ? nullptr : std::make_shared<const Resources>(held);
}

bool IsResized(const PodRecord& pod) {
  const Resources& asked = pod.pod.spec->requests;
  return !pod.resize ||
         (pod.resize->pending == ResizePending::kNo && SameSize(pod.resize->allocated, asked) &&
          SameSize(pod.resize->in_force, asked));
}

const Resources& AllocatedTo(const PodRecord& pod) {
  return pod.resize ? pod.resize->allocated : pod.pod.spec->requests;
}

std::optional<ResizeStatus> NextStep(const PodRecord& pod, const Resources& allocatable,
                                     const Resources& others) {
  if (!pod.resize) return std::nullopt;
  const Resources& asked = pod.pod.spec->requests;
  ResizeStatus next = *pod.resize;
  if (SameSize(next.allocated, asked)) {
    next.in_force = next.allocated;
    next.pending = ResizePending::kNo;
    return next;
  }
  Resources left = allocatable;
  left -= others;
  if (!Within(asked, allocatable)) {
    next.pending = ResizePending::kInfeasible;
  } else if (!Within(asked, next.allocated) && !Within(asked, left)) {
    next.pending = ResizePending::kDeferred;
  } else {
    next.allocated = asked;
    next.pending = ResizePending::kNo;
  }
  return next.pending == pod.resize->pending && SameSize(next.allocated, pod.resize->allocated)
             ? std::nullopt
             : std::optional(next);
}

}  // namespace muster::sim
