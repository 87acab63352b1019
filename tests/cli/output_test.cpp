// Tables of the server's pages, without a server.
#include "cli/tables/output.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace muster::cli {

TEST_CASE("explain shows where in the fabric a gang lies, and what domains have for it", "[cli]") {
  const std::string gang =
      R"({"namespace":"default","name":"train","state":"Queued","pods":3,"minMember":3,"fabric":{)";
  const auto placed = GangExplained(
      gang + R"("levels":[{"tree":"dc","level":"rack","domains":[{"name":"a/r0","members":2},)" +
      R"({"name":"","members":1}],"crossings":2}],"links":3}})");
  REQUIRE(placed.ok());
  CHECK_THAT(*placed, Catch::Contains("LEVEL    LINKS OUT  MEMBERS BY DOMAIN\n"
                                      "dc/rack     2 of 3  a/r0: 2, in no domain: 1\n"));
  const auto waits = GangExplained(
      gang + R"("levels":[],"links":0,"level":"rack","wanted":3,"domains":22,)" +
      R"("offers":[{"name":"a/r1","members":2,"why":"1 of 2 nodes kept as spares"},)" +
      R"({"name":"a/r0","members":0,"why":""}]}})");
  REQUIRE(waits.ok());
  CHECK_THAT(*waits, Catch::Contains("DOMAIN  ROOM FOR MEMBERS  WHY NOT THERE\n"
                                     "a/r1              2 of 3  1 of 2 nodes kept as spares\n"
                                     "a/r0              0 of 3\n"
                                     "and 20 more with no more room\n"));
  for (const std::string odd :
       {R"("levels":3}})", R"("levels":[3],"offers":[3]}})", R"("levels":[],"others":7}})", "}}"})
    CHECK(GangExplained(gang + odd).ok());
}

TEST_CASE("explain says why a gang with nodes is in none of the other domains", "[cli]") {
  const auto page = GangExplained(
      R"({"namespace":"default","name":"train","state":"Running","pods":2,"minMember":2,"fabric":{)"
      R"("levels":[{"tree":"dc","level":"rack","domains":[{"name":"a/r0","members":2}],)"
      R"("crossings":0}],"links":1,"others":{"level":"rack","wanted":2,"domains":1,"offers":[)"
      R"({"name":"a/r1","members":1,"why":"1 of 2 nodes not ready or cordoned"}]}}})");
  REQUIRE(page.ok());
  CHECK_THAT(*page,
             Catch::EndsWith("\nOther domains of level rack as they are now, not as when it was "
                             "planned:\n"
                             "DOMAIN  ROOM FOR MEMBERS  WHY NOT THERE\n"
                             "a/r1              1 of 2  1 of 2 nodes not ready or cordoned\n"));
}

TEST_CASE("explain tells what the kubelet will hand out where that is not the plan", "[cli]") {
  const auto explained = [](const std::string& first, const std::string& second) {
    const auto member = [](const std::string& pod, const std::string& kubelet) {
      return R"({"pod":")" + pod + R"(","phase":"Pending","plannedNode":"n0","gpus":[1,3])" +
             kubelet + R"(,"bindHeld":false})";
    };
    const auto text = GangExplained(
        R"({"namespace":"default","name":"train","state":"Reserved","pods":2,"minMember":2,)"
        R"("members":[)" +
        member("a", first) + "," + member("b", second) + "]}");
    REQUIRE(text.ok());
    return *text;
  };
  const std::string agree = R"(,"kubelet":{"outcome":"agree"})";
  const std::string differ = R"(,"kubelet":{"outcome":"differ","predicted":[0,3]})";
  const std::string either = R"(,"kubelet":{"outcome":"differ","predicted":[0,3],"choices":3})";
  const std::string tied = R"(,"kubelet":{"outcome":"tied","choices":6})";
  const std::string open = R"(,"kubelet":{"outcome":"unknown"})";
  const std::string same = "the kubelet is expected to hand out these GPUs\n";
  CHECK_THAT(explained(agree, agree), Catch::Contains(same) && !Catch::Contains("KUBELET"));
  CHECK_THAT(explained("", ""), !Catch::Contains(same) && !Catch::Contains("KUBELET"));
  CHECK_THAT(explained(agree, differ),
             Catch::Contains("POD  ROLE  PHASE    NODE  GPUS  KUBELET     STATUS\n"
                             "a    -     Pending  n0    1,3   as planned  planned\n"
                             "b    -     Pending  n0    1,3   0,3         planned\n") &&
                 !Catch::Contains(same));
  CHECK_THAT(explained(either, tied),
             Catch::Contains("0,3 or 2 other sets") && Catch::Contains("any of 6 sets"));
  CHECK_THAT(explained("", open), Catch::Contains("1,3   -        planned\n") &&
                                      Catch::Contains("1,3   unknown  planned\n"));
}

