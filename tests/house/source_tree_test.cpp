#include "tests/house/source_tree.hpp"

#include <catch2/catch.hpp>

namespace muster::house {
namespace {

TEST_CASE("a file is cut into lines with or without a last line end", "[house][tree]") {
  CHECK(MakeFile("a.hpp", "one\n\ntwo\n").lines == std::vector<std::string>{"one", "", "two"});
  CHECK(MakeFile("a.hpp", "one\ntwo").lines == std::vector<std::string>{"one", "two"});
  CHECK(MakeFile("a.hpp", "").lines.empty());
}

TEST_CASE("a tree knows its files in order and the folders they lie in", "[house][tree]") {
  const SourceTree tree = MakeTree({MakeFile("sim/a/b.cpp", ""), MakeFile("kube/c.hpp", "")});
  CHECK(tree.paths == std::set<std::string>{"kube", "kube/c.hpp", "sim", "sim/a", "sim/a/b.cpp"});
  CHECK(tree.files.front().path == "kube/c.hpp");
}

TEST_CASE("a folder that cannot be read is an error, not an empty tree", "[house][tree]") {
  CHECK_FALSE(ReadTree("tests/house/there_is_no_such_folder").ok());
}

TEST_CASE("the room of a path is its first folder", "[house][tree]") {
  CHECK(RoomOf("cluster/records/node.hpp") == "cluster");
  CHECK(RoomOf("tests/house/rooms.hpp") == "tests");
  CHECK(RoomOf("README.md").empty());
}

TEST_CASE("a finding prints as a compiler would print it", "[house][tree]") {
  CHECK(ToString({"sim/a.cpp", 7, "wrong"}) == "sim/a.cpp:7: wrong");
  CHECK(ToString({"sim/README.md", 0, "is missing"}) == "sim/README.md: is missing");
}

}  // namespace
}  // namespace muster::house
