// WrongResource: names of resources that no node can have, or that are another one mistyped. Pure
// function, any thread.
#pragma once

#include <string>
#include <string_view>

namespace muster::kube {

// What is wrong with the name in a pod's requests, a node's capacity or the like; empty: nothing. A
// name without a domain must be one of Kubernetes' own, as the API server has it; one that is close
// to a device that Muster plans is taken for a slip, because no node would ever have it.
std::string WrongResource(std::string_view name);

}  // namespace muster::kube
