// The tables of queues, and what explain says of a gang's queue, without a server.
#include "cli/tables/queue_output.hpp"

#include <catch2/catch.hpp>
#include <sstream>
#include <string>

#include "cli/tables/output.hpp"
#include "cli/tables/table.hpp"

namespace muster::cli {
namespace {

constexpr const char* kQueues =
    R"({"queues":[)"
    R"({"name":"company","leaf":false,"weight":1,"order":"fair","state":"open","pending":3,)"
    R"("next":"team-a/train","amounts":[)"
    R"({"resource":"gpu","guarantee":8,"used":5.5,"pending":2,"share":7.333,"scaled":true,)"
    R"("borrowed":0,"idle":2.5,"kept":1}]},)"
    R"({"name":"research","parent":"company","leaf":true,"weight":2,"state":"hold","pending":3,)"
    R"("next":"team-a/train","amounts":[)"
    R"({"resource":"gpu","guarantee":4,"limit":8,"used":5.5,"pending":2,"share":6,)"
    R"("borrowed":1.5,"idle":0,"kept":0},)"
    R"({"resource":"cpu","guarantee":0,"used":3,"pending":1,"share":4,)"
    R"("borrowed":3,"idle":0,"kept":0,"borrowedFrom":[{"queue":"root","amount":2},)"
    R"({"queue":"idle","amount":1}],"lentTo":[{"queue":"company","amount":0.5}]}]},)"
    R"({"name":"idle","parent":"","leaf":true,"weight":1,"state":"open","pending":0,)"
    R"("amounts":[]}]})";

TEST_CASE("the table of queues has a row for each resource, and children below their parents",
          "[cli]") {
  const auto table = QueuesTable(kQueues);
  REQUIRE(table.ok());
  CHECK(*table ==
        "QUEUE       STATE  WEIGHT  RESOURCE  GUARANTEE  LIMIT   SHARE  USED  ASKED  GANGS  NEXT\n"
        "company     open        1  gpu               8      -  7.333!   5.5      2      3  "
        "team-a/train\n"
        "  research  hold        2  gpu               4      8       6   5.5      2      3  "
        "team-a/train\n"
        "                           cpu               0      -       4     3      1\n"
        "idle        open        1                    -      -       -     -      -      0\n");
}

TEST_CASE("the tables of queues are cut to the width of a terminal", "[cli]") {
  const std::string name(60, 'x');
  std::string queues = kQueues;
  for (const char* text : {"team-a/train", R"({"queue":"company","amount":0.5})"}) {
    const std::string longer = text[0] == '{' ? "{\"queue\":\"" + name + "\"}" : name;
    for (std::size_t at = queues.find(text); at != std::string::npos; at = queues.find(text))
      queues.replace(at, std::string(text).size(), longer);
  }
  for (const auto make : {QueuesTable, BorrowingTable}) {
    CHECK_THAT(*make(queues, 0), Catch::Contains(name));
    std::istringstream lines(*make(queues, 110));
    bool cut = false;
    for (std::string line; std::getline(lines, line);) {
      CHECK(DisplayWidth(line) <= 110);
      cut = cut || line.ends_with("…");
    }
    CHECK(cut);
  }
}

TEST_CASE("below the table of queues are the whole nodes that they are guaranteed", "[cli]") {
  const auto table = QueuesTable(
      R"({"queues":[{"name":"a","leaf":true,"weight":1,"state":"open","pending":0,"amounts":[)"
      R"({"resource":"gpu","guarantee":8}],)"
      R"("shapes":[{"wholeNodes":3,"model":"h100","nodes":["n0","n4"],"gpus":16,"whole":1,)"
      R"("lent":1,"missing":1},{"wholeNodes":1,"nodes":[],"whole":0,"lent":0,"missing":1}]}]})");
  REQUIRE(table.ok());
  CHECK_THAT(*table,
             Catch::EndsWith("\n\na is guaranteed 3 whole h100 nodes: n0, n4 (1 lent to others), 1 "
                             "missing; they have more GPUs than its guarantee\na is guaranteed 1 "
                             "whole node: none is there, 1 missing\n"));
}

TEST_CASE("the table of borrowing has what each queue borrows, leaves idle and keeps", "[cli]") {
  const auto table = BorrowingTable(kQueues);
  REQUIRE(table.ok());
  CHECK(*table ==
        "QUEUE       RESOURCE  GUARANTEE  USED  BORROWED  IDLE  KEPT  FROM            LENT TO\n"
        "company     gpu               8   5.5         0   2.5     1  -               -\n"
        "  research  gpu               4   5.5       1.5     0     0  -               -\n"
        "            cpu               0     3         3     0     0  root 2, idle 1  company 0.5\n"
        "idle                          -     -         -     -     -  -               -\n");
}

TEST_CASE("tables of queues say that there are none, and refuse what is no list", "[cli]") {
  for (const auto make : {QueuesTable, BorrowingTable}) {
    const auto none = make(R"({"queues":[]})", 0);
    REQUIRE(none.ok());
    CHECK(*none == "the policy has no queues\n");
    for (const char* odd : {"", "[]", "{}", R"({"queues":3})", R"({"queues":[{"name":"a"}]})"})
      CHECK_FALSE(make(odd, 0).ok());
    for (const char* odd : {R"({"queues":[{"name":"a","amounts":[3]}]})",
                            R"({"queues":[{"name":"a","parent":"a","amounts":[]}]})"})
      CHECK(make(odd, 0).ok());
  }
}

TEST_CASE("explain says in which queue a gang waits, and who goes before it and why", "[cli]") {
  const std::string gang =
      R"({"namespace":"team-a","name":"train","state":"Queued","pods":1,"minMember":1)";
  const auto text = [&](const std::string& more) {
    const auto explained = GangExplained(gang + more + "}");
    REQUIRE(explained.ok());
    return *explained;
  };
  CHECK_THAT(text(""), !Catch::Contains("Queue:") && !Catch::Contains("Turn"));
  const std::string turn = R"(,"queue":"research","turn":{"queue":"research","position":2,"of":5)";
  const std::string first = text(turn + "}");
  CHECK_THAT(first, Catch::Contains("research\n") && Catch::Contains("2 of 5 in its queue\n"));
  CHECK_THAT(first, !Catch::Contains("Ahead"));
  const std::string behind =
      text(turn + R"(,"at":"company","ahead":"prod","aheadGang":"prod/serve",)" +
           R"("aheadB":"within its guarantee","own":"research","ownB":"0.500"})");
  CHECK_THAT(behind, Catch::Contains("prod/serve: below company queue prod (within its guarantee) "
                                     "goes before queue research (0.500)\n"));
}

TEST_CASE("explain says when a gang with a booking is to start, and on what that rests", "[cli]") {
  const auto text = [&](const std::string& expected) {
    const auto explained = GangExplained(
        R"({"namespace":"a","name":"big","state":"Queued","expectedStart":{)" + expected + "}}");
    REQUIRE(explained.ok());
    return *explained;
  };
  const std::string evidence = R"("evidence":"gang a/b is the last to leave n0")";
  CHECK_THAT(text(R"("inSeconds":90,"class":"declared",)" + evidence),
             Catch::Contains("in 1m30s, declared: gang a/b is the last to leave n0\n"));
  CHECK_THAT(text(R"("class":"unknown","evidence":"no others come to n0")"),
             Catch::Contains("not known: no others come to n0\n"));
}

TEST_CASE("explain says what is kept for a gang that ended early", "[cli]") {
  const auto explained =
      GangExplained(R"({"namespace":"a","name":"big","state":"Forming","keptForRestart":)"
                    R"({"forSeconds":90,"pods":8,"nodes":"n0, n1"}})");
  REQUIRE(explained.ok());
  CHECK_THAT(*explained,
             Catch::Contains("Kept") &&
                 Catch::Contains("what 8 pods had on n0, n1, for 1m30s: it ended early\n"));
}

TEST_CASE("explain says what would let a gang start that waits", "[cli]") {
  const std::string changes =
      R"({"what":"ends","text":"gang a/b ends"},{"what":"fewer","text":"it asks for 3"})";
  const auto explained = GangExplained(
      R"({"namespace":"a","name":"big","state":"Queued","wouldStartIf":[)" + changes + "]}");
  REQUIRE(explained.ok());
  CHECK_THAT(*explained, Catch::Contains("gang a/b ends\n"));
  CHECK_THAT(*explained, Catch::Contains("it asks for 3\n"));
}

}  // namespace
}  // namespace muster::cli
