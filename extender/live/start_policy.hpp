// The policy that `muster serve` starts with: its file with the TLS flags over it; and what a
// reload does not change. Pure functions but for ReadPolicy, which reads the file.
#pragma once

#include <string>
#include <vector>

#include "config/policies/policy_file.hpp"
#include "kube/owners/grouping_book.hpp"

namespace muster::extender {

// The policy in `file` (itself, or in a ConfigMap there; empty: the defaults) with `flags` over its
// TLS section, field by field: an empty field is a flag that was not given. What comes out is held
// to the rules of a policy file; a fault of flags has the flag as its place. It has the machine
// profiles that it asks for.
config::PolicyReading ReadStartPolicy(const std::string& file, const config::TlsSettings& flags);

// A reload changes everything, but on the embedded cluster: its kube-scheduler was started with
// schedulerNames, the extender's address, TLS and httpTimeout, as a real one has them in its own
// configuration. Puts back what `started` has of these; returns the fields ("extender.tls") whose
// change waits for a restart.
std::vector<std::string> KeepForEmbedded(const config::Policy& started, config::Policy* policy);

// Which pods are in gangs by their owners: by the rules that ship, and by those of the policy.
kube::GroupingSettings GroupingOf(const config::Policy& policy);

}  // namespace muster::extender
