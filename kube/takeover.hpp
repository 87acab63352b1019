// The label by which the Service finds the leader. Calls through ApiCaller, one after the other;
// any thread.
#pragma once

#include <functional>

#include "cluster/ids.hpp"
#include "cluster/result.hpp"
#include "kube/api_caller.hpp"

namespace muster::kube {

// On the pod of the replica that leads, "true".
inline constexpr const char* kLeaderLabel = "muster.dev/leader";

// Puts the label on `own` and takes it off every other pod of its namespace, where that is not so
// already. An error: not all of it is done, and it should be tried again.
// `leads` is asked before each call.
cluster::Status TakeLeaderLabel(ApiCaller& api, const cluster::ObjectKey& own,
                                const std::function<bool()>& leads);
// Takes it off `own`, if it is there.
cluster::Status DropLeaderLabel(ApiCaller& api, const cluster::ObjectKey& own);

}  // namespace muster::kube
