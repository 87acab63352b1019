#include "config/policies/policy_manifest.hpp"

#include <catch2/catch.hpp>

namespace muster::config {
namespace {

struct PolicyManifestCase {
  std::string name;
  std::string text;
  std::string want;
};

std::string PolicyManifestFaultsOf(const std::string& text) {
  std::string lines;
  for (const cluster::Error& fault : ReadPolicyOrManifest(text, "f.yaml").faults) {
    lines += (lines.empty() ? "" : "\n") + fault.ToString();
  }
  return lines;
}

constexpr const char* kMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: muster-policy}\n";

TEST_CASE("faults of a policy in a ConfigMap have their place in the file given",
          "[config][policy]") {
  const PolicyManifestCase c = GENERATE(values<PolicyManifestCase>({
      {"a block",
       std::string(kMap) +
           "data:\n  policy.yaml: |\n    # ours\n    apiVersion: muster.dev/v1alpha1\n\n"
           "    kind: Policy\n    gang: {}\n    placement:\n      strategy: sideways\n",
       "f.yaml:10:5: gang: unknown field, did you mean gangs?\n"
       "f.yaml:12:17: placement.strategy: expected binpack or spread, found \"sideways\""},
      {"what follows the block is none of it",
       std::string("kind: ConfigMap\ndata:\n    policy.yaml: |-\n"
                   "      kind: Policy\n      apiVersion: muster.dev/v1alpha1\n"
                   "      gang: {}\n\n    # a comment\n    other: x\nmetadata: {}\n"),
       "f.yaml:6:7: gang: unknown field, did you mean gangs?"},
      {"other documents before it",
       std::string("kind: Namespace\n---\nkind: ConfigMap\ndata: {a: b}\n---\n") + kMap +
           "data:\n  policy.yaml: |\n    kind: Policy\n    apiVersion: muster.dev/v1alpha1\n"
           "    gang: {}\n---\nkind: Service\n",
       "f.yaml:13:5: gang: unknown field, did you mean gangs?"},
      {"a key of another name, where it is the only one",
       std::string(kMap) + "data:\n  p: |\n    kind: Policy\n",
       "f.yaml:6:5: apiVersion: expected muster.dev/v1alpha1, found nothing"},
      {"in quotes, lines count from the value",
       "{\"kind\": \"ConfigMap\",\n \"data\": {\"policy.yaml\": \"kind: Policy\\ngang: {}\\n\"}}",
       "f.yaml:2:26: data[policy.yaml]:1:1: apiVersion: expected muster.dev/v1alpha1, found "
       "nothing\nf.yaml:2:26: data[policy.yaml]:2:1: gang: unknown field, did you mean gangs?"},
      {"a list", std::string(kMap) + "data: {policy.yaml: [a]}\n",
       "f.yaml:4:8: data[policy.yaml]: expected the text of a policy, found a list"},
      {"no policy", std::string(kMap) + "data: {a: b, c: d}\n",
       "f.yaml:1:1: data: expected a policy under policy.yaml, found none"},
      {"two policies",
       "kind: ConfigMap\ndata: {policy.yaml: a}\n---\nkind: ConfigMap\ndata: {policy.yaml: b}\n",
       "f.yaml:5:8: data: expected one policy, found 2"},
      {"the policy itself", "kind: Policy\ngang: {}\n",
       "f.yaml:1:1: apiVersion: expected muster.dev/v1alpha1, found nothing\n"
       "f.yaml:2:1: gang: unknown field, did you mean gangs?"},
      {"no YAML", "kind: ConfigMap\ndata: [\n", "f.yaml:3:1: expected ',' or ']'"},
  }));
  CAPTURE(c.name);
  CHECK(PolicyManifestFaultsOf(c.text) == c.want);
}

TEST_CASE("a policy in a ConfigMap is the policy of the file", "[config][policy]") {
  const std::string plain = WritePolicy(Policy{}, PolicyText::kCommented);
  std::string block = std::string(kMap) + "data:\n  policy.yaml: |\n";
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t end = plain.find('\n', at) + 1;
    block += (end > at + 1 ? "    " : "") + plain.substr(at, end - at);
    at = end;
  }
  const PolicyReading read = ReadPolicyOrManifest(block, "f.yaml");
  REQUIRE(read.ok());
  CHECK(read.policy == Policy{});
}

}  // namespace
}  // namespace muster::config
