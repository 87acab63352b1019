// The nodes that kube-scheduler refused for members of a gang (internal to engine/).
#pragma once

#include <map>
#include <vector>

#include "engine/gangs/gang.hpp"
#include "policy/terms/gang_request.hpp"

namespace muster::engine {

struct StandingState;

// The nodes that pods of a gang are kept off.
class NodesRefused {
 public:
  // Both must outlive it.
  NodesRefused(const StandingState& state, const Gang& gang);
  void KeepOff(policy::Demand& demand);

 private:
  const StandingState& state_;
  const struct Refusal* const refusal_;
  std::map<const cluster::PodSpec*, std::vector<cluster::NodeIndex>> nodes_;
};

}  // namespace muster::engine
