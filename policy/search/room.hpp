// Room: how many pods of a kind there is room for, and why there is none for one more (internal to
// policy/). Pure functions of what is free in a Search's transaction.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/base/ids.hpp"
#include "policy/search/roles.hpp"
#include "policy/search/search.hpp"
#include "policy/terms/gang_request.hpp"
#include "policy/terms/shortage.hpp"

namespace muster::policy {

// Thousandths of one GPU, of many together.
struct GpuMilliSum {
  int64_t compute = 0;
  int64_t memory = 0;
  void Add(const GpuMilliSum& other, int64_t times) {
    const auto add = [&](int64_t to, int64_t each) {
      return cluster::SaturatingAdd(to, cluster::SaturatingMultiply(each, times));
    };
    compute = add(compute, other.compute);
    memory = add(memory, other.memory);
  }
};

// How many pods of the shape fit on a node one after the other, at most `limit`.
int64_t PodsOn(const Search& search, const Shape& shape, cluster::NodeIndex node, int64_t limit);

// How many members of a role there is room for if nobody else is placed and nothing is excluded.
int64_t RoomFor(const Search& search, const Role& role);

// True when the roles want more CPU, memory, pod slots or of GPUs than all nodes together have
// free: no order of placing can help.
bool WantMoreThanThereIs(const Search& search, const std::vector<Role>& roles);

bool Excluded(const Demand& demand, cluster::NodeIndex node);

// Why `demand` finds no room on a node that is there, with `pods` of its shape on it, as many as
// fit: the first check that fails in kube-scheduler's usual order: cordoned, taints, selector and
// affinity, excluded, pod slots, CPU, memory, GPUs; last what the kubelet's NUMA policy turns away.
Cause::What WhyNot(const Search& search, const Shape& shape, const Demand& demand,
                   cluster::NodeIndex node, int64_t pods);

// The node has fewer free GPUs in total than one more pod asks for, whatever else it lacks.
bool TooFewGpus(const Search& search, const Shape& shape, cluster::NodeIndex node, int64_t pods);

}  // namespace muster::policy
