// What a process knows of a gang's past when it comes (internal to engine/). Pure.
#pragma once

#include "cluster/gang_record.hpp"
#include "engine/gang.hpp"

namespace muster::engine {

// By that record, and by the members that are there.
Past Inherited(const Gang& gang, const cluster::GangRecord& record);

}  // namespace muster::engine
