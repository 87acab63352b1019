// Planted names: one that nobody decided about, one that the guard should not allow.
#include "tests/house/guard_rules.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace muster::house {
namespace {

const std::string kGuardRulesGuard = "manifests/admission/guard/guard.yaml";

std::vector<Finding> Check(const std::string& header, const std::string& guard) {
  return CheckGuard(
      MakeTree({MakeFile("kube/decode/decode.hpp", header), MakeFile(kGuardRulesGuard, guard),
                MakeFile("sim/other.hpp", "const char* kOther = \"muster.dev/other\";\n")}));
}

TEST_CASE("every annotation that people may write on pods is allowed by the guard",
          "[house][guard]") {
  const std::string gpus = "constexpr const char* kGpus =\n    \"muster.dev/gpus\";\n";
  const std::string size = "constexpr const char* kSize = \"muster.dev/min-member\";\n";
  CHECK(Check(gpus + size, "['muster.dev/min-member']\n").empty());
  CHECK(
      Check("// muster.dev/gpu…\nkOwn = \"muster.dev/*\";\n", "startsWith('muster.dev/')").empty());
  const auto findings = Check(gpus + size, "['muster.dev/something']\n");
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].path == "kube/decode/decode.hpp");
  CHECK(findings[0].line == 3);
  CHECK_THAT(findings[0].what, Catch::StartsWith("muster.dev/min-member is neither allowed in"));
  CHECK(findings[1] ==
        Finding{kGuardRulesGuard, 1, "muster.dev/something is not for people to write on pods"});
}

TEST_CASE("the guard allows nothing that Muster alone writes", "[house][guard]") {
  CHECK(Check("constexpr const char* kGpus = \"muster.dev/gpus\";\n", "\n['muster.dev/gpus']\n") ==
        std::vector<Finding>{
            {kGuardRulesGuard, 2, "muster.dev/gpus is not for people to write on pods"}});
}

TEST_CASE("the guard covers the owners of every grouping rule", "[house][guard]") {
  const auto check = [](const std::string& groups) {
    return CheckGuard(
        MakeTree({MakeFile(kGuardRulesGuard, "- apiGroups: [" + groups + "]\n"),
                  MakeFile("config/grouping/ray.yaml", "  - kind: Job\n    group: ray.io\n"),
                  MakeFile("config/grouping/spark.yaml", "  - kind: Pod\n    group: core\n")}));
  };
  CHECK(check("apps, ray.io").empty());
  CHECK(check("apps, xray.io") == std::vector<Finding>{{"config/grouping/ray.yaml", 2,
                                                        "ray.io is not in " + kGuardRulesGuard}});
}

TEST_CASE("every key of Muster's is in the list of keys", "[house][guard]") {
  const std::string keys =
      "constexpr const char* kGpus = \"muster.dev/gpus\";\n"
      "constexpr const char* kSize =\n    \"muster.dev/min-member\";\n"
      "constexpr const char* kName = \"muster.dev/muster\";\n";
  const auto check = [&](const std::string& list) {
    return CheckMusterKeys(MakeTree({MakeFile("kube/decode/decode.hpp", keys),
                                     MakeFile("kube/admission/muster_keys.cpp", list)}));
  };
  CHECK(check("{kGpus,\n kSize};\n").empty());
  CHECK(check("{kGpus, kSizes};\n") ==
        std::vector<Finding>{{"kube/decode/decode.hpp", 3,
                              "muster.dev/min-member is not in kube/admission/muster_keys.cpp"}});
}

}  // namespace
}  // namespace muster::house
