#include "sim/audit/hami_audit.hpp"

#include <algorithm>
#include <set>

#include "cluster/records/hami_devices.hpp"

namespace muster::sim {

std::vector<std::string> HamiFaults(const PodRecord& bound, const cluster::Node& node,
                                    const std::map<cluster::PodUid, PodPtr>& pods) {
  std::vector<std::string> faults;
  const auto told = bound.annotations.find(cluster::kHamiToAllocateAnnotation);
  if (told == bound.annotations.end()) return faults;
  const std::string what = "pod " + bound.pod.key.ToString() + " on node " + node.name + ": HAMi ";
  if (node.plugin != cluster::DevicePlugin::kHami)
    faults.push_back(what + "has no part in this node");
  for (const auto& [uid, other] : pods) {
    if (uid == bound.pod.uid || other->pod.hami_turn == cluster::HamiTurn::kNone) continue;
    faults.push_back(what + "may take it for " + other->pod.key.ToString() +
                     " and the other way round");
  }
  const auto containers = cluster::DecodeHamiDevices(told->second);
  if (!containers) {
    faults.push_back(what + "cannot read " + told->second);
    return faults;
  }
  std::set<std::string> listed;
  for (const auto& container : *containers) {
    for (const cluster::HamiDevice& device : container) listed.insert(device.uuid);
  }
  const auto& asking = bound.pod.spec->gpu_containers;
  const bool all_ask = std::all_of(asking.begin(), asking.end(), [](const auto& container) {
    return container.count == container.planned();
  });
  const auto& given = bound.pod.bound_gpus;
  for (const cluster::Gpu& gpu : node.gpus) {
    const bool planned = std::find(given.begin(), given.end(), gpu.index) != given.end();
    const bool told_of = listed.contains(gpu.uuid);
    if (planned ? all_ask && !told_of : told_of)
      faults.push_back(what + (planned ? "is not given " : "is given ") + gpu.uuid);
  }
  return faults;
}

std::string HamiGaveOther(const PodRecord& pod) {
  const auto told = pod.annotations.find(cluster::kHamiAllocatedAnnotation);
  if (pod.hami_given.empty() || told == pod.annotations.end()) return {};
  const auto containers = cluster::DecodeHamiDevices(told->second);
  std::vector<cluster::HamiDevice> listed;
  for (const auto& container : containers.value_or(cluster::HamiContainers()))
    listed.insert(listed.end(), container.begin(), container.end());
  if (listed == pod.hami_given) return {};
  return "pod " + pod.pod.key.ToString() + " on node " + pod.pod.node_name +
         ": HAMi gave it other devices than it was told";
}

}  // namespace muster::sim
