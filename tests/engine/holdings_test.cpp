#include "engine/standing/holdings.hpp"

#include <catch2/catch.hpp>
#include <optional>
#include <string>

namespace muster::engine {
namespace {

Gang Named(const std::string& name) {
  Gang gang;
  gang.id = {{"team", name}, false};
  return gang;
}

TEST_CASE("what gangs hold is known by priority, and Hold says when more can be had",
          "[engine][holdings]") {
  const Gang a = Named("a");
  const Gang b = Named("b");
  Holdings holdings;
  CHECK_FALSE(holdings.Hold(a, std::nullopt, 0, "q"));
  CHECK(holdings.Hold(a, 5, 2, "q"));
  CHECK_FALSE(holdings.Hold(a, 5, 2, "q"));
  CHECK_FALSE(holdings.Hold(a, 5, 0, "q"));  // it may not be taken apart for now
  CHECK(holdings.Hold(a, 5, 2, "q"));
  CHECK(holdings.Hold(b, 1, 1, "q"));
  CHECK(holdings.all().begin()->first == 1);
  CHECK(holdings.all().begin()->second.at(b.id) == &b);
  CHECK_FALSE(holdings.Hold(a, 1, 2, "q"));
  CHECK(holdings.all().size() == 1);
  CHECK(holdings.Audit().empty());
  holdings.Hold(a, std::nullopt, 0, "q");
  holdings.Hold(b, std::nullopt, 0, "q");
  CHECK(holdings.all().empty());
  CHECK(holdings.Audit().empty());
}

}  // namespace
}  // namespace muster::engine
