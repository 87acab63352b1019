// What an eviction means to a victim's Job: the order of victims, and warnings.
#include <catch2/catch.hpp>

#include "engine/gangs/job_table.hpp"
#include "tests/engine/preemption_world.hpp"

namespace muster::testing {
namespace {

using cluster::BatchJob;
using cluster::JobUid;
using engine::GangState;

BatchJob Job(const std::string& name, bool ignores_evictions) {
  BatchJob job;
  job.uid = JobUid(name + "-job");
  job.key = {"default", name};
  job.ignores_evictions = ignores_evictions;
  return job;
}

cluster::Pod PodOf(const std::string& owner) {
  cluster::Pod pod;
  pod.owner_uid = owner;
  return pod;
}

TEST_CASE("a Job that counts evictions loses by them, and so does a pod without owner",
          "[engine][jobs]") {
  engine::JobTable jobs;
  CHECK(jobs.Upsert(Job("counts", false)));
  CHECK(jobs.Upsert(Job("ignores", true)));
  CHECK_FALSE(jobs.Upsert(Job("counts", false)));
  CHECK(jobs.LosesByEviction(PodOf("counts-job")));
  CHECK_FALSE(jobs.LosesByEviction(PodOf("ignores-job")));
  CHECK(jobs.LosesByEviction(PodOf("")));
  CHECK_FALSE(jobs.LosesByEviction(PodOf("a-replica-set")));

  CHECK(jobs.Upsert(Job("counts", true)));
  CHECK_FALSE(jobs.LosesByEviction(PodOf("counts-job")));
  CHECK(jobs.Remove(JobUid("counts-job")));
  CHECK_FALSE(jobs.Remove(JobUid("counts-job")));
  CHECK(jobs.size() == 1);
}

TEST_CASE("a Job is named once, and again once it counts evictions", "[engine][jobs]") {
  engine::JobTable jobs;
  for (const char* name : {"b", "a"}) jobs.Upsert(Job(name, false));
  jobs.Upsert(Job("c", true));
  const std::vector<cluster::Pod> pods = {PodOf("b-job"), PodOf("a-job"), PodOf("a-job"),
                                          PodOf("c-job"), PodOf("")};
  std::vector<const cluster::Pod*> all;
  for (const cluster::Pod& pod : pods) all.push_back(&pod);
  using Keys = std::vector<cluster::ObjectKey>;
  CHECK(jobs.TakeToWarn(all) == Keys{{"default", "a"}, {"default", "b"}});
  CHECK(jobs.TakeToWarn(all).empty());
  jobs.Upsert(Job("a", true));
  jobs.Upsert(Job("a", false));
  CHECK(jobs.TakeToWarn(all) == Keys{{"default", "a"}});
  jobs.Remove(JobUid("b-job"));
  jobs.Upsert(Job("b", false));
  CHECK(jobs.TakeToWarn(all) == Keys{{"default", "b"}});
}

// Two nodes of eight GPUs. Gang `first` holds one of them, then `second` the other; each is the
// pods of its Job.
struct TwoGangs : Harness {
  explicit TwoGangs(int32_t first_priority = 0, int32_t second_priority = 0)
      : Harness(Preempting()) {
    for (const char* name : {"n0", "n1"}) Add(MakeNode(name).Gpus(8));
    Start("first", first_priority);
    Pass(cluster::Seconds(10));
    Start("second", second_priority);
    Pass(cluster::Seconds(10));
    log.clear();
  }
  void Start(const std::string& name, int32_t priority) {
    Submit(name, priority, 4, name + "-job");
    ScheduleAll(name);
    REQUIRE(Gang(name).state == GangState::kRunning);
  }
  void Submit(const std::string& name, int32_t priority, int gpus, const std::string& owner) {
    Add(MakePodGroup(name).MinMember(2).CreatedAt(now().milliseconds()));
    for (int i = 0; i < 2; ++i) {
      cluster::Pod pod = MakePod(name + "-" + std::to_string(i))
                             .Gpus(gpus)
                             .Priority(priority)
                             .InGroup(name)
                             .Gated();
      pod.owner_uid = owner;
      Add(pod);
    }
  }
  void Tell(const BatchJob& job) { engine().Apply(job, now()); }
  // The gangs of which pods were evicted so far.
  std::set<std::string> Losers() const {
    std::set<std::string> gangs;
    for (const engine::Action& action : log) {
      if (const auto* evict = std::get_if<engine::EvictPod>(&action))
        gangs.insert(evict->pod.key.name.substr(0, evict->pod.key.name.rfind('-')));
    }
    return gangs;
  }
  std::vector<engine::EmitEvent> Warnings() const {
    std::vector<engine::EmitEvent> events;
    for (const engine::Action& action : log) {
      const auto* event = std::get_if<engine::EmitEvent>(&action);
      if (event != nullptr && event->reason == "GangJobMayFail") events.push_back(*event);
    }
    return events;
  }
  std::set<std::string> LosersTo(int32_t priority) {
    Submit("urgent", priority, 4, "urgent-job");
    Settle();
    return Losers();
  }
};

using Gangs = std::set<std::string>;

TEST_CASE("of one priority those go whose Jobs survive it, then who started last",
          "[engine][jobs][preemption]") {
  SECTION("nothing is known") {
    TwoGangs world;
    CHECK(world.LosersTo(100) == Gangs{"second"});
  }
  SECTION("the later one would fail") {
    TwoGangs world;
    world.Tell(Job("first", true));
    world.Tell(Job("second", false));
    CHECK(world.LosersTo(100) == Gangs{"first"});
    CHECK(world.Warnings().empty());
  }
  SECTION("of the earlier one nothing is known") {
    TwoGangs world;
    world.Tell(Job("second", false));
    CHECK(world.LosersTo(100) == Gangs{"first"});
  }
  SECTION("both would fail") {
    TwoGangs world;
    world.Tell(Job("first", false));
    world.Tell(Job("second", false));
    CHECK(world.LosersTo(100) == Gangs{"second"});
  }
  SECTION("the later one has ended, or will") {
    TwoGangs world;
    world.Tell(Job("second", false));
    world.engine().Apply(engine::BatchJobRemoved{JobUid("second-job")}, world.now());
    CHECK(world.LosersTo(100) == Gangs{"second"});
  }
  SECTION("priority takes precedence") {
    TwoGangs world(5, 0);
    world.Tell(Job("first", true));
    world.Tell(Job("second", false));
    CHECK(world.LosersTo(100) == Gangs{"second"});
  }
}

TEST_CASE("a pod that no controller recreates is evicted after one that is recreated",
          "[engine][jobs][preemption]") {
  TwoGangs world;
  for (const char* name : {"second-0", "second-1"})
    world.Change(name, [](cluster::Pod& pod) { pod.owner_uid.clear(); });
  world.Settle();
  CHECK(world.LosersTo(100) == Gangs{"first"});
}

TEST_CASE("a Job that counts evictions is named once, before its pods go", "[engine][jobs]") {
  TwoGangs world;
  world.Tell(Job("first", false));
  world.Tell(Job("second", false));
  CHECK(world.LosersTo(100) == Gangs{"second"});
  const std::vector<engine::EmitEvent> warnings = world.Warnings();
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].key.ToString() == "default/second");
  CHECK_FALSE(warnings[0].on_pod);
  CHECK(warnings[0].warning);
  CHECK(warnings[0].message ==
        "evicted pods count as failures of Job default/second towards its backoffLimit: give it a "
        "podFailurePolicy that ignores DisruptionTarget");
  const auto first = [&](const auto& is) {
    return std::find_if(world.log.begin(), world.log.end(), is) - world.log.begin();
  };
  CHECK(first([](const engine::Action& action) {
          const auto* event = std::get_if<engine::EmitEvent>(&action);
          return event != nullptr && event->reason == "GangJobMayFail";
        }) < first([](const engine::Action& action) {
          return std::holds_alternative<engine::EvictPod>(action);
        }));
}

