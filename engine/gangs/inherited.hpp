// What a gang's past would be for a process that reads its record now (internal to engine/). Pure.
#pragma once

#include "engine/gangs/gang.hpp"

namespace muster::engine {

// The record does not name its owner among those that ran last.
bool OfAnotherOwner(const cluster::Pod& pod, const cluster::GangRecord& record);

// By that record, and by the members that are there.
Past Inherited(const Gang& gang, const cluster::GangRecord& record);

}  // namespace muster::engine
