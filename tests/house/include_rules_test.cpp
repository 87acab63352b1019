// Planted trees: each include that the layout forbids is found, each that it allows is not.
#include "tests/house/include_rules.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace muster::house {
namespace {

struct IncludeRulesCase {
  std::string path;
  std::string line;
  std::string want;  // part of the finding; empty: allowed
};

// A tree with one header in every room, so that what is included exists.
SourceTree Plant(const std::string& path, const std::string& text) {
  std::vector<SourceFile> files;
  for (const char* room :
       {"cluster", "topology", "queues", "policy", "engine", "http", "config", "kube", "sim",
        "extender", "extender/embedded", "cli", "bench", "tests"}) {
    files.push_back(MakeFile(std::string(room) + "/a.hpp", "#pragma once\n"));
  }
  files.push_back(MakeFile(path, text));
  return MakeTree(std::move(files));
}

void IncludeRulesCheck(const IncludeRulesCase& c) {
  INFO(c.path << " with " << c.line);
  const auto findings = CheckIncludes(Plant(c.path, "// first line\n" + c.line + "\n"));
  if (c.want.empty()) {
    CHECK(findings.empty());
    return;
  }
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].path == c.path);
  CHECK(findings[0].line == 2);
  CHECK_THAT(findings[0].what, Catch::Contains(c.want));
}

TEST_CASE("a folder includes the folders below it and no other", "[house][include]") {
  IncludeRulesCheck(GENERATE(values<IncludeRulesCase>({
      {"policy/x.cpp", "#include \"policy/a.hpp\"", ""},
      {"topology/x.cpp", "#include \"cluster/a.hpp\"", ""},
      {"policy/x.hpp", "#include \"queues/a.hpp\"", ""},
      {"engine/x.cpp", "#include \"topology/a.hpp\"", ""},
      {"extender/embedded/x.cpp", "#include \"sim/a.hpp\"", ""},
      {"extender/service.cpp", "#include \"extender/embedded/a.hpp\"", ""},
      {"cli/x.cpp", "#include \"sim/a.hpp\"", ""},
      {"cli/x.cpp", "#include \"extender/a.hpp\"", ""},
      {"extender/x.cpp", "#include \"cli/a.hpp\"", "extender/ may not include cli/"},
      {"extender/x.cpp", "#include \"sim/a.hpp\"", "may not include \"sim/a.hpp\""},
      {"extender/wire/wire.cpp", "#include \"extender/embedded/a.hpp\"",
       "may not include \"extender/"},
      {"tests/e2e/x.cpp", "#include \"extender/a.hpp\"", ""},
      {"bench/x.cpp", "#include \"engine/a.hpp\"", ""},
      {"cluster/x.hpp", "#include \"engine/a.hpp\"", "cluster/ may not include engine/"},
      {"topology/x.cpp", "#include \"queues/a.hpp\"", "topology/ may not include queues/"},
      {"queues/x.cpp", "#include \"topology/a.hpp\"", "queues/ may not include topology/"},
      {"policy/x.cpp", "#include \"engine/a.hpp\"", "policy/ may not include engine/"},
      {"http/x.cpp", "#include \"cluster/a.hpp\"", ""},
      {"kube/x.cpp", "#include \"http/a.hpp\"", ""},
      {"extender/x.cpp", "#include \"http/a.hpp\"", ""},
      {"http/x.cpp", "#include \"topology/a.hpp\"", "http/ may not include topology/"},
      {"engine/x.cpp", "#include \"http/a.hpp\"", "engine/ may not include http/"},
      {"config/x.cpp", "#include \"http/a.hpp\"", "config/ may not include http/"},
      {"sim/x.cpp", "#include \"http/a.hpp\"", "sim/ may not include http/"},
      {"engine/x.cpp", "#include \"sim/a.hpp\"", "engine/ may not include sim/"},
      {"kube/x.cpp", "#include \"config/a.hpp\"", "kube/ may not include config/"},
      {"sim/x.cpp", "#include \"kube/a.hpp\"", "sim/ may not include kube/"},
      {"sim/x.cpp", "#include \"extender/a.hpp\"", "sim/ may not include extender/"},
      {"extender/x.cpp", "#include \"tests/a.hpp\"", "extender/ may not include tests/"},
      {"bench/x.cpp", "#include \"tests/a.hpp\"", "bench/ may not include tests/"},
      {"engine/x.cpp", "  #  include   \"sim/a.hpp\"  // why", "engine/ may not include sim/"},
  })));
}