TEST_CASE("a repair warns like a preemption", "[engine][jobs][repair]") {
  const bool ignores = GENERATE(false, true);
  TwoGangs world;
  world.Tell(Job("first", ignores));
  world.Change("first-0", [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
  world.Pass(cluster::Seconds(120));
  CHECK(world.Losers() == Gangs{"first"});
  CHECK(world.Warnings().size() == (ignores ? 0 : 1));
}

BatchJob WaitingJob(const std::string& name, bool waits = true) {
  BatchJob job = Job(name, true);
  job.waits_for_the_end = waits;
  return job;
}

// One of the two pods of gang `first` is being deleted, and ends with success.
struct Drained : TwoGangs {
  void Drain() {
    Change("first-0", [](cluster::Pod& pod) { pod.deleting = true; });
    Settle();
  }
  // What is done is not missed; what is lost costs the others their place.
  bool IsDone() {
    Pass(cluster::Seconds(300));
    CHECK(Losers() == (Gang("first").succeeded == 1 ? Gangs{} : Gangs{"first"}));
    return Gang("first").succeeded == 1;
  }
};

TEST_CASE("a pod that was told to go and ends with success is what its Job takes it for",
          "[engine][jobs][repair]") {
  Drained world;
  SECTION("the Job waits for its end") {
    world.Tell(WaitingJob("first"));
    world.Drain();
    world.Succeed("first-0");
    CHECK(world.IsDone());
    world.RemovePod("first-0");
    world.Pass(cluster::Seconds(300));
    CHECK(world.Losers().empty());
  }
  SECTION("the Job does not") {
    world.Tell(WaitingJob("first", false));
    world.Drain();
    world.Succeed("first-0");
    CHECK_FALSE(world.IsDone());
  }
  SECTION("there is no Job") {
    world.Drain();
    world.Succeed("first-0");
    CHECK_FALSE(world.IsDone());
  }
  SECTION("the Job becomes known when it is going") {
    world.Drain();
    world.Tell(WaitingJob("first"));
    world.Succeed("first-0");
    CHECK(world.IsDone());
  }
  SECTION("the Job becomes known when it has ended") {
    world.Drain();
    world.Succeed("first-0");
    world.Settle();
    world.Tell(WaitingJob("first"));
    CHECK(world.IsDone());
  }
  SECTION("the Job is over before it is known how it ended") {
    world.Tell(WaitingJob("first"));
    world.Drain();
    world.engine().Apply(engine::BatchJobRemoved{JobUid("first-job")}, world.now());
    world.Succeed("first-0");
    CHECK(world.IsDone());
  }
  SECTION("only its going says how it ended") {
    world.Tell(WaitingJob("first"));
    world.Drain();
    world.engine().Apply(
        engine::PodRemoved{world.Pod("first-0").uid, /*unseen=*/false, /*succeeded=*/true},
        world.now());
    world.Pass(cluster::Seconds(300));
    CHECK(world.Losers().empty());
  }
  SECTION("it fails") {
    world.Tell(WaitingJob("first"));
    world.Drain();
    world.Change("first-0", [](cluster::Pod& pod) { pod.phase = cluster::PodPhase::kFailed; });
    CHECK_FALSE(world.IsDone());
  }
}

TEST_CASE("pods that were told to go are forgotten with their records", "[engine][jobs]") {
  engine::JobTable jobs;
  cluster::Pod pod = PodOf("a-job");
  pod.uid = cluster::PodUid("p");
  jobs.DeletionRequested(pod);
  CHECK_FALSE(jobs.IsDone(pod));
  jobs.Forget(pod.uid);
  jobs.Upsert(WaitingJob("a"));
  CHECK(jobs.TakeDone(JobUid("a-job")).empty());
}

}  // namespace
}  // namespace muster::testing
