// What outlives the pods of a gang whose owner makes others: operators' orders, counts and pauses.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "engine/gangs/course.hpp"
#include "tests/engine/queue_world.hpp"

namespace muster::engine {
namespace {

using cluster::ObjectKey;
using cluster::Seconds;
using testing::MakePod;
using testing::MakePodGroup;
using testing::Queue;

// How the pods of a gang of two are held together.
enum class By { kOwner, kObject, kPods };

// Gangs of two pods of four GPUs each, of which the last ones go before the next ones come.
struct OwnerWorld : testing::QueueWorld {
  explicit OwnerWorld(By how = By::kOwner, int64_t evictions = 1'000)
      : QueueWorld({Limited(evictions)}), by(how) {}
  static queues::QueueSpec Limited(int64_t evictions) {
    queues::QueueSpec queue = Queue("q", 0);
    queue.preemption.max_evictions_per_hour = evictions;
    return queue;
  }
  // `attempt`: of an owner that makes a gang of each.
  void MakePods(const std::string& name = "job:train", const std::string& attempt_of = "") {
    ++rounds;
    gang = name;
    cluster::PodGroup group =
        MakePodGroup(name).Uid("declared/" + std::to_string(rounds)).MinMember(2).Build();
    group.declared = by != By::kObject;
    group.by_owner = by == By::kOwner;
    group.attempts_of = attempt_of;
    if (by != By::kObject || rounds == 1) Add(group);
    for (int i = 0; i < 2; ++i) {
      Add(MakePod(PodName(i))
              .Gpus(4)
              .Priority(of_pods)
              .Owner("job-uid")
              .InGroup(name)
              .CreatedAt(now().milliseconds() + i)
              .Gated()
              .Build());
    }
    Settle();
  }
  std::string PodName(int i) const { return "r" + std::to_string(rounds) + std::to_string(i); }
  void Go() {
    if (by != By::kObject) RemoveGroup(gang);
    for (int i = 0; i < 2; ++i) RemovePod(PodName(i));
    Settle();
    CHECK(IsSound());
  }
  void Remake() {
    Go();
    Pass(Seconds(1));
    MakePods(gang);
  }
  void Order(const std::string& name, int64_t priority) {
    REQUIRE(engine().Carry({"ann", SetPriority{{"default", name}, priority}}, now()).ok());
    Settle();
    REQUIRE(Gang(name).ordered);
  }
  // Any: what stands is looked through then.
  void OrderElse() {
    REQUIRE(engine().Carry({"ann", SetQueueState{"q", queues::QueueState::kHold}}, now()).ok());
    REQUIRE(engine().Carry({"ann", SetQueueState{"q", queues::QueueState::kOpen}}, now()).ok());
    Settle();
  }
  size_t OrdersOfGangs() { return engine().Orders().gangs.size(); }
  // A Job's only pod, which is no gang by its owner.
  void MakeOne(const std::string& name, const std::string& owner, int32_t priority = 0) {
    Add(MakePod(name)
            .Gpus(8)
            .Owner(owner)
            .Priority(priority)
            .CreatedAt(now().milliseconds())
            .Gated()
            .Build());
    Settle();
  }
  By by;
  int rounds = 0;
  int32_t of_pods = 0;  // their priority
  std::string gang;
};

TEST_CASE("an operator's priority is that of the next pods of the owner", "[engine][owners]") {
  const By by = GENERATE(By::kOwner, By::kObject, By::kPods);
  CAPTURE(static_cast<int>(by));
  OwnerWorld world(by);
  world.MakePods();
  world.Order("job:train", 70);
  world.Go();
  world.OrderElse();
  CHECK(world.OrdersOfGangs() == 1);
  world.MakePods();
  CHECK(world.Gang("job:train").ordered);
  CHECK(world.Gang("job:train").priority == 70);
  SECTION("for as long as it has any") {
    world.Pass(Seconds(4'000));
    CHECK(world.Gang("job:train").priority == 70);
  }
  SECTION("and is given to the engine after a restart") {
    if (by == By::kPods) return;
    const StandingOrders kept = world.engine().Orders();
    world.Go();
    world.Restart();
    world.engine().Apply(kept, world.now());
    world.Settle();
    world.OrderElse();
    CHECK(world.OrdersOfGangs() == 1);
    world.MakePods();
    CHECK(world.Gang("job:train").priority == 70);
  }
}

TEST_CASE("an operator's priority of an attempt is that of the next one, too",
          "[engine][owners][attempts]") {
  OwnerWorld world;
  const bool overlap = GENERATE(false, true);
  world.MakePods("a1", "a");
  world.Order("a1", 70);
  if (overlap) {
    world.MakePods("a2", "a");
    --world.rounds;
    world.gang = "a1";
    world.Go();
    ++world.rounds;
    world.gang = "a2";
  } else {
    world.Go();
    world.MakePods("a2", "a");
  }
  world.OrderElse();
  world.Pass(Seconds(4'000));
  CHECK(world.Gang("a2").priority == 70);
  CHECK(world.OrdersOfGangs() == 1);
  REQUIRE(world.engine().Carry({"ann", SetPriority{{"default", "a2"}, {}}}, world.now()).ok());
  CHECK(world.OrdersOfGangs() == 0);
}

TEST_CASE("an operator's priority of a Job's only pod is that of the pod in its place",
          "[engine][owners]") {
  OwnerWorld world;
  world.MakeOne("x-1", "job-x");
  world.Order("x-1", 70);
  const bool overlap = GENERATE(false, true);
  if (overlap) {
    world.Change("x-1", [](cluster::Pod& pod) { pod.deleting = true; });
    world.MakeOne("x-2", "job-x");
    CHECK(world.Gang("x-2").priority == 70);
    world.RemovePod("x-1");
    world.Settle();
  } else {
    world.RemovePod("x-1");
    world.Settle();
    world.MakeOne("y-1", "job-y");
    CHECK(world.Gang("y-1").priority == 0);
    world.MakeOne("x-2", "job-x");
  }
  world.OrderElse();
  CHECK(world.Gang("x-2").priority == 70);
  CHECK(world.Gang("x-2").ordered);
  REQUIRE(world.OrdersOfGangs() == 1);
  CHECK(world.engine().Orders().gangs.begin()->first == ObjectKey{"default", "x-2"});
}

TEST_CASE("an operator's priority of an only pod is the next one's also after a restart",
          "[engine][owners]") {
  OwnerWorld world;
  world.MakeOne("x-1", "job-x");
  world.Order("x-1", 70);
  const StandingOrders kept = world.engine().Orders();
  const std::string owner = GENERATE("job-x", "job-y");
  world.RemovePod("x-1");
  const std::string next = GENERATE("x-1", "x-2");
  world.Add(MakePod(next).Uid("next").Gpus(8).Owner(owner).Gated().Build());
  world.Restart();
  world.engine().Apply(kept, world.now());
  world.Settle();
  CHECK(world.Gang(next).priority == (owner == "job-x" ? 70 : 0));
  world.OrderElse();
  CHECK(world.OrdersOfGangs() == 1);
  world.Pass(Seconds(3'601));
  CHECK(world.OrdersOfGangs() == (owner == "job-x" ? 1 : 0));
}

TEST_CASE("an order ends with the owner", "[engine][owners]") {
  OwnerWorld world;
  SECTION("an hour after its last pod") {
    world.MakePods();
    world.Order("job:train", 70);
    world.Go();
    world.Pass(Seconds(3'599));
    CHECK(world.OrdersOfGangs() == 1);
    CHECK(world.engine().NextWake() <= world.now() + Seconds(1));
    world.Pass(Seconds(1));
    CHECK(world.OrdersOfGangs() == 0);
    world.MakePods();
    CHECK(world.Gang("job:train").priority == 0);
  }
  SECTION("when its pods have ended well") {
    world.MakePods();
    world.Order("job:train", 70);
    world.ScheduleAll("job:train");
    for (int i = 0; i < 2; ++i) world.Succeed(world.PodName(i));
    world.Settle();
    world.Go();
    CHECK(world.OrdersOfGangs() == 0);
  }
  SECTION("when its only pod has ended well") {
    world.MakeOne("x-1", "job-x");
    world.Order("x-1", 70);
    world.Bind("x-1");
    world.Settle();
    world.Succeed("x-1");
    world.Settle();
    world.MakeOne("x-2", "job-x");
    CHECK(world.Gang("x-2").priority == 0);
    world.RemovePod("x-1");
    world.Settle();
    CHECK(world.OrdersOfGangs() == 0);
  }
  SECTION("when the Job goes") {
    world.MakeOne("x-1", "job-x");
    world.Order("x-1", 70);
    world.RemovePod("x-1");
    world.Settle();
    REQUIRE(world.OrdersOfGangs() == 1);
    world.engine().Apply(BatchJobRemoved{cluster::JobUid("job-x")}, world.now());
    CHECK(world.OrdersOfGangs() == 0);
  }
  SECTION("when there is none") {
    world.MakeOne("x-1", "");
    world.Order("x-1", 70);
    world.RemovePod("x-1");
    world.Settle();
    CHECK(world.OrdersOfGangs() == 0);
  }
}

// Reserved, and kube-scheduler never comes.
void Expire(OwnerWorld& world) {
  REQUIRE(world.Gang(world.gang).state == GangState::kReserved);
  world.Pass(Seconds(119));
  REQUIRE(world.Gang(world.gang).state == GangState::kReserved);
  world.Pass(Seconds(1));
  REQUIRE(world.Gang(world.gang).state == GangState::kBackoff);
}

TEST_CASE("the pause after a reservation that expired is that of the next pods of the owner",
          "[engine][owners]") {
  const By by = GENERATE(By::kOwner, By::kObject, By::kPods);
  CAPTURE(static_cast<int>(by));
  OwnerWorld world(by);
  world.MakePods();
  Expire(world);
  world.Remake();
  CHECK(world.Gang("job:train").state == GangState::kBackoff);
  CHECK(world.Gang("job:train").reason.code == ReasonCode::kReservationExpired);
  CHECK(world.Gang("job:train").attempts == 1);
  CHECK(world.Gang("job:train").plans == 1);
  SECTION("as long as it was") {
    world.Pass(Seconds(118));
    CHECK(world.Gang("job:train").state == GangState::kBackoff);
    world.Pass(Seconds(1));
    Expire(world);
    CHECK(world.Gang("job:train").attempts == 2);
    CHECK(world.Gang("job:train").plans == 2);
    world.Remake();
    world.Pass(Seconds(238));
    CHECK(world.Gang("job:train").state == GangState::kBackoff);
    world.Pass(Seconds(1));
    CHECK(world.Gang("job:train").state == GangState::kReserved);
  }
  SECTION("until a node comes") {
    world.Pass(Seconds(5));
    world.Add(testing::MakeNode("n1").Gpus(8).Build());
    world.Pass(Seconds(5));
    CHECK(world.Gang("job:train").state == GangState::kReserved);
  }
  SECTION("until its pods are others than those that were not asked about") {
    world.Go();
    world.of_pods = 1;
    world.MakePods();
    CHECK(world.Gang("job:train").state == GangState::kReserved);
    CHECK(world.Gang("job:train").attempts == 1);
  }
  SECTION("it is over when the gang has run") {
    world.Pass(Seconds(120));
    world.ScheduleAll("job:train");
    REQUIRE(world.Gang("job:train").state == GangState::kRunning);
    world.Remake();
    CHECK(world.Gang("job:train").state == GangState::kReserved);
    CHECK(world.Gang("job:train").attempts == 0);
  }
  SECTION("a restart forgets it") {
    world.Restart();
    world.Settle();
    CHECK(world.Gang("job:train").state == GangState::kReserved);
  }
}

TEST_CASE("facts that come together change nothing in what an owner remembers",
          "[engine][owners]") {
  OwnerWorld world;
  world.MakePods();
  world.Order("job:train", 70);
  Expire(world);
  world.RemoveGroup("job:train");
  for (int i = 0; i < 2; ++i) world.RemovePod(world.PodName(i));
  world.MakePods();
  CHECK(world.Gang("job:train").state == GangState::kBackoff);
  CHECK(world.Gang("job:train").priority == 70);
  CHECK(world.Gang("job:train").plans == 1);
}

TEST_CASE("a pause by kube-scheduler's words ends with the pods that it spoke of",
          "[engine][owners][listen]") {
  OwnerWorld world(GENERATE(By::kOwner, By::kObject));
  world.MakePods();
  world.Change(world.PodName(0), [](cluster::Pod& pod) {
    pod.unschedulable = std::make_shared<const std::string>(
        "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.");
  });
  world.Pass(Seconds(5));
  REQUIRE(world.Gang("job:train").reason.code == ReasonCode::kRefused);
  world.Remake();
  CHECK(world.Gang("job:train").state == GangState::kReserved);
}

TEST_CASE("evictions within the hour are the owner's", "[engine][owners][queues]") {
  OwnerWorld world(By::kOwner, 1);
  world.MakeOne("x-1", "job-x");
  world.Bind("x-1");
  world.Pass(Seconds(10));
  world.MakeOne("first", "", 100);
  REQUIRE(world.Evicted() == "x-1");
  world.Leave("x-1");
  world.MakeOne("x-2", "job-x");
  world.Bind("first");
  world.Settle();
  world.Succeed("first");
  world.Settle();
  world.Bind("x-2");
  world.Pass(Seconds(10));
  REQUIRE(world.Gang("x-2").state == GangState::kRunning);
  world.log.clear();
  world.MakeOne("second", "", 100);
  CHECK(world.Evicted().empty());
  CHECK(world.Gang("second").reason.code == ReasonCode::kMinRuntime);
  world.Pass(Seconds(3'600));
  CHECK(world.Evicted() == "x-2");
}

TEST_CASE("a preemption in vain is one of the owner's", "[engine][owners][preemption]") {
  OwnerWorld world;
  world.MakeOne("old", "");
  world.Bind("old");
  world.Pass(Seconds(10));
  world.MakeOne("x-1", "job-x", 100);
  REQUIRE(world.Evicted() == "old");
  world.RemovePod("x-1");
  world.Leave("old");
  world.MakeOne("next", "");
  world.Bind("next");
  world.Pass(Seconds(10));
  REQUIRE(world.Gang("next").state == GangState::kRunning);
  world.log.clear();
  const bool same = GENERATE(false, true);
  world.MakeOne("x-2", same ? "job-x" : "job-y", 100);
  CHECK(world.Evicted() == (same ? "" : "next"));
  world.Pass(Options().victim_timeout);
  CHECK(world.Evicted() == "next");
}

}  // namespace
}  // namespace muster::engine
