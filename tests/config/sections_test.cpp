// Lists of sections, sections by name and tables that hold themselves, by way of a table of teams.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/fields/field_lister.hpp"
#include "tests/config/field_randomizer.hpp"
#include "tests/config/team_table.hpp"

namespace muster::config::testing {
namespace {

std::string FaultsOf(const std::string& text, Teams* teams) {
  FieldFile file;
  file.what = "teams";
  file.fields = TableOf(teams);
  file.contradictions = [&] {
    std::vector<Contradiction> found;
    for (const auto& [name, team] : teams->queues) {
      if (team.limit == 13) found.push_back({"queues." + name + ".limit", "expected luck"});
      for (std::size_t i = 0; i < team.children.size(); ++i) {
        if (team.children[i].limit <= team.limit) continue;
        found.push_back({"queues." + name + ".children[" + std::to_string(i) + "].limit",
                         "expected no more than its parent"});
      }
    }
    return found;
  };
  std::string lines;
  for (const cluster::Error& fault : ReadFields(text, "t", file)) {
    lines += (lines.empty() ? "" : "\n") + fault.ToString();
  }
  return lines;
}

TEST_CASE("sections by name hold lists of sections like themselves", "[config][fields]") {
  Teams teams;
  REQUIRE(FaultsOf(R"(
queues:
  research:
    lead: ada
    gpus: {any: 2, h/a: 4}
    children:
    - lead: bob
    - {lead: eve, limit: 0, children: [{lead: kim}]}
  sales: {lead: joe}
grid: [[1, 2], []]
)",
                   &teams) == "");
  const Team& research = teams.queues.at("research");
  CHECK(research.gpus == std::map<std::string, int64_t>{{"h/a", 4}});
  CHECK(research.limit == 8);
  CHECK(research.children.at(0).limit == 8);
  CHECK(research.children.at(1).limit == 0);
  CHECK(research.children.at(1).children.at(0).lead == "kim");
  CHECK(teams.queues.size() == 2);
  CHECK(teams.grid == std::vector<std::vector<int64_t>>{{1, 2}, {}});
  // A second file takes the place of the first.
  REQUIRE(FaultsOf("queues: {sales: {lead: joe}}\ngrid: []\n", &teams) == "");
  CHECK(teams.queues.size() == 1);
  CHECK(teams.grid.empty());
}

TEST_CASE("faults inside lists and maps are reported by place and path", "[config][fields]") {
  struct Case {
    std::string text;
    std::string want;
  };
  const Case c = GENERATE(values<Case>({
      {"queues:\n  research:\n    lead: a\n    children:\n    - {lead: a}\n    - {lead: a}\n"
       "    - {lead: a, limit: 2k}\n",
       "t:7:24: queues.research.children[2].limit: expected a whole number from 0 to 1000, found "
       "\"2k\""},
      {"queues: {r: {lead: a, children: [{lead: a, limt: 1}]}}\n",
       "t:1:44: queues.r.children[0].limt: unknown field, did you mean limit?"},
      {"queues: {r: {lead: a, grid: 1}}\n",
       "t:1:23: queues.r.grid: unknown field, it belongs at the top of the file"},
      {"queues: {r: {lead: a, queues: 1}}\n",
       "t:1:23: queues.r.queues: unknown field, it belongs at the top of the file"},
      {"grid: [[]]\nlead: a\n", "t:2:1: lead: unknown field, did you mean queues.*.lead?"},
      // Each key once.
      {"queues:\n  r: {lead: a}\n  r: {lead: b}\n",
       "t:3:3: queues.r: expected each key once, found it again (first on line 2)"},
      {"queues:\n  r:\n    lead: a\n    lead: 7\n",
       "t:4:5: queues.r.lead: expected each key once, found it again (first on line 3)"},
      {"queues: {r: {lead: a, gpus: {any: 1, b: 1, any: 2, b: 2}}}\n",
       "t:1:44: queues.r.gpus.any: expected each key once, found it again (first on line 1)\n"
       "t:1:52: queues.r.gpus.b: expected each key once, found it again (first on line 1)"},
      {"a: 1\na: 2\n",
       "t:1:1: a: unknown field, expected queues or grid\n"
       "t:2:1: a: expected each key once, found it again (first on line 1)"},
      // What is missing.
      {"queues: {r: {limit: 1}}\n", "t:1:13: queues.r.lead: expected a word, found nothing"},
      {"queues: {r: }\n", "t:1:13: queues.r.lead: expected a word, found nothing"},
      {"queues: {r: {lead: a, children: [{}]}}\n",
       "t:1:34: queues.r.children[0].lead: expected a word, found nothing"},
      {"queues: {r: {lead: a, children: [~]}}\n",
       "t:1:34: queues.r.children[0]: expected a section (\"key: value\" lines), found nothing"},
      {"queues: {r: {lead: a, children: }}\n",
       "t:1:33: queues.r.children: expected a list (\"- \" lines; [] for none), found nothing"},
      // One kind where another is expected.
      {"queues: [a]\n", "t:1:9: queues: expected a section (\"key: value\" lines), found a list"},
      {"queues: {r: [a]}\n",
       "t:1:13: queues.r: expected a section (\"key: value\" lines), found a list"},
      {"queues: {r: a}\n",
       "t:1:13: queues.r: expected a section (\"key: value\" lines), found \"a\""},
      {"queues: {r: {lead: a, children: {b: {}}}}\n",
       "t:1:33: queues.r.children: expected a list (\"- \" lines; [] for none), found a map"},
      {"queues: {r: {lead: a, children: [b]}}\n",
       "t:1:34: queues.r.children[0]: expected a section (\"key: value\" lines), found \"b\""},
      {"queues: {r: {lead: [a]}}\n", "t:1:20: queues.r.lead: expected a word, found a list"},
      {"grid: [1]\n", "t:1:8: grid[0]: expected a list (\"- \" lines; [] for none), found \"1\""},
      {"grid: [[1], [2, x]]\n",
       "t:1:17: grid[1][1]: expected a whole number from 0 to 9, found \"x\""},
      // Names.
      {"queues: {R2: {lead: a}}\n", "t:1:10: queues.R2: expected a word, found \"R2\""},
      {"queues: {r: {lead: a, gpus: {Anx: 1}}}\n",
       "t:1:30: queues.r.gpus.Anx: expected a word, found \"Anx\", did you mean any?"},
      {"queues: {r: {lead: a, gpus: {\"\": 1}}}\n",
       "t:1:30: queues.r.gpus.\"\": expected a word, found \"\""},
      {"queues: {r: {lead: a, gpus: {b: }}}\n",
       "t:1:33: queues.r.gpus.b: expected a whole number from 1 to 100, found nothing"},
      {"queues: &x {}\n",
       "t:1:9: expected a value, found an anchor ('&'): anchors and aliases are not supported"},
      {"- a\n", "t:1:1: expected teams, found a list"},
      // Between fields: where it is, and without it where its section is.
      {"queues:\n  r:\n    limit: 5\n    lead: a\n    children:\n    - lead: a\n",
       "t:6:7: queues.r.children[0].limit: expected no more than its parent"},
      {"queues:\n  r:\n    limit: 13\n    lead: a\n    children:\n    - lead: a\n      limit: 14\n",
       "t:3:12: queues.r.limit: expected luck\n"
       "t:7:14: queues.r.children[0].limit: expected no more than its parent"},
  }));
  CAPTURE(c.text);
  Teams teams;
  CHECK(FaultsOf(c.text, &teams) == c.want);
}

TEST_CASE("all faults are told at once, in the order of the file", "[config][fields]") {
  Teams teams;
  CHECK(FaultsOf("grid: [[10], x]\nqueues:\n  a: {lead: 1, limit: x}\n  b: []\n  c: {led: x}\n",
                 &teams) ==
        "t:1:9: grid[0][0]: expected a whole number from 0 to 9, found \"10\"\n"
        "t:1:14: grid[1]: expected a list (\"- \" lines; [] for none), found \"x\"\n"
        "t:3:13: queues.a.lead: expected a word, found 1, which YAML takes for a number or a truth "
        "value: put it in quotes\n"
        "t:3:23: queues.a.limit: expected a whole number from 0 to 1000, found \"x\"\n"
        "t:4:6: queues.b: expected a section (\"key: value\" lines), found a list\n"
        "t:5:6: queues.c.lead: expected a word, found nothing\n"
        "t:5:7: queues.c.led: unknown field, did you mean lead?");
}

TEST_CASE("of very many faults the first are told and the others counted", "[config][fields]") {
  std::string text = "grid:\n- [";
  for (int i = 0; i < 500; ++i) text += "x, ";
  text += "]\nqueues:\n";
  for (int i = 0; i < 500; ++i) text += "  q: {}\n";
  Teams teams;
  FieldFile file;
  file.what = "teams";
  file.fields = TableOf(&teams);
  const auto faults = ReadFields(text, "t", file);
  REQUIRE(faults.size() == kMostFaults + 1);
  // The table has `queues` first, the file `grid`.
  CHECK(faults.front().place == "t:2:4");
  CHECK(faults[kMostFaults - 1].place == "t:2:301");
  CHECK(faults.back().ToString() == "t: 900 more faults");
}

TEST_CASE("a table that holds itself is listed once", "[config][fields]") {
  Teams teams;
  CHECK(ListFields(TableOf(&teams)) ==
        std::vector<std::string>{"queues", "queues.*", "queues.*.lead", "queues.*.limit",
                                 "queues.*.gpus", "queues.*.gpus.any", "queues.*.gpus.*",
                                 "queues.*.children", "grid", "grid[]", "grid[][]"});
}

TEST_CASE("lists and maps are written as people write them", "[config][fields]") {
  Teams teams;
  CHECK(WriteFields(TableOf(&teams), FieldText::kPlain) == "queues: {}\ngrid: []\n");
  teams.queues["a"].lead = "x";
  teams.queues["a"].children.resize(2);
  teams.queues["a"].children[1].gpus["null"] = 2;
  teams.grid = {{1}, {}};
  CHECK(WriteFields(TableOf(&teams), FieldText::kPlain) == R"(queues:
  a:
    lead: x
    limit: 8
    gpus:
      any: 1
    children:
    - lead: ""
      limit: 8
      gpus:
        any: 1
      children: []
    - lead: ""
      limit: 8
      gpus:
        any: 1
        "null": 2
      children: []
grid:
-
  - 1
- []
)");
  CHECK(WriteFields(TableOf(&teams), FieldText::kCommented).find("# queues") == std::string::npos);
}

TEST_CASE("the commented file shows one element of each list", "[config][fields]") {
  Teams teams;
  CHECK(WriteFields(TableOf(&teams), FieldText::kCommented) == R"(
# Teams by name.
queues:
  # NAME:
  #   # Who leads it.
  #   lead: ""
  #   # GPUs at most.
  #   limit: 8
  #   # By model.
  #   gpus:
  #     any: 1
  #     # NAME: 0
  #   # Teams of this team.
  #   children: []

grid: []
# - []
#   # - 0
)");
}

TEST_CASE("what WriteFields writes ReadFields reads back", "[config][fields]") {
  const uint64_t seed = Catch::rngSeed();
  CAPTURE(seed);
  for (uint64_t round = 0; round < 500; ++round) {
    Teams teams;
    FieldRandomizer randomizer(seed + round);
    VisitTeams(&teams, &randomizer);
    for (const FieldText style : {FieldText::kPlain, FieldText::kCommented}) {
      const std::string text = WriteFields(TableOf(&teams), style);
      CAPTURE(text);
      Teams read;
      FieldFile file;
      file.what = "teams";
      file.fields = TableOf(&read);
      const auto faults = ReadFields(text, "t", file);
      REQUIRE((faults.empty() ? "" : faults.front().ToString()) == "");
      REQUIRE(WriteFields(TableOf(&read), FieldText::kPlain) ==
              WriteFields(TableOf(&teams), FieldText::kPlain));
      REQUIRE(read.grid == teams.grid);
    }
  }
}

}  // namespace
}  // namespace muster::config::testing
