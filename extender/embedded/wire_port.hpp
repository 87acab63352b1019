// WirePort: kube-scheduler's side of the extender protocol in bytes. What Filter and Prioritize
// send and read is here; how the bytes travel is for those who derive from it.
//
// Owned by the simulated cluster; one thread at a time (its loop's).
#pragma once

#include <string>

#include "cluster/base/result.hpp"
#include "extender/telemetry/metrics.hpp"
#include "sim/calls/extender_port.hpp"

namespace muster::extender {

class WirePort : public sim::ExtenderPort {
 public:
  sim::FilterReply Filter(const engine::NodesQuestion& question) final;
  sim::PrioritizeReply Prioritize(const engine::NodesQuestion& question) final;

 protected:
  // Sends one Filter or Prioritize body and returns the reply's.
  virtual cluster::Result<std::string> Exchange(ExtenderVerb verb, const std::string& body) = 0;
};

}  // namespace muster::extender
