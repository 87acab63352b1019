// Doctor: what keeps an installation of Muster from working, as the cluster's API server tells it.
// Reads only. Each check gives a finding; what the caller may not read is unknown, not at fault.
//
// One thread. Costs some 40 calls, and one list of the pods that are Pending.
#pragma once

#include <vector>

#include "extender/doctor/doctor_values.hpp"
#include "kube/api/api_caller.hpp"

namespace muster::extender {

// In the order in which things depend on each other. Where the API server does not answer at all:
// that finding alone.
std::vector<Finding> Examine(kube::ApiCaller& api, const DoctorOptions& options);

}  // namespace muster::extender
