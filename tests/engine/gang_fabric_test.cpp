// What people are told about where a gang lies in the fabric, and why a domain does not hold it.
#include "engine/gang_fabric.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/fabric_options.hpp"
#include "tests/engine/harness.hpp"

namespace muster::engine {
namespace {

using testing::MakeNode;
using testing::MakePod;

// Racks a0 and a1 of two nodes of four GPUs each.
struct TwoRacks : testing::Harness {
  explicit TwoRacks(Options options = testing::WithFabric()) : Harness(std::move(options)) {
    for (const std::string name : {"a0x", "a0y", "a1x", "a1y"})
      Add(MakeNode(name).Gpus(4).Label("block", "a").Label("rack", name.substr(0, 2)));
  }
  GangFabric Of(const std::string& gang) {
    const auto fabric = engine().FabricOf({"default", gang}, now());
    REQUIRE(fabric.has_value());
    return *fabric;
  }
};

std::string Text(const std::vector<DomainShare>& shares) {
  std::string text;
  for (const DomainShare& share : shares)
    text += (text.empty() ? "" : " ") + share.name + ":" + std::to_string(share.members);
  return text;
}

std::string Text(const GangLevel& level) {
  return level.tree + "/" + level.level + " " + Text(level.domains) + ", " +
         std::to_string(level.crossings) + " out";
}

TEST_CASE("a gang's domains are told level by level, with the links that leave them",
          "[engine][fabric]") {
  TwoRacks world;
  world.AddGang("train", 4, 4, 4);
  world.Settle();
  const GangFabric view = world.Of("train");
  REQUIRE(view.levels.size() == 2);
  CHECK(view.links == 4);
  CHECK(Text(view.levels[0]) == "dc/block a:4, 0 out");
  // From the second to the third, and from the last to the first.
  CHECK(Text(view.levels[1]) == "dc/rack a/a0:2 a/a1:2, 2 out");
  CHECK(view.offers.empty());
}

TEST_CASE("two members have one link, a single one none", "[engine][fabric]") {
  TwoRacks world;
  world.AddGang("pair", 2, 4, 2);
  world.AddGang("one", 1, 4, 1);
  world.Settle();
  CHECK(world.Of("pair").links == 1);
  CHECK(world.Of("one").links == 0);
  CHECK(world.Of("one").levels[1].crossings == 0);
}

TEST_CASE("a gang that waits is told what each domain of its level has for it",
          "[engine][fabric]") {
  TwoRacks world;
  world.Add(MakePod("other").Gpus(4).Scheduler("other").BoundTo("a0x", {0, 1, 2, 3}));
  world.AddGang("late", 3, 4, 3);
  world.ChangeGroup("late", [](cluster::PodGroup& group) { group.topology.required = "rack"; });
  world.Settle();
  const GangFabric view = world.Of("late");
  CHECK(view.levels.empty());
  CHECK(view.level == "rack");
  CHECK(view.wanted == 3);
  CHECK(view.domains == 2);
  CHECK(Text(view.offers) == "a/a1:2 a/a0:1");
}

TEST_CASE("a member outside of all domains is said to be there", "[engine][fabric]") {
  TwoRacks world;
  world.Add(MakeNode("outside").Gpus(8).Label("block", "a"));
  world.AddGang("big", 1, 8, 1);
  world.Settle();
  CHECK(Text(world.Of("big").levels[1]) == "dc/rack :1, 0 out");
}

TEST_CASE("without a fabric, and of a gang that is not there, nothing is told",
          "[engine][fabric]") {
  TwoRacks world{Options()};
  world.AddGang("train", 2, 4, 2);
  world.Settle();
  CHECK(world.Of("train").levels.empty());
  CHECK_FALSE(world.engine().FabricOf({"default", "none"}, world.now()).has_value());
}

}  // namespace
}  // namespace muster::engine
