// What is reported of a gang for as long as it waits, and what that costs in writes.
#include "engine/standing/reminders.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/harness.hpp"

namespace muster::testing {
namespace {

using cluster::Duration;
using cluster::Seconds;
using cluster::Time;
using engine::EmitEvent;
using engine::PatchGang;
using engine::ReasonCode;
using engine::TellPod;

constexpr Duration kHour = Seconds(3600);

// A node of 8 GPUs of which a pod holds so many, and a gang that waits for them.
struct FullNode : Harness {
  explicit FullNode(int members = 2, engine::Rules rules = {}, int held = 8)
      : Harness({}, std::move(rules)) {
    Add(MakeNode("n0").Gpus(8));
    Occupy(held);
    AddGang("train", members, 4, members);
    Settle();
  }
  void Occupy(int gpus) {
    std::vector<int> indices;
    for (int i = 0; i < gpus; ++i) indices.push_back(i);
    Add(MakePod("other").Gpus(gpus).BoundTo("n0", indices));
  }
  template <typename A>
  std::vector<A> All() const {
    std::vector<A> all;
    for (const engine::Action& action : log) {
      if (const auto* one = std::get_if<A>(&action)) all.push_back(*one);
    }
    return all;
  }
  // What of that kind is asked for in the next time, and when.
  template <typename A>
  std::vector<Time> TimesOf(Duration span) {
    std::vector<Time> times;
    for (const Time end = now() + span; now() < end;) {
      const size_t before = log.size();
      Pass(Seconds(10));
      for (size_t i = before; i < log.size(); ++i) {
        if (std::holds_alternative<A>(log[i])) times.push_back(now());
      }
    }
    return times;
  }
};

TEST_CASE("an event says every half hour why a gang waits, and nothing else is written",
          "[engine][reminders]") {
  FullNode world;
  world.Pass(Seconds(600));  // its state, and its members
  const size_t before = world.log.size();
  const std::vector<Time> events = world.TimesOf<EmitEvent>(Seconds(10 * 3600));
  CHECK(events.size() == 20);
  for (size_t i = 1; i < events.size(); ++i) CHECK(events[i] - events[i - 1] == Seconds(1800));
  CHECK(world.log.size() - before == events.size());
  const std::vector<EmitEvent> all = world.All<EmitEvent>();
  CHECK(all.back().reason == "GangQueued");
  CHECK(all.back().message == all.front().message);  // one series
}

TEST_CASE("numbers that change bring no write before the next half hour", "[engine][reminders]") {
  FullNode world(2, {}, 7);
  world.Pass(Seconds(600));
  const size_t before = world.log.size();
  const size_t lines = world.waits.size();
  for (int minute = 0; minute < 600; ++minute) {
    const std::string pod = "passer-" + std::to_string(minute);
    world.Add(MakePod(pod).Gpus(1).BoundTo("n0", {7}));
    world.Pass(Seconds(30));
    CHECK_THAT(Describe(world.Gang("train").reason), Catch::Contains("8 GPUs (2 × 4)"));
    world.RemovePod(pod);
    world.Pass(Seconds(30));
    REQUIRE(world.Gang("train").reason.code == ReasonCode::kNotEnoughGpus);
  }
  CHECK(world.log.size() - before == 20);
  CHECK(world.waits.size() == lines);
}

TEST_CASE("what an Event repeats was tried just before", "[engine][reminders]") {
  FullNode world(2, {}, 4);
  world.Pass(Seconds(1200));
  world.Add(MakePod("more").Gpus(2).BoundTo("n0", {4, 5}));  // nothing becomes free
  world.Pass(Seconds(1200));
  const std::vector<EmitEvent> all = world.All<EmitEvent>();
  CHECK_THAT(all.front().message, Catch::Contains("it wants 8 GPUs (2 × 4), 4 were free"));
  CHECK_THAT(all.back().message, Catch::Contains("it wants 8 GPUs (2 × 4), 2 were free"));
}

TEST_CASE("a gang that lacks room now for this reason, now for that one is written of seldom",
          "[engine][reminders]") {
  Harness world;
  for (const char* node : {"n0", "n1"}) {
    world.Add(MakeNode(node).Gpus(8));
    world.Add(MakePod(std::string("on-") + node).Gpus(4).BoundTo(node, {0, 1, 2, 3}));
  }
  world.AddGang("train", 1, 8, 1);
  world.Pass(Seconds(600));
  const size_t before = world.log.size();
  std::set<ReasonCode> codes;
  for (int minute = 0; minute < 60; ++minute) {
    const std::string pod = "passer-" + std::to_string(minute);
    world.Add(MakePod(pod).Gpus(4).BoundTo("n1", {4, 5, 6, 7}));
    world.Add(MakePod(pod + "-cpu").BoundTo("n0", {}));
    world.Pass(Seconds(10));
    world.RemovePod(pod + "-cpu");
    world.Pass(Seconds(20));
    codes.insert(world.Gang("train").reason.code);
    world.RemovePod(pod);
    world.Pass(Seconds(30));
    codes.insert(world.Gang("train").reason.code);
  }
  CHECK(codes == std::set<ReasonCode>{ReasonCode::kNotEnoughGpus, ReasonCode::kFragmented});
  CHECK(world.log.size() - before <= size_t{2} * 12);
}

TEST_CASE("each change of why a gang waits is one line for the log", "[engine][reminders]") {
  FullNode world;
  world.Pass(Seconds(60));
  REQUIRE(world.waits.size() == 1);
  CHECK(world.waits.front().gang.key.ToString() == "default/train");
  CHECK(world.waits.front().state == engine::GangState::kQueued);
  world.RemovePod("other");
  world.Add(MakeNode("n0").Gpus(8).Cordoned());
  world.Pass(Seconds(60));
  REQUIRE(world.waits.size() == 2);
  CHECK(world.waits.back().code == ReasonCode::kNodesUnavailable);
  CHECK_THAT(world.waits.back().message, Catch::Contains("cordoned"));
  world.Pass(kHour);
  CHECK(world.waits.size() == 2);
}

TEST_CASE("members are told once why their gang waits, when it has lasted", "[engine][reminders]") {
  FullNode world;
  world.Pass(Seconds(290));
  CHECK(world.All<TellPod>().empty());
  world.Pass(Seconds(30));
  std::vector<TellPod> told = world.All<TellPod>();
  REQUIRE(told.size() == 2);
  CHECK(told[0].pod.key.name == "train-0");
  CHECK(told[1].pod.key.name == "train-1");
  CHECK_THAT(told[0].message, Catch::StartsWith("muster: gang default/train waits: "));
  world.Pass(kHour * 10);
  CHECK(world.All<TellPod>().size() == 2);
  // One that comes later is notified with the next event.
  world.Add(MakePod("train-2").Gpus(4).InGroup("train").Gated());
  world.Pass(kHour);
  told = world.All<TellPod>();
  REQUIRE(told.size() == 3);
  CHECK(told[2].pod.key.name == "train-2");
}

TEST_CASE("members are told of another reason at most every half hour", "[engine][reminders]") {
  FullNode world;
  world.Pass(Seconds(320));
  REQUIRE(world.All<TellPod>().size() == 2);
  for (int i = 0; i < 60; ++i) {
    world.Add(MakeNode("n0").Gpus(8).Cordoned());
    world.Pass(Seconds(60));
    world.Add(MakeNode("n0").Gpus(8));
    world.Pass(Seconds(60));
  }
  CHECK(world.All<TellPod>().size() <= 2 + 2 * 4);
  world.Add(MakeNode("n0").Gpus(8).Cordoned());
  world.Pass(kHour);
  CHECK_THAT(world.All<TellPod>().back().message, Catch::Contains("NodesUnavailable"));
}

TEST_CASE("members of a large gang are told some at a time, the first by rank first",
          "[engine][reminders]") {
  FullNode world(150);
  world.Pass(Seconds(320));
  std::vector<TellPod> told = world.All<TellPod>();
  REQUIRE(told.size() == engine::Reminders::kAtOnce);
  CHECK(told[9].pod.key.name == "train-9");
  CHECK(told[10].pod.key.name == "train-10");
  world.Pass(Seconds(300));
  CHECK(world.All<TellPod>().size() == 2 * engine::Reminders::kAtOnce);
  world.Pass(kHour * 10);
  told = world.All<TellPod>();
  REQUIRE(told.size() == 150);
  CHECK(told.back().pod.key.name == "train-149");
}

// 100 nodes that others fill, and a gang that wants all of them.
struct FullNodes : FullNode {
  FullNodes() : FullNode(1) {
    for (int i = 1; i <= 100; ++i) {
      Add(MakeNode(NodeNamed(i)).Gpus(8));
      Add(MakePod("other-" + std::to_string(i)).Gpus(8).BoundTo(NodeNamed(i), kAll));
    }
    AddGang("large", 100, 8, 100);
  }
  static std::string NodeNamed(int i) { return "n" + std::to_string(i); }
  const std::vector<int> kAll = {0, 1, 2, 3, 4, 5, 6, 7};
};

TEST_CASE("each member of a large gang is notified of another reason", "[engine][reminders]") {
  FullNodes world;
  world.Pass(kHour);
  REQUIRE(world.All<TellPod>().size() == 101);
  world.log.clear();
  for (int i = 0; i <= 100; ++i) world.Add(MakeNode(FullNodes::NodeNamed(i)).Gpus(8).Cordoned());
  world.Pass(kHour);
  std::set<std::string> names;
  for (const TellPod& one : world.All<TellPod>()) {
    CHECK_THAT(one.message, Catch::Contains("NodesUnavailable"));
    CHECK(names.insert(one.pod.key.name).second);
  }
  CHECK(names.size() == 101);
}

TEST_CASE("of a large gang that starts, those that were told lose their message",
          "[engine][reminders]") {
  FullNodes world;
  world.Pass(Seconds(320));
  REQUIRE(world.All<TellPod>().size() == 1 + engine::Reminders::kAtOnce);
  for (int i = 1; i <= 100; ++i) world.RemovePod("other-" + std::to_string(i));
  world.Settle();
  const std::vector<engine::Nominate> nominated = world.All<engine::Nominate>();
  CHECK(nominated.size() == 100);
  CHECK(std::count_if(nominated.begin(), nominated.end(), [](const engine::Nominate& one) {
          return one.unsays;
        }) == static_cast<std::ptrdiff_t>(engine::Reminders::kAtOnce));
}

TEST_CASE("what a member's pod says of its wait goes with its nomination", "[engine][reminders]") {
  FullNode world;
  world.Pass(Seconds(320));
  REQUIRE(world.All<TellPod>().size() == 2);
  world.RemovePod("other");
  world.Settle();
  for (const auto& one : world.All<engine::Nominate>()) CHECK(one.unsays);
  CHECK(world.All<engine::Nominate>().size() == 2);
  world.ScheduleAll("train");
  REQUIRE(world.Gang("train").state == engine::GangState::kRunning);
  world.log.clear();
  world.Pass(kHour * 3);
  CHECK(world.All<TellPod>().empty());
  CHECK(world.All<EmitEvent>().empty());
}

TEST_CASE("a nomination takes no message that was not written", "[engine][reminders]") {
  FullNode world;
  world.RemovePod("other");
  world.Settle();
  REQUIRE(world.All<engine::Nominate>().size() == 2);
  for (const auto& one : world.All<engine::Nominate>()) CHECK_FALSE(one.unsays);
}

TEST_CASE("gangs that came together are told of one after the other", "[engine][reminders]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  for (int i = 0; i < 40; ++i) world.AddGang("g" + std::to_string(i), 2, 8, 2);
  world.Pass(Seconds(1700));
  size_t most = 0;
  size_t events = 0;
  for (int second = 0; second < 300; ++second) {
    const size_t before = world.log.size();
    world.Pass(Seconds(1));
    most = std::max(most, world.log.size() - before);
    events += world.log.size() - before;
  }
  CHECK(events == 40);
  CHECK(most <= 2);
}

TEST_CASE("an event says which change would be enough", "[engine][reminders]") {
  FullNode world;
  world.Add(MakeNode("n1").Gpus(8));
  world.Add(MakePod("more").Gpus(6).BoundTo("n1", {0, 1, 2, 3, 4, 5}));
  world.AddGang("big", 2, 8, 2);
  world.Pass(Seconds(60));
  std::string message;
  for (const EmitEvent& event : world.All<EmitEvent>()) {
    if (event.key.name == "big") message = event.message;
  }
  CHECK_THAT(message, Catch::Contains("; it would start if "));
  const auto changes = world.engine().ChangesFor({"default", "big"}, world.now());
  REQUIRE_FALSE(changes.empty());
  CHECK_THAT(message, Catch::EndsWith("; it would start if " + changes.front().text));
}

TEST_CASE("what is long is cut where a clause ends, and never what would be enough",
          "[engine][reminders]") {
  std::string lacks = "not enough free GPUs";
  while (lacks.size() < 2000) lacks += ", 5 with taint a that it does not tolerate";
  const std::string text =
      engine::WithClause(lacks, "it would start if 4 more GPUs become free on n1");
  CHECK(text.size() <= engine::kMessageBytes);
  CHECK_THAT(text, Catch::EndsWith("tolerate, …; it would start if 4 more GPUs become free on n1"));
  CHECK(
      engine::WithClause("short", "it would start if x").starts_with("short; it would start if x"));
}

TEST_CASE("after a restart a gang that waits is reported once more", "[engine][reminders]") {
  FullNode world;
  world.Pass(kHour * 2);
  const size_t before = world.log.size();
  world.Restart();
  world.Pass(Seconds(400));
  const size_t events = world.All<EmitEvent>().size();
  CHECK(world.log.size() - before == 4);  // status, event, and each member's message
  world.Pass(kHour);
  CHECK(world.All<EmitEvent>().size() == events + 2);
}

TEST_CASE("where nobody reads them no Event is repeated", "[engine][reminders]") {
  engine::Rules silent;
  silent.tell_again = {};
  FullNode world(2, silent);
  world.Pass(kHour * 10);
  CHECK(world.All<EmitEvent>().size() == 1);
  CHECK(world.All<TellPod>().empty());
  CHECK_THAT(world.All<EmitEvent>().front().message, !Catch::Contains("it would start if"));
}

}  // namespace
}  // namespace muster::testing
