// Pods of one node are bound one after the other where HAMi's device plugin hands out the GPUs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using cluster::HamiTurn;
using cluster::Seconds;
using engine::GangState;
using engine::ReasonCode;

cluster::Node HamiNode(const std::string& name, int gpus = 8) {
  cluster::Node node = MakeNode(name).Gpus(gpus);
  for (cluster::Gpu& gpu : node.gpus) {
    gpu.uuid = "GPU-" + std::to_string(gpu.index.value);
    gpu.memory = cluster::MiB(81'920);
  }
  node.plugin = cluster::DevicePlugin::kHami;
  return node;
}

struct Turns : Harness {
  explicit Turns(engine::Options options = {}) : Harness(std::move(options)) {}

  // Gangs "NAME-0" … with all Bind calls made.
  void Come(const std::string& gang, int count, int gpus = 1) {
    AddGang(gang, count, gpus, count);
    Settle();
    ScheduleAll(gang);
    Settle();
  }
  // Bound, and the plugin may take it for whoever asks.
  std::vector<std::string> Served(const std::vector<std::string>& pods) {
    std::vector<std::string> served;
    for (const std::string& name : pods) {
      if (Pod(name).hami_turn != HamiTurn::kNone) served.push_back(name);
    }
    return served;
  }
  std::vector<std::string> Of(const std::string& gang, int count) {
    std::vector<std::string> names;
    names.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) names.push_back(gang + "-" + std::to_string(i));
    return names;
  }
  void Serve(const std::string& pod) {
    Change(pod, [](cluster::Pod& one) { one.hami_turn = HamiTurn::kServed; });
    Settle();
  }
  // The plugin serves whoever has the turn, as long as somebody has it: their names in order.
  std::vector<std::string> ServeAll(const std::vector<std::string>& pods) {
    std::vector<std::string> order;
    while (true) {
      const std::vector<std::string> served = Served(pods);
      if (served.empty()) return order;
      REQUIRE(served.size() == 1);
      order.push_back(served.front());
      Serve(served.front());
    }
  }
};

TEST_CASE("the next pod of a node is bound when HAMi's plugin has served the one before",
          "[engine][hami]") {
  Turns world;
  world.Add(HamiNode("h"));
  world.Come("train", 3);
  CHECK(world.BoundIn("train") == 1);
  CHECK(world.bind_answers.size() == 1);
  CHECK(world.Gang("train").state == GangState::kBinding);
  CHECK_THAT(world.Gang("train").reason.detail,
             Catch::Contains("HAMi's device plugin on node h serves one pod at a time, now "
                             "default/train-"));
  CHECK(world.ServeAll(world.Of("train", 3)).size() == 3);
  CHECK(world.BoundIn("train") == 3);
  CHECK(world.Gang("train").state == GangState::kRunning);
  for (const auto& [ticket, error] : world.bind_answers) CHECK(error.empty());
  CHECK(world.bind_answers.size() == 3);
}

TEST_CASE("a pod that was served is not to be found by HAMi's plugin before the next is bound",
          "[engine][hami]") {
  Turns world;
  world.Add(HamiNode("h"));
  world.Come("train", 2);
  const std::string first = world.Served(world.Of("train", 2)).front();
  world.fault = [](const engine::Action& action) -> std::optional<engine::Outcome> {
    if (!std::holds_alternative<engine::EndHamiTurn>(action)) return std::nullopt;
    return engine::Outcome{{}, engine::OutcomeKind::kRetry, "503"};
  };
  world.Serve(first);
  CHECK(world.BoundIn("train") == 1);
  world.fault = nullptr;
  world.Pass(Seconds(1));
  CHECK(world.Pod(first).hami_turn == HamiTurn::kNone);
  CHECK(world.BoundIn("train") == 2);
}

