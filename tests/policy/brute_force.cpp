#include "tests/policy/brute_force.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace muster::testing {
namespace {

// Compute and memory of each device.
using Free = std::vector<std::pair<int, int>>;

// Tries every set of devices for every pod, remembering states seen before.
class NodeTrial {
 public:
  NodeTrial(const cluster::Node& node, const cluster::PodSpec& spec) : node_(node), spec_(spec) {}

  int Most(const Free& free, int pods_left) {
    if (pods_left == 0) return 0;
    const auto [known, added] = seen_.try_emplace({free, pods_left}, 0);
    if (!added) return known->second;
    int best = 0;
    const auto sets = 1u << free.size();
    for (unsigned set = 0; set < sets; ++set) {
      if (__builtin_popcount(set) != spec_.gpus.count) continue;
      Free after = free;
      if (Take(set, after)) best = std::max(best, 1 + Most(after, pods_left - 1));
    }
    seen_[{free, pods_left}] = best;
    return best;
  }

 private:
  bool Take(unsigned set, Free& free) const {
    for (size_t i = 0; i < free.size(); ++i) {
      if ((set >> i & 1u) == 0) continue;
      const Share share = ShareByHand(node_.gpus[i], spec_.gpus);
      if (share.memory == 0 || !node_.gpus[i].healthy) return false;
      if (free[i].first < share.compute || free[i].second < share.memory) return false;
      free[i].first -= share.compute;
      free[i].second -= share.memory;
    }
    return true;
  }

  const cluster::Node& node_;
  const cluster::PodSpec& spec_;
  std::map<std::pair<Free, int>, int> seen_;
};

}  // namespace

int MostPods(const World& world, const cluster::PodSpec& spec) {
  int most = 0;
  for (const cluster::Node* node : world.state.Nodes()) {
    if (node->unschedulable || !node->ready || !Allowed(spec, *node)) continue;
    int64_t cpu = node->allocatable.cpu.value();
    int64_t memory = node->allocatable.memory.value();
    int64_t slots = node->allocatable.pods;
    Free free(node->gpus.size(), {1000, 1000});
    for (const cluster::PodUid& uid : world.state.HoldersOn(world.Index(node->name))) {
      const cluster::Placement& held = world.state.AllocationOf(uid)->placement;
      cpu -= held.requests.cpu.value();
      memory -= held.requests.memory.value();
      slots -= held.requests.pods;
      for (size_t i = 0; i < free.size(); ++i) {
        for (const cluster::GpuShare& share : held.gpus) {
          if (share.index != node->gpus[i].index) continue;
          free[i].first -= static_cast<int>(share.taken.compute().value());
          free[i].second -= static_cast<int>(share.taken.memory().value());
        }
      }
    }
    if (spec.requests.cpu.value() > 0) slots = std::min(slots, cpu / spec.requests.cpu.value());
    if (spec.requests.memory.value() > 0) {
      slots = std::min(slots, memory / spec.requests.memory.value());
    }
    if (slots <= 0) continue;
    most += NodeTrial(*node, spec).Most(free, static_cast<int>(slots));
  }
  return most;
}

}  // namespace muster::testing
