#include "policy/fit/name_ranks.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <string>

#include "cluster/holdings/cluster_state.hpp"
#include "policy/fit/eligibility.hpp"
#include "tests/support/builders.hpp"

namespace muster::policy {
namespace {

TEST_CASE("ranks are in the order of names, and stay while others come and go", "[policy][ranks]") {
  NameRanks ranks;
  std::map<std::string, uint64_t> known;
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    // Also the worst order: every name between the last one and its neighbour.
    const std::string name = i % 2 == 0 ? "node-" + std::to_string(random() % 500)
                                        : "m" + std::string(random() % 90, 'm');
    if (known.contains(name) && random() % 2 == 0) {
      ranks.Drop(name);
      known.erase(name);
    } else {
      ranks.Add(name);
      known.emplace(name, 0).first->second = ranks.Of(name);
    }
    if (ranks.Renumbered()) {
      for (auto& [one, rank] : known) rank = ranks.Of(one);
    }
    uint64_t last = 0;
    for (const auto& [one, rank] : known) {
      REQUIRE(ranks.Of(one) == rank);
      REQUIRE(rank > last);
      last = rank;
    }
  }
}

TEST_CASE("a node that goes or comes back concerns its own chunk only", "[policy][ranks]") {
  cluster::ClusterState state;
  for (int i = 0; i < 640; ++i)
    state.Upsert(testing::MakeNode("node-" + std::to_string(1'000 + i)).Gpus(1).Build());
  Eligibility eligibility;
  CHECK(eligibility.Follow(state.TakeSnapshot()->nodes()).size() == 10);
  CHECK(eligibility.Follow(state.TakeSnapshot()->nodes()).empty());
  const cluster::Node* node = state.FindNode("node-1300");
  const cluster::NodeIndex index = state.IndexOf("node-1300");
  CHECK(state.IndexOf(node->uid) == index);
  state.Remove(cluster::NodeUid(node->uid));
  CHECK_FALSE(state.IndexOf("node-1300").valid());
  CHECK(eligibility.Follow(state.TakeSnapshot()->nodes()) == std::vector<uint32_t>{4});
  cluster::Node again = testing::MakeNode("node-1300").Gpus(1).Build();
  again.uid = cluster::NodeUid("another");
  state.Upsert(again);
  CHECK(state.IndexOf(again.uid) == index);
  CHECK(eligibility.Follow(state.TakeSnapshot()->nodes()) == std::vector<uint32_t>{4});
  for (uint32_t i = 1; i < 640; ++i) {
    REQUIRE(eligibility.facts(cluster::NodeIndex{i - 1}).rank <
            eligibility.facts(cluster::NodeIndex{i}).rank);
  }
}

}  // namespace
}  // namespace muster::policy
