// What a new leader writes before it decides anything: the fence against its predecessor, and the
// label by which the Service finds it. Calls through ApiCaller, one after the other; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cluster/ids.hpp"
#include "cluster/result.hpp"
#include "engine/actions.hpp"
#include "kube/api_caller.hpp"

namespace muster::kube {

// On the pod of the replica that leads, "true".
inline constexpr const char* kLeaderLabel = "muster.dev/leader";

// Writes the term into an annotation of each pod, so that its version changes: a Binding that names
// the version before is refused from then on. Pods that are gone are passed over, and with a
// warning those that cannot be written. An error: the fence is not whole, and nothing may be
// planned. `versions` gets what the pods have now, `leads` is asked before each write.
struct FencePorts {
  ApiCaller& api;
  std::function<void(const engine::PodRef&, int64_t)> versions;
  std::function<bool()> leads;
  std::function<void(const std::string&)> warn;
};
cluster::Status Fence(const FencePorts& ports, const std::vector<engine::PodRef>& pods,
                      uint64_t term);

// Puts the label on `own` and takes it off every other pod of its namespace, where that is not so
// already. An error: not all of it is done, and it should be tried again.
// `leads` is asked before each call.
cluster::Status TakeLeaderLabel(ApiCaller& api, const cluster::ObjectKey& own,
                                const std::function<bool()>& leads);
// Takes it off `own`, if it is there.
cluster::Status DropLeaderLabel(ApiCaller& api, const cluster::ObjectKey& own);

}  // namespace muster::kube
