#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "tests/engine/queue_world.hpp"

namespace muster::testing {
namespace {

using cluster::ProvisioningRequest;
using cluster::RequestState;
using cluster::Seconds;
using engine::GangState;

engine::Options Asking(int64_t after_seconds = 10) {
  engine::Options options;
  options.autoscaling.scale_up = engine::ScaleUp::kProvisioningRequest;
  options.autoscaling.after = Seconds(after_seconds);
  return options;
}

// The only one that there is; an empty one: there is none, or several.
ProvisioningRequest OnlyRequest(const Harness& world) {
  return world.Requests().size() == 1 ? world.Requests().begin()->second : ProvisioningRequest{};
}

std::vector<engine::AskForNodes> AsksMade(const Harness& world) {
  std::vector<engine::AskForNodes> asks;
  for (const engine::Action& action : world.log) {
    if (const auto* ask = std::get_if<engine::AskForNodes>(&action)) asks.push_back(*ask);
  }
  return asks;
}

int ToldOf(const Harness& world, const std::string& reason) {
  return static_cast<int>(std::count_if(world.log.begin(), world.log.end(), [&](const auto& one) {
    const auto* event = std::get_if<engine::EmitEvent>(&one);
    return event != nullptr && event->reason == reason;
  }));
}

void SetState(Harness& world, const std::string& name, RequestState state,
              const std::string& message = "") {
  world.ChangeRequest(name, [&](ProvisioningRequest& request) {
    request.state = state;
    request.message = message;
  });
}

std::string RequestSays(const Harness& world, const std::string& gang) {
  return world.Gang(gang).scale_up;
}

bool Gated(const Harness& world, const std::string& gang, int pods) {
  for (int i = 0; i < pods; ++i) {
    if (world.Pod(gang + "-" + std::to_string(i)).gates.empty()) return false;
  }
  return true;
}

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

TEST_CASE("nodes that came for a gang are not another one's", "[engine][provisioning]") {
  engine::Options options = Asking();
  SECTION("of equal right") {
    Harness world(options);
    world.AddGang("g", 4, 8, 4);
    world.Pass(Seconds(15));
    const std::string name = OnlyRequest(world).key.name;
    SetState(world, name, RequestState::kProvisioned);
    world.AddGang("rival", 2, 8, 2);
    world.Pass(Seconds(1));
    for (const char* node : {"n0", "n1", "n2"}) {
      world.Add(MakeNode(node).Gpus(8));
      world.Pass(Seconds(2));
      CHECK(world.Gang("rival").state != GangState::kReserved);
    }
    CHECK(world.Gang("rival").reason.code == engine::ReasonCode::kReserved);
    CHECK(world.Gang("rival").reason.detail ==
          "gang default/g, for which the nodes were asked for");
    world.Pass(Seconds(20));  // it asks for its own
    CHECK(world.Requests().size() == 2);
    world.Add(MakeNode("n3").Gpus(8));
    world.ScheduleAll("g");
    CHECK(world.BoundIn("g") == 4);
  }
  SECTION("but one of higher priority goes before it") {
    Harness world(options);
    world.AddGang("g", 4, 8, 4);
    world.Pass(Seconds(15));
    SetState(world, OnlyRequest(world).key.name, RequestState::kProvisioned);
    world.Add(MakePodGroup("vip").MinMember(1).Build());
    world.Add(MakePod("vip-0").Gpus(8).Priority(10).InGroup("vip").Gated().Build());
    world.Add(MakeNode("n0").Gpus(8));
    world.ScheduleAll("vip");
    CHECK(world.BoundIn("vip") == 1);
  }
  SECTION("and not before they were ordered") {
    Harness world(options);
    world.AddGang("g", 4, 8, 4);
    world.Pass(Seconds(15));
    world.AddGang("rival", 2, 8, 2);
    for (const char* node : {"n0", "n1"}) world.Add(MakeNode(node).Gpus(8));
    world.ScheduleAll("rival");
    CHECK(world.BoundIn("rival") == 2);
  }
}

TEST_CASE("what is kept for a gang is anybody's when the booking is over or the request failed",
          "[engine][provisioning]") {
  Harness world(Asking());
  world.AddGang("g", 4, 8, 4);
  world.Pass(Seconds(15));
  const std::string name = OnlyRequest(world).key.name;
  SetState(world, name, RequestState::kProvisioned);
  world.AddGang("rival", 2, 8, 2);
  for (const char* node : {"n0", "n1"}) world.Add(MakeNode(node).Gpus(8));
  world.Pass(Seconds(60));
  CHECK(world.BoundIn("rival") == 0);
  SECTION("its time is over") { world.Pass(Seconds(600)); }
  SECTION("cluster-autoscaler says so") { SetState(world, name, RequestState::kExpired); }
  SECTION("it failed") { SetState(world, name, RequestState::kFailed, "no such machines"); }
  SECTION("it was deleted") { world.RemoveRequest(name); }
  SECTION("what was found is another one's") { SetState(world, name, RequestState::kRevoked); }
  world.ScheduleAll("rival");
  CHECK(world.BoundIn("rival") == 2);
}

TEST_CASE("a request that failed is tried again later and later", "[engine][provisioning]") {
  Harness world(Asking());
  world.AddGang("g", 4, 8, 4);
  world.Pass(Seconds(15));
  std::string name = OnlyRequest(world).key.name;
  const std::string first = name;
  int64_t wait = 60;
  for (int attempt = 1; attempt < 4; ++attempt) {
    SetState(world, name, RequestState::kFailed, "no such machines");
    world.Settle();
    CHECK(RequestSays(world, "g")
              .find("request default/" + name +
                    " failed: no such machines; it is tried again at ") != std::string::npos);
    CHECK(ToldOf(world, "GangScaleUpFailed") == attempt);
    world.Pass(Seconds(wait - 1));
    CHECK(OnlyRequest(world).key.name == name);
    world.Pass(Seconds(2));
    CHECK(OnlyRequest(world).attempt == attempt + 1);
    name = OnlyRequest(world).key.name;
    wait *= 2;
  }
  CHECK(name == first.substr(0, first.size() - 1) + "4");
}

TEST_CASE("one whose nodes do not come in time is tried again, too", "[engine][provisioning]") {
  Harness world(Asking());
  world.AddGang("g", 4, 8, 4);
  world.Pass(Seconds(15));
  SetState(world, OnlyRequest(world).key.name, RequestState::kProvisioned);
  world.Pass(Seconds(601));
  CHECK(RequestSays(world, "g").find("its nodes did not come") != std::string::npos);
  CHECK(OnlyRequest(world).attempt == 1);
  world.Pass(Seconds(60));
  CHECK(OnlyRequest(world).attempt == 2);
}

TEST_CASE("whoever deletes a request is not answered in a loop", "[engine][provisioning]") {
  Harness world(Asking());
  world.AddGang("g", 4, 8, 4);
  world.Pass(Seconds(15));
  for (int i = 0; i < 3; ++i) {
    if (!world.Requests().empty()) world.RemoveRequest(OnlyRequest(world).key.name);
    world.Pass(Seconds(30));
  }
  CHECK(AsksMade(world).size() == 2);
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
  SECTION("which is told before") {}
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

TEST_CASE("a request that may not be made is tried again later and later",
          "[engine][provisioning]") {
  Harness world(Asking());
  int tries = 0;
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    if (!std::holds_alternative<engine::AskForNodes>(action)) return std::nullopt;
    ++tries;
    return engine::Outcome{{}, engine::OutcomeKind::kRefused, "HTTP 403 Forbidden"};
  };
  world.AddGang("g", 2, 8, 2);
  world.Pass(Seconds(600));
  CHECK(tries == 4);
  CHECK(RequestSays(world, "g") ==
        "cannot ask cluster-autoscaler for 2 × 8 GPUs: HTTP 403 Forbidden");
  CHECK(ToldOf(world, "GangScaleUpFailed") == 1);
  world.fault = nullptr;
  world.Pass(Seconds(1000));
  CHECK(world.Requests().size() == 1);
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
}

}  // namespace
}  // namespace muster::testing
