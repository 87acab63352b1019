// Gangs for which nodes are asked for, and what their queues come to forbid meanwhile; pods alone.
#include <catch2/catch.hpp>

#include "tests/engine/provisioning_world.hpp"

namespace muster::testing {
namespace {

const queues::Resource kGpus{queues::Resource::Kind::kGpu};  // NOLINT(cert-err58-cpp)

engine::Options WithLimit(int64_t gpus) {
  engine::Options options = Asking();
  queues::QueueSpec queue{.name = "a"};
  queue.limit.Set(kGpus, queues::Limit(gpus * 1000));
  options.queues = {queue};
  return options;
}

void AddGangTo(Harness& world, const std::string& name, const std::string& queue = "a") {
  cluster::PodGroup group = MakePodGroup(name).MinMember(2).Build();
  group.queue = queue;
  world.Add(group);
  for (const char* pod : {"-0", "-1"})
    world.Add(MakePod(name + pod).Gpus(8).InGroup(name).Gated().Build());
}

bool Asks(const Harness& world, const std::string& gang) {
  return std::any_of(world.Requests().begin(), world.Requests().end(),
                     [&](const auto& one) { return one.second.gang.key.name == gang; });
}

TEST_CASE("a limit that is lowered takes back what was asked for last", "[engine][provisioning]") {
  Harness world(WithLimit(32));
  AddGangTo(world, "one");
  world.Pass(Seconds(20));
  AddGangTo(world, "two");
  world.Pass(Seconds(20));
  REQUIRE(Asks(world, "one"));
  REQUIRE(Asks(world, "two"));
  world.engine().SetOptions(WithLimit(16));
  world.Pass(Seconds(40));
  CHECK(Asks(world, "one"));
  CHECK_FALSE(Asks(world, "two"));
  CHECK_THAT(RequestSays(world, "two"), Catch::StartsWith("not asked for: the limit of its queue"));
}

TEST_CASE("what others of its queue come to use takes back what was asked for",
          "[engine][provisioning]") {
  Harness world(WithLimit(16));
  world.Add(MakeNode("n0").Gpus(8));
  AddGangTo(world, "one");
  world.Pass(Seconds(20));
  REQUIRE(Asks(world, "one"));
  cluster::Pod pod = MakePod("small").Gpus(4).Gated().Build();
  pod.asked_queue = "a";
  world.Add(pod);
  world.Settle();
  world.Bind("small");
  world.Pass(Seconds(40));
  CHECK_FALSE(Asks(world, "one"));
  // Who was taken back does not ask again at once.
  world.Pass(Seconds(60));
  world.engine().SetOptions(WithLimit(16));
  world.RemovePod("small");
  world.Pass(Seconds(60));
  CHECK(Asks(world, "one"));
}

TEST_CASE("a gang that moves to a queue that is full, or will be, stops asking at once",
          "[engine][provisioning]") {
  engine::Options options = WithLimit(16);
  options.queues.push_back(options.queues.front());
  options.queues.back().name = "b";
  Harness world(options);
  world.Add(MakeNode("n0").Gpus(8));
  const bool will_be = GENERATE(false, true);
  if (will_be) {
    AddGangTo(world, "two", "b");
  } else {
    cluster::Pod pod = MakePod("small").Gpus(4).Gated().Build();
    pod.asked_queue = "b";
    world.Add(pod);
    world.Settle();
    world.Bind("small");
  }
  AddGangTo(world, "one");
  world.Pass(Seconds(12));
  REQUIRE(Asks(world, "one"));
  world.ChangeGroup("one", [](cluster::PodGroup& group) { group.queue = "b"; });
  world.Pass(Seconds(2));
  CHECK_FALSE(Asks(world, "one"));
}

TEST_CASE("what was taken back is not asked for again before it has lacked room anew",
          "[engine][provisioning]") {
  Harness world(WithLimit(32));
  AddGangTo(world, "one");
  AddGangTo(world, "two");
  world.Pass(Seconds(20));
  world.engine().SetOptions(WithLimit(16));
  for (int i = 0; i < 40 && world.Requests().size() == 2; ++i) world.Pass(Seconds(1));
  REQUIRE(world.Requests().size() == 1);
  world.engine().SetOptions(WithLimit(32));
  world.Pass(Seconds(5));
  CHECK(world.Requests().size() == 1);
  world.Pass(Seconds(60));
  CHECK(world.Requests().size() == 2);
}

TEST_CASE("how long a gang lacked room counts from the first try that found none",
          "[engine][provisioning]") {
  Harness world(WithLimit(8));
  AddGangTo(world, "one");
  world.Pass(Seconds(60));  // its queue's limit bars it
  world.engine().SetOptions(WithLimit(32));
  world.Pass(Seconds(5));
  CHECK_FALSE(Asks(world, "one"));
  world.Pass(Seconds(6));
  CHECK(Asks(world, "one"));
}

TEST_CASE("pods alone are asked for by themselves, but of a cloud's class by a request",
          "[engine][provisioning]") {
  const bool cloud = GENERATE(false, true);
  engine::Options options = Asking();
  if (cloud) options.autoscaling.provisioning_class = "queued-provisioning.gke.io";
  Harness world(options);
  for (const char* pod : {"a", "b", "c"}) world.Add(MakePod(pod).Gpus(8).Gated());
  world.Pass(Seconds(20));
  CHECK(world.Requests().size() == (cloud ? 3 : 0));
  for (const char* pod : {"a", "b", "c"}) CHECK(world.Pod(pod).gates.empty() != cloud);
}

// A change of it replaces the requests that are open when Muster is upgraded: let it count only
// where that cannot be helped, and say so in CHANGELOG.md.
TEST_CASE("the fingerprint of a request is the same in every release", "[engine][provisioning]") {
  Harness world(Asking());
  world.AddGang("train", 4, 8, 4);
  world.Pass(Seconds(20));
  CHECK(OnlyRequest(world).fingerprint == "f40176ec");
}

}  // namespace
}  // namespace muster::testing
