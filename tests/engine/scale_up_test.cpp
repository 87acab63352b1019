#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/engine/fabric_options.hpp"
#include "tests/engine/queue_world.hpp"

namespace muster::testing {
namespace {

using cluster::Seconds;
using engine::GangState;
using engine::ReasonCode;

engine::Options Growing(int64_t after_seconds = 10) {
  engine::Options options;
  options.autoscaling.scale_up = engine::ScaleUp::kUnschedulable;
  options.autoscaling.after = Seconds(after_seconds);
  return options;
}

const queues::Resource kGpus{queues::Resource::Kind::kGpu};  // NOLINT(cert-err58-cpp)

queues::QueueSpec Limited(const std::string& name, int64_t gpus) {
  queues::QueueSpec queue{.name = name};
  queue.limit.Set(kGpus, queues::Limit(gpus * 1000));
  return queue;
}

// `count` pods of eight GPUs that start together.
void AddTo(Harness& world, const std::string& queue, const std::string& name, int count) {
  cluster::PodGroup group = MakePodGroup(name).MinMember(count).Build();
  group.queue = queue;
  world.Add(group);
  for (int i = 0; i < count; ++i) {
    world.Add(MakePod(name + "-" + std::to_string(i)).Gpus(8).InGroup(name).Gated().Build());
  }
}

int Released(const Harness& world, const std::string& gang, int pods) {
  int released = 0;
  for (int i = 0; i < pods; ++i)
    released += world.Pod(gang + "-" + std::to_string(i)).gates.empty() ? 1 : 0;
  return released;
}

int Told(const Harness& world, const std::string& reason) {
  return static_cast<int>(std::count_if(world.log.begin(), world.log.end(), [&](const auto& one) {
    const auto* event = std::get_if<engine::EmitEvent>(&one);
    return event != nullptr && event->reason == reason;
  }));
}

std::string ScaleUpOf(const Harness& world, const std::string& gang) {
  return world.Gang(gang).scale_up;
}

TEST_CASE("all members of a gang that lacks room are released together, without a node",
          "[engine][scale-up]") {
  Harness world(Growing());
  world.AddGang("g", 4, 8, 4);  // no node at all
  world.Pass(Seconds(9));
  CHECK(Released(world, "g", 4) == 0);
  CHECK(ScaleUpOf(world, "g") == "not asked for yet: first it has to lack room for 10 s");
  world.Pass(Seconds(2));
  CHECK(Released(world, "g", 4) == 4);
  CHECK(Told(world, "GangScaleUp") == 1);
  CHECK(ScaleUpOf(world, "g").find("asked for: ") == 0);
  CHECK(world.Pod("g-0").nominated_node.empty());
  CHECK(world.Filter("g-0").node.empty());
  CHECK(world.engine().Count().scale_ups == 1);
}

TEST_CASE("a released gang stays whole while nodes come one by one", "[engine][scale-up]") {
  Harness world(Growing());
  world.AddGang("g", 4, 8, 4);
  world.Pass(Seconds(15));
  for (int node = 0; node < 3; ++node) {
    world.Add(MakeNode("n" + std::to_string(node)).Gpus(8));
    world.Pass(Seconds(15));
    for (int i = 0; i < 4; ++i) CHECK(world.Filter("g-" + std::to_string(i)).node.empty());
    CHECK(world.BoundIn("g") == 0);
  }
  world.Add(MakeNode("n3").Gpus(8));
  world.ScheduleAll("g");
  CHECK(world.BoundIn("g") == 4);
  CHECK(world.Gang("g").state == GangState::kRunning);
  CHECK(ScaleUpOf(world, "g").empty());
  CHECK(world.engine().Count().scale_ups == 0);
}

TEST_CASE("room that is free, but not where the gang must be together, is said to be unseen",
          "[engine][scale-up]") {
  Harness world(WithFabric(Growing()));
  for (const std::string node : {"n0", "n1"})
    world.Add(MakeNode(node).Gpus(8).Label("block", "a").Label("rack", "r" + node));
  world.AddGang("g", 2, 8, 2);
  world.ChangeGroup("g", [](cluster::PodGroup& group) { group.topology.required = "rack"; });
  world.Pass(Seconds(15));
  const std::string unseen =
      "an autoscaler knows nothing of where its members must be together: it adds no nodes while "
      "other free room is enough for its pods";
  CHECK_THAT(ScaleUpOf(world, "g"), Catch::StartsWith("asked for: ") && Catch::EndsWith(unseen));
  world.Pass(Seconds(2000));
  std::string told;  // at last
  for (const engine::Action& action : world.log) {
    if (const auto* event = std::get_if<engine::EmitEvent>(&action)) told = event->message;
  }
  CHECK_THAT(told, Catch::EndsWith("; " + unseen));
}

TEST_CASE("without scale-up in the policy nothing is released", "[engine][scale-up]") {
  Harness world;
  world.AddGang("g", 4, 8, 4);
  world.Pass(Seconds(3600));
  CHECK(Released(world, "g", 4) == 0);
  CHECK(ScaleUpOf(world, "g").empty());
}

TEST_CASE("only what the gang needs to start is released", "[engine][scale-up]") {
  Harness world(Growing());
  world.AddGang("g", 4, 8, 2);
  world.Pass(Seconds(15));
  CHECK(Released(world, "g", 4) == 2);
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakeNode("n1").Gpus(8));
  world.ScheduleAll("g");
  CHECK(world.BoundIn("g") == 2);
  world.Pass(Seconds(60));
  CHECK(Released(world, "g", 4) == 2);  // the elastic ones take what is there
}

TEST_CASE("a gang that is held by its queue, by an order or by strict order is not released",
          "[engine][scale-up]") {
  engine::Options options = Growing();
  SECTION("the limit of its queue") {
    options.queues = {Limited("a", 16)};
    Harness world(options);
    AddTo(world, "a", "g", 3);
    world.Pass(Seconds(30));
    CHECK(Released(world, "g", 3) == 0);
    CHECK(ScaleUpOf(world, "g") ==
          "not asked for: the limit of its queue is reached: it asks for 24 of gpu, the limit of "
          "queue a is 16");
  }
  SECTION("a queue on hold") {
    queues::QueueSpec queue{.name = "a"};
    queue.state = queues::QueueState::kHold;
    options.queues = {queue};
    Harness world(options);
    AddTo(world, "a", "g", 2);
    world.Pass(Seconds(30));
    CHECK(Released(world, "g", 2) == 0);
    CHECK(ScaleUpOf(world, "g").find("not asked for: ") == 0);
  }
  SECTION("strict order") {
    options.queues = queues::OneQueue(queues::Order::kStrictFifo);
    Harness world(options);
    for (const char* node : {"n0", "n1"}) world.Add(MakeNode(node).Gpus(8));
    world.AddGang("runs", 2, 8, 2);
    world.ScheduleAll("runs");
    world.AddGang("first", 2, 8, 2);
    world.Pass(Seconds(1));
    world.AddGang("second", 2, 8, 2);
    world.Pass(Seconds(30));
    CHECK(Released(world, "first", 2) == 2);
    CHECK(Released(world, "second", 2) == 0);
  }
}

TEST_CASE("gangs for which nodes are asked for stay within the limit of their queue together",
          "[engine][scale-up]") {
  engine::Options options = Growing();
  options.queues = {Limited("a", 32)};
  Harness world(options);
  for (const char* gang : {"g", "h", "i"}) AddTo(world, "a", gang, 2);
  world.Pass(Seconds(30));
  CHECK(Released(world, "g", 2) + Released(world, "h", 2) + Released(world, "i", 2) == 4);
  CHECK(ScaleUpOf(world, "i") ==
        "not asked for: the limit of its queue is reached: queue a would use 48 of gpu, its limit "
        "is 32, with the gangs for which nodes are asked for already");
  // One of them goes away: another takes its place.
  world.RemovePod("g-0");
  world.Pass(Seconds(5));
  CHECK(Released(world, "i", 2) == 2);
}

TEST_CASE("what a gang asks for that is edited while it waits counts as it is now",
          "[engine][scale-up]") {
  engine::Options options = Growing();
  options.queues = {Limited("a", 40)};
  Harness world(options);
  AddTo(world, "a", "g", 2);
  world.Pass(Seconds(30));
  REQUIRE(Released(world, "g", 2) == 2);
  world.ChangeGroup("g", [](cluster::PodGroup& group) { group.min_member = 3; });
  world.Add(MakePod("g-2").Gpus(8).InGroup("g").Gated().Build());
  world.Pass(Seconds(30));
  CHECK(Released(world, "g", 3) == 3);
  AddTo(world, "a", "h", 2);
  world.Pass(Seconds(30));
  CHECK(Released(world, "h", 2) == 2);
  AddTo(world, "a", "i", 1);  // one more than the limit
  world.Pass(Seconds(30));
  CHECK(Released(world, "i", 1) == 0);
}

TEST_CASE("nodes are asked for to borrow, but not those that others are guaranteed",
          "[engine][scale-up]") {
  engine::Options options = Growing();
  const bool lends = GENERATE(false, true);
  queues::QueueSpec b = Queue("b", 16);
  if (!lends) b.lend.Set(kGpus, queues::Limit(0));
  options.queues = {{.name = "a"}, b};
  Harness world(options);
  AddTo(world, "a", "g", 2);
  world.Pass(Seconds(30));
  CHECK(Released(world, "g", 2) == (lends ? 2 : 0));
  AddTo(world, "b", "h", 2);
  world.Pass(Seconds(30));
  CHECK(Released(world, "h", 2) == 2);
}

TEST_CASE("a restart asks for the same nodes again", "[engine][scale-up]") {
  Harness world(Growing());
  world.AddGang("g", 2, 8, 2);
  world.Pass(Seconds(15));
  REQUIRE(Released(world, "g", 2) == 2);
  world.Restart();
  world.Pass(Seconds(15));
  CHECK(world.engine().Count().scale_ups == 1);
  CHECK(ScaleUpOf(world, "g").find("asked for: ") == 0);
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakeNode("n1").Gpus(8));
  world.ScheduleAll("g");
  CHECK(world.BoundIn("g") == 2);
}

