// Doctor: what keeps an installation of Muster from working, as the cluster's API server tells it.
// Reads only. Each check gives a finding; what the caller may not read is unknown, not at fault.
//
// One thread. Costs some 40 calls, and one list of the pods that are Pending.
#pragma once

#include <string>
#include <vector>

#include "cluster/units.hpp"
#include "kube/api_caller.hpp"

namespace muster::extender {

struct Finding {
  enum class Kind {
    kFine,
    kNote,     // works, but somebody should know
    kUnknown,  // could not be found out
    kFault,
  };
  Kind kind = Kind::kFine;
  std::string check;   // "leader"
  std::string what;    // one sentence
  std::string remedy;  // what to do; empty where it is fine
};
const char* ToString(Finding::Kind kind);  // "ok", "note", "unknown", "fault"

struct DoctorOptions {
  std::string ns = "muster-system";  // where Muster is installed
  cluster::Time now;                 // of the wall clock
};

// In the order in which things depend on each other. Where the API server does not answer at all:
// that finding alone.
std::vector<Finding> Examine(kube::ApiCaller& api, const DoctorOptions& options);

}  // namespace muster::extender
