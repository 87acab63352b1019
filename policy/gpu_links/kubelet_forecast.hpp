// KubeletForecast: which GPUs a pod will find itself with, where NVIDIA's device plugin hands them
// out by its own rule and not by the plan (topology/links/pick_table.hpp).
//
// A forecast is made where the links of the node are known, all of its devices are given out whole,
// its kubelet has no topology manager policy, and one container of the pod asks for GPUs; else
// the outcome is kUnknown. What the kubelet takes for free is the caller's to say.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cluster/base/ids.hpp"
#include "cluster/records/node.hpp"
#include "cluster/records/pod.hpp"
#include "topology/links/machine_profile.hpp"
#include "topology/links/pick_table.hpp"

namespace muster::policy {

class LinksMemory;

struct KubeletPick {
  topology::PickOutcome outcome = topology::PickOutcome::kUnknown;
  // Unless kUnknown: what is handed out, ordered; of several sets that the rule likes as well, the
  // planned one, else the one with the lowest indices.
  std::vector<cluster::GpuIndex> gpus;
  int32_t choices = 0;  // so many sets does the rule like as well; 0: not known
  bool operator==(const KubeletPick&) const = default;
};

// Owned by one thread; the answer never depends on what it remembers.
class KubeletForecast {
 public:
  KubeletForecast();
  ~KubeletForecast();
  KubeletForecast(const KubeletForecast&) = delete;
  KubeletForecast& operator=(const KubeletForecast&) = delete;

  // The machine profiles that count from now on; null: none.
  void Use(const std::shared_ptr<const topology::MachineProfiles>& profiles);
  // The pod gets whole GPUs of this node, from NVIDIA's device plugin.
  static bool Concerns(const cluster::Node& node, const cluster::PodSpec& spec);
  // `taken`: what is not free in the kubelet's books, in any order. `planned` are of `node`.
  // Nothing where Concerns says no.
  std::optional<KubeletPick> Of(const cluster::Node& node, const cluster::PodSpec& spec,
                                std::span<const cluster::GpuIndex> taken,
                                std::span<const cluster::GpuIndex> planned);

 private:
  std::shared_ptr<const topology::MachineProfiles> profiles_;
  std::unique_ptr<LinksMemory> links_;
};

}  // namespace muster::policy
