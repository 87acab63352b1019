// Roles of a gang that are to be in a domain of their own.
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

#include "tests/policy/racks.hpp"

namespace muster::policy {
namespace {

using cluster::TopologySubgroup;
using cluster::TopologyTerms;
using testing::MakeNode;
using testing::MakePod;
using testing::Racks;

struct Pods {
  std::string role;
  int count;
  int gpus;
};

TopologyTerms Of(std::vector<TopologySubgroup> subgroups) {
  TopologyTerms terms;
  terms.subgroups = std::move(subgroups);
  return terms;
}

// Racks whose pods have roles.
struct Roles : Racks {
  using Racks::Racks;

  PlaceAnswer Put(const std::vector<Pods>& roles, const TopologyTerms& terms,
                  const std::map<std::string, std::string>& beside = {}) {
    GangTerms gang;
    gang.wish = std::make_shared<const FabricWish>(terms);
    gang.subgroups = gang.wish->Subgroups(placer.options().fabric);
    demands.clear();
    for (const Pods& one : roles) {
      for (Demand& demand : Ask(one.count, MakePod("p").Gpus(one.gpus))) {
        demand.subgroup = gang.SubgroupOf(one.role);
        demand.rank = static_cast<uint32_t>(demands.size());
        demands.push_back(std::move(demand));
      }
    }
    for (const auto& [node, role] : beside) {
      gang.placed.push_back({Index(node), demands.front().spec, gang.SubgroupOf(role)});
      gang.beside.push_back(Index(node));
    }
    std::sort(gang.beside.begin(), gang.beside.end());
    cluster::Transaction tx(state.TakeSnapshot());
    PlaceAnswer answer = placer.PlaceGang(tx, demands, NodeFilter::kSchedulable, gang);
    if (answer.placed) {
      CHECK(testing::FaultOf(*this, demands, answer).empty());
      REQUIRE(state.Reserve(answer.placements).ok());
    }
    return answer;
  }
  std::vector<Demand> demands;
};

TEST_CASE("each subgroup is in a rack of its own choice", "[policy][subgroups]") {
  Roles world(1, 3, 2);  // eight GPUs a rack
  const TopologyTerms terms =
      Of({{"prefill", {"prefill"}, "rack"}, {"decode", {"decode"}, "rack"}});
  // No rack holds both: six and five.
  const std::string where = world.In(world.Put({{"decode", 5, 1}, {"prefill", 6, 1}}, terms), 2);
  CHECK(where == "a1 a1 a1 a1 a1 a0 a0 a0 a0 a0 a0");
}

TEST_CASE("subgroups that fit into one rack are in one rack", "[policy][subgroups]") {
  Roles world(1, 3, 2);
  const TopologyTerms terms = Of({{"a", {"a"}, "rack"}, {"b", {"b"}, "rack"}});
  CHECK(world.In(world.Put({{"a", 3, 1}, {"b", 4, 1}}, terms), 2) == "a0 a0 a0 a0 a0 a0 a0");
}

TEST_CASE("the pods of a role that come first are in its subgroup, too", "[policy][subgroups]") {
  Roles world(1, 3, 2);  // eight GPUs a rack
  const TopologyTerms terms = Of({{"w", {"w"}, "rack"}});
  CHECK_FALSE(world.Put({{"w/first", 4, 1}, {"w", 5, 1}}, terms).placed);
  CHECK(world.Put({{"w/first", 4, 1}, {"w", 4, 1}}, terms).placed);
}

TEST_CASE("a subgroup that is not to be divided leaves the gang in its block",
          "[policy][subgroups]") {
  Roles world(2, 2, 1);  // four GPUs a rack
  world.Occupy("a0x", MakePod("other").Gpus(1), {0});
  TopologyTerms terms = Of({{"a", {"a"}, "rack"}, {"b", {"b"}, "rack"}});
  terms.required = "block";
  // Block a has racks of three and four; four and four fit into b alone.
  CHECK(world.In(world.Put({{"a", 4, 1}, {"b", 4, 1}}, terms), 2) == "b0 b0 b0 b0 b1 b1 b1 b1");
}

// Tightest first puts 4 into the rack of 5, and 5 finds no room; largest first puts 3 and 3 into
// the rack of 8, and 4 finds none.
TEST_CASE("domains are chosen again where the first choice leaves no room for another subgroup",
          "[policy][subgroups]") {
  Roles world(1, 3, 2);
  world.Occupy("a0x", MakePod("other").Gpus(2), {0, 1});  // six are left in a0
  world.Occupy("a1x", MakePod("other").Gpus(4), {0, 1, 2, 3});
  world.Occupy("a1y", MakePod("other").Gpus(1), {0});        // three are left in a1
  world.Occupy("a2x", MakePod("other").Gpus(3), {0, 1, 2});  // five are left in a2
  const TopologyTerms terms =
      Of({{"a", {"a"}, "rack"}, {"b", {"b"}, "rack"}, {"c", {"c"}, "rack"}, {"d", {"d"}, "rack"}});
  // 6 + 3 + 5 = (3 + 3) + 3 + 4, and 4 is placed first: into 5.
  const PlaceAnswer answer = world.Put({{"a", 4, 1}, {"b", 3, 1}, {"c", 3, 1}, {"d", 3, 1}}, terms);
  CHECK(world.In(answer, 2) == "a2 a2 a2 a2 a1 a1 a1 a0 a0 a0 a0 a0 a0");
}

TEST_CASE("going back finds what choosing once does not", "[policy][subgroups]") {
  Roles world(1, 2, 2);
  world.Occupy("a0x", MakePod("other").Gpus(1), {0});  // four and three are left: nodes of a0
  const TopologyTerms terms = Of({{"two", {"two"}, "rack"}, {"odd", {"odd"}, "rack"}});
  // Two pods of four fit into a1 only; "odd", which has more GPUs in all, is first tried in a0
  // (seven left), where its three pods of three GPUs do not all fit, then in a1, and never both.
  CHECK_FALSE(world.Put({{"odd", 3, 3}, {"two", 2, 4}}, terms).placed);
  // Seven of one GPU are tightest in a0. The three pods of two need six of a1.
  CHECK(world.In(world.Put({{"odd", 7, 1}, {"two", 3, 2}}, terms), 2) ==
        "a0 a0 a0 a0 a0 a0 a0 a1 a1 a1");
}

TEST_CASE("subgroups within subgroups, and pods in none of them", "[policy][subgroups]") {
  Roles world(2, 3, 1);  // four GPUs a rack, twelve a block
  const TopologyTerms terms = Of({{"model", {"decode", "prefill"}, "block"},
                                  {"decode", {"decode"}, "rack"},
                                  {"prefill", {"prefill"}, "rack"}});
  // "model" needs two racks of one block; the six routers are wherever there is room.
  const PlaceAnswer answer =
      world.Put({{"prefill", 4, 1}, {"decode", 3, 1}, {"router", 6, 1}}, terms);
  REQUIRE(answer.placed);
  const std::string where = world.In(answer, 2);
  CHECK(where == "a0 a0 a0 a0 a1 a1 a1 a1 b0 b0 b0 b1 b1");
}

TEST_CASE("a subgroup that prefers a level is divided where no domain has room",
          "[policy][subgroups]") {
  Roles world(1, 2, 1);
  const TopologyTerms rather = Of({{"a", {"a"}, "", "rack"}});
  CHECK(world.In(world.Put({{"a", 6, 1}}, rather), 2) == "a0 a0 a0 a1 a1 a1");
  Roles other(1, 2, 1);
  CHECK_FALSE(other.Put({{"a", 6, 1}}, Of({{"a", {"a"}, "rack"}})).placed);
}

TEST_CASE("a refusal names the subgroup, its level and the nearest domain", "[policy][subgroups]") {
  Roles world(1, 2, 1);
  world.Occupy("a0x", MakePod("other").Gpus(2), {0, 1});
  const TopologyTerms terms = Of({{"a", {"a"}, "rack"}, {"b", {"b"}, "rack"}});
  const PlaceAnswer refused = world.Put({{"a", 4, 1}, {"b", 3, 1}}, terms);
  REQUIRE_FALSE(refused.placed);
  CHECK(refused.shortage.subgroup == "b");
  CHECK(refused.shortage.limit == "rack");
  CHECK(refused.shortage.domain == "a/a0");
  CHECK(refused.shortage.domains == 2);
  CHECK(refused.shortage.placed_before == 4 + 2);
}

TEST_CASE("a lost member comes back into the domain of its subgroup", "[policy][subgroups]") {
  Roles world(1, 3, 2);
  const TopologyTerms terms = Of({{"a", {"a"}, "rack"}, {"b", {"b"}, "rack"}});
  // Members of "a" are in a1, those of "b" in a2.
  const std::map<std::string, std::string> beside = {{"a1x", "a"}, {"a2x", "b"}, {"a2y", "b"}};
  CHECK(world.In(world.Put({{"a", 1, 1}, {"b", 1, 1}}, terms, beside), 2) == "a1 a2");
  // Where that one is full it waits.
  world.Occupy("a1x", MakePod("other").Gpus(3), {1, 2, 3});
  world.Occupy("a1y", MakePod("other").Gpus(4), {0, 1, 2, 3});
  CHECK_FALSE(world.Put({{"a", 1, 1}}, terms, beside).placed);
}

TEST_CASE("segments of one role alone", "[policy][subgroups]") {
  Roles world(1, 3, 2);
  world.Occupy("a0x", MakePod("other").Gpus(2), {0, 1});
  TopologySubgroup subgroup{"worker", {"worker"}};
  subgroup.segments = {{"rack", 4, true}};
  // Twelve workers in whole fours; the three of the other role fill what they leave.
  const PlaceAnswer answer = world.Put({{"worker", 12, 1}, {"other", 3, 1}}, Of({subgroup}));
  REQUIRE(answer.placed);
  std::map<std::string, int> workers;
  for (size_t i = 0; i < 12; ++i)
    ++workers[world.state.node(answer.placements[i].node)->name.substr(0, 2)];
  for (const auto& [rack, count] : workers) CHECK(count % 4 == 0);
}

TEST_CASE("a subgroup whose level is wider than the gang's domain is in that domain",
          "[policy][subgroups]") {
  Roles world(2, 2, 1);
  TopologyTerms terms = Of({{"a", {"a"}, "block"}});
  terms.required = "rack";
  CHECK(world.In(world.Put({{"a", 2, 1}, {"b", 2, 1}}, terms), 2) == "a0 a0 a0 a0");
}

TEST_CASE("many subgroups in many racks, in whatever order they come", "[policy][subgroups]") {
  std::set<std::string> answers;
  for (const bool reversed : {false, true}) {
    Roles world(2, 4, 2);
    std::vector<TopologySubgroup> subgroups;
    std::vector<Pods> roles;
    for (int i = 0; i < 8; ++i) {
      const std::string role(1, static_cast<char>('a' + i));
      subgroups.push_back({role, {role}, "rack"});
      roles.push_back({role, 1 + i, 1});
    }
    if (reversed) std::reverse(roles.begin(), roles.end());
    const PlaceAnswer answer = world.Put(roles, Of(subgroups));
    REQUIRE(answer.placed);
    std::set<std::string> lines;
    for (size_t i = 0; i < world.demands.size(); ++i) {
      lines.insert(std::to_string(world.demands[i].subgroup) + " " +
                   world.state.node(answer.placements[i].node)->name.substr(0, 2));
    }
    CHECK(lines.size() == 8);  // one rack for each
    std::string all;
    for (const std::string& line : lines) all += line + "\n";
    answers.insert(all);
  }
  CHECK(answers.size() == 1);
}

TEST_CASE("segments of a subgroup are kept in the tree that has them", "[policy][subgroups]") {
  // Racks of eight GPUs in the first tree, cliques of four in the second.
  topology::FabricOptions fabric = testing::BlocksAndRacks();
  fabric.trees.push_back({"nvlink",
                          topology::FabricPreset::kNone,
                          {{"clique", {"clique"}, topology::Unlabelled::kOutside}}});
  Roles world(0, 0, 0);
  world.placer = Placer(Options{Strategy::kBinpack, fabric});
  for (const std::string name : {"a0x", "a0y", "a1x", "a1y"}) {
    world.Add(MakeNode(name)
                  .Gpus(4)
                  .Label("block", "a")
                  .Label("rack", name.substr(0, 2))
                  .Label("clique", name));
  }
  world.Occupy("a0x", MakePod("other").Gpus(1), {0});
  world.Occupy("a1x", MakePod("other").Gpus(1), {0});
  TopologySubgroup subgroup{"worker", {"worker"}};
  subgroup.segments = {{"clique", 4, true}};
  const PlaceAnswer answer = world.Put({{"worker", 8, 1}}, Of({subgroup}));
  REQUIRE(answer.placed);
  std::map<std::string, int> cliques;
  for (const cluster::Placement& one : answer.placements)
    ++cliques[world.state.node(one.node)->name];
  CHECK(cliques == std::map<std::string, int>{{"a0y", 4}, {"a1y", 4}});
  CHECK_FALSE(world.Put({{"worker", 4, 1}}, Of({subgroup})).placed);
}

TEST_CASE("a subgroup that needs a rack goes before one that needs a block",
          "[policy][subgroups]") {
  Roles world(1, 3, 1);  // of the racks of four two have two GPUs free
  for (const std::string node : {"a1x", "a2x"})
    world.Occupy(node, MakePod("other").Gpus(2), {0, 1});
  const TopologyTerms terms = Of({{"wide", {"wide"}, "block"}, {"tight", {"tight"}, "rack"}});
  CHECK(world.In(world.Put({{"wide", 4, 1}, {"tight", 4, 1}}, terms), 2) ==
        "a1 a1 a2 a2 a0 a0 a0 a0");
}

TEST_CASE("subgroups are what the policy's fabric makes of what other systems say",
          "[policy][subgroups]") {
  TopologyTerms terms = Of({{"a", {"a"}, "", "example.com/unknown"}, {"b", {"b"}, "rack"}});
  CHECK(FabricWish(terms).Subgroups(testing::BlocksAndRacks()).size() == 2);
  terms.said_by = "spec.subGroups[].topologyConstraint";
  const std::vector<Subgroup> heeded = FabricWish(terms).Subgroups(testing::BlocksAndRacks());
  REQUIRE(heeded.size() == 1);
  CHECK(heeded.front().name == "b");
  CHECK(heeded.front().level == 1);
  CHECK(FabricWish(terms).Subgroups({}).empty());
}

// Whether pods of one GPU each fit, by trying every rack for every subgroup: `free` by block and
// rack, `racks` the sizes of what needs a rack, with the block that it must be in (below 0: any).
bool FitsByHand(std::vector<std::vector<int>>& free, const std::vector<std::pair<int, int>>& racks,
                size_t next) {
  if (next == racks.size()) return true;
  const auto [size, block] = racks[next];
  for (size_t b = 0; b < free.size(); ++b) {
    if (block >= 0 && b != static_cast<size_t>(block)) continue;
    for (int& rack : free[b]) {
      if (rack < size) continue;
      rack -= size;
      const bool fits = FitsByHand(free, racks, next + 1);
      rack += size;
      if (fits) return true;
    }
  }
  return false;
}

// Every block for the subgroup around some of those that need a rack.
bool FitsByHand(std::vector<std::vector<int>> free, const std::vector<int>& sizes, size_t within) {
  for (int block = within == 0 ? -1 : 0; block < static_cast<int>(within == 0 ? 0 : free.size());
       ++block) {
    std::vector<std::pair<int, int>> racks;
    for (size_t i = 0; i < sizes.size(); ++i) racks.emplace_back(sizes[i], i < within ? block : -1);
    if (FitsByHand(free, racks, 0)) return true;
  }
  return false;
}

TEST_CASE("a placement of subgroups is found whenever there is one", "[policy][subgroups]") {
  std::mt19937 random(20261123);
  const auto any = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  int possible = 0;
  int impossible = 0;
  for (int round = 0; round < 400; ++round) {
    const int blocks = any(1, 2);
    const int racks = any(2, 3);
    Roles world(blocks, racks, 2);
    std::vector<std::vector<int>> free(static_cast<size_t>(blocks));
    int room = 0;
    for (int b = 0; b < blocks; ++b) {
      for (int r = 0; r < racks; ++r) {
        const std::string rack = std::string(1, static_cast<char>('a' + b)) + std::to_string(r);
        const int taken = any(0, 4);
        std::vector<int> gpus;
        for (int gpu = 0; gpu < taken; ++gpu) gpus.push_back(gpu);
        if (taken > 0) world.Occupy(rack + "x", MakePod("other").Gpus(taken), gpus);
        free[static_cast<size_t>(b)].push_back(8 - taken);
        room += 8 - taken;
      }
    }
    // Nearly all of the room, in pieces.
    std::vector<int> sizes;
    for (int left = room - any(0, 3); left > 0;) {
      sizes.push_back(std::min(left, any(1, 5)));
      left -= sizes.back();
    }
    const size_t within = any(0, 1) == 1 ? std::min<size_t>(2, sizes.size() - 1) : 0;
    TopologyTerms terms;
    TopologySubgroup outer{"outer", {}, "block"};
    std::vector<Pods> roles;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const std::string role = "r" + std::to_string(100 + i);
      roles.push_back({role, sizes[i], 1});
      terms.subgroups.push_back({role, {role}, "rack"});
      if (i < within) outer.roles.push_back(role);
    }
    if (within > 1) terms.subgroups.insert(terms.subgroups.begin(), outer);
    CAPTURE(round, sizes, within, free);
    const bool fits = FitsByHand(free, sizes, within > 1 ? within : 0);
    const PlaceAnswer answer = world.Put(roles, terms);
    CHECK(answer.placed == fits);
    ++(fits ? possible : impossible);
    if (!answer.placed) continue;
    std::map<size_t, std::set<std::string>> where;  // by subgroup
    for (size_t i = 0; i < world.demands.size(); ++i) {
      where[world.demands[i].subgroup].insert(
          world.state.node(answer.placements[i].node)->name.substr(0, 2));
    }
    for (const auto& [subgroup, names] : where) CHECK(names.size() == 1);
  }
  CHECK(possible > 50);
  CHECK(impossible > 20);
}

}  // namespace
}  // namespace muster::policy
