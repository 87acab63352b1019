// The policy that `muster serve` starts with: its file with the TLS flags over it; and the part of
// it that holds from start to end. Pure functions but for ReadPolicy, which reads the file.
#pragma once

#include <string>
#include <vector>

#include "config/policy_file.hpp"

namespace muster::extender {

// The policy in `file` (empty: the defaults) with `flags` over its TLS section, field by field: an
// empty field is a flag that was not given. What comes out is held to the rules of a policy file;
// a fault of flags has the flag as its place.
config::PolicyReading ReadStartPolicy(const std::string& file, const config::TlsSettings& flags);

// Servers, the schedulerNames that the cluster was started with and what follows from httpTimeout:
// puts back what `started` has. Returns the fields of the file ("extender.httpTimeout", or
// "extender" when it is more than that one) whose change waits for a restart.
std::vector<std::string> KeepStarted(const config::Policy& started, config::Policy* policy);

}  // namespace muster::extender
