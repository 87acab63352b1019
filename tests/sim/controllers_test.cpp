// The simulated kubelets and the Job controller.
#include <catch2/catch.hpp>

#include "sim/world/job_controller.hpp"
#include "sim/world/kubelet.hpp"
#include "sim_support.hpp"

namespace muster::sim::testing {
namespace {

using cluster::PodPhase;

struct Machines {
  explicit Machines(KubeletOptions options = {})
      : api(loop, {}), kubelet(loop, api, options), jobs(loop, api) {
    Create(api, MakeNode("n").Gpus(8));
  }
  PodPtr Pod(const std::string& name) { return api.FindPod(Key(name)); }
  PodPhase Phase(const std::string& name) {
    REQUIRE(Pod(name) != nullptr);
    return Pod(name)->pod.phase;
  }
  void Delete(const std::string& name) {
    REQUIRE(api.DeletePod(Actor::kUser, {Key(name), Pod(name)->pod.uid}).ok());
  }
  void SetReady(bool ready) {
    cluster::Node node = api.FindNode("n")->node;
    node.ready = ready;
    REQUIRE(api.UpdateNode(Actor::kUser, node).ok());
  }

  EventLoop loop;
  ApiServer api;
  Kubelet kubelet;
  JobController jobs;
};

TEST_CASE("a bound pod starts, runs for its time and ends", "[kubelet]") {
  Machines machines;
  Create(machines.api, MakePod("p").BoundTo("n"), Seconds(10));
  Create(machines.api, MakePod("endless").BoundTo("n"));
  Create(machines.api, MakePod("unbound"), Seconds(1));
  machines.loop.RunUntil(Time(999));
  CHECK(machines.Phase("p") == PodPhase::kPending);
  machines.loop.RunUntil(Time(1000));
  CHECK(machines.Phase("p") == PodPhase::kRunning);
  machines.loop.RunUntil(Time(10'999));
  CHECK(machines.Phase("p") == PodPhase::kRunning);
  machines.loop.RunUntil(At(3600));
  CHECK(machines.Phase("p") == PodPhase::kSucceeded);
  CHECK(machines.Pod("p")->finished_at == At(11));
  CHECK(machines.Phase("endless") == PodPhase::kRunning);
  CHECK(machines.Phase("unbound") == PodPhase::kPending);
}

TEST_CASE("members of a gang wait for each other before their time begins", "[kubelet]") {
  Machines machines;
  Create(machines.api, MakePodGroup("g").MinMember(2));
  Create(machines.api, MakePod("a").InGroup("g").BoundTo("n"), Seconds(10));
  machines.loop.RunUntil(At(100));
  CHECK(machines.Phase("a") == PodPhase::kRunning);
  Create(machines.api, MakePod("b").InGroup("g").BoundTo("n"), Seconds(20));
  machines.loop.RunUntil(At(200));
  CHECK(machines.Pod("a")->finished_at == At(111));
  CHECK(machines.Pod("b")->finished_at == At(121));
}

TEST_CASE("a deleted pod goes after its grace, at once when it has none", "[kubelet]") {
  Machines machines;
  PodRecord pod;
  pod.pod = MakePod("p").BoundTo("n");
  pod.pod.grace = cluster::Duration(500);
  REQUIRE(machines.api.CreatePod(Actor::kUser, pod).ok());
  machines.loop.RunUntil(At(5));
  machines.Delete("p");
  machines.loop.RunUntil(Time(5499));
  CHECK(machines.Pod("p") != nullptr);
  machines.loop.RunUntil(Time(5500));
  CHECK(machines.Pod("p") == nullptr);
}

TEST_CASE("on a node that is not ready nothing moves, then it goes on", "[kubelet]") {
  Machines machines;
  Create(machines.api, MakePod("ends").BoundTo("n"), Seconds(10));
  Create(machines.api, MakePod("goes").BoundTo("n"));
  machines.loop.RunUntil(At(5));
  machines.SetReady(false);
  machines.Delete("goes");
  Create(machines.api, MakePod("comes").BoundTo("n"));
  machines.loop.RunUntil(At(100));
  CHECK(machines.Phase("ends") == PodPhase::kRunning);
  CHECK(machines.Pod("goes") != nullptr);
  CHECK(machines.Phase("comes") == PodPhase::kPending);
  machines.SetReady(true);
  machines.loop.RunUntil(At(101));
  CHECK(machines.Phase("ends") == PodPhase::kSucceeded);
  CHECK(machines.Pod("goes") == nullptr);
  CHECK(machines.Phase("comes") == PodPhase::kRunning);
}

TEST_CASE("pods of a node that is gone are removed, unless it is back in time", "[kubelet]") {
  Machines machines;
  const bool back = GENERATE(false, true);
  Create(machines.api, MakePod("p").BoundTo("n"));
  machines.loop.RunUntil(At(5));
  REQUIRE(machines.api.DeleteNode(Actor::kUser, "n").ok());
  machines.loop.RunUntil(At(40));
  CHECK(machines.Pod("p") != nullptr);
  if (back) Create(machines.api, MakeNode("n").Gpus(8));
  Create(machines.api, MakePod("lost").BoundTo("nowhere"));
  machines.loop.RunUntil(At(200));
  CHECK((machines.Pod("p") != nullptr) == back);
  CHECK(machines.Pod("lost") == nullptr);
}

TEST_CASE("a kubelet may turn pods down", "[kubelet]") {
  KubeletOptions options;
  options.admission_failures_per_mille = 1000;
  Machines machines(options);
  Create(machines.api, MakePod("p").BoundTo("n"));
  machines.loop.RunUntil(At(5));
  CHECK(machines.Phase("p") == PodPhase::kFailed);
  CHECK(machines.Pod("p")->status_reason == "UnexpectedAdmissionError");
}

JobRecord MakeJob(int64_t parallelism, int64_t completions) {
  JobRecord job;
  job.key = Key("j");
  job.parallelism = parallelism;
  job.completions = completions;
  job.pod.pod = MakePod("template").Gpus(1).InGroup("g").BoundTo("n");
  job.pod.runs_for = Seconds(10);
  return job;
}

TEST_CASE("a Job makes its pods and is complete when all have succeeded", "[jobs]") {
  Machines machines;
  REQUIRE(machines.api.CreateJob(Actor::kUser, MakeJob(2, 3)).ok());
  machines.loop.RunUntil(At(1));
  CHECK(machines.api.pod_count() == 2);
  REQUIRE(machines.Pod("j-1") != nullptr);
  CHECK(machines.Pod("j-1")->pod.pod_group == "g");
  CHECK(machines.Pod("j-1")->pod.owner_uid == machines.api.FindJob(Key("j"))->uid);
  CHECK(machines.api.FindJob(Key("j"))->active == 2);
  machines.loop.RunUntil(At(100));
  CHECK(machines.api.FindJob(Key("j"))->complete);
  CHECK(machines.api.FindJob(Key("j"))->succeeded == 3);
  CHECK(machines.api.pod_count() == 3);
}

TEST_CASE("lost and failed pods are replaced until the Job gives up", "[jobs]") {
  Machines machines;
  JobRecord job = MakeJob(1, 1);
  job.backoff_limit = 2;
  REQUIRE(machines.api.CreateJob(Actor::kUser, job).ok());
  for (const char* name : {"j-0", "j-0-1", "j-0-2"}) {
    machines.loop.RunUntil(machines.loop.now() + Seconds(2));
    REQUIRE(machines.Pod(name) != nullptr);
    machines.Delete(name);
  }
  machines.loop.RunUntil(At(60));
  CHECK(machines.api.pod_count() == 0);
  CHECK(machines.api.FindJob(Key("j"))->gave_up);
  CHECK(machines.api.FindJob(Key("j"))->failed == 3);
}

TEST_CASE("a deleted Job takes its pods with it", "[jobs]") {
  Machines machines;
  REQUIRE(machines.api.CreateJob(Actor::kUser, MakeJob(3, 3)).ok());
  Create(machines.api, MakePod("stranger").BoundTo("n"));
  machines.loop.RunUntil(At(5));
  REQUIRE(machines.api.DeleteJob(Actor::kUser, Key("j")).ok());
  machines.loop.RunUntil(At(60));
  CHECK(machines.api.pod_count() == 1);
}

}  // namespace
}  // namespace muster::sim::testing
