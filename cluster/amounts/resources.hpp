// Resources: what a pod asks of a node beside GPUs, and what a node offers. GpuRequest: what a pod
// asks of GPUs.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

#include "cluster/amounts/device_amount.hpp"
#include "cluster/amounts/gpu_choice.hpp"
#include "cluster/amounts/named_amounts.hpp"
#include "cluster/base/units.hpp"

namespace muster::cluster {

// CPU, memory, pod slots, channels, and whatever else a node lists. As a request, absent means
// zero.
struct Resources {
  MilliCpu cpu;
  MiB memory;
  int64_t pods = 0;
  // Of ComputeDomains (IMEX): a node has one, a pod with a claim for a channel needs one.
  int64_t channels = 0;
  NamedAmounts named = {};

  auto operator<=>(const Resources&) const = default;
  Resources& operator+=(const Resources& other) {
    cpu += other.cpu;
    memory += other.memory;
    pods = SaturatingAdd(pods, other.pods);
    channels = SaturatingAdd(channels, other.channels);
    named += other.named;
    return *this;
  }
  Resources& operator-=(const Resources& other) {
    cpu -= other.cpu;
    memory -= other.memory;
    pods = SaturatingAdd(pods, -other.pods);
    channels = SaturatingAdd(channels, -other.channels);
    named -= other.named;
    return *this;
  }
  // True when every kind of `request` is within this. A kind that the request does not ask for
  // (zero) always fits, also on a node that is over-committed in it (kube-scheduler's
  // NodeResourcesFit does the same).
  bool Fits(const Resources& request) const {
    return (request.cpu.value() <= 0 || request.cpu <= cpu) &&
           (request.memory.value() <= 0 || request.memory <= memory) &&
           (request.pods <= 0 || request.pods <= pods) &&
           (request.channels <= 0 || request.channels <= channels) && named.Fits(request.named);
  }
  Resources Times(int64_t times) const {
    return {cpu * times, memory * times, SaturatingMultiply(pods, times),
            SaturatingMultiply(channels, times), named.empty() ? named : named.Times(times)};
  }
  // Zero of each kind of which there is less.
  Resources Positive() const {
    return {std::max(cpu, MilliCpu()), std::max(memory, MiB()), std::max<int64_t>(pods, 0),
            std::max<int64_t>(channels, 0), named.empty() ? named : named.Positive()};
  }
};

// `count` devices, `each` of every one of them. Less than a whole GPU is shared with others on the
// same device and is asked for one device at a time or several; `memory_each` is what a share needs
// of the device's memory (0: not said), where it says so in MiB.
struct GpuRequest {
  int32_t count = 0;
  DeviceAmount each = DeviceAmount::All();
  MiB memory_each;
  GpuChoice choice = {};  // which devices it may be given, and how they are chosen

  auto operator<=>(const GpuRequest&) const = default;
  bool none() const { return count == 0; }
  // Each device for itself alone: who has all of its compute or of its memory has it all.
  bool whole() const { return each.most() >= kWholeGpu; }
  bool fractional() const { return count > 0 && !whole(); }
  // By the dimension of which more is asked for.
  GpuMilli total() const { return each.most() * count; }
};

}  // namespace muster::cluster
