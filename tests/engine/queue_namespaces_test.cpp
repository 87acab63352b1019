// Queues that are fair by namespace: which gang is next, what is charged, and how the queues of
// namespaces come and go.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/engine/harness.hpp"

namespace muster::engine {
namespace {

using queues::Amount;
using queues::Limit;
using queues::QueueSpec;
using queues::Resource;
using testing::MakeNode;
using testing::MakePod;

const Resource kQueueNamespacesGpu{Resource::Kind::kGpu};  // NOLINT(cert-err58-cpp)

QueueSpec ByNamespace(const std::string& name) {
  return {.name = name, .fair_by = queues::FairBy::kNamespace};
}

Options QueueNamespacesWith(std::vector<QueueSpec> queues) {
  Options options;
  options.queues = std::move(queues);
  return options;
}

cluster::Pod AsksFor(const std::string& ns, const std::string& name, int gpus, int64_t created = 0,
                     int priority = 0) {
  cluster::Pod pod =
      MakePod(name).Namespace(ns).Gpus(gpus).CreatedAt(created).Priority(priority).Gated().Build();
  pod.asked_queue = "a";
  return pod;
}

GangView Find(testing::Harness& world, const std::string& ns, const std::string& name) {
  const auto found = world.engine().FindGang({ns, name});
  REQUIRE(found);
  return *found;
}

std::string QueueNamespacesReserved(testing::Harness& world) {
  std::string names;
  for (const GangView& gang : world.engine().Gangs()) {
    if (gang.state == GangState::kReserved) names += gang.id.key.ToString() + " ";
  }
  CHECK(world.engine().Audit(world.now()).empty());
  return names;
}

// "a 0/2, a/red 1/1": what is used of whole GPUs, and how many gangs wait.
std::string Queues(testing::Harness& world) {
  std::string text;
  for (const QueueView& view : world.engine().Queues()) {
    if (view.name == "root") continue;
    int64_t used = 0;
    for (const QueueAmounts& amounts : view.amounts) {
      if (amounts.resource == kQueueNamespacesGpu) used = amounts.used / 1000;
    }
    text += (text.empty() ? "" : ", ") + view.name + " " + std::to_string(used) + "/" +
            std::to_string(view.pending);
  }
  return text;
}

TEST_CASE("namespaces of a queue take turns by what they use", "[engine][queues][namespaces][R2]") {
  testing::Harness world(QueueNamespacesWith({ByNamespace("a"), {.name = "b"}}));
  world.Add(MakeNode("n0").Gpus(6).Build());
  for (int i = 0; i < 8; ++i) world.Add(AsksFor("red", "r" + std::to_string(i), 1, i, 100));
  for (int i = 0; i < 8; ++i) world.Add(AsksFor("blue", "b" + std::to_string(i), 1, 10 + i));
  world.Settle();
  // Whoever came first, and whatever the priorities are.
  CHECK(QueueNamespacesReserved(world) == "blue/b0 blue/b1 blue/b2 red/r0 red/r1 red/r2 ");
  CHECK(Queues(world) == "a 6/10, a/blue 3/5, a/red 3/5, b 0/0");
  CHECK(Find(world, "red", "r0").queue == "a/red");
}

TEST_CASE("guarantee and limit of a queue stay with it, whatever its namespaces are",
          "[engine][queues][namespaces][R3]") {
  QueueSpec a = ByNamespace("a");
  a.limit.Set(kQueueNamespacesGpu, Limit(4000));
  a.guarantee.Set(kQueueNamespacesGpu, Amount(4000));
  a.lend.Set(kQueueNamespacesGpu, Limit(0));
  testing::Harness world(QueueNamespacesWith({a, {.name = "b"}}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  for (int i = 0; i < 5; ++i) {
    cluster::Pod pod = AsksFor("green", "g" + std::to_string(i), 1, i);
    pod.asked_queue = "b";
    world.Add(pod);
  }
  world.Settle();
  CHECK(Find(world, "green", "g4").reason.code == ReasonCode::kQueueGuarantee);
  for (int i = 0; i < 3; ++i) world.Add(AsksFor("red", "r" + std::to_string(i), 1, i));
  for (int i = 0; i < 3; ++i) world.Add(AsksFor("blue", "b" + std::to_string(i), 1, i));
  world.Settle();
  CHECK(Queues(world) == "a 4/2, a/blue 2/1, a/red 2/1, b 4/1");
  CHECK(Find(world, "red", "r2").reason.code == ReasonCode::kQueueLimit);
  CHECK(QueueNamespacesReserved(world) ==
        "blue/b0 blue/b1 green/g0 green/g1 green/g2 green/g3 red/r0 red/r1 ");
}

TEST_CASE("R14: gangs that are not preemptible share the guarantee of the queue of the policy",
          "[engine][queues][namespaces][R14]") {
  QueueSpec a = ByNamespace("a");
  a.guarantee.Set(kQueueNamespacesGpu, Amount(4'000));
  testing::Harness world(QueueNamespacesWith({a}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  for (const char* ns : {"red", "blue"}) {
    cluster::Pod pod = AsksFor(ns, "kept", 3);
    pod.uid = cluster::PodUid(std::string("uid-") + ns);
    pod.preemptible = false;
    world.Add(pod);
    world.Settle();
  }
  CHECK(QueueNamespacesReserved(world) == "red/kept ");
  CHECK(
      Describe(Find(world, "blue", "kept").reason) ==
      "guarantees of queues leave no room for it: it is not preemptible, and such gangs of queue a "
      "would use 6 of gpu, the guarantee is 4");
}

TEST_CASE("the queue of a namespace comes with its first gang and goes with its last pod",
          "[engine][queues][namespaces]") {
  testing::Harness world(QueueNamespacesWith({ByNamespace("a"), {.name = "b"}}));
  world.Add(MakeNode("n0").Gpus(2).Build());
  CHECK(Queues(world) == "a 0/0, b 0/0");
  world.Add(AsksFor("red", "r0", 2));
  world.Settle();
  CHECK(Queues(world) == "a 2/0, a/red 2/0, b 0/0");
  world.Add(AsksFor("blue", "b0", 2));
  world.Settle();
  CHECK(Queues(world) == "a 2/1, a/blue 0/1, a/red 2/0, b 0/0");
  world.RemovePod("b0");
  world.Settle();
  CHECK(Queues(world) == "a 2/0, a/red 2/0, b 0/0");
  world.Add(AsksFor("green", "g0", 2));
  world.RemovePod("r0");
  world.Settle();
  CHECK(Queues(world) == "a 2/0, a/green 2/0, b 0/0");
  CHECK(QueueNamespacesReserved(world) == "green/g0 ");
}

TEST_CASE("a restart has the same queues of namespaces", "[engine][queues][namespaces]") {
  testing::Harness world(QueueNamespacesWith({ByNamespace("a")}));
  world.Add(MakeNode("n0").Gpus(2).Build());
  world.Add(AsksFor("red", "r0", 2));
  world.Add(AsksFor("blue", "b0", 2, 1));
  world.Settle();
  world.Bind("r0");
  world.Settle();
  CHECK(Queues(world) == "a 2/1, a/blue 0/1, a/red 2/0");
  world.Restart();
  world.Settle();
  CHECK(Queues(world) == "a 2/1, a/blue 0/1, a/red 2/0");
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("another policy may divide a queue by namespace, and join it again",
          "[engine][queues][namespaces]") {
  testing::Harness world(QueueNamespacesWith({{.name = "a"}, {.name = "b"}}));
  world.Add(MakeNode("n0").Gpus(3).Build());
  world.Add(AsksFor("red", "r0", 2));
  world.Add(AsksFor("red", "r1", 2, 1));
  world.Add(AsksFor("blue", "b0", 2, 2));
  world.Settle();
  world.Bind("r0");
  world.Settle();
  CHECK(Queues(world) == "a 2/2, b 0/0");
  for (const bool divided : {true, false, true}) {
    Options options = world.engine().options();
    options.queues[0].fair_by = divided ? queues::FairBy::kNamespace : queues::FairBy::kNone;
    world.engine().SetOptions(options);
    world.Settle();
    CHECK(Queues(world) == (divided ? "a 2/2, a/blue 0/1, a/red 2/1, b 0/0" : "a 2/2, b 0/0"));
    CHECK(Find(world, "red", "r0").state == GangState::kRunning);
    CHECK(world.engine().Audit(world.now()).empty());
  }
  CHECK(world.Evictions() == 0);
  world.RemovePod("r0");
  world.Settle();
  CHECK(QueueNamespacesReserved(world) == "red/r1 ");  // both use nothing: the older one
}

TEST_CASE("strict order holds within each namespace", "[engine][queues][namespaces][R11]") {
  QueueSpec a = ByNamespace("a");
  a.order = queues::Order::kStrictFifo;
  testing::Harness world(QueueNamespacesWith({a}));
  world.Add(MakeNode("n0").Gpus(2).Build());
  world.Add(AsksFor("red", "big", 4));
  world.Add(AsksFor("red", "small", 1, 1));
  world.Add(MakeNode("n1").Gpus(4).Build());
  world.Add(AsksFor("green", "first", 3, -1));
  world.Settle();
  world.Add(AsksFor("blue", "free", 1, 2));
  world.Settle();
  CHECK(Find(world, "red", "small").reason.code == ReasonCode::kBlockedByOrder);
  CHECK(QueueNamespacesReserved(world) == "blue/free green/first ");
}

TEST_CASE("operators order for queues of the policy, not for those of namespaces",
          "[engine][queues][namespaces][orders]") {
  testing::Harness world(QueueNamespacesWith({ByNamespace("a")}));
  world.Add(MakeNode("n0").Gpus(2).Build());
  world.Add(AsksFor("red", "r0", 1));
  world.Settle();
  Order order;
  order.by = "ann";
  order.what = SetQueueState{"a/red", queues::QueueState::kHold};
  const auto refused = world.engine().Carry(order, world.now());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message ==
        "expected a queue of the policy, found a/red, which is there for one namespace of queue a");
  order.what = SetQueueState{"a", queues::QueueState::kHold};
  REQUIRE(world.engine().Carry(order, world.now()).ok());
  world.Add(AsksFor("red", "r1", 1, 1));
  world.Settle();
  CHECK(Find(world, "red", "r1").reason.code == ReasonCode::kHold);
}

}  // namespace
}  // namespace muster::engine