TEST_CASE("a pod that has ended before its turn can be ended is not taken for lost",
          "[engine][hami][past]") {
  Turns world;
  world.Add(HamiNode("h"));
  world.Come("train", 2);
  cluster::Pod first = world.Pod(world.Served(world.Of("train", 2)).front());
  world.Change(first.key.name, [](cluster::Pod& pod) { pod.hami_turn = HamiTurn::kServed; });
  world.LosePod(first.key.name);  // it has succeeded, and was collected
  world.Settle();
  REQUIRE(std::any_of(world.log.begin(), world.log.end(), [](const engine::Action& action) {
    return std::holds_alternative<engine::EndHamiTurn>(action);
  }));
  first.phase = cluster::PodPhase::kSucceeded;
  first.resource_version = 1'000;
  world.engine().Apply(first, world.now());
  world.engine().Apply(engine::PodRemoved{first.uid, false, true}, world.now());
  world.Settle();
  CHECK(world.BoundIn("train") == 1);
  CHECK(world.Gang("train").state == GangState::kRunning);
  world.Pass(Seconds(120));
  CHECK(world.Evictions() == 0);
}

TEST_CASE("pods on other nodes, and of other plugins, have no turn to wait for", "[engine][hami]") {
  Turns world;
  world.Add(HamiNode("h0", 1));
  world.Add(HamiNode("h1", 1));
  world.Add(MakeNode("stock").Gpus(2));
  world.Come("train", 4);
  CHECK(world.BoundIn("train") == 4);
}

TEST_CASE("gangs share the turns of a node, the one that was planned first goes first",
          "[engine][hami]") {
  Turns world;
  world.Add(HamiNode("h"));
  world.AddGang("second", 2, 1, 2);  // its id is greater
  world.AddGang("first", 2, 1, 2);
  world.Settle();
  world.ScheduleAll("second");
  world.ScheduleAll("first");
  world.Pass(Seconds(1));
  world.Come("a-late", 2);
  std::vector<std::string> all = world.Of("first", 2);
  for (const char* gang : {"second", "a-late"}) {
    for (const std::string& name : world.Of(gang, 2)) all.push_back(name);
  }
  std::vector<std::string> order = world.ServeAll(all);
  REQUIRE(order.size() == 6);
  for (std::string& name : order) name.resize(name.size() - 2);
  CHECK(order.back() == "a-late");
  CHECK(order[4] == "a-late");
  CHECK(std::is_sorted(order.begin() + 1, order.begin() + 4));
}

TEST_CASE("a pod that fails at its admission, or goes, ends its turn", "[engine][hami]") {
  Turns world;
  world.Add(HamiNode("h"));
  world.Come("one", 1);
  world.Come("two", 1);
  world.Pass(Seconds(1));
  world.Come("three", 1);
  CHECK(world.BoundIn("two") + world.BoundIn("three") == 0);
  world.Change("one-0", [](cluster::Pod& pod) {
    pod.phase = cluster::PodPhase::kFailed;
    pod.hami_turn = HamiTurn::kNone;
  });
  world.Settle();
  CHECK(world.BoundIn("two") == 1);
  CHECK(world.BoundIn("three") == 0);
  world.RemovePod("two-0");
  world.Settle();
  CHECK(world.BoundIn("three") == 1);
}

