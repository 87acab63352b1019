// The policy file: one YAML document of apiVersion muster.dev/v1alpha1, kind Policy.
//
// config/policy.yaml lists every field with its meaning and default. A file that is wrong in any
// way is refused as a whole, with all that is wrong with it in the order of the file:
//   policy.yaml:14:20: gangs.partialTimeout: expected a duration from 1s to 1h, …, found "90"
// Pure functions but for those that read a file. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/result.hpp"
#include "config/fields/field_file.hpp"
#include "config/policies/policy.hpp"

namespace muster::config {

// True when both write the same file.
bool operator==(const Policy& a, const Policy& b);

inline constexpr std::size_t kMaxPolicyBytes = std::size_t{1} << 20U;

struct PolicyReading {
  Policy policy;                       // counts only when there are no faults
  std::vector<cluster::Error> faults;  // see ReadFields
  // What its fields say together was checked, too: only where each reads right by itself.
  bool compared = false;

  bool ok() const { return faults.empty(); }
  // For callers with room for one error: the first fault, and how many there are.
  cluster::Result<Policy> Take() &&;
};

// Fields that the file leaves out have the defaults of `Policy{}`, and a section without fields
// ("gangs:") is as good as none. apiVersion and kind must be there, so an empty or cut-off file is
// never taken for a policy. engine.bind_hold_timeout is set to 0.8 × extender.httpTimeout.
PolicyReading ReadPolicy(std::string_view text, const std::string& file_name);
PolicyReading ReadPolicyFile(const std::string& path);

// As above, for callers with room for one error.
inline cluster::Result<Policy> LoadPolicy(std::string_view text, const std::string& file_name) {
  return ReadPolicy(text, file_name).Take();
}
inline cluster::Result<Policy> LoadPolicyFile(const std::string& path) {
  return ReadPolicyFile(path).Take();
}

// config/policy.yaml is WritePolicy(Policy{}, kCommented).
using PolicyText = FieldText;

// Every field with its value; LoadPolicy of the text gives `policy` back, provided that it is one
// that LoadPolicy could have given.
std::string WritePolicy(const Policy& policy, PolicyText style = PolicyText::kPlain);

}  // namespace muster::config
