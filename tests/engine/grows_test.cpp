// Gangs that start with a part of their minimum, because their controller makes the others when
// that part runs: a LeaderWorkerSet's leader, the first pod of each Job with exclusive topology.
#include <catch2/catch.hpp>

#include "tests/engine/booking_world.hpp"
#include "tests/engine/fabric_options.hpp"
#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using cluster::Seconds;
using engine::GangState;
using engine::ReasonCode;

// A gang "serve" of a leader and three workers of eight GPUs.
struct LeaderFirst : Harness {
  explicit LeaderFirst(int nodes, const engine::Options& options = {}) : Harness(options) {
    for (int i = 0; i < nodes; ++i) Add(MakeNode("n" + std::to_string(i)).Gpus(8));
    cluster::PodGroup group = MakePodGroup("serve").MinMember(4);
    group.declared = group.by_owner = true;
    group.roles = {{"leader", 1}, {"worker", 3}};
    group.starts_with = 1;
    group.first_roles = {{"leader", 1}};
    Add(group);
    AddMember("leader", "leader");
  }
  void AddMember(const std::string& name, const std::string& role) {
    cluster::Pod pod = MakePod(name).Gpus(8).Owner("lws").InGroup("serve").Gated();
    pod.role = role;
    Add(pod);
  }
  void AddWorkers() {
    for (const char* name : {"w1", "w2", "w3"}) AddMember(name, "worker");
  }
};

TEST_CASE("the first members start alone and stay until the others are made", "[engine][grows]") {
  LeaderFirst world(4);
  world.ScheduleAll("serve");
  REQUIRE(world.Pod("leader").bound());
  CHECK(world.Gang("serve").state == GangState::kRunning);
  CHECK(Describe(world.Gang("serve").reason) == "not all members exist: 1 of 4 pods exist");
  CHECK(world.Gang("serve").apart.empty());
  world.Pass(Seconds(7200));
  CHECK(world.Evictions() == 0);
  SECTION("also over a restart, before which nothing of it was written") {
    world.Change("leader", [](cluster::Pod& pod) { pod.gang_record.reset(); });
    world.Restart(Seconds(30));
    world.Pass(Seconds(7200));
    CHECK(world.Evictions() == 0);
    CHECK(world.Gang("serve").state == GangState::kRunning);
  }
  SECTION("one that is made late is waited for, and two do not start alone") {
    world.AddMember("w4", "worker");
    world.AddMember("w5", "worker");
    world.Pass(Seconds(600));
    CHECK(world.BoundIn("serve") == 1);
    CHECK(Describe(world.Gang("serve").reason) == "not all members exist: 3 of 4 pods exist");
    world.RemovePod("w4");
    world.RemovePod("w5");
  }
  world.AddWorkers();
  world.ScheduleAll("serve");
  CHECK(world.BoundIn("serve") == 4);
  CHECK(world.Gang("serve").state == GangState::kRunning);
  CHECK(world.Gang("serve").reason.code == ReasonCode::kNone);
}

TEST_CASE("the rest of a gang starts together or not at all", "[engine][grows]") {
  LeaderFirst world(3);
  world.ScheduleAll("serve");
  world.AddWorkers();
  world.ScheduleAll("serve");
  world.Pass(Seconds(7200));
  CHECK(world.BoundIn("serve") == 1);
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("serve").state == GangState::kDegraded);
  CHECK(world.Gang("serve").reason.code == ReasonCode::kNotEnoughGpus);
  const bool restarts = GENERATE(false, true);
  if (restarts) world.Restart(Seconds(100));
  world.Pass(Seconds(7200));
  CHECK(world.Evictions() == 0);
  world.Add(MakeNode("n3").Gpus(8));
  world.ScheduleAll("serve");
  CHECK(world.BoundIn("serve") == 4);
  CHECK(world.Gang("serve").state == GangState::kRunning);
}

TEST_CASE("a rest that was bound in part is completed, and the gang preempts nobody",
          "[engine][grows]") {
  const bool room = GENERATE(false, true);
  LeaderFirst world(room ? 4 : 2);
  world.ScheduleAll("serve");
  world.AddWorkers();
  world.Change("w1", [](cluster::Pod& pod) {
    pod.gates.clear();
    pod.node_name = "n1";
    pod.bound_in = "serve";
    pod.bound_by_muster = true;
  });
  world.Restart();
  world.ScheduleAll("serve");
  world.Pass(Seconds(600));
  INFO(engine::ToString(world.Gang("serve").state)
       << " " << Describe(world.Gang("serve").reason) << " of " << world.Gang("serve").min_member);
  CHECK(world.BoundIn("serve") == (room ? 4 : 2));
  CHECK(world.Evictions() == 0);
}

