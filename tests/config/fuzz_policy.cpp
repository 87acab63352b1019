// libFuzzer: any text is a policy that survives writing and reading, or one error with its place.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/check.hpp"
#include "config/policy_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace muster::config;  // NOLINT(google-build-using-namespace)
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto policy = LoadPolicy(text, "p");
  if (!policy.ok()) {
    MUSTER_CHECK(!policy.error().message.empty());
    MUSTER_CHECK(policy.error().place.substr(0, 1) == "p");
    MUSTER_CHECK(policy.error().ToString().find('\n') == std::string::npos);
    return 0;
  }
  const auto again = LoadPolicy(WritePolicy(*policy, PolicyText::kCommented), "p");
  MUSTER_CHECK(again.ok());
  MUSTER_CHECK(*again == *policy);
  MUSTER_CHECK(again->engine.bind_hold_timeout == policy->engine.bind_hold_timeout);
  return 0;
}