TEST_CASE("a gang that waits for its turns is not taken back as long as turns pass",
          "[engine][hami][partial]") {
  Turns world;
  world.Add(HamiNode("h"));
  world.Come("train", 6);
  const std::vector<std::string> all = world.Of("train", 6);
  for (int i = 0; i < 5; ++i) {
    world.Pass(Seconds(40));
    REQUIRE(world.BoundIn("train") == i + 1);
    const std::vector<std::string> served = world.Served(all);
    REQUIRE(served.size() == 1);
    world.Serve(served.front());
    // kube-scheduler was told that it takes long, and comes again.
    world.ScheduleAll("train");
    world.Settle();
  }
  CHECK(world.Evictions() == 0);
  CHECK(world.BoundIn("train") == 6);
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("a turn that hangs ends the gang that waits for it", "[engine][hami][partial]") {
  Turns world;
  world.Add(HamiNode("h"));
  world.Come("train", 2);
  CHECK(world.BoundIn("train") == 1);
  world.Pass(Seconds(59));
  CHECK(world.Evictions() == 0);
  CHECK(world.bind_answers.size() == 2);  // one of them late
  world.Pass(Seconds(2));
  CHECK(world.Evictions() == 1);
  CHECK(world.Gang("train").state == GangState::kBackoff);
  CHECK(world.BoundIn("train") == 1);  // nobody follows before it is gone
}

TEST_CASE("a gang that begins to wait for a turn gains no time by it", "[engine][hami][partial]") {
  Turns world;
  world.Add(MakeNode("a").Gpus(1));
  world.Add(MakeNode("b").Gpus(1));
  world.Come("train", 2);
  REQUIRE(world.BoundIn("train") == 2);
  world.Add(HamiNode("h", 2));
  world.Come("hangs", 1);
  const std::string lost = world.Pod("train-0").node_name == "b" ? "train-0" : "train-1";
  world.Add(MakeNode("b").Gpus(1).Cordoned());
  world.RemovePod(lost);
  world.Pass(Seconds(40));
  world.Add(MakePod(lost).Uid("again").Gpus(1).InGroup("train").Gated());
  world.Settle();
  world.ScheduleAll("train");
  world.Settle();
  REQUIRE_THAT(world.Gang("train").reason.detail, Catch::Contains("now default/hangs-0"));
  world.Pass(Seconds(19));
  CHECK(world.Evictions() == 0);
  world.Pass(Seconds(2));
  CHECK(world.Evictions() == 1);
}

TEST_CASE("a gang that waits for another one's turn in vain is planned on another node",
          "[engine][hami]") {
  Turns world;
  world.Add(HamiNode("h", 2));
  world.Come("hangs", 1);
  world.Come("train", 1);
  CHECK(world.Gang("train").state == GangState::kBinding);
  world.Add(HamiNode("other", 2));
  world.Pass(Seconds(125));
  CHECK(world.BoundIn("train") == 0);
  CHECK_THAT(world.Gang("train").reason.detail, Catch::Contains("now default/hangs-0"));
  world.Pass(Seconds(180));
  world.ScheduleAll("train");
  world.Settle();
  CHECK(world.BoundIn("train") == 1);
  CHECK(world.Pod("train-0").node_name == "other");
  CHECK(world.Evictions() == 0);
}

TEST_CASE("a member whose gang is taken back because it waited in vain avoids that node",
          "[engine][hami][partial]") {
  Turns world;
  world.Add(HamiNode("h", 2));
  world.Come("hangs", 1);
  world.Add(MakeNode("stock").Gpus(1));
  world.Come("train", 2);
  REQUIRE(world.BoundIn("train") == 1);
  const std::string waits = world.Pod("train-0").bound() ? "train-1" : "train-0";
  world.Add(MakeNode("later").Gpus(1));
  world.Pass(Seconds(60));
  CHECK(world.Evictions() == 1);
  const std::string gone = waits == "train-0" ? "train-1" : "train-0";
  world.RemovePod(gone);
  world.Add(MakePod(gone).Uid("again").Gpus(1).InGroup("train").Gated());
  world.Pass(Seconds(60));
  world.ScheduleAll("train");
  CHECK(world.Pod(waits).bound());
  CHECK(world.Pod(waits).node_name != "h");
}

TEST_CASE("after a restart the pods say which one has the turn", "[engine][hami][restart]") {
  Turns world;
  world.Add(HamiNode("h"));
  world.Come("train", 3);
  const std::string first = world.Served(world.Of("train", 3)).front();
  world.Restart();
  world.Settle();
  world.ScheduleAll("train");
  world.Settle();
  CHECK(world.BoundIn("train") == 1);
  world.ChangeUnseen(first, [](cluster::Pod& pod) { pod.hami_turn = HamiTurn::kServed; });
  world.Restart();
  world.Settle();
  CHECK(world.Pod(first).hami_turn == HamiTurn::kNone);
  world.ScheduleAll("train");
  world.Settle();
  CHECK(world.BoundIn("train") == 2);
  CHECK(world.ServeAll(world.Of("train", 3)).size() == 2);
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Evictions() == 0);
}

