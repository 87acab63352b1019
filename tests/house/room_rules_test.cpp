// Planted trees: each cycle and each crowded room is found, and its lawful neighbour is not.
#include "tests/house/room_rules.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace muster::house {
namespace {

// A file that includes these.
SourceFile Including(const std::string& path, const std::vector<std::string>& names) {
  std::string text = "// What it is.\n";
  for (const std::string& name : names) text += "#include \"" + name + "\"\n";
  return MakeFile(path, text);
}

// The only finding; empty: there is none.
std::string FindingIn(std::vector<SourceFile> files) {
  const auto findings = CheckRooms(MakeTree(std::move(files)));
  REQUIRE(findings.size() <= 1);
  return findings.empty() ? "" : ToString(findings[0]);
}

TEST_CASE("no unit includes itself through others of its folder", "[house][rooms]") {
  const std::string cycle = "sim/a: include each other, through others or not: sim/a sim/b";
  CHECK(FindingIn({Including("sim/a.cpp", {"sim/a.hpp", "sim/b.hpp"}), Including("sim/a.hpp", {}),
                   Including("sim/b.hpp", {})})
            .empty());
  CHECK(FindingIn({Including("sim/a.cpp", {"sim/b.hpp"}), Including("sim/a.hpp", {}),
                   Including("sim/b.hpp", {"sim/a.hpp"})}) == cycle);
  CHECK(FindingIn({Including("sim/a_impl.hpp", {"sim/b.hpp"}), Including("sim/a.hpp", {}),
                   Including("sim/b.cpp", {"sim/a_impl.hpp"})}) == cycle);
  CHECK(FindingIn({Including("sim/a.hpp", {"sim/b.hpp"}), Including("sim/b.hpp", {"sim/c.hpp"}),
                   Including("sim/c.hpp", {"sim/a.hpp"})}) == cycle + " sim/c");
  // Beside a cycle, and of two folders.
  CHECK(FindingIn({Including("sim/a.hpp", {"sim/b.hpp"}), Including("sim/b.hpp", {"sim/a.hpp"}),
                   Including("sim/c.hpp", {"sim/a.hpp"})}) == cycle);
  CHECK(FindingIn({Including("sim/a.hpp", {"kube/a.hpp"}), Including("kube/a.hpp", {"sim/a.hpp"})})
            .empty());
  CHECK(FindingIn(
            {Including("bench/a.hpp", {"bench/b.hpp"}), Including("bench/b.hpp", {"bench/a.hpp"})})
            .empty());
  CHECK(FindingIn({Including("engine/x/a.hpp", {"engine/x/b.hpp"}),
                   Including("engine/x/b.hpp", {"engine/x/a.hpp"})}) ==
        "engine/x/a: include each other, through others or not: engine/x/a engine/x/b");
}

TEST_CASE("the rooms of a folder have an order", "[house][rooms]") {
  CHECK(FindingIn({Including("kube/json/a.hpp", {}),
                   Including("kube/watch/a.hpp", {"kube/json/a.hpp"}),
                   Including("kube/a.hpp", {"kube/watch/a.hpp", "kube/json/a.hpp"})})
            .empty());
  CHECK(FindingIn({Including("kube/json/a.hpp", {"kube/watch/b.hpp"}),
                   Including("kube/watch/a.hpp", {"kube/json/b.hpp"}),
                   Including("kube/json/b.hpp", {}), Including("kube/watch/b.hpp", {})}) ==
        "kube/json: include each other, through others or not: kube/json kube/watch");
  // The top of a folder is a room.
  CHECK(FindingIn({Including("kube/a.hpp", {"kube/json/a.hpp"}), Including("kube/b.hpp", {}),
                   Including("kube/json/a.hpp", {"kube/b.hpp"})}) ==
        "kube: include each other, through others or not: kube kube/json");
  CHECK(FindingIn({Including("engine/x/a.hpp", {"engine/y/b.hpp"}),
                   Including("engine/y/a.hpp", {"engine/x/b.hpp"}), Including("engine/x/b.hpp", {}),
                   Including("engine/y/b.hpp", {})}) ==
        "engine/x: include each other, through others or not: engine/x engine/y");
}

TEST_CASE("a room has a largest number of sources", "[house][rooms]") {
  const auto check = [](const std::string& folder, int sources) {
    std::vector<SourceFile> files = {MakeFile(folder + "/README.md", "")};
    for (int i = 0; i < sources; ++i)
      files.push_back(Including(folder + "/a" + std::to_string(i) + ".cpp", {}));
    return FindingIn(std::move(files));
  };
  CHECK(check("kube/json", 60).empty());
  CHECK(check("kube/json", 61) == "kube/json: 61 sources, at most 60 stand together");
  CHECK(check("kube", 61) == "kube: 61 sources, at most 60 stand together");
  CHECK(check("tests/kube", 61).empty());
  CHECK(check("engine/standing", 60).empty());
  CHECK(check("engine/standing", 61) == "engine/standing: 61 sources, at most 60 stand together");
}

TEST_CASE("few sources take the whole state of the engine", "[house][rooms]") {
  const auto check = [](const std::string& begin, const std::string& end, int sources,
                        const std::string& state) {
    std::vector<SourceFile> files;
    for (int i = 0; i < sources; ++i) {
      const std::string text = "// What it is.\nvoid Step(" + state + " state) {}\n";
      files.push_back(MakeFile(begin + std::to_string(i) + end, text));
    }
    return FindingIn(std::move(files));
  };
  CHECK(check("engine/cycle/a", ".cpp", 12, "EngineState&").empty());
  CHECK(check("engine/cycle/a", ".cpp", 13, "const EngineState&") ==
        "engine: 13 .cpp take EngineState&, at most 12: take the lowest layer of the state that is "
        "enough");
  CHECK(check("engine/cycle/a", ".cpp", 13, "ClaimState&").empty());
  CHECK(check("engine/cycle/a", ".hpp", 13, "EngineState&").empty());
  CHECK(check("tests/engine/a", ".cpp", 13, "EngineState&").empty());
}

}  // namespace
}  // namespace muster::house
