// Runs every folder of tests/scenario/cases: its script against its expected.txt. To accept what is
// shown now:
//   MUSTER_UPDATE_GOLDENS=1 build/dev/scenario_test
// and review the difference.

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "engine/contract/gang_view.hpp"
#include "tests/scenario/script.hpp"

namespace muster::testing {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> Cases() {
  std::vector<fs::path> folders;
  for (const auto& entry :
       fs::directory_iterator(fs::path(MUSTER_SOURCE_DIR) / "tests/scenario/cases")) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::string Read(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("every scenario shows what its golden says", "[scenario]") {
  REQUIRE(Cases().size() >= 20);
  for (const fs::path& folder : Cases()) {
    DYNAMIC_SECTION(folder.filename().string()) {
      const cluster::Result<std::string> shown = Script(folder).Run();
      if (!shown.ok()) FAIL(shown.error().ToString());
      if (std::getenv("MUSTER_UPDATE_GOLDENS") != nullptr)
        std::ofstream(folder / "expected.txt") << *shown;
      CHECK(*shown == Read(folder / "expected.txt"));
      CHECK(shown->find("BROKEN") == std::string::npos);
    }
  }
}

TEST_CASE("every file of a scenario is used, and none repeats another", "[scenario]") {
  const fs::path top = fs::path(MUSTER_SOURCE_DIR) / "tests/scenario";
  std::map<std::string, std::string> seen;  // by text
  std::string scripts;
  for (const auto& entry : fs::recursive_directory_iterator(top)) {
    const std::string path = fs::relative(entry.path(), top).string();
    if (entry.path().extension() == ".yaml") {
      const auto [first, fresh] = seen.emplace(Read(entry.path()), path);
      INFO(path << " is the same as " << first->second << ": keep it in shared/");
      CHECK(fresh);
    }
    if (entry.path().filename() != "script.txt") continue;
    const std::string script = Read(entry.path());
    scripts += script;
    for (const auto& beside : fs::directory_iterator(entry.path().parent_path())) {
      const std::string name = beside.path().filename().string();
      INFO(path << " does not use " << name);
      CHECK((!name.ends_with(".yaml") || script.find(" " + name) != std::string::npos));
    }
  }
  for (const auto& entry : fs::directory_iterator(top / "shared")) {
    INFO("no scenario uses " << entry.path().filename().string());
    CHECK(scripts.find(" shared/" + entry.path().filename().string()) != std::string::npos);
  }
}

TEST_CASE("every state and every reason is in a golden", "[scenario]") {
  std::string all;
  for (const fs::path& folder : Cases()) all += Read(folder / "expected.txt");
  for (int state = 0; state < engine::kGangStates; ++state) {
    const std::string name = engine::ToString(static_cast<engine::GangState>(state));
    INFO(name);
    CHECK(all.find("  " + name + "  ") != std::string::npos);
  }
  // Two pass within one call of Advance, so no golden can show them at rest. The simulated API
  // server reads every owner: tests/kube/grouping_unreadable_test.cpp.
  const std::set<engine::ReasonCode> passing = {engine::ReasonCode::kNotTried,
                                                engine::ReasonCode::kPlanBroken,
                                                engine::ReasonCode::kOwnersUnread};
  for (int code = 1; code <= static_cast<int>(engine::ReasonCode::kNeverFits); ++code) {
    if (passing.contains(static_cast<engine::ReasonCode>(code))) continue;
    const std::string name = engine::ToString(static_cast<engine::ReasonCode>(code));
    INFO(name);
    CHECK(all.find("  " + name + "  ") != std::string::npos);
  }
}

}  // namespace
}  // namespace muster::testing
