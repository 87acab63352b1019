#include "engine/trial/what_if.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/engine/preemption_world.hpp"

namespace muster::testing {
namespace {

using cluster::Seconds;

// What a user would submit: a PodGroup and its pods.
std::vector<engine::Fact> Workload(const std::string& group, int count, int gpus,
                                   int32_t priority = 0) {
  std::vector<engine::Fact> facts{MakePodGroup(group).MinMember(count).Build()};
  for (int i = 0; i < count; ++i) {
    PodBuilder pod = MakePod(group + "-" + std::to_string(i));
    facts.emplace_back(pod.Gpus(gpus).Priority(priority).InGroup(group).Gated().Build());
  }
  return facts;
}

engine::WhatIfAnswer Ask(Harness& world, std::vector<engine::Fact> workload,
                         std::optional<engine::Options> options = {}) {
  const std::string before = world.engine().Dump();
  engine::WhatIf what;
  what.known = world.engine().DecidedFacts();
  what.workload = std::move(workload);
  what.options = options.value_or(world.engine().options());
  what.now = world.now();
  engine::WhatIfAnswer answer = engine::TryOut(what);
  CHECK(world.engine().Dump() == before);
  return answer;
}

std::vector<std::string> Started(const engine::WhatIfAnswer& answer) {
  std::vector<std::string> names;
  for (const engine::WhatIfStart& start : answer.starts) names.push_back(start.gang.id.key.name);
  return names;
}

TEST_CASE("what-if: a gang that fits starts at once, and its nodes are named", "[engine][whatif]") {
  Harness world;
  for (const char* name : {"n0", "n1"}) world.Add(MakeNode(name).Gpus(8));
  const auto answer = Ask(world, Workload("new", 2, 8));
  CHECK(answer.complete);
  REQUIRE(Started(answer) == std::vector<std::string>{"new"});
  const engine::WhatIfStart& start = answer.starts.front();
  CHECK(start.after == Seconds(0));
  REQUIRE(start.gang.members.size() == 2);
  CHECK(start.gang.members[0].bound_node != start.gang.members[1].bound_node);
  CHECK(start.gang.members[0].gpus.size() == 8);
  CHECK(answer.waits.empty());
  CHECK(answer.workload == std::vector<engine::GangId>{{{"default", "new"}, false}});
}

TEST_CASE("what-if: a gang that does not fit waits for the reason that it would have",
          "[engine][whatif]") {
  FullWorld world(engine::Options{});
  const auto answer = Ask(world, Workload("new", 2, 8));
  CHECK(answer.starts.empty());
  REQUIRE(answer.waits.size() == 1);
  world.Submit("new", 2, 8, 0);
  world.Settle();
  CHECK(engine::Describe(answer.waits[0].gang.reason) ==
        engine::Describe(world.Gang("new").reason));
}

TEST_CASE("what-if: those who would be evicted are named, and nobody is", "[engine][whatif]") {
  FullWorld world;
  const auto answer = Ask(world, Workload("urgent", 2, 8, 10));
  CHECK(Started(answer) == std::vector<std::string>{"urgent"});
  REQUIRE(answer.evictions.size() == 1);
  CHECK(answer.evictions[0].gang.key.name == "old");
  CHECK(answer.evictions[0].by.name == "urgent");
  CHECK(answer.evictions[0].pods == 4);
  CHECK(answer.evictions[0].pods_in_all == 4);
  CHECK(world.Evicted().empty());
}

TEST_CASE("what-if: another policy is tried on what waits now", "[engine][whatif]") {
  FullWorld world(engine::Options{});
  world.Submit("urgent", 2, 8, 10);
  world.Settle();
  CHECK(Ask(world, {}).starts.empty());
  const auto answer = Ask(world, {}, Preempting());
  CHECK(Started(answer) == std::vector<std::string>{"urgent"});
  CHECK(answer.evictions.size() == 1);
  CHECK(answer.workload.empty());
}

TEST_CASE("what-if: nodes may be added, too", "[engine][whatif]") {
  FullWorld world(engine::Options{});
  world.Submit("next", 1, 8, 0);
  world.Settle();
  CHECK(Started(Ask(world, {MakeNode("n2").Gpus(8).Build()})) == std::vector<std::string>{"next"});
}

TEST_CASE("what-if: a reserved gang keeps its room", "[engine][whatif]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.AddGang("first", 1, 8, 1);
  world.Settle();
  REQUIRE(world.Gang("first").state == engine::GangState::kReserved);
  const auto answer = Ask(world, Workload("new", 1, 8, 100));
  CHECK(answer.starts.empty());
  REQUIRE(answer.waits.size() == 1);
  CHECK(answer.waits[0].gang.id.key.name == "new");
}

TEST_CASE("what-if: pods of another scheduler keep theirs, too", "[engine][whatif]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePod("alien").Gpus(4).Scheduler("default-scheduler").BoundTo("n0").Build());
  world.Settle();
  CHECK(Started(Ask(world, Workload("small", 1, 4))).size() == 1);
  CHECK(Started(Ask(world, Workload("large", 1, 8))).empty());
}

TEST_CASE("what-if: a gang that waits for its victims has their room", "[engine][whatif]") {
  FullWorld world;
  world.fault = [](const engine::Action& action) -> std::optional<engine::Outcome> {
    const auto* evict = std::get_if<engine::EvictPod>(&action);
    if (evict == nullptr) return std::nullopt;
    return engine::Outcome{evict->id, engine::OutcomeKind::kDone, ""};
  };
  world.Submit("urgent", 2, 8, 10);
  world.Settle();
  REQUIRE(world.Gang("urgent").state == engine::GangState::kPreempting);
  const auto answer = Ask(world, Workload("new", 1, 8));
  CHECK(answer.evictions.empty());
  CHECK(answer.starts.empty());
  REQUIRE(answer.waits.size() == 2);  // `old` has no pods any more
  CHECK(answer.waits[0].gang.id.key.name == "new");
  CHECK(answer.waits[0].gang.reason.code == engine::ReasonCode::kNotEnoughGpus);
}

TEST_CASE("what-if: it can be stopped, and says that it is not complete", "[engine][whatif]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  engine::WhatIf what;
  what.known = world.engine().DecidedFacts();
  what.workload = Workload("new", 1, 8);
  what.now = world.now();
  int asked = 0;
  what.stop = [&] { return ++asked > 1; };
  CHECK_FALSE(engine::TryOut(what).complete);
  what.stop = {};
  what.most_rounds = 1;
  CHECK_FALSE(engine::TryOut(what).complete);
  what.most_rounds = 100;
  CHECK(engine::TryOut(what).complete);
}

TEST_CASE("the facts that a scheduler tells make another one like it", "[engine][whatif]") {
  FullWorld world(engine::Options{});
  world.Submit("next", 1, 8, 0);
  world.AddGang("forming", 1, 1, 2);
  world.Settle();
  engine::Scheduler second(world.engine().options());
  for (const engine::Fact& fact : world.engine().DecidedFacts()) second.Apply(fact, world.now());
  second.Advance(world.now());
  CHECK(second.Audit(world.now()).empty());
  const auto views = second.Gangs();
  const auto first = world.engine().Gangs();
  REQUIRE(views.size() == first.size());
  for (size_t i = 0; i < views.size(); ++i) {
    CHECK(views[i].id == first[i].id);
    CHECK(views[i].state == first[i].state);
    CHECK(engine::Describe(views[i].reason) == engine::Describe(first[i].reason));
  }
}

}  // namespace
}  // namespace muster::testing
