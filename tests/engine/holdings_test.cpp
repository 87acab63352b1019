#include "engine/holdings.hpp"

#include <catch2/catch.hpp>
#include <optional>
#include <string>

namespace muster::engine {
namespace {

GangId Id(const std::string& name) { return {{"team", name}, false}; }

TEST_CASE("what gangs hold is known by priority, and it is told when more can be had",
          "[engine][holdings]") {
  Holdings holdings;
  CHECK_FALSE(holdings.Hold(Id("a"), std::nullopt, 0, "q"));
  CHECK(holdings.Hold(Id("a"), 5, 2, "q"));
  CHECK_FALSE(holdings.Hold(Id("a"), 5, 2, "q"));
  CHECK_FALSE(holdings.Hold(Id("a"), 5, 0, "q"));  // it may not be taken apart for now
  CHECK(holdings.Hold(Id("a"), 5, 2, "q"));
  CHECK(holdings.Hold(Id("b"), 1, 1, "q"));
  CHECK(holdings.all().begin()->first == 1);
  CHECK_FALSE(holdings.Hold(Id("a"), 1, 2, "q"));
  CHECK(holdings.all().size() == 1);
  CHECK(holdings.Audit().empty());
  holdings.Hold(Id("a"), std::nullopt, 0, "q");
  holdings.Hold(Id("b"), std::nullopt, 0, "q");
  CHECK(holdings.all().empty());
  CHECK(holdings.Audit().empty());
}

}  // namespace
}  // namespace muster::engine
