// The answer to people who ask for a gang that does not exist.
#include "engine/judging/unknown_gang.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/harness.hpp"

namespace muster::engine {
namespace {

using testing::Harness;
using testing::MakePod;

TEST_CASE("a question about a gang that does not exist is answered with what it could be",
          "[engine][explain]") {
  struct Case {
    std::string asked;
    std::string want;
  };
  Harness world;
  world.AddGang("train-llm", 2, 1, 2);
  world.Add(MakePod("alone").Gated());
  world.Add(MakePod("daemon").Scheduler("default-scheduler"));
  world.Add(MakePod("a").InGroup("other").Scheduler("default-scheduler"));
  world.Add(MakePod("b").InGroup("other").Scheduler("volcano"));
  world.Add(MakePod("far").Namespace("team-b").Gated());
  for (const char* name : {"job:tune~1f8e0a2c", "jobset:train:workers~03b1c2d9"})
    world.Add(MakePod("of-" + std::string(name).substr(0, 6)).InGroup(name).Gated());
  world.Settle();
  for (const Case& c : std::vector<Case>{
           {"trian-llm", "; did you mean gang default/train-llm?"},
           {"aloen", "; did you mean gang default/alone?"},
           {"far", "; did you mean gang team-b/far?"},
           {"train-llm-0", "; pod default/train-llm-0 is a member of gang default/train-llm"},
           {"other",
            "; 2 pods that name its PodGroup have schedulerName default-scheduler, volcano, "
            "Muster's is muster"},
           {"daemon",
            "; pod default/daemon has schedulerName default-scheduler, Muster's is muster"},
           {"tune", "; did you mean gang default/job:tune~1f8e0a2c?"},
           {"job:tune", "; did you mean gang default/job:tune~1f8e0a2c?"},
           {"train", "; did you mean gang default/jobset:train:workers~03b1c2d9?"},
           {"jobset:train:workers", "; did you mean gang default/jobset:train:workers~03b1c2d9?"},
           {"workers", ""},
           {"something-else", ""},
       }) {
    DYNAMIC_SECTION(c.asked) {
      CHECK(world.engine().HelpFor({"default", c.asked}, true) == c.want);
    }
  }
}

TEST_CASE("an order for a PodGroup without pods says that it exists", "[engine][orders]") {
  Harness world;
  world.Add(testing::MakePodGroup("empty").MinMember(2).Build());
  world.Settle();
  const auto refused = world.engine().Carry({"ann", CancelPlan{{"default", "empty"}}}, world.now());
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message == "there is no gang default/empty with pods; its PodGroup exists");
}

}  // namespace
}  // namespace muster::engine
