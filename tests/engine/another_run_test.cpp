// Whose run it is: what has ended counts for the run that it was of, and for no other one; also
// when Muster was away.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <variant>
#include <vector>

#include "tests/engine/fabric_options.hpp"
#include "tests/engine/trio.hpp"

namespace muster::testing {
namespace {

using cluster::Seconds;
using engine::GangState;

void Leave(cluster::Pod& pod) { pod.deleting = true; }

TEST_CASE("a new run needs all of its members while the old ones still leave", "[engine][past]") {
  Trio world;
  world.Collect("train-0");
  for (const char* name : {"train-1", "train-2"}) world.Change(name, Leave);
  world.Settle();
  for (const char* name : {"next-0", "next-1"}) world.AddMember(name, "next-job");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kForming);
  CHECK(world.BoundIn("train") == 2);
  world.Add(MakeNode("n4").Gpus(8));
  world.AddMember("next-2", "next-job");
  world.ScheduleAll("train");
  CHECK(world.BoundIn("train") == 5);
}

TEST_CASE("what has succeeded in the last run does not count in the next one", "[engine][past]") {
  Trio world;
  for (const char* name : {"train-0", "train-1", "train-2"}) world.Succeed(name);
  world.Settle();
  REQUIRE(world.Gang("train").state == GangState::kFinished);
  for (const char* name : {"next-0", "next-1"}) world.AddMember(name, "next-job");
  if (GENERATE(false, true)) world.Restart();
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kForming);
  world.AddMember("next-2", "next-job");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.Gang("train").bound == 3);
  SECTION("nor when Muster comes back while it runs") {
    world.Pass(Seconds(10));
    world.Restart();
    world.Settle();
    world.RemovePod("next-0");
    world.Pass(Seconds(100));
    CHECK(world.Evictions() == 2);
  }
  SECTION("and its objects may go") {
    world.RemovePod("train-0");
    world.RemovePod("next-0");
    world.Pass(Seconds(100));
    CHECK(world.Evictions() == 2);
  }
}

TEST_CASE("what a follower saw end is not the next run's", "[engine][past][restart]") {
  Harness world;
  for (int i = 0; i < 3; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.Add(MakePodGroup("train").MinMember(3));
  world.Add(MakePod("a").Gpus(8).InGroup("train").Owner("one").BoundTo("n0"));
  world.Succeed("a");  // never settled: a follower judges nothing
  world.RemovePod("a");
  for (const char* name : {"d", "e"})
    world.Add(MakePod(name).Gpus(8).InGroup("train").Owner("two").Gated());
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kForming);
}

TEST_CASE("whose run it was outlives a restart", "[engine][past][restart]") {
  Trio world;
  world.Collect("train-0");
  world.Pass(Seconds(10));
  const bool seen = GENERATE(true, false);  // or while Muster was away
  for (const char* name : {"train-1", "train-2"}) {
    if (seen) {
      world.RemovePod(name);
    } else {
      world.LosePod(name);
    }
  }
  world.Settle();
  world.Restart();
  SECTION("another run needs all") {
    for (const char* name : {"next-0", "next-1"}) world.AddMember(name, "next-job");
    world.ScheduleAll("train");
    CHECK(world.Gang("train").state == GangState::kForming);
  }
  SECTION("what had ended is not waited for") {
    world.AddMember("train-3");
    world.ScheduleAll("train");
    CHECK(world.Gang("train").state == GangState::kForming);
    world.AddMember("train-4");
    world.ScheduleAll("train");
    CHECK(world.Gang("train").state == GangState::kRunning);
    CHECK(world.BoundIn("train") == 2);
  }
}

TEST_CASE("who has ended in a gang without an object is known while its last pods wait",
          "[engine][past][restart]") {
  DeclaredTrio world;
  world.Succeed("a");
  world.Settle();
  world.RemovePod("a");
  world.Pass(Seconds(10));
  for (const char* name : {"b", "c"}) world.RemovePod(name);
  world.AddMember("d");
  world.Settle();
  world.Restart();
  world.AddMember("e");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.BoundIn("train") == 2);
}

