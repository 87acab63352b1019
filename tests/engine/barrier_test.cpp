#include <catch2/catch.hpp>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using engine::GangState;
using engine::Outcome;
using engine::OutcomeKind;
using engine::ReasonCode;

struct BarrierWorld : Harness {
  explicit BarrierWorld(engine::Options options = {}) : Harness(options) {
    for (int i = 0; i < 4; ++i) Add(MakeNode("n" + std::to_string(i)).Gpus(8));
    AddGang("train", 4, 8, 4);
    Settle();
  }
};

TEST_CASE("Bind calls are held until all minMember have arrived, then answered together",
          "[engine][barrier]") {
  BarrierWorld world;
  for (int i = 0; i < 3; ++i) world.Bind("train-" + std::to_string(i));
  world.Settle();
  CHECK(world.bind_answers.empty());
  CHECK(world.BoundIn("train") == 0);
  CHECK(world.Gang("train").reason == engine::Because(ReasonCode::kWaitingForBind, 3, 4));
  world.Bind("train-3");
  world.Settle();
  CHECK(world.bind_answers.size() == 4);
  for (const auto& [ticket, error] : world.bind_answers) CHECK(error.empty());
  CHECK(world.BoundIn("train") == 4);
}

TEST_CASE("a Bind call asked again gets the same answer", "[engine][barrier]") {
  BarrierWorld world;
  world.Bind("train-0");
  world.Bind("train-0");
  for (int i = 1; i < 4; ++i) world.Bind("train-" + std::to_string(i));
  world.Settle();
  CHECK(world.bind_answers.size() == 5);
  const std::string node = world.Pod("train-0").node_name;
  const uint64_t again = world.Bind("train-0", node);
  CHECK(world.bind_answers.at(again).empty());
  const uint64_t elsewhere = world.Bind("train-0", node == "n0" ? "n1" : "n0");
  CHECK(world.bind_answers.at(elsewhere).find("is bound to node " + node) != std::string::npos);
}

TEST_CASE("Bind refuses what is not planned", "[engine][barrier]") {
  BarrierWorld world;
  const std::string planned = world.Filter("train-0").node;
  const uint64_t other = world.Bind("train-0", planned == "n0" ? "n1" : "n0");
  CHECK(world.bind_answers.at(other) ==
        "muster: pod default/train-0 is planned on node " + planned);
  world.Add(MakePod("late").Gpus(8));
  world.Settle();
  const uint64_t none = world.Bind("late", "n0");
  CHECK(world.bind_answers.at(none).find("has no reservation") != std::string::npos);
  const engine::Scheduler::BindReceipt unknown =
      world.engine().Bind({{"default", "ghost"}, cluster::PodUid("ghost"), "n0"}, 99, world.now());
  CHECK_FALSE(unknown.held);
  CHECK(unknown.error == "muster: pod default/ghost is not known under UID ghost");
}

TEST_CASE("a held Bind call is answered before kube-scheduler gives up, and the gang starts again",
          "[engine][barrier]") {
  BarrierWorld world;
  for (int i = 0; i < 3; ++i) world.Bind("train-" + std::to_string(i));
  world.Pass(cluster::Seconds(47));
  CHECK(world.bind_answers.empty());
  world.Pass(cluster::Seconds(1));
  CHECK(world.bind_answers.size() == 3);
  CHECK(world.Gang("train").state == GangState::kBackoff);
  CHECK(world.Gang("train").reason ==
        engine::Because(ReasonCode::kReservationExpired, 3, 4,
                        "kube-scheduler has not asked to bind train-3"));
  CHECK(world.engine().Count().reservations == 0);
  for (int i = 0; i < 4; ++i) CHECK(world.Pod("train-" + std::to_string(i)).nominated_node.empty());
}

