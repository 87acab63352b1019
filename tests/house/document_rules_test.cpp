// Planted documents: a missing README, a mark of unfinished work, a dead link or a command that is
// not there is found.
#include "tests/house/document_rules.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

namespace muster::house {
namespace {

struct DocumentRulesCase {
  std::string path;
  std::string text;
  std::string want;  // part of the finding; empty: lawful
};

// A tree in which every folder introduces itself, less the file `without`.
std::vector<SourceFile> GoodTree(const std::string& without = "") {
  std::vector<SourceFile> files = {
      MakeFile("Makefile", "help: deps ## list\n\trun it\ndeps:\nclean-all:\n"),
      MakeFile("mkdocs.yml", "docs_dir: docs\nnav:\n- A: a.md\n- B:\n  - Far: b/far.md\n")};
  for (const char* folder :
       {"", "cluster/", "topology/", "queues/", "policy/", "engine/", "http/", "config/", "kube/",
        "sim/", "extender/", "cli/", "bench/", "tests/", "docs/", "manifests/"}) {
    const std::string path = std::string(folder) + "README.md";
    if (path != without) files.push_back(MakeFile(path, "# What it is\n"));
  }
  return files;
}

void Check(const DocumentRulesCase& c) {
  INFO(c.path << " with\n" << c.text);
  std::vector<SourceFile> files = GoodTree();
  files.push_back(MakeFile(c.path, c.text));
  const auto findings = CheckDocuments(MakeTree(std::move(files)));
  if (c.want.empty()) {
    CHECK(findings.empty());
    return;
  }
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].path == c.path);
  CHECK_THAT(findings[0].what, Catch::Contains(c.want));
}

TEST_CASE("every folder of the repository layout needs a README", "[house][document]") {
  CHECK(CheckDocuments(MakeTree(GoodTree())).empty());
  const std::string path =
      GENERATE("README.md", "cluster/README.md", "bench/README.md", "docs/README.md");
  CHECK(CheckDocuments(MakeTree(GoodTree(path))) == std::vector<Finding>{{path, 0, "is missing"}});
}

TEST_CASE("a page and a README have 1,600 words at most, except in the reference",
          "[house][document]") {
  const auto words = [](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += i % 10 == 9 ? "word\n" : "word ";
    return text;
  };
  Check({"docs/a.md", words(1600) + "| -- | |\n", ""});
  Check({"docs/a.md", words(1601), "has 1601 words, more than 1600: split it"});
  Check({"sim/demo/README.md", words(1600) + "| -- | |\n", ""});
  Check({"sim/demo/README.md", words(1601), "has 1601 words, more than 1600: decisions go to"});
  Check({"sim/a.md", words(1601), ""});
  const auto reference = [&](int count) {
    std::vector<SourceFile> files = GoodTree("docs/README.md");
    files.push_back(MakeFile("docs/README.md", "[r](reference/r.md)\n"));
    files.push_back(MakeFile("docs/reference/r.md", words(count)));
    return CheckDocuments(MakeTree(std::move(files)));
  };
  CHECK(reference(1601).empty());
}

TEST_CASE("every page of docs/ can be found", "[house][document]") {
  Check(GENERATE(values<DocumentRulesCase>({
      {"docs/a.md", "in the list of the site\n", ""},
      {"docs/b/far.md", "there, too\n", ""},
      {"docs/b/a.md", "nowhere\n", "no link from docs/README.md leads here"},
      {"sim/b.md", "no page\n", ""},
  })));
  std::vector<SourceFile> files = GoodTree("docs/README.md");
  files.push_back(MakeFile("docs/README.md", "[b](b/) and [c](c/one.md#part)\n"));
  files.push_back(MakeFile("docs/c/one.md", "[two](two.md) [up](../README.md) [one](one.md)\n"));
  files.push_back(MakeFile("docs/c/two.md", "# Two\n"));
  files.push_back(MakeFile("docs/b/README.md", "# All of b\n"));
  files.push_back(MakeFile("docs/b/three.md", "# Three\n"));
  const auto findings = CheckDocuments(MakeTree(std::move(files)));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].path == "docs/b/three.md");
}

TEST_CASE("no text has a mark of unfinished work", "[house][document]") {
  const std::string mark = GENERATE(
      "TO"
      "DO",
      "FIX"
      "ME",
      "XX"
      "X",
      "HA"
      "CK");
  Check({"sim/a.cpp", "// " + mark + ": later\n", mark});
  Check({".ci/run", "# " + mark + "\n", mark});
  Check({"docs/a.md", "x" + mark + " and " + mark + "x and _" + mark + "_\n", ""});
}

TEST_CASE("no text has a path of one machine", "[house][document]") {
  const std::string path = GENERATE(
      "/wo"
      "rk/",
      "/ro"
      "ot/",
      "/ho"
      "me/",
      "/Us"
      "ers/");
  Check({"sim/a.cpp", "Read(\"" + path + "x\");\n", path});
  Check({"docs/a.md", path + "x\n", path});
  Check({"docs/a.md", "see docs" + path + "x and ${top}" + path + "x\n", ""});
}

TEST_CASE("links lead to something in the tree", "[house][document]") {
  Check(GENERATE(values<DocumentRulesCase>({
      {"docs/a.md", "[up](../README.md) [folder](../sim) [folder](../sim/) [top](..)\n", ""},
      {"docs/a.md", "[part](../README.md#part) [here](#part) [far](https://example.org/x)\n", ""},
      {"docs/a.md", "[gone](gone.md)\n", "leads nowhere: gone.md"},
      {"docs/a.md", "[fine](a.md) [gone](../sim/gone.md#part)\n", "leads nowhere: ../sim/gone.md"},
      {"sim/a.cpp", "auto f = [x](int y) { return x; };\n", ""},
  })));
}

TEST_CASE("commands that a document names are targets of the Makefile", "[house][document]") {
  Check(GENERATE(values<DocumentRulesCase>({
      {"docs/a.md", "Run `make help` or `make clean-all`.\n", ""},
      {"docs/a.md", "They\nmake sense, and we make do.\n", ""},
      {"docs/a.md", "```\nmake deps   # installs\n```\nmake sense\n", ""},
      {"docs/a.md", "Run `make coffee`.\n", "no target coffee"},
      {"docs/a.md", "```\nmake tea\n```\n", "no target tea"},
  })));
}

}  // namespace
}  // namespace muster::house
