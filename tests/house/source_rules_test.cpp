// Planted files: each breach of size, name or habit is found, and its lawful neighbour is not.
#include "tests/house/source_rules.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace muster::house {
namespace {

const std::string kGoodHeader = "// What it is.\n#pragma once\n\nnamespace muster::engine {}\n";

struct SourceRulesCase {
  std::string path;
  std::string text;
  std::string want;  // part of the finding; empty: lawful
};

std::string Lines(std::size_t count) {
  std::string text = kGoodHeader;
  for (std::size_t i = 4; i < count; ++i) text += "// line\n";
  return text;
}

void SourceRulesCheck(const SourceRulesCase& c) {
  INFO(c.path << " with\n" << c.text.substr(0, 200));
  const auto findings = CheckSources(MakeTree({MakeFile(c.path, c.text)}));
  if (c.want.empty()) {
    CHECK(findings.empty());
    return;
  }
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].path == c.path);
  CHECK_THAT(findings[0].what, Catch::Contains(c.want));
}

TEST_CASE("a test that no list names is found", "[house][source]") {
  const auto check = [](const std::string& list) {
    return CheckTestsAreBuilt(MakeTree({MakeFile("tests/engine/CMakeLists.txt", list),
                                        MakeFile("tests/engine/a_test.cpp", "// A.\n"),
                                        MakeFile("tests/support/b.cpp", "// B.\n"),
                                        MakeFile("engine/c.cpp", "// C.\n")}));
  };
  CHECK(check("muster_test(engine SOURCES ../support/b.cpp\n  a_test.cpp)\n").empty());
  const auto findings = check("muster_test(engine SOURCES b.cpp aa_test.cpp)\n");
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].path == "tests/engine/a_test.cpp");
}

TEST_CASE("files have a largest length", "[house][source]") {
  SourceRulesCheck(GENERATE(values<SourceRulesCase>({
      {"engine/a.hpp", Lines(150), ""},
      {"engine/a.hpp", Lines(151), "151 lines, at most 150"},
      {"engine/a.cpp", Lines(600), ""},
      {"engine/a.cpp", Lines(601), "601 lines, at most 600"},
      {"tests/engine/a_test.cpp", Lines(500), ""},
      {"tests/engine/a_test.cpp", Lines(501), "501 lines, at most 500"},
      {"tests/support/a.hpp", Lines(251), "251 lines, at most 250"},
  })));
}

TEST_CASE("code has one way of naming its files", "[house][source]") {
  SourceRulesCheck(GENERATE(values<SourceRulesCase>({
      {"engine/gang_state_2.hpp", kGoodHeader, ""},
      {"engine/GangState.hpp", kGoodHeader, "snake_case"},
      {"engine/gang-state.cpp", "", "snake_case"},
      {"engine/gang.h", "", "snake_case"},
      {"engine/gang.cc", "", "snake_case"},
  })));
}

TEST_CASE("a header is guarded, opens no namespace and declares in its folder's",
          "[house][source]") {
  SourceRulesCheck(GENERATE(values<SourceRulesCase>({
      {"engine/a.hpp", kGoodHeader, ""},
      {"tests/support/a.hpp", "#pragma once\n", ""},
      {"engine/a.cpp", "using namespace std::chrono_literals;\n", ""},
      {"engine/a.hpp", kGoodHeader + "using namespace std;\n", "using namespace"},
      {"engine/a.hpp", "namespace muster::engine {}\n", "#pragma once"},
      {"engine/a.hpp", "#pragma once\nnamespace muster::sim {}\n", "namespace muster::engine"},
  })));
}

TEST_CASE("no static variable remembers anything between calls", "[house][source]") {
  SourceRulesCheck(GENERATE(values<SourceRulesCase>({
      {"sim/a.cpp", "  static constexpr int kLimit = 3;\n", ""},
      {"sim/a.cpp", "  static int Count(int first = 1);\n", ""},
      {"sim/a.cpp", "static Status Run() {\n", ""},
      {"sim/a.cpp", "  static_assert(sizeof(int) == 4);\n", ""},
      {"sim/a.cpp", "  static int count = 0;\n", "static variable"},
      {"sim/a.cpp", "  static const auto& root = Find(name);\n", "static variable"},
      {"sim/a.cpp", "  static std::string last;\n", "static variable"},
      {"sim/a.cpp", "static std::vector<int> cache{1, 2};\n", "static variable"},
      {"sim/a.cpp", "thread_local int depth = 0;\n", "static variable"},
  })));
}

TEST_CASE("time and chance come into the pure folders from outside", "[house][source]") {
  SourceRulesCheck(GENERATE(values<SourceRulesCase>({
      {"sim/a.cpp", "auto now = std::chrono::steady_clock::now();\n", ""},
      {"engine/a.cpp", "std::chrono::milliseconds wait{3};\n", ""},
      {"engine/a.cpp", "auto now = std::chrono::steady_clock::now();\n", "_clock::now"},
      {"policy/a.cpp", "std::random_device seed;\n", "random_device"},
      {"queues/a.cpp", "std::this_thread::sleep_for(wait);\n", "sleep_for"},
      {"cluster/a.cpp", "const char* zone = std::getenv(name);\n", "getenv"},
  })));
}

}  // namespace
}  // namespace muster::house
