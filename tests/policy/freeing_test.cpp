// What would have to leave so that a gang fits one domain (policy/victims/freeing.hpp).
#include "policy/victims/freeing.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/policy/racks.hpp"

namespace muster::policy {
namespace {

using testing::MakePod;
using testing::PodBuilder;
using testing::Racks;

struct Full : Racks {
  std::vector<Candidate> candidates;
  Full(int racks, int nodes) : Racks(1, racks, nodes) {}
  // A pod with all GPUs of the node; where an owner is given it may have to leave.
  void Hold(const std::string& node, int owner = -1) {
    const std::string name = "on-" + node;
    state.Upsert(MakePod(name).Gpus(4).BoundTo(node, {0, 1, 2, 3}));
    if (owner < 0) return;
    const cluster::Placement held = state.AllocationOf(cluster::PodUid("pod-" + name))->placement;
    candidates.push_back({static_cast<uint64_t>(owner), "", {held}});
  }
  // Of racks, for a gang of `count` pods of a node each.
  std::vector<DomainToFree> For(int count, VictimSets* sets = nullptr) {
    GangRequest request;
    request.required = Ranked(count, 4);
    request.terms.wish = std::make_shared<const FabricWish>(cluster::TopologyTerms{"rack", ""});
    const auto snapshot = state.TakeSnapshot();
    const auto fabric = placer.FabricOf(snapshot->nodes());
    FreeingInput input{snapshot, fabric, candidates, {}, sets};
    const topology::Fabric::Range range = fabric->At({0, 1});
    for (topology::DomainId id = range.first; id < range.last; ++id) input.domains.push_back(id);
    std::vector<DomainToFree> domains = DomainsToFree(placer, input, request);
    names.clear();
    for (const DomainToFree& one : domains) names.push_back(fabric->domains()[one.domain].name);
    return domains;
  }
  std::vector<std::string> names;  // of the last answer
};

using Names = std::vector<std::string>;

TEST_CASE("the domain in which the fewest owners lose something is the cheapest to free",
          "[policy][fabric][freeing]") {
  Full world(3, 2);
  world.Hold("a0x", 0);
  world.Hold("a0y", 1);
  world.Hold("a1x", 2);
  world.Hold("a1y", 2);
  world.Hold("a2x", 3);
  world.Hold("a2y");  // nobody may evict that
  const std::vector<DomainToFree> domains = world.For(2);
  CHECK(world.names == Names{"a/a1", "a/a0", "a/a2"});
  CHECK(domains[0].missing == 2);
  CHECK(domains[0].owners == 1);
  CHECK(domains[0].gpu_milli == 8000);
  CHECK(domains[0].victims == std::vector<size_t>{2, 3});
  CHECK_FALSE(domains[0].blocked);
  CHECK(domains[1].owners == 2);
  CHECK(domains[1].victims == std::vector<size_t>{0, 1});
  CHECK(domains[2].blocked);
  CHECK(domains[2].victims.empty());
}

TEST_CASE("of domains with as many owners the one that loses the fewest GPUs comes first",
          "[policy][fabric][freeing]") {
  Full world(2, 3);
  for (const char* node : {"a0x", "a0y", "a0z"}) world.Hold(node, 0);
  world.Hold("a1x", 1);
  const std::vector<DomainToFree> domains = world.For(3);
  CHECK(world.names == Names{"a/a1", "a/a0"});
  CHECK(domains[0].missing == 1);
  CHECK(domains[0].gpu_milli == 4000);
  CHECK(domains[1].gpu_milli == 12000);
}

TEST_CASE("R6: the domain where less is lost in all is the cheapest to free, whatever one has lost",
          "[policy][fabric][freeing]") {
  Full world(3, 2);
  world.Hold("a0x", 0);
  world.Hold("a1x", 1);
  world.Hold("a1y", 2);
  world.Hold("a0y", 3);
  world.Hold("a2x", 4);
  world.Hold("a2y", 4);
  const std::vector<int64_t> lost = {10, 60, 65, 100, 0, 0};
  for (size_t i = 0; i < lost.size(); ++i) world.candidates[i].gpu_time = lost[i];
  // Nothing of a higher tier goes for something of a lower one.
  for (const size_t i : {size_t{4}, size_t{5}}) std::get<0>(world.candidates[i].tier) = true;
  const std::vector<DomainToFree> domains = world.For(2);
  CHECK(world.names == Names{"a/a0", "a/a1", "a/a2"});
  CHECK(domains[0].victims == std::vector<size_t>{0, 3});
  CHECK(domains[0].gpu_time == 110);
  CHECK(domains[0].placements.size() == 2);
  CHECK(domains[2].victims == std::vector<size_t>{4, 5});
}

TEST_CASE("the domain where fewer pods violate budgets is the cheapest to free",
          "[policy][fabric][freeing]") {
  Full world(2, 2);
  world.Hold("a0x", 0);
  world.Hold("a0y", 0);
  world.Hold("a1x", 1);
  world.Hold("a1y", 2);
  world.candidates[0].violates = 2;
  world.candidates[2].violates = 1;
  world.candidates[2].gpu_time = 1'000;
  const std::vector<DomainToFree> domains = world.For(2);
  CHECK(world.names == Names{"a/a1", "a/a0"});
  CHECK(domains[0].violates == 1);
  CHECK(domains[1].violates == 2);
}

TEST_CASE("a domain whose candidates may not leave together is blocked",
          "[policy][fabric][freeing]") {
  class NotTheFirst final : public VictimSets {
   public:
    bool Allows(const std::vector<bool>& chosen) override { return !chosen[0]; }
    bool AllowsParts(const std::vector<bool>&) override { return false; }
  };
  Full world(2, 1);
  world.Hold("a0x", 0);
  world.Hold("a1x", 1);
  NotTheFirst sets;
  const std::vector<DomainToFree> domains = world.For(1, &sets);
  CHECK(world.names == Names{"a/a1", "a/a0"});
  CHECK(domains[0].victims == std::vector<size_t>{1});
  CHECK(domains[1].blocked);
}

TEST_CASE("who is not in the way is not told", "[policy][fabric][freeing]") {
  Full world(1, 3);
  for (const char* node : {"a0x", "a0y", "a0z"}) world.Hold(node, node[2] - 'x');
  const std::vector<DomainToFree> domains = world.For(2);
  REQUIRE(domains.size() == 1);
  CHECK(domains[0].owners == 2);
  CHECK(domains[0].missing == 2);
}

TEST_CASE("what an owner loses elsewhere counts too", "[policy][fabric][freeing]") {
  Full world(2, 1);
  // One candidate in two racks.
  world.Hold("a0x", 0);
  world.Hold("a1x", 0);
  world.candidates[0].held.push_back(world.candidates[1].held.front());
  world.candidates.pop_back();
  const std::vector<DomainToFree> domains = world.For(1);
  REQUIRE(domains.size() == 2);
  CHECK(domains[0].gpu_milli == 8000);
  CHECK(world.names == Names{"a/a0", "a/a1"});
}

TEST_CASE("of many domains those that lack the fewest slots are looked at",
          "[policy][fabric][freeing]") {
  Full world(10, 2);
  for (int rack = 0; rack < 10; ++rack) {
    world.Hold("a" + std::to_string(rack) + "x", rack);
    if (rack != 7) world.Hold("a" + std::to_string(rack) + "y", 10 + rack);
  }
  const std::vector<DomainToFree> domains = world.For(2);
  CHECK(domains.size() == kMostDomains);
  CHECK(world.names.front() == "a/a7");
}

}  // namespace
}  // namespace muster::policy
