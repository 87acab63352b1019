#include "queues/tree.hpp"

#include <catch2/catch.hpp>

#include "queues/choice.hpp"
#include "tests/queues/queue_builders.hpp"

namespace muster::queues {
namespace {

using testing::kGpu;
using testing::kH100;
using testing::MakeQueue;
using testing::TreeOf;
using testing::Whole;

TEST_CASE("a tree has a root above and an orphan beside what the policy lists", "[queues][tree]") {
  const auto tree = TreeOf({MakeQueue("a", "p"), MakeQueue("p"), MakeQueue("b", "p")});
  CHECK(tree->size() == 5);
  CHECK(tree->at(kRootIndex).name == "root");
  CHECK(tree->at(tree->orphan()).name == "_orphan");
  CHECK(tree->at(tree->orphan()).weight == 0);
  CHECK_FALSE(tree->Find("_orphan"));
  REQUIRE(tree->Find("b"));
  std::string path;
  for (const QueueIndex queue : tree->PathOf(*tree->Find("b"))) path += tree->at(queue).name + " ";
  CHECK(path == "b p root ");
  CHECK(tree->Named() == std::vector<std::string>{"a", "b"});
}

TEST_CASE("without queues the root is the one that gangs name", "[queues][tree]") {
  const auto tree = TreeOf({});
  CHECK(tree->Named() == std::vector<std::string>{"root"});
  CHECK(tree->orphan() == kRootIndex);
}

TEST_CASE("what a queue does not say it has from above", "[queues][tree]") {
  const auto tree = TreeOf({MakeQueue("root").Cap(1000).Counts(kH100, 4),
                            MakeQueue("p").Is(QueueState::kHold).For({"team"}).Cap(2000),
                            MakeQueue("a", "p").Cap(10).Is(QueueState::kDrain).Counts(kH100, 2),
                            MakeQueue("b", "p").For({"x"}), MakeQueue("c")});
  const Queue& a = tree->at(*tree->Find("a"));
  const Queue& b = tree->at(*tree->Find("b"));
  const Queue& c = tree->at(*tree->Find("c"));
  CHECK(a.priority_cap == 10);
  CHECK(b.priority_cap == 1000);
  CHECK(a.state == QueueState::kDrain);
  CHECK(a.state_of == "a");
  CHECK(b.state == QueueState::kHold);
  CHECK(b.state_of == "p");
  CHECK(c.state == QueueState::kOpen);
  CHECK(a.namespaces == std::vector<std::string>{"team"});
  CHECK(b.namespaces == std::vector<std::string>{"x"});
  CHECK(c.open);
  CHECK(a.resource_weights.back() == 2);
  CHECK(b.resource_weights.back() == 4);
}

TEST_CASE("a queue that is fair by namespace has one below it for each, by name",
          "[queues][tree][namespaces]") {
  const auto bare = TreeOf({MakeQueue("p").Guarantee(8),
                            MakeQueue("a", "p")
                                .Guarantee(8)
                                .Lend(2)
                                .AtMost(16)
                                .Weight(3)
                                .Cap(10)
                                .In(Order::kStrictFifo)
                                .FairByNamespace(),
                            MakeQueue("b", "p").FairByNamespace()});
  const QueueIndex a = *bare->Find("a");
  CHECK_FALSE(bare->at(a).leaf());
  CHECK(bare->Named() == std::vector<std::string>{"a", "b"});
  CHECK_FALSE(bare->Find("a/team"));
  const auto one = bare->WithNamespace(a, "team");
  const auto two = one->WithNamespace(a, "lab")->WithNamespace(*one->Find("b"), "team");
  CHECK(one->size() == bare->size() + 1);
  REQUIRE(two->Find("a/team"));
  CHECK(one->Find("a/team") == two->Find("a/team"));
  CHECK(two->Named() == bare->Named());
  CHECK_FALSE(two->Find("p/team"));
  CHECK_FALSE(two->Find("a/la"));
  std::string below;
  for (const QueueIndex child : two->at(a).children) below += two->at(child).name + " ";
  CHECK(below == "a/lab a/team ");
  const Queue& team = two->at(*two->Find("a/team"));
  CHECK(team.leaf());
  CHECK_FALSE(team.named());
  CHECK(team.guarantee[0] == 0);
  CHECK(team.unlent[0] == 0);
  CHECK(team.limit[0] == INT64_MAX);
  CHECK(team.weight == 1);
  CHECK(team.priority_cap == 10);
  CHECK(team.order == Order::kStrictFifo);
  CHECK(two->WrittenOf(*two->Find("a/team")) == a);
  CHECK(two->WrittenOf(a) == a);

  const auto left = two->WithoutNamespace(*two->Find("a/team"));
  CHECK_FALSE(left->Find("a/team"));
  CHECK(left->Find("a/lab") == two->Find("a/lab"));
  CHECK(left->size() == two->size());
  const auto again = left->WithNamespace(*left->Find("b"), "lab");
  CHECK(again->size() == two->size());
  CHECK(again->Find("b/lab") == two->Find("a/team"));
}

TEST_CASE("gangs name a queue that is fair by namespace, and none below it",
          "[queues][tree][namespaces]") {
  const auto bare = TreeOf({MakeQueue("a").FairByNamespace()});
  const auto tree = bare->WithNamespace(*bare->Find("a"), "team");
  CHECK(Choose(*tree, "a", "team", {}) == Choice{Choice::Kind::kChosen, "a", ""});
  CHECK(Choose(*tree, "", "team", {}) == Choice{Choice::Kind::kChosen, "a", ""});
  CHECK(Choose(*tree, "a/team", "team", {}).kind == Choice::Kind::kForbidden);
}

TEST_CASE("usage counts by model, the longest name first", "[queues][tree]") {
  const Resource h100_80{Resource::Kind::kGpuModel, "h100-80gb"};
  const auto tree = TreeOf({MakeQueue("a").Guarantee(1, kH100).Guarantee(2, h100_80)});
  cluster::Usage usage{
      .pods = 1, .requests = {cluster::MilliCpu(500), cluster::MiB(64)}, .gpu_milli = 3'500};
  usage.gpu_memory = cluster::MiB(80);
  usage.gpu_milli_by_model = {
      {"NVIDIA-H100-80GB-HBM3", 2'000}, {"NVIDIA-H100-PCIe", 1'000}, {"Tesla-T4", 500}};
  REQUIRE(tree->resources().size() == 6);
  CHECK(tree->Dense(usage) == Vector{3'500, 80, 500, 64, 1'000, 2'000});
  // Of GPUs it has at least those of its models.
  CHECK(tree->at(*tree->Find("a")).guarantee[0] == Whole(3));
}

}  // namespace
}  // namespace muster::queues
