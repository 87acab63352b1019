#include "sim/audit/node_audit.hpp"

#include <algorithm>
#include <utility>

#include "cluster/holdings/allocation.hpp"
#include "cluster/holdings/node_ledger.hpp"
#include "sim/audit/hami_audit.hpp"
#include "sim/schedulers/scheduler_cache.hpp"

namespace muster::sim {

using cluster::PodUid;

namespace {

struct Taken {
  cluster::DeviceAmount amount;
  std::string owners;  // each after a space
};

Taken TakenOf(const cluster::Gpu& gpu, const std::map<PodUid, PodPtr>& pods) {
  Taken taken;
  for (const auto& [uid, pod] : pods) {
    const auto& held = pod->pod.bound_gpus;
    if (std::find(held.begin(), held.end(), gpu.index) == held.end()) continue;
    // A device that cannot serve such a request any more is taken whole.
    const cluster::DeviceAmount share = cluster::ShareOn(gpu, pod->pod.spec->gpus);
    taken.amount += share.none() ? cluster::DeviceAmount::All() : share;
    taken.owners.append(" ").append(pod->pod.key.ToString());
  }
  return taken;
}

const cluster::Gpu* FindGpu(const cluster::Node& node, cluster::GpuIndex index) {
  const auto found = std::find_if(node.gpus.begin(), node.gpus.end(),
                                  [&](const cluster::Gpu& gpu) { return gpu.index == index; });
  return found == node.gpus.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> BindingFaults(const PodRecord& bound, const NodePtr& node,
                                       const std::map<PodUid, PodPtr>& pods) {
  const std::string what =
      "pod " + bound.pod.key.ToString() + " on node " + bound.pod.node_name + ": ";
  if (node == nullptr) return {what + "there is no such node"};
  std::vector<std::string> faults;
  const cluster::GpuRequest& wants = bound.pod.spec->gpus;
  if (static_cast<int64_t>(bound.pod.bound_gpus.size()) != wants.count) {
    faults.push_back(what + "has " + std::to_string(bound.pod.bound_gpus.size()) +
                     " GPUs assigned of " + std::to_string(wants.count));
  }
  for (const cluster::GpuIndex gpu : bound.pod.bound_gpus) {
    const auto& gpus = node->node.gpus;
    const bool usable = std::any_of(gpus.begin(), gpus.end(), [&](const cluster::Gpu& one) {
      return one.index == gpu && one.healthy;
    });
    if (!usable) faults.push_back(what + "GPU " + std::to_string(gpu.value) + " is not usable");
  }
  Amounts used;
  for (const auto& [uid, other] : pods) used += HeldBy(other->pod);
  Amounts offer = AllocatableOf(node->node);
  // Where devices are shared, Muster goes by devices and not by their number, as the kubelet does:
  // a pod that runs on a broken one takes no healthy one away. DeviceFaults looks at those.
  for (const cluster::Gpu& gpu : node->node.gpus) {
    if (!gpu.healthy && !gpu.sharing->counted()) ++offer.gpus;
  }
  const Amounts request = RequestOf(*bound.pod.spec);
  const auto judge = [&](int64_t asked, int64_t taken, int64_t offered, const char* kind) {
    if (asked <= 0 || taken <= offered) return;
    faults.push_back(what + kind + " " + std::to_string(taken) + " of " + std::to_string(offered) +
                     " taken");
  };
  judge(request.gpus, used.gpus, offer.gpus, "GPUs");
  judge(request.resources.cpu.value(), used.resources.cpu.value(), offer.resources.cpu.value(),
        "milli-CPU");
  judge(request.resources.memory.value(), used.resources.memory.value(),
        offer.resources.memory.value(), "MiB");
  judge(request.resources.pods, used.resources.pods, offer.resources.pods, "pod slots");
  judge(request.resources.channels, used.resources.channels, cluster::kChannelsPerNode, "channels");
  for (const cluster::NamedAmount& one : request.resources.named.list()) {
    judge(one.amount, used.resources.named.Of(one.name), offer.resources.named.Of(one.name),
          one.name.c_str());
  }
  for (std::string& fault : HamiFaults(bound, node->node, pods)) faults.push_back(std::move(fault));
  return faults;
}

std::vector<std::string> DeviceFaults(const PodRecord& fresh, const cluster::Node& node,
                                      const NodePtr& known, const std::map<PodUid, PodPtr>& pods) {
  std::vector<std::string> faults;
  for (const cluster::GpuIndex index : fresh.pod.bound_gpus) {
    const cluster::Gpu* gpu = FindGpu(node, index);
    if (gpu == nullptr) continue;
    const Taken taken = TakenOf(*gpu, pods);
    if (cluster::DeviceAmount::All().Holds(taken.amount)) continue;
    const cluster::Gpu* before = known == nullptr ? nullptr : FindGpu(known->node, index);
    if (before != nullptr && cluster::DeviceAmount::All().Holds(TakenOf(*before, pods).amount))
      continue;
    faults.push_back("GPU " + std::to_string(index.value) + " of node " + node.name + " has " +
                     std::to_string(taken.amount.most().value()) + " of 1000 taken by" +
                     taken.owners);
  }
  return faults;
}

}  // namespace muster::sim
