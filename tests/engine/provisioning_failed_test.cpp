#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>

#include "tests/engine/provisioning_world.hpp"

namespace muster::testing {
namespace {

// The next so many asks have that outcome, and nothing comes of them.
void Fail(Harness& world, engine::OutcomeKind kind, int times) {
  world.fault = [kind, left = std::make_shared<int>(times)](
                    const engine::Action& action) -> std::optional<engine::Outcome> {
    if (!std::holds_alternative<engine::AskForNodes>(action) || (*left)-- <= 0) return std::nullopt;
    return engine::Outcome{{}, kind, "HTTP 503 Service Unavailable"};
  };
}

int Withdrawals(const Harness& world) {
  return static_cast<int>(std::count_if(world.log.begin(), world.log.end(), [](const auto& one) {
    return std::holds_alternative<engine::WithdrawAsk>(one);
  }));
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

TEST_CASE("a request that is made late is like a pod that is there then",
          "[engine][provisioning]") {
  Harness world(Asking());
  Fail(world, engine::OutcomeKind::kRetry, 3);
  world.AddGang("g", 3, 8, 2);
  world.Pass(Seconds(11));
  REQUIRE(AsksMade(world).size() >= 1);
  const std::string like = AsksMade(world).front().sets.front().like.name;
  world.RemovePod(like);
  world.Pass(Seconds(60));
  CHECK(world.Requests().size() == 1);
  CHECK(AsksMade(world).back().sets.front().like.name != like);
  CHECK(AsksMade(world).back().fingerprint == AsksMade(world).front().fingerprint);
}

TEST_CASE("a request that was made and is never seen is made again", "[engine][provisioning]") {
  Harness world(Asking());
  Fail(world, engine::OutcomeKind::kDone, 1);  // and somebody deleted it at once
  world.AddGang("g", 2, 8, 2);
  world.Pass(Seconds(60));
  CHECK(AsksMade(world).size() == 1);
  CHECK(world.Requests().empty());
  world.Pass(Seconds(20));
  CHECK(AsksMade(world).size() == 2);
  CHECK(OnlyRequest(world).key == AsksMade(world).front().key);
  world.Pass(Seconds(300));
  CHECK(AsksMade(world).size() == 2);
}

TEST_CASE("of a request that somebody deletes after a restart the templates are deleted",
          "[engine][provisioning]") {
  Harness world(Asking());
  world.AddGang("g", 2, 8, 2);
  world.Pass(Seconds(15));
  world.Restart();
  world.Pass(Seconds(15));
  world.RemoveRequest(OnlyRequest(world).key.name);
  world.Pass(Seconds(15));
  CHECK(Withdrawals(world) == 0);
  for (const char* node : {"n0", "n1"}) world.Add(MakeNode(node).Gpus(8));
  world.ScheduleAll("g");
  world.Pass(Seconds(15));
  CHECK(Withdrawals(world) == 1);
}

TEST_CASE("of a request that could not be made the templates are deleted",
          "[engine][provisioning]") {
  Harness world(Asking());
  Fail(world, engine::OutcomeKind::kRefused, 1000);  // the templates were made before it
  world.AddGang("g", 2, 8, 2);
  world.Pass(Seconds(15));
  REQUIRE(AsksMade(world).size() == 1);
  CHECK(Withdrawals(world) == 0);
  for (const char* node : {"n0", "n1"}) world.Add(MakeNode(node).Gpus(8));
  world.ScheduleAll("g");
  CHECK(world.BoundIn("g") == 2);
  CHECK(Withdrawals(world) == 1);
  world.Pass(Seconds(600));
  CHECK(Withdrawals(world) == 1);
  CHECK(AsksMade(world).size() == 1);
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

TEST_CASE("a gang that has its plan asks for nothing more", "[engine][provisioning]") {
  Harness world(Asking());
  SECTION("a request that is still to be made is not made") {
    Fail(world, engine::OutcomeKind::kRetry, 1);
    world.AddGang("g", 2, 8, 2);
    world.Pass(Seconds(10));
  }
  SECTION("one that nothing was ordered for is withdrawn") {
    world.AddGang("g", 2, 8, 2);
    world.Pass(Seconds(15));
    SetState(world, OnlyRequest(world).key.name, RequestState::kAccepted);
  }
  for (const char* node : {"n0", "n1"}) world.Add(MakeNode(node).Gpus(8));
  world.Settle();
  REQUIRE(world.Gang("g").state == GangState::kReserved);
  world.Pass(Seconds(20));
  CHECK(world.Requests().empty());
  CHECK(AsksMade(world).size() == 1);
  CHECK(world.engine().Count().scale_ups == 0);
}

}  // namespace
}  // namespace muster::testing
