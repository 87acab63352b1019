// KubeletPicks: which GPUs the pods that Muster binds will find themselves with, where NVIDIA's
// device plugin chooses, and how often that was what was planned (internal to engine/). Guarded by
// Scheduler.
//
// What the kubelet takes for free, as it is assumed here: all healthy devices of the node but those
// of pods that are bound to it or being bound. Reservations of others hold nothing there. A pod
// that this process bound has what was forecast for it, any other one what its annotation says, or
// what the books give it. Pods of one node reach the kubelet in the order in which Muster binds
// them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "cluster/holdings/cluster_state.hpp"
#include "engine/contract/gang_view.hpp"
#include "engine/contract/options.hpp"
#include "engine/gangs/gang.hpp"
#include "engine/gangs/membership.hpp"
#include "policy/gpu_links/kubelet_forecast.hpp"

namespace muster::engine {

class KubeletPicks {
 public:
  // All must outlive it.
  KubeletPicks(const cluster::ClusterState& cluster, const Membership& members,
               const Options& options)
      : cluster_(cluster), members_(members), options_(options) {}

  // Of a planned member, if it were bound now. Nothing: see policy::KubeletForecast::Concerns.
  std::optional<policy::KubeletPick> Of(const Member& member) {
    return Of(member, TakenOn(member.plan->placement->node, member.uid));
  }
  // Of the gang's members: as it was when they were bound, else if all that are planned were bound
  // now.
  void AddTo(const Gang& gang, GangView& view);

  // The member is bound as it was planned.
  void Count(const Member& member);
  // Ever: by topology::PickOutcome.
  const std::array<int64_t, topology::kPickOutcomes>& counts() const { return counts_; }

 private:
  using Taken = std::vector<cluster::GpuIndex>;
  std::optional<policy::KubeletPick> Of(const Member& member, const Taken& taken);
  Taken TakenOn(cluster::NodeIndex node, const cluster::PodUid& except) const;

  const cluster::ClusterState& cluster_;
  const Membership& members_;
  const Options& options_;
  policy::KubeletForecast forecast_;
  std::array<int64_t, topology::kPickOutcomes> counts_{};
};

}  // namespace muster::engine