TEST_CASE("the rest is not kept out by gangs that booked before it was made", "[engine][grows]") {
  LeaderFirst world(4, WithQueues({queues::QueueSpec{.name = "root"}}));
  world.ScheduleAll("serve");
  REQUIRE(world.BoundIn("serve") == 1);
  for (const char* name : {"busy1", "busy2", "busy3", "behind"}) {
    cluster::Pod pod = MakePod(name).Gpus(8).Gated().CreatedAt(world.now().milliseconds());
    pod.run_times =
        std::make_shared<const cluster::RunTimes>(cluster::RunTimes{.declared = Seconds(3'600)});
    world.Add(std::move(pod));
    world.Settle();
    if (std::string(name) != "behind") world.Bind(name);
    world.Settle();
  }
  world.Pass(Seconds(600));
  REQUIRE(world.Gang("behind").expected);
  world.AddWorkers();
  for (const char* name : {"busy1", "busy2", "busy3"}) world.RemovePod(name);
  world.ScheduleAll("serve");
  CHECK(world.BoundIn("serve") == 4);
}

TEST_CASE("the rest is kept out by a gang that goes before it and has booked", "[engine][grows]") {
  LeaderFirst world(5, WithQueues({queues::QueueSpec{.name = "root"}}));
  world.ScheduleAll("serve");
  REQUIRE(world.BoundIn("serve") == 1);
  const auto add = [&](const std::string& name, int32_t priority) {
    cluster::Pod pod = MakePod(name).Gpus(8).Gated().Priority(priority);
    pod.run_times =
        std::make_shared<const cluster::RunTimes>(cluster::RunTimes{.declared = Seconds(3'600)});
    return pod;
  };
  world.Add(MakePodGroup("urgent").MinMember(4));
  world.Add(add("busy", 0));
  world.Settle();
  world.Bind("busy");
  world.Settle();
  for (const char* name : {"u1", "u2", "u3", "u4"}) {
    cluster::Pod pod = add(name, 100);
    pod.pod_group = "urgent";
    cluster::PodSpec spec = *pod.spec;
    spec.preempts = false;
    pod.spec = std::make_shared<const cluster::PodSpec>(spec);
    world.Add(std::move(pod));
  }
  world.Pass(Seconds(600));
  REQUIRE(world.Gang("urgent").expected);
  world.AddWorkers();
  world.ScheduleAll("serve");
  CHECK(world.BoundIn("serve") == 1);
  CHECK(world.Gang("urgent").expected);
}

TEST_CASE("after a leader that was started before its owner was known all start one by one",
          "[engine][grows]") {
  Harness world;
  for (int i = 0; i < 4; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.Add(MakePod("leader").Gpus(8).Owner("lws").Gated());
  world.Settle();
  world.Bind("leader");
  world.Settle();
  REQUIRE(world.Pod("leader").bound());
  cluster::PodGroup group = MakePodGroup("serve").MinMember(4);
  group.declared = group.by_owner = true;
  group.starts_with = 1;
  world.Add(group);
  world.Change("leader", [](cluster::Pod& pod) { pod.pod_group = "serve"; });
  world.Settle();
  world.Add(MakePod("w1").Gpus(8).Owner("lws").InGroup("serve").Gated());
  world.ScheduleAll("serve");
  CHECK(world.Pod("w1").bound());
}

TEST_CASE("the first members stay where the rest finds no room in their domain",
          "[engine][grows]") {
  engine::Options options = WithFabric();
  options.lost_member = engine::LostMember::kMoveGang;
  LeaderFirst world(0, options);
  const auto add = [&](const std::string& name) {
    world.Add(MakeNode(name).Gpus(8).Label("block", "a").Label("rack", name.substr(0, 2)));
  };
  world.ChangeGroup("serve", [](cluster::PodGroup& group) { group.topology.required = "rack"; });
  add("a0x");
  world.ScheduleAll("serve");
  REQUIRE(world.Pod("leader").bound());
  for (const char* name : {"a1w", "a1x", "a1y", "a1z"}) add(name);
  world.AddWorkers();
  world.ScheduleAll("serve");
  world.Pass(Seconds(7200));
  CHECK(world.Evictions() == 0);
  CHECK(world.BoundIn("serve") == 1);
  CHECK(world.Gang("serve").state == GangState::kDegraded);
}

TEST_CASE("a rest that was bound in part is completed while its queue drains", "[engine][grows]") {
  LeaderFirst world(3, WithQueues({queues::QueueSpec{.name = "a"}}));
  world.ChangeGroup("serve", [](cluster::PodGroup& group) { group.queue = "a"; });
  world.ScheduleAll("serve");
  world.AddWorkers();
  for (const char* name : {"w1", "w2"}) {
    world.Change(name, [&](cluster::Pod& pod) {
      pod.gates.clear();
      pod.node_name = pod.key.name == "w1" ? "n1" : "n2";
      pod.bound_in = "serve";
      pod.bound_by_muster = true;
    });
  }
  world.Restart();
  engine::Order order;
  order.what = engine::SetQueueState{"a", queues::QueueState::kDrain};
  REQUIRE(world.engine().Carry(order, world.now()).ok());
  world.Add(MakeNode("n3").Gpus(8));
  world.ScheduleAll("serve");
  CHECK(world.BoundIn("serve") == 4);
  CHECK(world.Evictions() == 0);
}

TEST_CASE("the rest keeps to the limit of its queue, and does not start while that drains",
          "[engine][grows]") {
  const bool drains = GENERATE(false, true);
  LeaderFirst world(4);
  const auto with_limit = [](int64_t gpus) {
    engine::Options options;
    queues::QueueSpec queue{.name = "a"};
    queue.limit.Set({queues::Resource::Kind::kGpu}, queues::Limit(gpus * 1000));
    options.queues = {queue};
    return options;
  };
  world.ChangeGroup("serve", [](cluster::PodGroup& group) { group.queue = "a"; });
  world.engine().SetOptions(with_limit(drains ? 32 : 16));
  world.ScheduleAll("serve");
  REQUIRE(world.BoundIn("serve") == 1);
  if (drains) {
    engine::Order order;
    order.what = engine::SetQueueState{"a", queues::QueueState::kDrain};
    REQUIRE(world.engine().Carry(order, world.now()).ok());
  }
  world.AddWorkers();
  world.ScheduleAll("serve");
  world.Pass(Seconds(600));
  CHECK(world.BoundIn("serve") == 1);
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("serve").state == GangState::kDegraded);
  CHECK(world.Gang("serve").reason.code == (drains ? ReasonCode::kHold : ReasonCode::kQueueLimit));
  if (drains) {
    engine::Order order;
    order.what = engine::SetQueueState{"a", queues::QueueState::kOpen};
    REQUIRE(world.engine().Carry(order, world.now()).ok());
  } else {
    world.engine().SetOptions(with_limit(32));
  }
  world.ScheduleAll("serve");
  CHECK(world.BoundIn("serve") == 4);
}

TEST_CASE("a leader that is lost before its workers came is started again", "[engine][grows]") {
  LeaderFirst world(4);
  world.ScheduleAll("serve");
  world.RemovePod("leader");
  world.Settle();
  CHECK(world.Gang("serve").state != GangState::kRunning);
  world.AddMember("leader2", "leader");
  world.ScheduleAll("serve");
  CHECK(world.Pod("leader2").bound());
}

TEST_CASE("a first member that is lost before the rest came is replaced by itself",
          "[engine][grows]") {
  Harness world;
  for (int i = 0; i < 8; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  cluster::PodGroup group = MakePodGroup("train").MinMember(4);
  group.declared = group.by_owner = true;
  group.starts_with = 2;
  world.Add(group);
  const auto add = [&](const char* name) {
    world.Add(MakePod(name).Gpus(8).Owner("job").InGroup("train").Gated());
  };
  add("a-0");
  add("b-0");
  world.ScheduleAll("train");
  REQUIRE(world.BoundIn("train") == 2);
  SECTION("before others of the rest are there") {
    world.RemovePod("b-0");
    add("b-2");
    world.ScheduleAll("train");
    CHECK(world.Pod("b-2").bound());
    add("a-1");
    add("b-3");
    world.ScheduleAll("train");
    CHECK(world.BoundIn("train") == 4);
  }
  SECTION("also when the gang has been whole, and some are made only when others are placed") {
    add("a-1");
    add("b-1");
    world.ScheduleAll("train");
    REQUIRE(world.BoundIn("train") == 4);
    world.RemovePod("b-0");
    world.RemovePod("b-1");
    add("b-4");
    world.ScheduleAll("train");
    CHECK(world.Pod("b-4").bound());
    add("b-5");
    world.ScheduleAll("train");
    CHECK(world.BoundIn("train") == 4);
  }
  CHECK(world.Evictions() == 0);
}

TEST_CASE("a worker that is lost when the gang was whole is a loss", "[engine][grows]") {
  LeaderFirst world(4);
  world.ScheduleAll("serve");
  world.AddWorkers();
  world.ScheduleAll("serve");
  REQUIRE(world.BoundIn("serve") == 4);
  world.RemovePod("w2");
  world.Pass(Seconds(600));
  CHECK(world.Gang("serve").state == GangState::kDegraded);
  CHECK(world.Gang("serve").reason.code == ReasonCode::kMembersLost);
  world.Pass(Seconds(600));
  CHECK(world.Evictions() == 3);
}

}  // namespace
}  // namespace muster::testing