TEST_CASE("a member that ends costs the others of a gang without an object no writes",
          "[engine][past]") {
  DeclaredTrio world;
  world.Pass(Seconds(10));
  const auto records = [&] {
    return std::count_if(world.log.begin(), world.log.end(), [](const engine::Action& action) {
      return std::holds_alternative<engine::RecordPod>(action);
    });
  };
  const auto before = records();
  world.Succeed("a");
  world.Pass(Seconds(10));
  world.RemovePod("a");
  world.Pass(Seconds(60));
  world.AddMember("d", 16);  // the gang is looked at again
  world.Pass(Seconds(60));
  CHECK(records() == before);
}

TEST_CASE("a pod that waits in a gang whose members have all ended is written once",
          "[engine][past]") {
  DeclaredTrio world;
  world.Pass(Seconds(10));
  for (const char* name : {"a", "b", "c"}) world.Succeed(name);
  world.Settle();
  for (const char* name : {"a", "b", "c"}) world.RemovePod(name);
  world.AddMember("d", 16);  // of the same owner; there is no node for it
  world.Settle();
  const std::optional<cluster::Time> began = world.Gang("train").started_at;
  for (int i = 0; i < 3; ++i) {
    world.Pass(Seconds(10));
    world.AddMember("e" + std::to_string(i), 16);  // the gang is looked at again
    world.Settle();
  }
  CHECK(std::count_if(world.log.begin(), world.log.end(), [](const engine::Action& action) {
          const auto* record = std::get_if<engine::RecordPod>(&action);
          return record != nullptr && record->pod.key.name == "d";
        }) == 1);
  CHECK(world.Gang("train").started_at == began);
}

TEST_CASE("a minimum that is raised when all have ended is one of the pods that come then",
          "[engine][past]") {
  DeclaredTrio world;
  for (const char* name : {"a", "b", "c"}) world.Succeed(name);
  world.Settle();
  for (const char* name : {"a", "b", "c"}) world.RemovePod(name);
  world.AddMember("d", 16);  // it waits, and wants nobody beside it
  world.Settle();
  world.ChangeGroup("train", [](cluster::PodGroup& group) { group.min_member = 5; });
  world.RemovePod("d");
  world.AddMember("e");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kForming);
  CHECK(world.BoundIn("train") == 0);
  world.AddMember("f");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
  CHECK(world.BoundIn("train") == 2);
}

TEST_CASE("what a pod carries of its gang is written once, however late the engine sees it",
          "[engine][past]") {
  Harness world;
  world.late_news = true;
  world.Add(MakeNode("n0").Gpus(8));
  cluster::PodGroup group = MakePodGroup("train").MinMember(2);
  group.declared = true;
  world.Add(group);
  for (const char* name : {"a", "b"}) world.Add(MakePod(name).Gpus(1).InGroup("train").Gated());
  world.ScheduleAll("train");
  world.Pass(Seconds(10));
  REQUIRE(world.Gang("train").state == GangState::kRunning);
  const auto records =
      std::count_if(world.log.begin(), world.log.end(), [](const engine::Action& action) {
        return std::holds_alternative<engine::RecordPod>(action);
      });
  CHECK(records == 2);
}

TEST_CASE("a job that recreates all of its pods under their names starts as a whole",
          "[engine][past]") {
  Trio world;
  world.Collect("train-0");
  for (const char* name : {"train-1", "train-2"}) world.RemovePod(name);
  const auto again = [&](const std::string& name) {
    world.Add(MakePod(name).Uid("again-" + name).Gpus(8).InGroup("train").Owner("job").Gated());
  };
  again("train-0");
  again("train-1");
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kForming);
  again("train-2");
  world.ScheduleAll("train");
  CHECK(world.BoundIn("train") == 3);
}

