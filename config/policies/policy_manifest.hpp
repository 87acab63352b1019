// ReadPolicyOrManifest: a policy as people hand it in: the file itself, or Kubernetes
// manifests with a ConfigMap that holds it, as `kubectl kustomize` and `kubectl get -o yaml` print
// them. Faults have their place in the text given. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "config/policies/policy_file.hpp"

namespace muster::config {

// The key of the data; where there is one ConfigMap with one key, that key may be another one.
inline constexpr std::string_view kPolicyKey = "policy.yaml";

// One policy: two are a fault. In a block ("|") faults have the line and column of the text given;
// a value in quotes has lines of its own, which follow the place of the value: "cm.json:4:12:
// data[policy.yaml]:3:1: …".
PolicyReading ReadPolicyOrManifest(std::string_view text, const std::string& file_name);
// As above, from a file.
PolicyReading ReadPolicyOrManifestFile(const std::string& path);

}  // namespace muster::config
