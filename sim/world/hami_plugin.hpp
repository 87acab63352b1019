// HamiPlugin: HAMi's device plugins of all nodes, as far as it matters which pod they serve. From
// Project-HAMi/HAMi v2.10.0: Allocate (pkg/device-plugin/nvidiadevice/nvinternal/plugin/server.go)
// and GetPendingPod (pkg/util/util.go).
//
// Nobody tells the plugin which pod asks. It serves the one that the node's lock names, else the
// first one, by namespace and name, that Pod::hami_turn says it may take: also one that it has
// served. So pods that start on one node at the same time can get each other's devices, or none.
//
// Owned by sim::Kubelet; one thread at a time (the loop's).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/api_server/api_server.hpp"

namespace muster::sim {

class HamiPlugin {
 public:
  explicit HamiPlugin(ApiServer& api) : api_(api) {}

  // The kubelet wants so many devices for a container. Nothing: the plugin refuses,
  // and the kubelet does not admit the pod.
  std::optional<std::vector<cluster::HamiDevice>> Allocate(const std::string& node, size_t count);

 private:
  PodPtr PendingOn(const std::string& node) const;

  ApiServer& api_;
};

}  // namespace muster::sim
