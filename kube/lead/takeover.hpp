// The label by which the Service finds the leader. Calls through ApiCaller, one after the other.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "cluster/base/ids.hpp"
#include "cluster/base/result.hpp"
#include "cluster/base/units.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/api/step_thread.hpp"

namespace muster::kube {

// On the pod of the replica that leads, "true".
inline constexpr const char* kLeaderLabel = "muster.dev/leader";

// Puts the label on `own` and takes it off every other pod of its namespace, where that is not so
// already. An error: not all of it is done, and it should be tried again.
// `leads` is asked before each call.
cluster::Status TakeLeaderLabel(ApiCaller& api, const cluster::ObjectKey& own,
                                const std::function<bool()>& leads);
// Takes it off `own`, if it is there. One call.
cluster::Status DropLeaderLabel(ApiCaller& api, const cluster::ObjectKey& own);

// Keeps the label of one's own pod as it should be. A pod that does not lead has none, whatever a
// process before in it has left: it is taken off until that is done. While it leads it is put on
// until it is there, for without it the leader is not found, and looked after each minute.
//
// Not for several threads at a time.
class LeaderLabel {
 public:
  struct Ports {
    ApiCaller& api;
    std::function<bool()> leading;    // the label should be on
    std::function<bool()> may_write;  // the lease is held
    std::function<void(const std::string&)> warn;
  };

  LeaderLabel(Ports ports, cluster::ObjectKey own)
      : ports_(std::move(ports)), own_(std::move(own)) {}

  // Returns when it wants to be called again; also to be called when leading() changes.
  cluster::Time Step(const Clocks& now);
  // For the end: one try to take it off. True: it is off.
  bool Drop();

 private:
  const Ports ports_;
  const cluster::ObjectKey own_;
  bool off_ = false;  // known to be
  cluster::Duration wait_ = cluster::Seconds(1);
};

}  // namespace muster::kube