TEST_CASE("a reservation that nobody comes for is given back at its deadline",
          "[engine][deadline]") {
  engine::Options options;
  options.reservation_timeout = cluster::Seconds(20);
  BarrierWorld world(options);
  CHECK(world.engine().Count().reservations == 4);
  const std::string first = world.Filter("train-0").node;
  world.Pass(cluster::Seconds(20));
  CHECK(world.engine().Count().reservations == 0);
  CHECK(world.Gang("train").state == GangState::kBackoff);
  // The node that it was released to and that kube-scheduler never confirmed is avoided.
  world.Pass(cluster::Seconds(20));
  CHECK(world.Filter("train-0").node != first);
  for (int i = 4; i < 8; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("a PodGroup's own timeout takes precedence over the policy's", "[engine][deadline]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePodGroup("quick").MinMember(1).TimeoutSeconds(5));
  world.Add(MakePod("quick-0").Gpus(8).InGroup("quick").Gated());
  world.Settle();
  CHECK(world.Gang("quick").deadline == world.now() + cluster::Seconds(5));
}

TEST_CASE("a failed start is tried again after a time that doubles", "[engine][backoff]") {
  engine::Options options;
  options.reservation_timeout = cluster::Seconds(1);
  options.backoff_max = cluster::Seconds(4);
  Harness world(options);
  world.Add(MakeNode("n0").Gpus(1));
  world.Add(MakePod("alone").Gpus(1).Gated("muster.dev/gang"));
  world.fault = [](const engine::Action& action) -> std::optional<Outcome> {
    if (!std::holds_alternative<engine::Nominate>(action)) return std::nullopt;
    return Outcome{{}, OutcomeKind::kRetry, "503"};
  };
  std::vector<int64_t> waits;
  for (int i = 0; i < 4; ++i) {
    while (world.Gang("alone").state != GangState::kBackoff) world.Pass(cluster::Duration(100));
    waits.push_back((*world.Gang("alone").deadline - world.now()).value());
    while (world.Gang("alone").state == GangState::kBackoff) world.Pass(cluster::Duration(100));
  }
  CHECK(waits == std::vector<int64_t>{1000, 2000, 4000, 8000});
}

TEST_CASE("an unknown outcome keeps the reservation until it is known", "[engine][barrier]") {
  BarrierWorld world;
  int lost = 2;
  world.fault = [&](const engine::Action& action) -> std::optional<Outcome> {
    if (!std::holds_alternative<engine::BindPod>(action) || lost-- <= 0) return std::nullopt;
    return Outcome{{}, OutcomeKind::kRetry, "timeout"};
  };
  world.ScheduleAll("train");
  CHECK(world.BoundIn("train") == 2);
  CHECK(world.Gang("train").state == GangState::kBinding);
  CHECK(world.engine().Count().reservations == 2);
  world.Pass(cluster::Seconds(2));
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.bind_answers.size() == 4);
}

TEST_CASE("a binding that the API server refuses puts the gang back, and leaves room to others",
          "[engine][barrier]") {
  BarrierWorld world;
  world.fault = [&](const engine::Action& action) -> std::optional<Outcome> {
    if (!std::holds_alternative<engine::BindPod>(action)) return std::nullopt;
    return Outcome{{}, OutcomeKind::kRefused, "denied by webhook"};
  };
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kBackoff);
  CHECK(world.Gang("train").reason.code == ReasonCode::kBindFailed);
  CHECK(world.Gang("train").reason.detail.find("denied by webhook") != std::string::npos);
  CHECK(world.engine().Count().reservations == 0);
  CHECK(world.bind_answers.size() == 4);
}

TEST_CASE("an elastic member's Bind call is not held once the gang runs", "[engine][barrier]") {
  Harness world;
  for (int i = 0; i < 4; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("elastic", 4, 8, 2);
  world.Settle();
  world.Bind("elastic-0");
  world.Bind("elastic-3");
  world.Settle();
  CHECK(world.BoundIn("elastic") == 2);
  const uint64_t ticket = world.Bind("elastic-1");
  world.Settle();
  CHECK(world.bind_answers.at(ticket).empty());
  CHECK(world.BoundIn("elastic") == 3);
}

}  // namespace
}  // namespace muster::testing
