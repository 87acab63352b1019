// Tables of the server's pages, without a server.
#include "cli/output.hpp"

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
  const auto waits =
      GangExplained(gang + R"("levels":[],"links":0,"level":"rack","wanted":3,"domains":22,)" +
                    R"("offers":[{"name":"a/r1","members":2},{"name":"a/r0","members":0}]}})");
  REQUIRE(waits.ok());
  CHECK_THAT(*waits, Catch::Contains("DOMAIN  ROOM FOR MEMBERS\n"
                                     "a/r1              2 of 3\n"
                                     "a/r0              0 of 3\n"
                                     "and 20 more with no more room\n"));
  for (const std::string odd : {R"("levels":3}})", R"("levels":[3],"offers":[3]}})", "}}"})
    CHECK(GangExplained(gang + odd).ok());
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

}  // namespace muster::cli