TEST_CASE("nobody is bound while HAMi's scheduler has locked the node", "[engine][hami]") {
  Turns world;
  cluster::Node node = HamiNode("h");
  node.hami_lock = "team/theirs";
  world.Add(node);
  world.Come("train", 1);
  world.Pass(Seconds(1));
  CHECK(world.BoundIn("train") == 0);
  CHECK(world.Gang("train").reason.detail == "HAMi's scheduler has locked node h for team/theirs");
  node.hami_lock.clear();
  world.Add(node);
  world.Settle();
  CHECK(world.BoundIn("train") == 1);
}

TEST_CASE("the turn of a pod that HAMi's scheduler bound is waited for, and left to HAMi",
          "[engine][hami]") {
  Turns world;
  world.Add(HamiNode("h"));
  cluster::Pod theirs = MakePod("theirs").Gpus(1).Scheduler("hami-scheduler").BoundTo("h").Build();
  theirs.bound_by_muster = false;
  theirs.hami_turn = HamiTurn::kServed;
  world.Add(theirs);
  world.Come("train", 1);
  CHECK(world.BoundIn("train") == 0);
  CHECK(world.Pod("theirs").hami_turn == HamiTurn::kServed);
  world.Change("theirs", [](cluster::Pod& pod) {
    pod.phase = cluster::PodPhase::kRunning;
    pod.hami_turn = HamiTurn::kNone;
  });
  world.Settle();
  CHECK(world.BoundIn("train") == 1);
}

TEST_CASE("a member that kube-scheduler moves to a node waits for its turn there",
          "[engine][hami][filter]") {
  Turns world;
  world.Add(HamiNode("h", 3));
  world.Come("serving", 1);
  world.Add(HamiNode("other", 2));
  world.AddGang("train", 2, 2, 2);
  world.Settle();
  const std::string moves = world.Filter("train-0").node == "other" ? "train-0" : "train-1";
  const std::string stays = moves == "train-0" ? "train-1" : "train-0";
  REQUIRE(world.Filter(moves).node == "other");
  REQUIRE(world.Filter(stays).node == "h");
  world.Add(HamiNode("h"));
  world.Bind(moves);
  world.Settle();
  REQUIRE(world.Filter(moves, {"h"}).node == "h");
  world.Bind(stays);
  world.Settle();
  CHECK(world.BoundIn("train") == 0);
  world.ScheduleAll("train");
  CHECK(world.BoundIn("train") == 0);
  world.Serve("serving-0");
  CHECK(world.ServeAll(world.Of("train", 2)).size() == 2);
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("a binding of which nobody knows whether it was done keeps the turn", "[engine][hami]") {
  Turns world;
  world.Add(HamiNode("h"));
  bool lost = true;
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    if (!lost || !std::holds_alternative<engine::BindPod>(action)) return std::nullopt;
    return engine::Outcome{{}, engine::OutcomeKind::kRetry, "the answer was lost"};
  };
  world.Come("train", 2);
  world.Pass(Seconds(10));
  std::vector<std::string> asked;
  for (const engine::Action& action : world.log) {
    if (const auto* bind = std::get_if<engine::BindPod>(&action))
      asked.push_back(bind->pod.key.name);
  }
  REQUIRE(asked.size() > 5);
  CHECK(std::count(asked.begin(), asked.end(), asked.front()) ==
        static_cast<int64_t>(asked.size()));
  lost = false;
  world.Pass(Seconds(1));
  CHECK(world.BoundIn("train") == 1);
}

}  // namespace
}  // namespace muster::testing