TEST_CASE("a lost member's replacement that finds no room is released too", "[engine][scale-up]") {
  Harness world(Growing());
  for (int i = 0; i < 2; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("g", 2, 8, 2);
  world.ScheduleAll("g");
  REQUIRE(world.Gang("g").state == GangState::kRunning);
  const std::string lost = world.Pod("g-1").node_name;
  world.RemovePod("g-1");
  world.RemoveNode(lost);
  world.Add(MakePod("g-1").Uid("again").Gpus(8).InGroup("g").Gated());
  world.Pass(Seconds(20));
  CHECK(world.Pod("g-1").gates.empty());
  world.Add(MakeNode("n9").Gpus(8));
  world.ScheduleAll("g");
  CHECK(world.BoundIn("g") == 2);
}

TEST_CASE("autoscalers leave the nodes of gangs alone, as the policy says", "[engine][scale-up]") {
  const auto keeps = [](engine::KeepNodes which, engine::ScaleUp scale_up) {
    engine::Options options;
    options.autoscaling.scale_up = scale_up;
    options.autoscaling.keep_nodes = which;
    Harness world(options);
    world.Add(MakeNode("n0").Gpus(8));
    world.AddGang("g", 2, 1, 2);
    world.Add(MakePod("alone").Gpus(1).Gated());
    cluster::Pod says = MakePod("says").Gpus(1).InGroup("g").Gated();
    says.says_disruption = true;  // safe-to-evict: "true", say
    world.Add(says);
    world.ScheduleAll("g");
    world.Bind("alone");
    world.Settle();
    std::set<std::string> kept;
    for (const engine::Action& action : world.log) {
      const auto* bind = std::get_if<engine::BindPod>(&action);
      if (bind != nullptr && bind->keeps_node) kept.insert(bind->pod.key.name);
    }
    return kept;
  };
  using Names = std::set<std::string>;
  const auto on = engine::ScaleUp::kUnschedulable;
  CHECK(keeps(engine::KeepNodes::kGangs, on) == Names{"g-0", "g-1"});
  CHECK(keeps(engine::KeepNodes::kAll, on) == Names{"g-0", "g-1", "alone"});
  CHECK(keeps(engine::KeepNodes::kNone, on).empty());
  CHECK(keeps(engine::KeepNodes::kAll, engine::ScaleUp::kNone).empty());
}

}  // namespace
}  // namespace muster::testing
