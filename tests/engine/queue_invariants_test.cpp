// The three invariants that end loops between queues (I1 to I3 of docs/reference/rules.md), and
// what follows from them, in random worlds.
//
//   MUSTER_PROPERTY_STEPS   steps in all, of which this takes a tenth (default 5,000)
//   MUSTER_CONTEST_SEED     of the first world, to look further or to see a finding again (default
//   1)
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <initializer_list>
#include <string>

#include "tests/engine/contest_world.hpp"
#include "tests/support/sanitized.hpp"

namespace muster::engine {
namespace {

using testing::ContestWorld;
using testing::Weather;

constexpr uint64_t kStepsEach = 60;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Through all of its steps, and to rest.
ContestWorld::Tally Live(uint64_t seed, Weather weather) {
  INFO("MUSTER_CONTEST_SEED=" << seed);
  ContestWorld world(seed, weather);
  for (uint64_t step = 0; step < kStepsEach && world.finding().empty(); ++step) world.Step();
  if (world.finding().empty()) world.ComeToRest();
  REQUIRE(world.finding() == "");
  return world.tally();
}

ContestWorld::Tally Contend(Weather weather) {
  // With fewer the worlds show too little.
  const uint64_t steps =
      std::max<uint64_t>(FromEnvironment("MUSTER_PROPERTY_STEPS", 5'000) / 10, 200);
  const uint64_t first = FromEnvironment("MUSTER_CONTEST_SEED", 1);
  ContestWorld::Tally all;
  for (uint64_t i = 0; i * kStepsEach < steps; ++i) {
    const ContestWorld::Tally tally = Live(first + i, weather);
    all.evicted += tally.evicted;
    all.claims += tally.claims;
    all.started += tally.started;
    all.pairs += tally.pairs;
    all.rights += tally.rights;
    all.left_waiting += tally.left_waiting;
    for (const auto& [why, count] : tally.given_up) all.given_up[why] += count;
  }
  std::string given_up;
  for (const auto& [why, count] : all.given_up)
    given_up += ", " + std::to_string(count) + " " + why;
  WARN("MUSTER_CONTEST_SEED=" << first << ": " << all.evicted << " pods evicted for " << all.claims
                              << " gangs, of which " << all.started << " started" << given_up
                              << "; " << all.rights << " rights of " << all.pairs << " pairs");
  return all;
}

TEST_CASE(
    "order and right to evict agree, the final set is lawful, the earmark covers devices and quota",
    "[engine][property][invariants]") {
  SECTION("in a calm world, where every gang starts for which others are evicted") {
    const ContestWorld::Tally all = Contend(Weather::kCalm);
    CHECK(all.started > 0);
    CHECK(all.rights > 0);
    CHECK(all.left_waiting > 0);
    CHECK(all.given_up.empty());
  }
  SECTION("in a rough one, where it starts or says why not") {
    const ContestWorld::Tally all = Contend(Weather::kRough);
    CHECK(all.started > 0);
    CHECK(all.rights > 0);
    CHECK_FALSE(all.given_up.contains(""));
  }
}

TEST_CASE("worlds in which something was found before", "[engine][invariants]") {
  const auto live = [](std::initializer_list<uint64_t> seeds, Weather weather) {
    for (const uint64_t seed : seeds) {
      Live(seed, weather);
      if (testing::kSanitized) return;  // one of each
    }
  };
  live({50'049U, 101'591U, 102'285U, 203'640U, 607'692U}, Weather::kCalm);
  live({100'219U, 100'288U, 202'425U, 300'758U, 601'992U}, Weather::kRough);
}

}  // namespace
}  // namespace muster::engine
