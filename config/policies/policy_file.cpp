#include "config/policies/policy_file.hpp"

#include <utility>

#include "config/file.hpp"
#include "config/policies/policy_fields.hpp"

namespace muster::config {

using cluster::Error;
using cluster::Result;

namespace {

constexpr std::string_view kHead =
    "# The policy of Muster: every field, with its default. Leave out what need not differ.\n"
    "#\n"
    "#   muster check-policy FILE        tells what is wrong with it, by line and column\n"
    "#   muster serve --policy FILE      uses it, and loads it again when it changes; a file that "
    "is\n"
    "#                                   wrong is refused as a whole, and the last good one stays\n"
    "#\n"
    "# Durations are whole numbers of h, m, s, ms (\"1h30m\"), sizes of B, KiB, MiB, GiB.\n";

constexpr std::string_view kApiVersion = "muster.dev/v1alpha1";
constexpr std::string_view kKind = "Policy";

PolicyReading Faulty(Error fault) { return {Policy{}, {std::move(fault)}}; }

}  // namespace

bool operator==(const Policy& a, const Policy& b) { return WritePolicy(a) == WritePolicy(b); }

PolicyReading ReadPolicy(std::string_view text, const std::string& file_name) {
  PolicyReading reading;
  Policy& policy = reading.policy;
  FieldFile file;
  file.what = "a policy (apiVersion: muster.dev/v1alpha1, kind: Policy)";
  file.fields = [&](FieldVisitor* visitor) {
    VisitHead(visitor, "apiVersion", kApiVersion);
    VisitHead(visitor, "kind", kKind);
    VisitPolicy(&policy, visitor);
  };
  file.contradictions = [&] {
    reading.compared = true;
    return FindContradictions(policy);
  };
  file.notes = &policy.notes;
  file.max_bytes = kMaxPolicyBytes;
  reading.faults = ReadFields(text, file_name, file);
  policy.engine.bind_hold_timeout = cluster::Duration(policy.extender.http_timeout.value() * 4 / 5);
  return reading;
}

PolicyReading ReadPolicyFile(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kMaxPolicyBytes);
  if (!text.ok()) return Faulty(text.error());
  return ReadPolicy(*text, path);
}

Result<Policy> PolicyReading::Take() && {
  if (ok()) return std::move(policy);
  Error error = faults.front();
  if (faults.size() > 1) {
    error.message += " (the first fault of " + std::to_string(faults.size()) + ")";
  }
  return error;
}

std::string WritePolicy(const Policy& policy, PolicyText style) {
  Policy copy = policy;  // visitors may change what they visit; the writer does not
  std::string text = style == PolicyText::kCommented ? std::string(kHead) : "";
  text += "apiVersion: " + std::string(kApiVersion) + "\n";
  text += "kind: " + std::string(kKind) + "\n";
  return text + WriteFields([&](FieldVisitor* visitor) { VisitPolicy(&copy, visitor); }, style);
}

}  // namespace muster::config
