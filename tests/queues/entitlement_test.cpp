// R1 by hand: every table is worked out in the comment above it, in GPUs.
#include "queues/entitlement.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "tests/queues/queue_builders.hpp"

namespace muster::queues {
namespace {

using testing::kGpu;
using testing::kH100;
using testing::MakeQueue;
using testing::QueueAt;
using testing::TreeOf;
using testing::Whole;

// "a 8, b 4": of every queue but the root and the orphan; in thousandths of a GPU where it is no
// whole number.
std::string Shares(const std::vector<QueueSpec>& queues, int64_t capacity,
                   const std::map<std::string, int64_t>& demand, const Resource& resource = kGpu) {
  const Tree tree(queues);
  size_t index = 0;
  while (tree.resources()[index] != resource) ++index;
  std::vector<int64_t> wants(tree.size());
  for (const auto& [name, gpus] : demand) wants[tree.Find(name)->value] = Whole(gpus);
  std::string text;
  const auto given = Entitle(tree, index, Whole(capacity), wants);
  for (size_t i = 1; i < given.size(); ++i) {
    const Queue& queue = QueueAt(tree, i);
    if (queue.name == kOrphan) continue;
    text += (text.empty() ? "" : ", ") + queue.name + " " +
            ShowAmount(resource, given[i].share.floor()) + (given[i].scaled ? "!" : "");
  }
  return text;
}

TEST_CASE("R1: what nobody has a guarantee for is shared by weight", "[queues][R1]") {
  const std::vector<QueueSpec> queues = {MakeQueue("a").Weight(2), MakeQueue("b")};
  // 12 in parts of 2 : 1.
  CHECK(Shares(queues, 12, {{"a", 12}, {"b", 12}}) == "a 8, b 4");
  // b wants 2 only: the rest is lent to a.
  CHECK(Shares(queues, 12, {{"a", 12}, {"b", 2}}) == "a 10, b 2");
  // b wants more again: a's share returns to what it was.
  CHECK(Shares(queues, 12, {{"a", 12}, {"b", 5}}) == "a 8, b 4");
  // There is enough for both.
  CHECK(Shares(queues, 12, {{"a", 3}, {"b", 2}}) == "a 3, b 2");
  // 10 in parts of 2 : 1 is no whole number: 6 2/3 and 3 1/3.
  CHECK(Shares(queues, 10, {{"a", 12}, {"b", 12}}) == "a 6.666, b 3.333");
}

TEST_CASE("R1: guarantees come first, and what is not wanted of them is shared", "[queues][R1]") {
  const std::vector<QueueSpec> queues = {MakeQueue("a").Guarantee(40),
                                         MakeQueue("b").Guarantee(20).Weight(3), MakeQueue("c")};
  // 60 are guaranteed; 40 are left, of which a gets 1, b 3 and c 1 fifth.
  CHECK(Shares(queues, 100, {{"a", 100}, {"b", 100}, {"c", 100}}) == "a 48, b 44, c 8");
  // b wants 30, 10 over its guarantee, at level 3 1/3; the other 30 of 40 go to a and c, 1 : 1.
  CHECK(Shares(queues, 100, {{"a", 100}, {"b", 30}, {"c", 100}}) == "a 55, b 30, c 15");
  // a wants nothing: its 40 are shared by b and c, 3 : 1 of 80.
  CHECK(Shares(queues, 100, {{"b", 100}, {"c", 100}}) == "a 0, b 80, c 20");
}

TEST_CASE("R1: three levels, from the root down", "[queues][R1]") {
  const std::vector<QueueSpec> queues = {MakeQueue("company").Guarantee(96), MakeQueue("edu"),
                                         MakeQueue("research", "company").Guarantee(64).Weight(2),
                                         MakeQueue("prod", "company").Guarantee(32)};
  // company has 96 and half of the 32 that are left. In it prod wants 10 of its 32: 38 are left,
  // which only research wants.
  CHECK(Shares(queues, 128, {{"research", 200}, {"prod", 10}, {"edu", 50}}) ==
        "company 112, edu 16, research 102, prod 10");
  // prod wants its guarantee and more: 16 are left to both, 2 : 1.
  CHECK(Shares(queues, 128, {{"research", 200}, {"prod", 40}, {"edu", 50}}) ==
        "company 112, edu 16, research 74.666, prod 37.333");
  // edu wants nothing.
  CHECK(Shares(queues, 128, {{"research", 200}, {"prod", 35}}) ==
        "company 128, edu 0, research 93, prod 35");
}

TEST_CASE("R1: limits, weights of 0 and guarantees in one tree of four levels", "[queues][R1]") {
  const std::vector<QueueSpec> queues = {MakeQueue("east").Guarantee(40).AtMost(60),
                                         MakeQueue("west").Guarantee(20).Weight(2),
                                         MakeQueue("train", "east").Guarantee(30).Weight(3),
                                         MakeQueue("serve", "east"),
                                         MakeQueue("x", "west").Weight(0),
                                         MakeQueue("y", "west").AtMost(15),
                                         MakeQueue("a", "train").Guarantee(10),
                                         MakeQueue("b", "train").Weight(2).AtMost(12)};
  // Demands: b 12, train 62, east 60 of 82, y 15, west 55.
  // Of 100, 60 are guaranteed; of the other 40 east gets 1 and west 2 thirds: 53 1/3, 46 2/3.
  // East: train has 30; of the other 23 1/3 it gets 3 quarters, 17 1/2, and serve 5 5/6.
  // Train: a has 10; of the other 37 1/2 b takes the 12 that it may, a 25 1/2.
  // West: y takes its 15 first, x has the 31 2/3 that are left.
  CHECK(Shares(queues, 100, {{"a", 50}, {"b", 50}, {"serve", 20}, {"x", 40}, {"y", 40}}) ==
        "east 53.333, west 46.666, train 47.5, serve 5.833, x 31.666, y 15, a 35.5, b 12");
  // 30 of 60: half of each guarantee. Train has all of east's 20, of which 10 are a's; the others
  // are b's and a's 2 : 1.
  CHECK(Shares(queues, 30, {{"a", 50}, {"b", 50}, {"serve", 20}, {"x", 40}, {"y", 40}}) ==
        "east 20!, west 10!, train 20!, serve 0, x 0, y 10, a 13.333, b 6.666");
}

TEST_CASE(
    "R1: where nodes are down guarantees shrink in proportion, and what is less than that is "
    "kept",
    "[queues][R1]") {
  const std::vector<QueueSpec> queues = {
      MakeQueue("company").Guarantee(96), MakeQueue("edu").Guarantee(32),
      MakeQueue("research", "company").Guarantee(64), MakeQueue("prod", "company").Guarantee(32)};
  // 64 of 128: half of each guarantee; within the company too.
  CHECK(Shares(queues, 64, {{"research", 200}, {"prod", 50}, {"edu", 50}}) ==
        "company 48!, edu 16!, research 32!, prod 16!");
  // prod wants 10, less than its half: research has the rest of the company's 48.
  CHECK(Shares(queues, 64, {{"research", 200}, {"prod", 10}, {"edu", 50}}) ==
        "company 48!, edu 16!, research 38!, prod 10");
}

TEST_CASE("R1: limits cap what is wanted, at every level", "[queues][R1]") {
  const std::vector<QueueSpec> queues = {MakeQueue("p").AtMost(6), MakeQueue("q"),
                                         MakeQueue("a", "p").AtMost(2), MakeQueue("b", "p")};
  CHECK(Shares(queues, 20, {{"a", 10}, {"b", 10}, {"q", 10}}) == "p 6, q 10, a 2, b 4");
  CHECK(Shares(queues, 8, {{"a", 10}, {"b", 10}, {"q", 10}}) == "p 4, q 4, a 2, b 2");
}

TEST_CASE("R1: weight 0 comes last", "[queues][R1]") {
  const std::vector<QueueSpec> queues = {MakeQueue("y").Weight(0), MakeQueue("a"),
                                         MakeQueue("z").Weight(0).Guarantee(1)};
  // z has its guarantee, a what it wants; of the 5 that are left y wants 1.
  CHECK(Shares(queues, 10, {{"a", 4}, {"y", 1}, {"z", 9}}) == "y 1, a 4, z 5");
  CHECK(Shares(queues, 4, {{"a", 4}, {"y", 1}, {"z", 9}}) == "y 0, a 3, z 1");
}

TEST_CASE("R1: each resource is shared by itself", "[queues][R1]") {
  const std::vector<QueueSpec> queues = {MakeQueue("a").Guarantee(4, kH100), MakeQueue("b")};
  CHECK(Shares(queues, 8, {{"a", 8}, {"b", 8}}, kH100) == "a 6, b 2");
  // Guaranteed H100s are guaranteed GPUs.
  CHECK(Shares(queues, 16, {{"a", 8}, {"b", 16}}, kGpu) == "a 8, b 8");
  CHECK(Shares(queues, 16, {{"a", 12}, {"b", 16}}, kGpu) == "a 10, b 6");
}

TEST_CASE("R1: shares are exact at any depth", "[queues][R1]") {
  // Twelve levels of 1 : 999,999; what is left at the end is no number of thousandths.
  std::vector<QueueSpec> queues;
  for (int i = 0; i < 12; ++i) {
    const std::string parent = i == 0 ? "root" : "q" + std::to_string(i - 1);
    queues.push_back(MakeQueue("q" + std::to_string(i), parent).Weight(999'999));
    queues.push_back(MakeQueue("small" + std::to_string(i), parent));
  }
  const Tree tree(queues);
  std::vector<int64_t> demand(tree.size(), int64_t{1} << 50U);
  const auto given = Entitle(tree, 0, Whole(1'000'000), demand);
  Share want{Wide(1'000'000'000)};
  for (int i = 0; i < 12; ++i) {
    const size_t small = tree.Find("small" + std::to_string(i))->value;
    const size_t large = tree.Find("q" + std::to_string(i))->value;
    const Share part{want.over, want.under.Times(1'000'000)};
    CHECK(given[small].share == part);
    want = {want.over.Times(999'999), part.under};
    CHECK(given[large].share == want);
  }
}

TEST_CASE("R1: shares are exact with the largest guarantees and too few nodes", "[queues][R1]") {
  // At each level one is guaranteed all that its parent is but one, and another that one.
  std::vector<QueueSpec> queues;
  for (int i = 0; i < 12; ++i) {
    const std::string parent = i == 0 ? "root" : "q" + std::to_string(i - 1);
    QueueSpec large = MakeQueue("q" + std::to_string(i), parent);
    large.guarantee.Set(kGpu, Amount(kMostAmount - i));
    QueueSpec small = MakeQueue("small" + std::to_string(i), parent);
    small.guarantee.Set(kGpu, Amount(i == 0 ? kMostAmount : 1));
    queues.push_back(large);
    queues.push_back(small);
  }
  const Tree tree(queues);
  const std::vector<int64_t> demand(tree.size(), INT64_MAX);
  const auto given = Entitle(tree, 0, Whole(1'000'003), demand);
  // Half of it, and then (G - 1) / G of that at each level.
  Share want{Wide(1'000'003'000), Wide(2)};
  for (int i = 0; i < 12; ++i) {
    const auto& large = given[tree.Find("q" + std::to_string(i))->value];
    if (i > 0) {
      const auto whole = static_cast<uint64_t>(kMostAmount - i + 1);
      want = {want.over.Times(whole - 1), want.under.Times(whole)};
    }
    CHECK(large.scaled);
    CHECK(large.share == want);
  }
}

}  // namespace
}  // namespace muster::queues
