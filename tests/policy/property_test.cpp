// Completeness against brute force (policy/placing/placement.hpp, 5).
#include <catch2/catch.hpp>

#include "policy/placing/placement.hpp"
#include "tests/policy/brute_force.hpp"
#include "tests/policy/random_world.hpp"
#include "tests/policy/world.hpp"

namespace muster::policy {
namespace {

using testing::Dice;
using testing::World;

TEST_CASE("a gang of equal pods is placed exactly when there is room for it",
          "[policy][property]") {
  const auto strategy = GENERATE(Strategy::kBinpack, Strategy::kSpread);
  const uint64_t seed = testing::SeedOfRun();
  INFO("seed " << seed);
  Dice dice(seed);
  int tight = 0;
  for (int round = 0; round < testing::Rounds(150); ++round) {
    World world;
    Placer placer(Options{strategy});
    const int nodes = dice.Roll(1, 4);
    for (int i = 0; i < nodes; ++i) world.Add(RandomNode(dice, "n" + std::to_string(i)));
    for (int others = dice.Roll(0, 3); others > 0; --others) {
      world.PlaceAndHold(placer, world.Ask(dice.Roll(1, 3), RandomPod(dice)));
    }
    const testing::PodBuilder pod = RandomPod(dice);
    const int most = MostPods(world, *pod.Build().spec);
    INFO("round " << round << ", room for " << most);
    if (most > 0) {
      const std::vector<Demand> gang = world.Ask(most, pod);
      REQUIRE(FaultOf(world, gang, world.Place(placer, gang)) == "");
      ++tight;
    }
    const PlaceAnswer refused = world.Place(placer, world.Ask(most + 1, pod));
    REQUIRE_FALSE(refused.placed);
    REQUIRE(refused.shortage.placed_before == most);
  }
  CHECK(tight > 0);
}

}  // namespace
}  // namespace muster::policy
