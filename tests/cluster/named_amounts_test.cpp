#include "cluster/amounts/named_amounts.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
#include "cluster/holdings/transaction.hpp"
#include "tests/support/builders.hpp"

namespace muster::cluster {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::PlaceOn;

constexpr const char* kNic = "vpc.amazonaws.com/efa";
constexpr const char* kDisk = "ephemeral-storage";

NamedAmounts Of(std::vector<NamedAmount> amounts) { return NamedAmounts(std::move(amounts)); }

TEST_CASE("named amounts add up by name, and 0 is none", "[cluster][named]") {
  NamedAmounts amounts = Of({{kNic, 2}, {kDisk, 5}, {kNic, 1}, {"none", 0}});
  REQUIRE(amounts.list().size() == 2);
  CHECK(amounts.list()[0] == NamedAmount{kDisk, 5});
  CHECK(amounts.list()[1] == NamedAmount{kNic, 3});
  amounts -= Of({{kNic, 3}});
  CHECK(amounts == Of({{kDisk, 5}}));
  amounts -= Of({{kNic, 2}, {kDisk, 5}});
  CHECK(amounts == Of({{kNic, -2}}));
  CHECK(amounts.AnyNegative());
  CHECK(amounts.Positive().empty());
  amounts += Of({{kNic, 2}});
  CHECK(amounts.empty());
  CHECK(amounts == NamedAmounts());
  CHECK(Of({{kNic, 2}}).Times(3).Of(kNic) == 6);
}

TEST_CASE("a request fits where there is as much of each; what is not there is 0",
          "[cluster][named]") {
  const NamedAmounts there = Of({{kNic, 4}, {kDisk, -1}});
  CHECK(there.Fits({}));
  CHECK(there.Fits(Of({{kNic, 4}})));
  CHECK_FALSE(there.Fits(Of({{kNic, 5}})));
  CHECK(there.FirstShort(Of({{kNic, 5}, {"a", 1}}))->name == "a");
  CHECK_FALSE(NamedAmounts().Fits(Of({{kNic, 1}})));
  CHECK(there.OwesAnyOf(Of({{kDisk, 1}})));
  CHECK_FALSE(there.OwesAnyOf(Of({{kNic, 1}})));
  CHECK(there.RoseFrom(Of({{kNic, 3}})));
  CHECK_FALSE(Of({{kNic, 3}, {kDisk, -1}}).RoseFrom(there));
}

TEST_CASE("a node's named amounts are held, given back and taken in transactions",
          "[cluster][named]") {
  ClusterState state;
  const Node node = MakeNode("n").Offers(kNic, 4);
  state.Upsert(node);
  state.Upsert(MakePod("holder").Wants(kNic, 3).BoundTo("n"));
  const auto free = [&] {
    return state.TakeSnapshot()->free().at(state.IndexOf("n")).resources.named.Of(kNic);
  };
  CHECK(free() == 1);
  const Pod next = MakePod("next").Wants(kNic, 2);
  state.Upsert(next);
  const Placement placement = PlaceOn(next, node, state.IndexOf("n"));
  Transaction tx(state.TakeSnapshot());
  CHECK_FALSE(tx.free().Fits(node, placement));
  tx.Evict(state.AllocationOf(PodUid("pod-holder"))->placement);
  CHECK(tx.free().Fits(node, placement));
  tx.Place(placement);
  CHECK(tx.free().at(placement.node).resources.named.Of(kNic) == 2);
  tx.RollbackTo(0);
  CHECK(tx.free().at(placement.node).resources.named.Of(kNic) == 1);
  const uint64_t growth = state.growth();
  state.Remove(PodUid("pod-holder"));
  CHECK(state.growth() > growth);
  CHECK(free() == 4);
}

TEST_CASE("a node that lists less than its pods hold shows none, and owes it first",
          "[cluster][named]") {
  ClusterState state;
  state.Upsert(Node(MakeNode("n").Offers(kNic, 4)));
  state.Upsert(MakePod("holder").Wants(kNic, 3).BoundTo("n"));
  state.Upsert(Node(MakeNode("n").Offers(kNic, 2)));
  const NodeIndex n = state.IndexOf("n");
  CHECK(state.TakeSnapshot()->free().at(n).resources.named.Of(kNic) == 0);
  state.Upsert(MakePod("plain").BoundTo("n"));
  CHECK(state.TakeSnapshot()->free().at(n).resources.named.Of(kNic) == 0);
  state.Remove(PodUid("pod-holder"));
  CHECK(state.TakeSnapshot()->free().at(n).resources.named.Of(kNic) == 2);
}

}  // namespace
}  // namespace muster::cluster
