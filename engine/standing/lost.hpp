// Lost: what goes together when a gang makes way for another one (internal to engine/). Plain
// values.
#pragma once

#include <memory>
#include <vector>

#include "cluster/holdings/allocation.hpp"
#include "engine/gangs/member.hpp"
#include "policy/victims/loss.hpp"
#include "policy/victims/preemption.hpp"

namespace muster::engine {

// A pod that would go, and what it holds. Both point into the engine's state, and are valid until
// it changes.
struct LostPod {
  const Member* member = nullptr;
  const cluster::Placement* held = nullptr;
};

// Pods that go together, and what that costs.
struct Lost {
  policy::Loss loss;
  bool whole = false;  // all that is left of the gang
  std::vector<LostPod> pods;
  // For a surplus pod: what the pods of its gang hold that could go in its place, itself among
  // them. Null: it is no surplus pod.
  std::shared_ptr<const std::vector<cluster::Placement>> alike = nullptr;
};

std::vector<policy::Candidate> ToCandidates(const std::vector<const Lost*>& losses);

}  // namespace muster::engine
