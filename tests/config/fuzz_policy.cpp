// libFuzzer: any text is a policy that survives writing and reading, or faults with their places.
// The same text is read as a file of teams, for lists, free names and tables that hold themselves.
#include <cstddef>
#include <cstdint>
#include <string>

#include "cluster/base/check.hpp"
#include "config/policies/policy_file.hpp"
#include "tests/config/team_table.hpp"

namespace {

using namespace muster::config;  // NOLINT(google-build-using-namespace)

void CheckFaults(const std::vector<muster::cluster::Error>& faults) {
  MUSTER_CHECK(faults.size() <= kMostFaults + 1);
  for (const muster::cluster::Error& fault : faults) {
    MUSTER_CHECK(!fault.message.empty());
    MUSTER_CHECK(fault.place.substr(0, 1) == "p");
    MUSTER_CHECK(fault.ToString().find('\n') == std::string::npos);
  }
}

void TryPolicy(const std::string& text) {
  const PolicyReading read = ReadPolicy(text, "p");
  if (!read.ok()) return CheckFaults(read.faults);
  const PolicyReading again = ReadPolicy(WritePolicy(read.policy, PolicyText::kCommented), "p");
  MUSTER_CHECK(again.ok());
  MUSTER_CHECK(again.policy == read.policy);
  MUSTER_CHECK(again.policy.engine.bind_hold_timeout == read.policy.engine.bind_hold_timeout);
}

std::vector<muster::cluster::Error> ReadTeams(const std::string& text, testing::Teams* teams) {
  FieldFile file;
  file.what = "teams";
  file.fields = testing::TableOf(teams);
  return ReadFields(text, "p", file);
}

void TryTeams(const std::string& text) {
  testing::Teams teams;
  const auto faults = ReadTeams(text, &teams);
  if (!faults.empty()) return CheckFaults(faults);
  testing::Teams again;
  const std::string written = WriteFields(testing::TableOf(&teams), FieldText::kCommented);
  const auto left = ReadTeams(written, &again);
  MUSTER_CHECK(left.empty());
  MUSTER_CHECK(WriteFields(testing::TableOf(&again), FieldText::kCommented) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  TryPolicy(text);
  TryTeams(text);
  return 0;
}
