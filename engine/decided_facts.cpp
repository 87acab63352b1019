#include "engine/decided_facts.hpp"

#include <algorithm>

#include "engine/engine_state.hpp"

namespace muster::engine {

using cluster::Pod;
using cluster::PodUid;

namespace {

// The pod is bound where it is planned.
Pod AsBound(Pod pod, const MemberPlan& plan) {
  pod.node_name = plan.node;
  pod.bound_gpus.clear();
  for (const cluster::GpuShare& gpu : plan.placement->gpus) pod.bound_gpus.push_back(gpu.index);
  pod.bound_by_muster = true;
  pod.gates.clear();
  pod.nominated_node.clear();
  return pod;
}

}  // namespace

std::vector<Fact> FewFacts(const EngineState& state) {
  std::vector<Fact> facts;
  for (const auto* one : state.cluster.Namespaces()) facts.emplace_back(*one);
  for (const auto* one : state.cluster.PriorityClasses()) facts.emplace_back(*one);
  for (const auto* one : state.cluster.DisruptionBudgets()) facts.emplace_back(*one);
  for (cluster::BatchJob& job : state.jobs.All()) facts.emplace_back(std::move(job));
  return facts;
}

ManyFacts ListFacts(const EngineState& state) {
  ManyFacts list;
  list.pods.reserve(state.cluster.pod_count());
  state.cluster.EachPod([&](const Pod& pod) { list.pods.push_back(pod.uid); });
  for (const cluster::PodGroup* group : state.cluster.PodGroups())
    list.groups.push_back(group->key);
  return list;
}

void TellGroups(const EngineState& state, const ManyFacts& list, size_t next, size_t most,
                std::vector<Fact>& facts) {
  const size_t end = std::min(list.groups.size(), next + most);
  for (; next < end; ++next) {
    if (const auto* group = state.cluster.FindPodGroup(list.groups[next]))
      facts.emplace_back(*group);
  }
}

void TellPods(const EngineState& state, const ManyFacts& list, size_t next, size_t most,
              std::vector<Fact>& facts) {
  const size_t end = std::min(list.pods.size(), next + most);
  for (; next < end; ++next) {
    const PodUid& uid = list.pods[next];
    const Pod* pod = state.cluster.FindPod(uid);
    if (pod == nullptr || state.preemptions.PreemptorOf(uid) != nullptr) continue;
    const Member* member = state.members.FindMember(uid);
    const bool planned = member != nullptr && member->planned() && !pod->bound();
    facts.emplace_back(planned ? AsBound(*pod, *member->plan) : *pod);
  }
}

cluster::Node AsFact(cluster::Node node) {
  node.unschedulable = node.unschedulable || node.left_out;
  node.left_out = false;
  for (cluster::Gpu& gpu : node.gpus) {
    gpu.cordoned = gpu.cordoned || gpu.left_out;
    gpu.left_out = false;
  }
  return node;
}

}  // namespace muster::engine
