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

}  // namespace muster::cli
