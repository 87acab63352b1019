// What a gang has been decides what it may lose: success counts for ever, and a gang that runs is
// taken back only for a member that was lost.
#include <catch2/catch.hpp>

#include "tests/engine/trio.hpp"

namespace muster::testing {
namespace {

using cluster::Seconds;
using engine::GangState;

TEST_CASE("a member that has succeeded counts when its object is gone, too", "[engine][past]") {
  Trio world;
  world.Collect("train-0");
  world.Pass(Seconds(600));
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("train").state == GangState::kRunning);
  SECTION("and after a restart") {
    world.Restart();
    world.Pass(Seconds(600));
    CHECK(world.Evictions() == 0);
    CHECK(world.Gang("train").state == GangState::kRunning);
  }
  SECTION("of the last one also") {
    world.Collect("train-1");
    world.Collect("train-2");
    world.Pass(Seconds(600));
    CHECK(world.Evictions() == 0);
    CHECK(world.Gang("train").state == GangState::kFinished);
  }
}

TEST_CASE("a member that ends and is collected while Muster is away is not lost",
          "[engine][past][restart]") {
  Trio world;
  world.LosePod("train-0");
  world.Restart();
  world.Pass(Seconds(600));
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("train").state == GangState::kRunning);
}

template <typename World>
void EndOneOfFour(World& world, const std::vector<std::string>& names) {
  world.Add(MakeNode("n3").Gpus(8));
  world.AddMember(names[3]);
  world.ScheduleAll("train");
  REQUIRE(world.BoundIn("train") == 4);
  world.Succeed(names[0]);
  world.Settle();
  world.RemovePod(names[0]);
  world.Settle();
  world.Restart();
  world.Settle();
  world.RemovePod(names[1]);
  world.Pass(Seconds(600));
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("train").state == GangState::kRunning);
  world.RemovePod(names[2]);
  world.Pass(Seconds(61));
  CHECK(world.Evictions() == 1);
}

TEST_CASE("a member that ended beside more than are needed counts across a restart, too",
          "[engine][past][restart]") {
  SECTION("with a PodGroup") {
    Trio world;
    EndOneOfFour(world, {"train-0", "train-1", "train-2", "train-3"});
  }
  SECTION("without") {
    DeclaredTrio world;
    EndOneOfFour(world, {"a", "b", "c", "d"});
  }
}

TEST_CASE("a member that ended counts across a restart though another pod waits since",
          "[engine][past][restart]") {
  const auto play = [](auto& world, const std::string& ends, const std::string& owner) {
    world.Pass(Seconds(10));
    world.Succeed(ends);
    world.Settle();
    world.RemovePod(ends);
    world.Pass(Seconds(10));
    // The Job's next piece of work, say. There is no room for it.
    world.Add(MakePod("next")
                  .Gpus(16)
                  .InGroup("train")
                  .Owner(owner)
                  .CreatedAt(world.now().milliseconds())
                  .Gated());
    world.Settle();
    world.Restart();
    world.Pass(Seconds(600));
    CHECK(world.Evictions() == 0);
    CHECK(world.Gang("train").state == GangState::kRunning);
  };
  SECTION("with a PodGroup") {
    Trio world;
    play(world, "train-0", "job");
  }
  SECTION("without") {
    DeclaredTrio world;
    play(world, "a", "job");
  }
}

TEST_CASE("a record is not believed that tells of a start when API objects allow none",
          "[engine][past][restart]") {
  const cluster::Time in_2099(4'070'908'800'000);
  SECTION("with a PodGroup") {
    const cluster::Time lie = GENERATE_COPY(in_2099, cluster::Time(0));
    Trio world;
    const cluster::Time began = world.now();
    world.ChangeGroup("train", [&](cluster::PodGroup& group) {
      group.created = began + Seconds(-300);
      group.record.started = lie;
    });
    world.Pass(Seconds(600));
    world.Restart();
    world.Settle();
    CHECK(world.Gang("train").started_at == began);
  }
  SECTION("without") {
    DeclaredTrio world;
    const cluster::Time began = world.now();
    for (const char* name : {"a", "b", "c"}) {
      world.Change(name, [&](cluster::Pod& pod) {
        REQUIRE(pod.gang_record);
        cluster::GangRecord record = *pod.gang_record;
        record.started = in_2099;
        pod.gang_record = std::make_shared<const cluster::GangRecord>(record);
      });
    }
    world.Pass(Seconds(600));
    world.Restart();
    world.Settle();
    CHECK(world.Gang("train").started_at == began);
  }
}

