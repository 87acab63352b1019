#include <catch2/catch.hpp>

#include "tests/engine/provisioning_world.hpp"

namespace muster::testing {
namespace {

TEST_CASE("a gang that lacks room asks for its exact shape and stays behind its gate",
          "[engine][provisioning]") {
  Harness world(Asking());
  world.AddGang("g", 6, 8, 4);
  world.Pass(Seconds(9));
  CHECK(world.Requests().empty());
  CHECK(RequestSays(world, "g") == "not asked for yet: first it has to lack room for 10 s");
  world.Pass(Seconds(20));
  const std::vector<engine::AskForNodes> asks = AsksMade(world);
  REQUIRE(asks.size() == 1);
  const engine::AskForNodes& ask = asks.front();
  CHECK(ask.key.ns == "default");
  CHECK(ask.key.name == "muster-g-" + ask.fingerprint + "-1");
  CHECK(ask.class_name == "best-effort-atomic-scale-up.autoscaling.x-k8s.io");
  CHECK(ask.group.empty() == false);
  REQUIRE(ask.sets.size() == 1);
  CHECK(ask.sets[0].count == 4);
  CHECK(ask.sets[0].like.name == "g-0");
  CHECK(Gated(world, "g", 6));
  CHECK(ToldOf(world, "GangScaleUp") == 1);
  CHECK(world.engine().Count().scale_ups == 1);
  CHECK(world.engine().Count().requests[static_cast<size_t>(RequestState::kNew)] == 1);
  CHECK(RequestSays(world, "g")
            .find("asked cluster-autoscaler for 4 × 8 GPUs: request default/" + ask.key.name +
                  ", not accepted yet") == 0);
}

TEST_CASE("a request has a name that an API server takes, whatever its gang is called",
          "[engine][provisioning]") {
  const auto [gang, named] = GENERATE(table<std::string, std::string>(
      {{"job:train~1f8e0a2c", "job-train-1f8e0a2c"}, {"My_Gang.v2", "my-gang-v2"}}));
  Harness world(Asking());
  cluster::PodGroup group = MakePodGroup(gang).MinMember(1);
  group.declared = true;
  world.Add(group);
  world.Add(MakePod("p").Gpus(8).InGroup(gang).Gated());
  world.Pass(Seconds(20));
  const std::vector<engine::AskForNodes> asks = AsksMade(world);
  REQUIRE(asks.size() == 1);
  CHECK(asks.front().key.name == "muster-" + named + "-" + asks.front().fingerprint + "-1");
}

TEST_CASE("roles with other shapes are asked for each by itself", "[engine][provisioning]") {
  Harness world(Asking());
  cluster::PodGroup group = MakePodGroup("g").MinMember(4).Build();
  group.roles = {{"lead", 1}, {"work", 3}};
  world.Add(group);
  world.Add(MakePod("g-lead").Gpus(2).Role("lead").InGroup("g").Gated().Build());
  for (int i = 0; i < 4; ++i)
    world.Add(MakePod("g-" + std::to_string(i)).Gpus(8).Role("work").InGroup("g").Gated().Build());
  world.Pass(Seconds(30));
  REQUIRE(AsksMade(world).size() == 1);
  const engine::AskForNodes ask = AsksMade(world).front();
  REQUIRE(ask.sets.size() == 2);
  CHECK(ask.sets[0].role == "lead");
  CHECK(ask.sets[0].count == 1);
  CHECK(ask.sets[1].role == "work");
  CHECK(ask.sets[1].count == 3);
  CHECK(RequestSays(world, "g").find("asked cluster-autoscaler for 1 × 2 GPUs + 3 × 8 GPUs: ") ==
        0);
}

TEST_CASE("the gang starts whole when its nodes are there, and then its request goes",
          "[engine][provisioning]") {
  Harness world(Asking());
  world.AddGang("g", 4, 8, 4);
  world.Pass(Seconds(15));
  const std::string name = OnlyRequest(world).key.name;
  SetState(world, name, RequestState::kAccepted);
  world.Pass(Seconds(1));
  CHECK(RequestSays(world, "g").find(", accepted at ") != std::string::npos);
  SetState(world, name, RequestState::kProvisioned);
  world.Pass(Seconds(1));
  CHECK(RequestSays(world, "g").find(", provisioned at ") != std::string::npos);
  for (int node = 0; node < 3; ++node) {
    world.Add(MakeNode("n" + std::to_string(node)).Gpus(8));
    world.Pass(Seconds(15));
    CHECK(Gated(world, "g", 4));
  }
  world.Add(MakeNode("n3").Gpus(8));
  world.Settle();
  CHECK(world.Requests().size() == 1);  // its plan may break
  world.ScheduleAll("g");
  CHECK(world.BoundIn("g") == 4);
  CHECK(world.Gang("g").state == GangState::kRunning);
  CHECK(world.Requests().empty());
  CHECK(world.engine().Count().scale_ups == 0);
  // What newer versions of cluster-autoscaler count.
  int bindings = 0;
  for (const engine::Action& action : world.log) {
    const auto* bind = std::get_if<engine::BindPod>(&action);
    if (bind == nullptr) continue;
    ++bindings;
    CHECK(bind->consumes == name);
    CHECK(bind->request_class == "best-effort-atomic-scale-up.autoscaling.x-k8s.io");
  }
  CHECK(bindings == 4);
}

TEST_CASE("a request goes with its gang, and with what lets it ask", "[engine][provisioning]") {
  engine::Options options = Asking();
  options.queues = {{.name = "a"}};
  Harness world(options);
  cluster::PodGroup group = MakePodGroup("g").MinMember(2).Build();
  group.queue = "a";
  world.Add(group);
  for (int i = 0; i < 2; ++i)
    world.Add(MakePod("g-" + std::to_string(i)).Gpus(8).InGroup("g").Gated().Build());
  world.Pass(Seconds(15));
  const std::string name = OnlyRequest(world).key.name;
  REQUIRE(!name.empty());
  SECTION("the gang is deleted") {
    for (const char* pod : {"g-0", "g-1"}) world.RemovePod(pod);
    world.RemoveGroup("g");
  }
  SECTION("it lacks members") { world.RemovePod("g-0"); }
  SECTION("its queue is held") {
    options.queues[0].state = queues::QueueState::kHold;
    world.engine().SetOptions(options);
  }
  SECTION("the policy asks no more") {
    options.autoscaling.scale_up = engine::ScaleUp::kNone;
    world.engine().SetOptions(options);
  }
  world.Settle();
  world.Settle();
  CHECK(world.Requests().empty());
}

TEST_CASE("a gang that asks for something else has its request replaced",
          "[engine][provisioning]") {
  engine::Options options = Asking();
  Harness world(options);
  world.AddGang("g", 4, 8, 2);
  world.Pass(Seconds(15));
  const std::string before = OnlyRequest(world).key.name;
  SECTION("more members") {
    world.ChangeGroup("g", [](cluster::PodGroup& group) { group.min_member = 3; });
    world.Settle();
    CHECK(AsksMade(world).back().sets[0].count == 3);
  }
  SECTION("of another class") {
    options.autoscaling.provisioning_class = "check-capacity.autoscaling.x-k8s.io";
    world.engine().SetOptions(options);
    world.Settle();
    CHECK(AsksMade(world).back().class_name == "check-capacity.autoscaling.x-k8s.io");
  }
  world.Settle();
  CHECK(OnlyRequest(world).key.name != before);
  CHECK(AsksMade(world).size() == 2);
}

TEST_CASE("no request is made for what nodes would not help", "[engine][provisioning]") {
  engine::Options options = Asking();
  SECTION("the limit of its queue") {
    queues::QueueSpec queue{.name = "a"};
    queue.limit.Set({queues::Resource::Kind::kGpu}, queues::Limit(8000));
    options.queues = {queue};
  }
  SECTION("a queue on hold") {
    queues::QueueSpec queue{.name = "a"};
    queue.state = queues::QueueState::kHold;
    options.queues = {queue};
  }
  SECTION("it can never form") { options.max_members = 1; }
  Harness world(options);
  cluster::PodGroup group = MakePodGroup("g").MinMember(2).Build();
  if (!options.queues.empty()) group.queue = "a";
  world.Add(group);
  for (int i = 0; i < 2; ++i)
    world.Add(MakePod("g-" + std::to_string(i)).Gpus(8).InGroup("g").Gated().Build());
  world.Pass(Seconds(60));
  CHECK(world.Requests().empty());
  CHECK(AsksMade(world).empty());
}

TEST_CASE("a restart takes up the request that is open", "[engine][provisioning]") {
  Harness world(Asking());
  world.AddGang("g", 2, 8, 2);
  world.Pass(Seconds(15));
  const std::string name = OnlyRequest(world).key.name;
  SetState(world, name, RequestState::kProvisioned);
  world.Add(MakeNode("n0").Gpus(8));
  world.Pass(Seconds(5));
  SECTION("which the new engine learns first") {}
  SECTION("after it has failed once") {
    SetState(world, name, RequestState::kFailed, "no such machines");
    world.Settle();
  }
  const bool failed = OnlyRequest(world).state == RequestState::kFailed;
  world.Restart();
  world.Pass(Seconds(30));
  CHECK(AsksMade(world).size() == 1);
  CHECK(OnlyRequest(world).key.name == name);
  world.Pass(Seconds(40));
  CHECK(AsksMade(world).size() == (failed ? 2 : 1));
  world.Add(MakeNode("n1").Gpus(8));
  world.ScheduleAll("g");
  CHECK(world.BoundIn("g") == 2);
  CHECK(world.Requests().empty());
}

TEST_CASE("a request of a gang that nobody knows is deleted after a while",
          "[engine][provisioning]") {
  Harness world(Asking());
  ProvisioningRequest request;
  request.uid = cluster::ProvisioningRequestUid("left-over");
  request.key = {"default", "muster-old-1"};
  request.gang = {{"default", "old"}, false};
  request.since = world.now();
  world.Add(request);
  world.Pass(Seconds(50));
  CHECK(world.Requests().size() == 1);
  world.Pass(Seconds(20));
  CHECK(world.Requests().empty());
}

TEST_CASE("a request that is not Muster's is left alone", "[engine][provisioning]") {
  Harness world(Asking());
  ProvisioningRequest request;
  request.uid = cluster::ProvisioningRequestUid("kueue");
  request.key = {"default", "train-prov-1"};
  world.Add(request);
  world.Pass(Seconds(300));
  CHECK(world.Requests().size() == 1);
}

TEST_CASE("a restart knows of which class the request is", "[engine][provisioning]") {
  Harness world(Asking());
  world.AddGang("g", 1, 8, 1);
  world.Pass(Seconds(15));
  SetState(world, OnlyRequest(world).key.name, RequestState::kProvisioned);
  world.log.clear();
  world.Restart();
  world.Add(MakeNode("n0").Gpus(8));
  world.ScheduleAll("g");
  REQUIRE(world.BoundIn("g") == 1);
  for (const engine::Action& action : world.log) {
    const auto* bind = std::get_if<engine::BindPod>(&action);
    if (bind != nullptr)
      CHECK(bind->request_class == "best-effort-atomic-scale-up.autoscaling.x-k8s.io");
  }
}

TEST_CASE("a gang whose pods have no gate is seen by autoscalers and makes no request",
          "[engine][provisioning]") {
  Harness world(Asking());
  world.Add(MakePodGroup("g").MinMember(2).Build());
  world.Add(MakePod("g-0").Gpus(8).InGroup("g").Build());
  world.Add(MakePod("g-1").Gpus(8).InGroup("g").Gated().Build());
  world.Pass(Seconds(30));
  CHECK(AsksMade(world).empty());
  CHECK(world.Pod("g-1").gates.empty());
  CHECK(RequestSays(world, "g").find("asked for: ") == 0);
}

TEST_CASE("a gang of more shapes than a request takes says so", "[engine][provisioning]") {
  Harness world(Asking());
  world.Add(MakePodGroup("g").MinMember(33).Build());
  for (int i = 0; i < 33; ++i)
    world.Add(MakePod("g-" + std::to_string(i)).Gpus(i + 1).InGroup("g").Gated().Build());
  world.Pass(Seconds(30));
  CHECK(AsksMade(world).empty());
  CHECK(RequestSays(world, "g") ==
        "not asked for: its pods are of more than 32 shapes, more than a ProvisioningRequest "
        "takes");
  CHECK(world.engine().Count().scale_ups == 0);  // it keeps no other gang of its queue from asking
}

}  // namespace
}  // namespace muster::testing