TEST_CASE("explain names the domain that is the cheapest to free, and who is in its way", "[cli]") {
  const std::string gang =
      R"({"namespace":"default","name":"late","state":"Queued","pods":2,"minMember":2,)"
      R"("fabric":{"levels":[],"links":0,"level":"rack","wanted":2,"domains":1,)"
      R"("offers":[{"name":"a/r1","members":1}],"cheapestToFree":{"name":"a/r1","missing":1,)";
  CHECK_THAT(
      GangExplained(gang + R"("blocked":false,"gangs":["default/x"],"gangsInAll":3,"gpus":12}}})")
          .value(),
      Catch::EndsWith(
          "\nCheapest domain to free: a/r1, which lacks room for 1 members. In the way: "
          "default/x and 2 more with 12 GPUs\n"));
  CHECK_THAT(
      GangExplained(gang +
                    R"("blocked":true,"pods":["default/p-0","default/p-1"],"podsInAll":2}}})")
          .value(),
      Catch::EndsWith("\nNo domain can be freed for it; nearest is a/r1, which lacks room for 1 "
                      "members. In the way, not to be evicted: default/p-0, default/p-1\n"));
}

TEST_CASE("explain names the links that leave a domain", "[cli]") {
  const std::string gang =
      R"({"namespace":"default","name":"train","state":"Running","pods":9,"minMember":9,)"
      R"("fabric":{"levels":[{"tree":"dc","level":"rack","domains":[],"crossings":9}],"links":9,)"
      R"("crossed":[{"tree":"dc","level":"block","from":"w-7","to":"w-8","fromDomain":"a",)"
      R"("toDomain":"b"},{"tree":"dc","level":"rack","from":"w-8","to":"w-0","fromDomain":"",)"
      R"("toDomain":"a/r0"}],"crossings":)";
  const auto more = GangExplained(gang + "9}}");
  REQUIRE(more.ok());
  CHECK_THAT(*more, Catch::Contains("\n\nOUT OF    FROM  IN         TO   IN\n"
                                    "dc/block  w-7   a          w-8  b\n"
                                    "dc/rack   w-8   no domain  w-0  a/r0\n"
                                    "and 7 more\n"));
  CHECK_THAT(GangExplained(gang + "2}}").value(), !Catch::Contains("more"));
  CHECK(GangExplained(gang + R"("x","crossed":7}})").ok());
}

TEST_CASE("explain shows which members wait for a whole segment", "[cli]") {
  const std::string rest = "1 of its pods waits until there are whole segments: 5 = 2 × 2 + 1";
  const auto page = GangExplained(
      R"({"namespace":"default","name":"train","state":"Running","pods":5,"minMember":4,)"
      R"("remainder":")" +
      rest + R"("})");
  REQUIRE(page.ok());
  CHECK_THAT(*page, Catch::Contains("Remainder  " + rest + "\n"));
}

TEST_CASE("explain shows the ring of each member's GPUs, the slowest and the fastest", "[cli]") {
  const auto page = GangExplained(
      R"({"namespace":"default","name":"train","state":"Running","pods":2,"minMember":2,)"
      R"("members":[{"pod":"w-0","phase":"Running","boundNode":"n0","gpus":[0,3],"ringGigabytesPerSecond":450},)"
      R"({"pod":"w-1","phase":"Running","boundNode":"n1","gpus":[1]}],)"
      R"("rings":{"members":1,"slowest":{"pod":"w-0","node":"n0","ringGigabytesPerSecond":12.5},)"
      R"("fastest":{"pod":"w-0","node":"n0","ringGigabytesPerSecond":450}}})");
  REQUIRE(page.ok());
  CHECK_THAT(*page, Catch::Contains("Slowest ring  12.5 GB/s: w-0 on n0\n"));
  CHECK_THAT(*page, Catch::Contains("Fastest ring  450 GB/s: w-0 on n0\n"));
  CHECK_THAT(*page, Catch::Contains("w-0  -     Running  n0    0,3         450  bound\n"));
  CHECK_THAT(*page, Catch::Contains("w-1  -     Running  n1    1             -  bound\n"));
}

}  // namespace muster::cli