TEST_CASE("pods of the next run take no places of the one that ends", "[engine][past][restart]") {
  Trio world;
  world.Pass(Seconds(10));
  world.LosePod("train-0");
  for (const char* name : {"next-0", "next-1", "next-2"}) {
    world.Add(MakePod(name)
                  .Gpus(16)
                  .InGroup("train")
                  .Owner("next-job")
                  .CreatedAt(world.now().milliseconds())
                  .Gated());
  }
  world.Restart();
  world.Pass(Seconds(600));
  CHECK(world.Evictions() == 0);
}

TEST_CASE("a member that is missing from a list, nobody knows why, is not lost", "[engine][past]") {
  Trio world;
  world.engine().Apply(engine::PodRemoved{world.Pod("train-0").uid, true}, world.now());
  world.Pass(Seconds(600));
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("a member that was lost is waited for, and then the gang is taken back",
          "[engine][past]") {
  Trio world;
  SECTION("deleted") { world.RemovePod("train-0"); }
  SECTION("failed") {
    world.Change("train-0", [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
  }
  SECTION("deleted, and it exits with 0") {
    world.Change("train-0", [](cluster::Pod& pod) { pod.deleting = true; });
    world.Settle();
    world.Succeed("train-0");
    world.Settle();
    world.RemovePod("train-0");
  }
  SECTION("after another one succeeded") {
    world.Collect("train-1");
    world.RemovePod("train-0");
  }
  world.Pass(Seconds(59));
  CHECK(world.Evictions() == 0);
  world.Pass(Seconds(2));
  CHECK(world.Evictions() > 0);
}

TEST_CASE("since when a gang lacks a member outlives a restart", "[engine][past][restart]") {
  Trio world;
  world.RemovePod("train-0");
  world.Pass(Seconds(40));
  world.Restart();
  world.Pass(Seconds(15));
  CHECK(world.Evictions() == 0);
  world.Restart();
  world.Pass(Seconds(6));
  CHECK(world.Evictions() == 2);
}

TEST_CASE("since when a gang is bound in part outlives a restart", "[engine][past][restart]") {
  Harness world;
  for (int i = 0; i < 2; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("train", 2, 8, 2);
  world.fault = [](const engine::Action& action) -> std::optional<engine::Outcome> {
    const auto* bind = std::get_if<engine::BindPod>(&action);
    if (bind == nullptr || bind->pod.key.name != "train-1") return std::nullopt;
    return engine::Outcome{{}, engine::OutcomeKind::kConflict, "no"};
  };
  world.ScheduleAll("train");
  REQUIRE(world.BoundIn("train") == 1);
  for (int i = 0; i < 11; ++i) {
    CHECK(world.Evictions() == 0);
    world.Restart();
    world.Pass(Seconds(5));
  }
  world.Restart();
  world.Pass(Seconds(6));
  CHECK(world.Evictions() == 1);
}

TEST_CASE("a gang whose time ran out while Muster was away has a moment to be completed",
          "[engine][past][restart]") {
  Harness world;
  for (int i = 0; i < 2; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.AddGang("train", 2, 8, 2);
  bool refused = true;
  world.fault = [&](const engine::Action& action) -> std::optional<engine::Outcome> {
    const auto* bind = std::get_if<engine::BindPod>(&action);
    if (!refused || bind == nullptr || bind->pod.key.name != "train-1") return std::nullopt;
    return engine::Outcome{{}, engine::OutcomeKind::kConflict, "no"};
  };
  world.ScheduleAll("train");
  REQUIRE(world.BoundIn("train") == 1);
  world.Restart(Seconds(600));  // an upgrade that pulls an image
  world.Pass(Seconds(10));
  CHECK(world.Evictions() == 0);
  SECTION("it is whole when the other one is bound") {
    refused = false;
    world.ScheduleAll("train");
    world.Pass(Seconds(60));
    CHECK(world.BoundIn("train") == 2);
    CHECK(world.Evictions() == 0);
  }
  SECTION("it is taken back when nobody comes") {
    world.Pass(Seconds(6));
    CHECK(world.Evictions() == 1);
  }
}

TEST_CASE("raising the minimum of a gang that runs takes nothing from it", "[engine][past]") {
  Trio world;
  world.ChangeGroup("train", [](cluster::PodGroup& group) { group.min_member = 5; });
  world.Pass(Seconds(600));
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("train").state == GangState::kRunning);
  SECTION("after a restart, too") {
    world.Restart();
    world.Pass(Seconds(600));
    CHECK(world.Evictions() == 0);
  }
  SECTION("nor does raising it again after a member was lost that it could do without") {
    world.ChangeGroup("train", [](cluster::PodGroup& group) { group.min_member = 2; });
    world.Settle();
    world.RemovePod("train-0");
    world.Settle();
    world.ChangeGroup("train", [](cluster::PodGroup& group) { group.min_member = 3; });
    world.Pass(Seconds(600));
    CHECK(world.Evictions() == 0);
  }
  SECTION("and the members that it is raised for are placed when there is room") {
    world.AddMember("train-3");
    world.ScheduleAll("train");
    CHECK(world.BoundIn("train") == 4);
  }
}

TEST_CASE("an edit that makes the PodGroup malformed does not change what its gang has lost",
          "[engine][past]") {
  Trio world;
  const bool roles = GENERATE(false, true);
  const bool restarted = GENERATE(false, true);
  CAPTURE(roles, restarted);
  world.ChangeGroup("train", [&](cluster::PodGroup& group) {
    group.min_member = roles ? 1 : 0;
    if (roles) group.roles = {{"worker", 2}};
  });
  world.Settle();
  world.RemovePod("train-0");
  world.Pass(Seconds(600));
  CHECK(world.Gang("train").state == GangState::kInvalid);
  CHECK(world.Evictions() == 0);
  if (restarted) world.Restart();
  world.ChangeGroup("train", [](cluster::PodGroup& group) {
    group.min_member = 3;
    group.roles.clear();
  });
  world.Pass(Seconds(59));
  CHECK(world.Gang("train").state == GangState::kDegraded);
  CHECK(world.Evictions() == 0);
  world.Pass(Seconds(2));
  CHECK(world.Evictions() == 2);
}

TEST_CASE("when the others are lost, what has succeeded is not waited for again",
          "[engine][past]") {
  Trio world;
  world.Collect("train-0");
  for (const char* name : {"train-1", "train-2"}) world.RemovePod(name);
  world.Settle();
  SECTION("the Job's replacements start") {
    world.AddMember("train-3");
    world.Settle();
    CHECK(world.Gang("train").state == GangState::kForming);
    SECTION("also after a restart") { world.Restart(); }
    world.AddMember("train-4");
    world.ScheduleAll("train");
    CHECK(world.Gang("train").state == GangState::kRunning);
    CHECK(world.BoundIn("train") == 2);
  }
  SECTION("another run needs all") {
    for (const char* name : {"next-0", "next-1"}) world.AddMember(name, "next-job");
    world.ScheduleAll("train");
    CHECK(world.Gang("train").state == GangState::kForming);
    world.AddMember("next-2", "next-job");
    world.ScheduleAll("train");
    CHECK(world.BoundIn("train") == 3);
  }
}

TEST_CASE("a PodGroup that is deleted and created again leaves its running pods alone",
          "[engine][past]") {
  Trio world;
  world.Collect("train-0");
  world.RemoveGroup("train");
  world.Pass(Seconds(100));
  world.Add(MakePodGroup("train").Uid("second").MinMember(3));
  world.Pass(Seconds(600));
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("the pods of a gang without an object carry its past", "[engine][past][restart]") {
  DeclaredTrio world;
  REQUIRE(world.Pod("b").gang_record);
  world.Succeed("a");
  world.Settle();
  world.RemovePod("a");
  // Its place is taken by one that there is no room for.
  world.AddMember("d", 16);
  world.Settle();
  world.Restart();
  world.Pass(Seconds(600));
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("an elastic member that never comes does not keep a lost one from being replaced",
          "[engine][past]") {
  Trio world;
  world.AddMember("elastic");
  world.Pass(Seconds(121));  // its reservation expires
  world.RemovePod("elastic");
  world.RemovePod("train-0");
  world.AddMember("train-3");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.BoundIn("train") == 3);
}

TEST_CASE("a role's success counts for the role", "[engine][past]") {
  Harness world;
  for (int i = 0; i < 3; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.Add(MakePodGroup("mpi").MinMember(3).Role("launcher", 1).Role("worker", 2));
  world.Add(MakePod("launcher").InGroup("mpi").Role("launcher").Gated());
  for (const char* name : {"w-0", "w-1"})
    world.Add(MakePod(name).Gpus(8).InGroup("mpi").Role("worker").Gated());
  world.ScheduleAll("mpi");
  REQUIRE(world.Gang("mpi").state == GangState::kRunning);
  world.Succeed("launcher");
  world.Settle();
  world.RemovePod("launcher");
  world.Pass(Seconds(100));
  CHECK(world.Evictions() == 0);
  world.Restart();
  world.Pass(Seconds(100));
  CHECK(world.Evictions() == 0);
  world.RemovePod("w-0");
  world.Pass(Seconds(61));
  CHECK(world.Evictions() == 1);
}

}  // namespace
}  // namespace muster::testing