TEST_CASE("our own headers exist and are named from the top in quotes", "[house][include]") {
  IncludeRulesCheck(GENERATE(values<IncludeRulesCase>({
      {"sim/x.cpp", "#include \"a.hpp\"", "not named from the top"},
      {"tests/x.cpp", "#include \"a.hpp\"", ""},
      {"tests/sim/x.cpp", "#include \"a.hpp\"", "not named from the top"},
      {"sim/x.cpp", "#include \"../engine/a.hpp\"", "not named from the top"},
      {"sim/x.cpp", "#include <engine/a.hpp>", "in quotes"},
      {"sim/x.cpp", "#include \"engine/gone.hpp\"", "does not exist"},
      {"sim/x.cpp", "#include \"vector\"", "not named from the top"},
  })));
}

TEST_CASE("a library is included only in the folders that own it", "[house][include]") {
  IncludeRulesCheck(GENERATE(values<IncludeRulesCase>({
      {"topology/x.cpp", "#include <boost/graph/adjacency_list.hpp>", ""},
      {"config/x.cpp", "#include <yaml-cpp/yaml.h>", ""},
      {"kube/x.cpp", "#include <rapidjson/document.h>", ""},
      {"kube/x.hpp", "#include <rapidjson/fwd.h>", ""},
      {"http/x.cpp", "#include <httplib.h>", ""},
      {"extender/x.cpp", "#include <prometheus/registry.h>", ""},
      {"http/x.cpp", "#include <openssl/ssl.h>", ""},
      {"tests/support/x.hpp", "#include <catch2/catch.hpp>", ""},
      {"policy/x.cpp", "#include <boost/graph/adjacency_list.hpp>", "does not belong"},
      {"engine/x.cpp", "#include <yaml-cpp/yaml.h>", "does not belong"},
      {"sim/x.cpp", "#include <httplib.h>", "does not belong"},
      {"cluster/x.cpp", "#include <rapidjson/document.h>", "does not belong"},
      {"sim/x.cpp", "#include <prometheus/registry.h>", "does not belong"},
      {"config/x.cpp", "#include <openssl/ssl.h>", "does not belong"},
      {"kube/x.cpp", "#include <openssl/ssl.h>", "does not belong"},
      {"extender/x.cpp", "#include <httplib.h>", "does not belong"},
      {"bench/x.cpp", "#include <catch2/catch.hpp>", "does not belong"},
      {"kube/x.cpp", "#include <curl/curl.h>", "nobody has allowed"},
      {"kube/x.cpp", "#include <some_library.hpp>", "nobody has allowed"},
  })));
}

TEST_CASE("no header of a folder shows a library to those who include it", "[house][include]") {
  IncludeRulesCheck(GENERATE(values<IncludeRulesCase>({
      {"topology/x.hpp", "#include <boost/graph/adjacency_list.hpp>", "not into a header"},
      {"http/x.hpp", "#include <httplib.h>", "not into a header"},
      {"config/x.hpp", "#include <yaml-cpp/yaml.h>", "not into a header"},
      {"bench/x.hpp", "#include <httplib.h>", ""},
  })));
}

TEST_CASE("the pure folders cannot reach the outside world", "[house][include]") {
  IncludeRulesCheck(GENERATE(values<IncludeRulesCase>({
      {"engine/x.cpp", "#include <vector>", ""},
      {"engine/x.cpp", "#include <chrono>", ""},
      {"sim/x.cpp", "#include <fstream>", ""},
      {"extender/x.cpp", "#include <sys/socket.h>", ""},
      {"engine/x.cpp", "#include <fstream>", "no I/O"},
      {"policy/x.hpp", "#include <iostream>", "no I/O"},
      {"cluster/x.cpp", "#include <thread>", "no threads"},
      {"queues/x.cpp", "#include <sys/socket.h>", "no system calls"},
      {"topology/x.cpp", "#include <unistd.h>", "no system calls"},
  })));
}

TEST_CASE("locks come from one place", "[house][include]") {
  IncludeRulesCheck(GENERATE(values<IncludeRulesCase>({
      {"cluster/base/mutex.hpp", "#include <mutex>", ""},
      {"engine/x.cpp", "#include <mutex>", "cluster/base/mutex.hpp"},
      {"extender/x.hpp", "#include <condition_variable>", "cluster/base/mutex.hpp"},
      {"tests/extender/x.cpp", "#include <shared_mutex>", "cluster/base/mutex.hpp"},
  })));
}

TEST_CASE("what only looks like an include is none", "[house][include]") {
  IncludeRulesCheck(GENERATE(values<IncludeRulesCase>({
      {"engine/x.cpp", "// #include \"sim/a.hpp\"", ""},
      {"engine/x.cpp", "const char* text = \"#include <fstream>\";", ""},
      {"engine/x.cpp", "#include", ""},
      {"engine/x.cpp", "#include MACRO", ""},
      {"engine/x.cpp", "#include \"sim/a.hpp", ""},
      {"engine/README.md", "#include \"sim/a.hpp\"", ""},
  })));
}

}  // namespace
}  // namespace muster::house
