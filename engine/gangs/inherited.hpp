// The past of a gang as a new process would take it from the gang's record (internal to engine/).
// Pure.
#pragma once

#include "engine/gangs/gang.hpp"

namespace muster::engine {

// The record does not name the pod's owner among the owners of the pods that ran last.
bool OfAnotherOwner(const cluster::Pod& pod, const cluster::GangRecord& record);

// The past that follows from the record and from the members that exist.
Past Inherited(const Gang& gang, const cluster::GangRecord& record);

}  // namespace muster::engine