TEST_CASE("a finished member that comes again while the others run costs them nothing",
          "[engine][past]") {
  Trio world;
  world.Collect("train-0");
  world.Add(MakePod("train-0").Uid("again").Gpus(16).InGroup("train").Owner("job").Gated());
  world.Pass(Seconds(600));
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("a member that Muster finds Failed or leaving when it comes is lost",
          "[engine][past][restart]") {
  Trio world;
  SECTION("it has Failed") {
    world.ChangeUnseen("train-0",
                       [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
  }
  SECTION("it leaves") { world.ChangeUnseen("train-0", Leave); }
  world.Restart();
  world.Pass(Seconds(59));
  CHECK(world.Evictions() == 0);
  world.Pass(Seconds(2));
  CHECK(world.Evictions() == 2);
}

TEST_CASE("a Failed pod whose place was taken tells nothing of one that went unseen",
          "[engine][past][restart]") {
  Trio world;
  const std::vector<std::string> pods = {"train-0", "train-3", "train-4"};
  const size_t failures = GENERATE(1U, 2U);  // the second of them in the pod that took the place
  for (size_t i = 0; i < failures; ++i) {
    world.Pass(Seconds(10));
    world.Change(pods[i], [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
    world.Add(MakePod(pods[i + 1])
                  .Gpus(8)
                  .InGroup("train")
                  .Owner("job")
                  .CreatedAt(world.now().milliseconds())
                  .Gated());
    world.ScheduleAll("train");
    REQUIRE(world.BoundIn("train") == 3);
  }
  REQUIRE(world.Gang("train").state == GangState::kRunning);
  world.LosePod("train-1");
  world.Restart();
  world.Pass(Seconds(600));
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("a gang that begins again in part is taken back, wherever lost members would wait",
          "[engine][past][fabric]") {
  engine::Options options = WithFabric();
  options.lost_member = engine::LostMember::kMoveGang;
  Harness world(options);
  const auto node = [](int gpus) {
    return MakeNode("a0x").Gpus(gpus).Label("block", "a").Label("rack", "a0");
  };
  world.Add(node(8));
  cluster::PodGroup group = MakePodGroup("train").MinMember(2);
  group.topology.required = "rack";
  world.Add(group);
  const auto add = [&](const std::string& name) {
    world.Add(MakePod(name).Gpus(4).InGroup("train").Owner("job").Gated());
  };
  for (const char* name : {"train-0", "train-1"}) add(name);
  world.ScheduleAll("train");
  REQUIRE(world.BoundIn("train") == 2);
  for (const char* name : {"train-0", "train-1"}) world.RemovePod(name);
  world.Settle();
  for (const char* name : {"again-0", "again-1"}) add(name);
  // Of its new plan one Bind went through before half of the node was gone.
  world.Change("again-0", [](cluster::Pod& pod) {
    pod.gates.clear();
    pod.node_name = "a0x";
    pod.bound_gpus = {cluster::GpuIndex{0}, cluster::GpuIndex{1}, cluster::GpuIndex{2},
                      cluster::GpuIndex{3}};
    pod.bound_by_muster = true;
  });
  world.Add(node(4));
  world.Settle();
  REQUIRE(world.BoundIn("train") == 1);
  world.Pass(Seconds(61));
  CHECK(world.Evictions() == 1);
}

TEST_CASE("members whose places were taken while Muster was away were lost",
          "[engine][past][restart]") {
  Trio world;
  world.Pass(Seconds(10));
  const bool room = GENERATE(true, false);
  for (const char* name : {"train-0", "train-1"}) {
    world.ChangeUnseen(name, [&](cluster::Pod& pod) {
      pod = MakePod(name)
                .Uid(std::string(name) + "-again")
                .Gpus(room ? 8 : 16)
                .InGroup("train")
                .Owner("job")
                .CreatedAt(world.now().milliseconds())
                .Gated();
    });
  }
  world.Restart();
  world.Pass(Seconds(59));
  CHECK(world.Evictions() == 0);
  if (room) {
    world.ScheduleAll("train");
    CHECK(world.BoundIn("train") == 3);
  }
  world.Pass(Seconds(10));
  CHECK(world.Evictions() == (room ? 0 : 1));
}

TEST_CASE("a Failed pod of an earlier run tells nothing of one that went unseen",
          "[engine][past][restart]") {
  Trio world;
  world.Change("train-0", [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
  for (const char* name : {"train-1", "train-2"}) world.RemovePod(name);
  for (const char* name : {"next-0", "next-1", "next-2"}) world.AddMember(name, "next-job");
  world.ScheduleAll("train");
  REQUIRE(world.Gang("train").state == GangState::kRunning);
  world.Pass(Seconds(10));
  world.LosePod("next-0");
  world.Restart();
  world.Pass(Seconds(600));
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("a gang has ended again when the pods that came for another run are gone",
          "[engine][past]") {
  Trio world;
  for (const char* name : {"train-0", "train-1", "train-2"}) world.Succeed(name);
  world.Settle();
  REQUIRE(world.Gang("train").state == GangState::kFinished);
  world.AddMember("next-0", "next-job");
  world.Settle();
  REQUIRE(world.Gang("train").state == GangState::kForming);
  CHECK(world.Gang("train").succeeded == 0);
  world.RemovePod("next-0");
  world.Settle();
  CHECK(world.Gang("train").state == GangState::kFinished);
  CHECK(world.Gang("train").succeeded == 3);
  // The next ones belong to a run of their own, for who comes after a restart, too.
  for (const char* name : {"next-1", "next-2", "next-3"}) world.AddMember(name, "next-job");
  world.ScheduleAll("train");
  REQUIRE(world.Gang("train").state == GangState::kRunning);
  world.Restart();
  world.Settle();
  CHECK(world.Gang("train").succeeded == 0);
}

TEST_CASE("a record that somebody took off the PodGroup is written again",
          "[engine][past][restart]") {
  Trio world;
  world.Collect("train-0");
  world.Pass(Seconds(10));
  world.ChangeGroup("train", [](cluster::PodGroup& group) { group.record = {}; });
  world.Pass(Seconds(40));
  const int writes = world.writes;
  world.Pass(Seconds(600));
  CHECK(world.writes == writes);
  world.Restart();
  world.Pass(Seconds(600));
  CHECK(world.Evictions() == 0);
  CHECK(world.Gang("train").state == GangState::kRunning);
}

TEST_CASE("a member that leaves has its grace before the others' time begins", "[engine][past]") {
  Trio world;
  const auto leave = [&](cluster::Pod& pod) {
    pod.deleting = true;
    pod.leaves_by = world.now() + Seconds(120);
  };
  world.Change("train-0", leave);
  SECTION("it takes all of it") {
    world.Pass(Seconds(121));
    world.RemovePod("train-0");
    world.Pass(Seconds(57));
    CHECK(world.Evictions() == 0);
  }
  SECTION("it is gone before") {
    world.Pass(Seconds(90));
    world.RemovePod("train-0");
    world.Pass(Seconds(59));
    CHECK(world.Evictions() == 0);
  }
  SECTION("its node is dead") {
    world.Add(MakeNode("n0").Gpus(8).NotReady());
    world.Add(MakeNode("n1").Gpus(8).NotReady());
    world.Add(MakeNode("n2").Gpus(8).NotReady());
    world.Pass(Seconds(59));
    CHECK(world.Evictions() == 0);
  }
  world.Pass(Seconds(4));
  CHECK(world.Evictions() == 2);
}

TEST_CASE("another scheduler's member that leaves has its grace, too", "[engine][past]") {
  Harness world;
  for (int i = 0; i < 3; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.Add(MakePodGroup("mpi").MinMember(3));
  world.Add(MakePod("launcher").Scheduler("default-scheduler").InGroup("mpi").BoundTo("n0"));
  for (const char* name : {"w-0", "w-1"}) world.Add(MakePod(name).Gpus(8).InGroup("mpi").Gated());
  world.ScheduleAll("mpi");
  REQUIRE(world.Gang("mpi").state == GangState::kRunning);
  world.Change("launcher", [&](cluster::Pod& pod) {
    pod.deleting = true;
    pod.leaves_by = world.now() + Seconds(120);
  });
  world.Pass(Seconds(100));
  CHECK(world.Evictions() == 0);
  world.RemovePod("launcher");
  world.Pass(Seconds(61));
  CHECK(world.Evictions() == 2);
}

TEST_CASE("when Muster may plan again a lost member can be replaced for as long as ever",
          "[engine][past]") {
  Trio world;
  world.engine().Apply(engine::WatchStale{"nodes"}, world.now());
  world.RemovePod("train-0");
  world.Pass(Seconds(90));
  world.engine().Apply(engine::WatchStale{""}, world.now());
  world.Pass(Seconds(55));
  CHECK(world.Evictions() == 0);
  world.Pass(Seconds(70));
  CHECK(world.Evictions() == 2);
}

TEST_CASE("nobody is taken back while Muster itself may plan nobody", "[engine][past]") {
  Trio world;
  world.engine().Apply(engine::WatchStale{"nodes"}, world.now());
  world.RemovePod("train-0");
  world.AddMember("train-3");
  world.Pass(Seconds(300));
  CHECK(world.Evictions() == 0);
  world.engine().Apply(engine::WatchStale{""}, world.now());
  world.ScheduleAll("train");
  CHECK(world.Gang("train").state == GangState::kRunning);
}

}  // namespace
}  // namespace muster::testing
