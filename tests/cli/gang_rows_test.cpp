// What `get gangs` prints, in its forms.
#include "cli/tables/gang_rows.hpp"

#include <catch2/catch.hpp>

#include "cli/tables/output_format.hpp"

namespace muster::cli::testing {
namespace {

constexpr const char* kGangs = R"({"gangs": [
    {"namespace": "demo", "name": "a", "state": "Running", "priority": 0, "minMember": 10,
     "gpus": 80, "pods": 10, "bound": 10, "waitedSeconds": 0.25, "ageSeconds": 90},
    {"namespace": "demo", "name": "b", "state": "Queued", "priority": 7, "minMember": 2,
     "gpus": 0.5, "pods": 2, "bound": 0, "queue": "team", "waitedSeconds": 75,
     "reason": {"code": "NotEnoughGpus", "message": "not enough free GPUs in any rack"}}]})";

TEST_CASE("gangs are rows with GPUs, priority and age; wide ones say queue and code", "[cli]") {
  CHECK(GangsTable(kGangs, false, 0).value() ==
        "NAMESPACE  NAME  STATE    PRIORITY  GPUS  MIN  BOUND  WAITED    AGE  WHY\n"
        "demo       a     Running         0    80   10  10/10   250ms  1m30s\n"
        "demo       b     Queued          7   0.5    2    0/2   1m15s      -  "
        "not enough free GPUs in any rack\n");
  CHECK(
      GangsTable(kGangs, true, 0).value() ==
      "NAMESPACE  NAME  STATE    PRIORITY  GPUS  MIN  BOUND  WAITED    AGE  QUEUE  CODE           "
      "WHY\n"
      "demo       a     Running         0    80   10  10/10   250ms  1m30s  -      -\n"
      "demo       b     Queued          7   0.5    2    0/2   1m15s      -  team   NotEnoughGpus  "
      "not enough free GPUs in any rack\n");
  CHECK_THAT(GangsTable(kGangs, false, 90).value(), Catch::Contains("  not enough free GPUs…\n"));
  CHECK(GangsTable(R"({"gangs": []})", false, 0).value() == "no gangs\n");
  CHECK_FALSE(GangsTable("<html>", false, 0).ok());
}

TEST_CASE("states have colours on a terminal that shows them, and the columns stay", "[cli]") {
  const std::string text = GangsTable(kGangs, false, 90, true).value();
  CHECK_THAT(text, Catch::Contains("demo       a     \x1b[32mRunning\x1b[0m         0    80"));
  CHECK_THAT(text, Catch::Contains("demo       b     \x1b[33mQueued\x1b[0m          7   0.5"));
  CHECK_THAT(text, Catch::StartsWith("NAMESPACE  NAME  STATE    PRIORITY"));
  CHECK_THAT(text, Catch::Contains("  not enough free GPUs…\n"));
}

TEST_CASE("told again, only gangs that changed are shown, times not counted", "[cli]") {
  GangRows rows(false, 0);
  const auto page = [](const std::string& state, const std::string& waited,
                       const std::string& other) {
    return R"({"gangs": [{"namespace": "d", "name": "a", "state": ")" + state +
           R"(", "gpus": 8, "waitedSeconds": )" + waited + "}" + other + "]}";
  };
  const std::string other = R"(, {"namespace": "d", "name": "b", "state": "Running"})";
  CHECK(rows.Update(page("Queued", "5", other)).value() ==
        "NAMESPACE  NAME  STATE    PRIORITY  GPUS  MIN  BOUND  WAITED  AGE  WHY\n"
        "d          a     Queued          0     8    0    0/0    5.0s    -\n"
        "d          b     Running         0     0    0    0/0       -    -\n");
  CHECK(rows.Update(page("Queued", "6", other)).value().empty());
  CHECK(rows.Update(page("Running", "6", "")).value() ==
        "d          a     Running         0     8    0    0/0    6.0s    -\n"
        "d          b     gone\n");
  CHECK(rows.Update(page("Running", "6", other)).value() ==
        "d          b     Running         0     0    0    0/0       -    -\n");
}

TEST_CASE("an answer is the same in YAML", "[cli]") {
  CHECK(YamlOf(R"({"a": [{"b": 1, "c": ["x", "8"]}, [], {}], "d e": "yes", "f": "two\nlines",
                   "g": null, "h": {"i": {"j": 0.5}}, "k": "team/a", "l": ""})") ==
        "a:\n"
        "- b: 1\n"
        "  c:\n"
        "  - x\n"
        "  - \"8\"\n"
        "- []\n"
        "- {}\n"
        "\"d e\": \"yes\"\n"
        "f: \"two\\nlines\"\n"
        "g: null\n"
        "h:\n"
        "  i:\n"
        "    j: 0.5\n"
        "k: team/a\n"
        "l: \"\"\n");
  CHECK(YamlOf("[]") == "[]\n");
  CHECK(YamlOf("no JSON") == "no JSON");
}

}  // namespace
}  // namespace muster::cli::testing
