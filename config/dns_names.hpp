// The names that Kubernetes takes for its objects (RFC 1123) and labels. Pure functions, any
// thread.
#pragma once

#include <string_view>

namespace muster::config {

// Lower-case letters, digits and '-', which is neither first nor last; at most 63 characters. Names
// of namespaces are labels.
bool IsDnsLabel(std::string_view text);

// Labels joined by dots; at most 253 characters. Names of nodes, pods, groups and jobs are.
bool IsDnsSubdomain(std::string_view text);

// The key of a label: [DNS subdomain/]name, where the name is up to 63 of A-Z a-z 0-9 - _ . and
// begins and ends with a letter or digit.
bool IsLabelKey(std::string_view text);

}  // namespace muster::config
