// JobSet, LeaderWorkerSet and what wraps them, with pods as their controllers make them.
#include <catch2/catch.hpp>
#include <string>

#include "kube/owners/grouping.hpp"
#include "tests/kube/grouping_world.hpp"

namespace muster::kube::testing {
namespace {

std::string Replicated(const std::string& name, int replicas, int parallelism,
                       const std::string& more = "") {
  const std::string count = std::to_string(parallelism);
  return "{name: " + name + ", groupName: default, replicas: " + std::to_string(replicas) +
         ", template: {spec: {parallelism: " + count + ", completions: " + count +
         ", completionMode: Indexed}}" + more + "}";
}

std::string JobSet(const std::string& jobs, const std::string& spec = "",
                   const std::string& meta = "") {
  return "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: train, namespace: "
         "team, uid: set-1" +
         meta +
         "}, spec: {network: {enableDNSHostnames: true}, "
         "successPolicy: {operator: All}, replicatedJobs: [" +
         jobs + "]" + spec + "}}";
}

struct PodOf {
  std::string rjob;
  int job = 0;
  int index = 0;
  std::string attempt = "0";
  std::string annotations = "";
  std::string spec = "";
};

// Labels and annotations alike, on the Job and on its pods: labelAndAnnotateObject in
// pkg/controllers/jobset_controller.go of sigs.k8s.io/jobset v0.12.0.
std::string Marks(const PodOf& pod) {
  return "jobset.sigs.k8s.io/jobset-name: train, jobset.sigs.k8s.io/jobset-uid: set-1, "
         "jobset.sigs.k8s.io/replicatedjob-name: " +
         pod.rjob + ", jobset.sigs.k8s.io/restart-attempt: \"" + pod.attempt +
         "\", jobset.sigs.k8s.io/job-index: \"" + std::to_string(pod.job) +
         "\", jobset.sigs.k8s.io/group-name: default";
}

std::string JobName(const PodOf& pod) {
  return "train-" + pod.rjob + "-" + std::to_string(pod.job);
}
std::string JobUid(const PodOf& pod) { return "uid-" + JobName(pod) + "-" + pod.attempt; }

std::string JobOf(const PodOf& pod) {
  return "{apiVersion: batch/v1, kind: Job, metadata: {name: " + JobName(pod) +
         ", namespace: team, uid: " + JobUid(pod) + ", labels: {" + Marks(pod) +
         "}, annotations: {" + Marks(pod) + "}, " +
         OwnedBy("jobset.x-k8s.io/v1alpha2", "JobSet", "train", "set-1") +
         "}, spec: {completionMode: Indexed, parallelism: 2, completions: 2}}";
}

std::string PodTextOf(const PodOf& pod) {
  const std::string index =
      "batch.kubernetes.io/job-completion-index: \"" + std::to_string(pod.index) + "\", ";
  return PodText(JobName(pod) + "-" + std::to_string(pod.index) + "-" + pod.attempt + "abcd",
                 "labels: {" + index + Marks(pod) + "}, annotations: {" + index + Marks(pod) +
                     pod.annotations + "}, " +
                     OwnedBy("batch/v1", "Job", JobName(pod), JobUid(pod)),
                 pod.spec);
}

std::string Told(GroupingWorld& world, const PodOf& pod) {
  world.Add(JobOf(pod));
  return world.Told(PodTextOf(pod));
}
cluster::ObjectKey KeyOf(GroupingWorld& world, const PodOf& pod) {
  world.Add(JobOf(pod));
  return world.Judge(PodTextOf(pod)).key;
}

const std::string kExclusive = "alpha.jobset.sigs.k8s.io/exclusive-topology: nodepool";
const std::string kBySelector = kExclusive + ", alpha.jobset.sigs.k8s.io/node-selector: \"true\"";

std::string Annotated(const std::string& annotations) {
  return ", annotations: {" + annotations + "}";
}
// A replicated job with annotations on its Jobs' template.
std::string ReplicatedWith(const std::string& annotations, const std::string& name, int replicas,
                           int parallelism) {
  std::string job = Replicated(name, replicas, parallelism);
  job.replace(job.find("{spec:"), 1, "{metadata: {annotations: {" + annotations + "}}, ");
  return job;
}

}  // namespace

TEST_CASE("a JobSet whose Jobs come together is one gang of all of them", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(JobSet(Replicated("driver", 1, 1) + ", " + Replicated("workers", 2, 4),
                   ", startupPolicy: {startupPolicyOrder: AnyOrder}"));
  CHECK(Told(world, {"driver"}) ==
        "jobset:train needs 9 (driver 1, workers 8) as driver, attempt 0");
  CHECK(Told(world, {"workers", 1, 3}) ==
        "jobset:train needs 9 (driver 1, workers 8) as workers, attempt 0");
  CHECK(KeyOf(world, {"driver"}) == KeyOf(world, {"workers", 1, 3}));
}

TEST_CASE("of a replicated job no more pods count than run at once", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(
      JobSet("{name: w, replicas: 3, template: {spec: {parallelism: 4, completions: 2}}}, "
             "{name: q, template: {spec: {parallelism: 2}}}, {name: one, template: {spec: {}}}"));
  CHECK(Told(world, {"w"}) == "jobset:train needs 9 (w 6, q 2, one 1) as w, attempt 0");
}

TEST_CASE("a JobSet that starts in order is a gang for each replicated job", "[kube][grouping]") {
  GroupingWorld world;
  const std::string jobs = Replicated("driver", 1, 1) + ", " + Replicated("workers", 2, 4);
  const bool by_policy = GENERATE(true, false);
  if (by_policy) {
    world.Add(JobSet(jobs, ", startupPolicy: {startupPolicyOrder: InOrder}"));
  } else {
    world.Add(JobSet(Replicated("driver", 1, 1) + ", " +
                     Replicated("workers", 2, 4, ", dependsOn: [{name: driver, status: Ready}]")));
  }
  CHECK(Told(world, {"driver"}) == "jobset:train:driver needs 1 (driver 1) as driver, attempt 0");
  CHECK(Told(world, {"workers"}) ==
        "jobset:train:workers needs 8 (workers 8) as workers, attempt 0");
  CHECK(KeyOf(world, {"driver"}) != KeyOf(world, {"workers"}));
}

TEST_CASE("a JobSet that restarts single Jobs keeps the others, and a Job's pods are a unit",
          "[kube][grouping]") {
  using Units = std::vector<cluster::RoleUnit>;
  const std::string jobs = Replicated("driver", 1, 1) + ", " + Replicated("workers", 2, 4);
  const auto judged = [&](const std::string& more) {
    GroupingWorld world;
    world.Add(JobSet(jobs, more));
    world.Add(JobOf({"workers"}));
    return world.Judge(PodTextOf({"workers"}));
  };
  const auto rules = [](const std::string& action) {
    return ", failurePolicy: {maxRestarts: 3, rules: [{name: a, action: FailJobSet}, {name: b, "
           "action: " +
           action + "}]}";
  };
  for (const char* action : {"RestartJob", "RestartJobAndIgnoreMaxRestarts"}) {
    const Grouping together = judged(rules(action));
    CHECK(together.minimum == 9);
    CHECK(together.keeps_rest);
    CHECK(together.units == Units{{"workers", 4}});
    const Grouping ordered =
        judged(rules(action) + ", startupPolicy: {startupPolicyOrder: InOrder}");
    CHECK(ordered.minimum == 8);
    CHECK(ordered.keeps_rest);
  }
  for (const std::string& others :
       {std::string(", failurePolicy: {maxRestarts: 3}"), rules("RestartJobSet"), std::string()}) {
    CHECK_FALSE(judged(others).keeps_rest);
    CHECK(judged(others).units.empty());
  }
}

TEST_CASE("an empty dependsOn orders nothing", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(JobSet(Replicated("w", 1, 2, ", dependsOn: []")));
  CHECK(Told(world, {"w"}) == "jobset:train needs 2 (w 2) as w, attempt 0");
}

TEST_CASE("pods of two attempts of a JobSet are in two gangs", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(JobSet(Replicated("w", 2, 2)));
  const PodOf old{"w", 0, 0, "0"};
  const PodOf fresh{"w", 1, 0, "1"};
  CHECK(Told(world, old) == "jobset:train needs 4 (w 4) as w, attempt 0");
  CHECK(Told(world, fresh) == "jobset:train needs 4 (w 4) as w, attempt 1");
  CHECK(KeyOf(world, old) != KeyOf(world, fresh));
  CHECK(KeyOf(world, old).name.substr(0, 13) == KeyOf(world, fresh).name.substr(0, 13));
  const auto across = [&](const PodOf& pod) {
    world.Add(JobOf(pod));
    return world.Judge(PodTextOf(pod)).attempts_of;
  };
  CHECK(across(old).substr(0, 13) == "jobset:train~");
  CHECK(across(old) == across(fresh));
  CHECK(across(old) != KeyOf(world, old).name);
  // The Job of the next attempt has the old one's name, and another UID.
  world.Add(JobOf({"w", 0, 0, "1"}));
  CHECK(world.Told(PodTextOf(old)) == "alone: its owner Job train-w-0 is gone");
}

TEST_CASE("with exclusive topology the first pod of each Job starts before the others",
          "[kube][grouping]") {
  GroupingWorld world;
  const std::string meta = Annotated(kExclusive);
  world.Add(JobSet(Replicated("w", 3, 4), "", meta));
  const std::string told = "jobset:train needs 12 (w/first 3, w 9), first 3 (w/first 3), as w";
  PodOf leader{"w", 0, 0};
  CHECK(Told(world, leader) == told + "/first, attempt 0");
  // That does not depend on where which of them is.
  leader.spec = "nodeName: node-1";
  CHECK(Told(world, leader) == told + "/first, attempt 0");
  CHECK(Told(world, {"w", 2, 0}) == told + "/first, attempt 0");
  CHECK(Told(world, {"w", 0, 1}) == told + ", attempt 0");
  CHECK(Told(world, {"old", 0, 0}).ends_with(" as old, attempt 0"));
  // A Job of one pod has no others.
  world.Add(JobSet(Replicated("a", 2, 1) + ", " + Replicated("w", 3, 4), "", meta));
  CHECK(Told(world, {"a", 1, 0}) ==
        "jobset:train needs 14 (a 2, w/first 3, w 9), first 5 (a 2, w/first 3), as a, attempt 0");
  world.Add(JobSet(Replicated("w", 3, 4), "", Annotated(kBySelector)));
  CHECK(Told(world, {"w", 0, 0}) == "jobset:train needs 12 (w 12) as w, attempt 0");
}

TEST_CASE("where one replicated job has exclusive topology, all pods say the same of the gang",
          "[kube][grouping]") {
  GroupingWorld world;
  const bool by_selector = GENERATE(false, true);
  world.Add(JobSet(Replicated("head", 2, 2) + ", " +
                   ReplicatedWith(by_selector ? kBySelector : kExclusive, "w", 3, 4)));
  const std::string told =
      by_selector
          ? "jobset:train needs 16 (head 4, w 12) as "
          : "jobset:train needs 16 (head 4, w/first 3, w 9), first 7 (head 4, w/first 3), as ";
  const std::string first = by_selector ? "" : "/first";
  CHECK(Told(world, {"head", 1, 0}) == told + "head, attempt 0");
  CHECK(Told(world, {"head", 1, 1}) == told + "head, attempt 0");
  CHECK(Told(world, {"w", 2, 0}) == told + "w" + first + ", attempt 0");
  CHECK(Told(world, {"w", 2, 3}) == told + "w, attempt 0");
}

TEST_CASE("exclusive topology and order go together", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(JobSet(Replicated("a", 1, 1) + ", " + Replicated("w", 3, 4),
                   ", startupPolicy: {startupPolicyOrder: InOrder}", Annotated(kExclusive)));
  CHECK(Told(world, {"w", 0, 0}) ==
        "jobset:train:w needs 12 (w/first 3, w 9), first 3 (w/first 3), as w/first, attempt 0");
}

TEST_CASE("somebody's minimum waits for the phase in which it can be met", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(
      JobSet(Replicated("w", 3, 4), "", Annotated("muster.dev/min-member: \"8\", " + kExclusive)));
  // Of the others any will do, but none in the place of one that comes first.
  CHECK(Told(world, {"w", 0, 0}) ==
        "jobset:train needs 8 (w/first 3), first 3 (w/first 3), as w/first, attempt 0");
  world.Add(JobSet(Replicated("w", 3, 4), "", ", annotations: {muster.dev/min-member: \"13\"}"));
  CHECK(Told(world, {"w"}) ==
        "refused: JobSet train makes 12 pods, and muster.dev/min-member asks for 13 of them "
        "together");
}

TEST_CASE("a pod of a replicated job that its JobSet does not have is alone in order only",
          "[kube][grouping]") {
  GroupingWorld world;
  world.Add(JobSet(Replicated("w", 1, 2)));
  CHECK(Told(world, {"old"}) == "jobset:train needs 2 (w 2) as old, attempt 0");
  world.Add(JobSet(Replicated("w", 1, 2), ", startupPolicy: {startupPolicyOrder: InOrder}"));
  CHECK(Told(world, {"old"}) ==
        "alone: JobSet train: the pod does not say which of its roles it has");
}

TEST_CASE("a TrainJob's gang is its JobSet's, and its initializers are no members",
          "[kube][grouping]") {
  GroupingWorld world;
  const std::string ready = ", dependsOn: [{name: dataset-initializer, status: Complete}]";
  world.Add(JobSet(Replicated("dataset-initializer", 1, 1) + ", " + Replicated("node", 1, 8, ready),
                   "",
                   ", " + OwnedBy("trainer.kubeflow.org/v1alpha1", "TrainJob", "train", "tj-1")));
  world.Add(
      "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: train, "
      "namespace: team, uid: tj-1}, spec: {runtimeRef: {name: torch-distributed}, trainer: "
      "{numNodes: 8}}}");
  CHECK(Told(world, {"dataset-initializer"}) ==
        "no member: initializers end before training starts");
  CHECK(Told(world, {"node"}) == "jobset:train:node needs 8 (node 8) as node, attempt 0");
}

TEST_CASE("a plain torch TrainJob is one gang", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(JobSet(Replicated("node", 1, 4), "",
                   ", " + OwnedBy("trainer.kubeflow.org/v1alpha1", "TrainJob", "train", "tj-1")));
  world.Add(
      "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: train, "
      "namespace: team, uid: tj-1, annotations: {muster.dev/min-member: \"3\"}}, spec: {}}");
  CHECK(Told(world, {"node"}) == "jobset:train needs 3 as node, attempt 0");
  world.Forbid("TrainJob");
  CHECK(Told(world, {"node"}) == "waits as trainjob:train: TrainJob train: no right");
  world.LetAlone();
  world.Add(JobOf({"node"}));
  const Grouping told = world.Judge(PodTextOf({"node"}));
  CHECK(told.minimum == 4);
  CHECK(told.note ==
        "TrainJob train cannot be read: what it and its owners say of gangs does not count");
}

namespace {

// LeaderWorkerSet of two groups; the labels of pods are set by its webhook.
std::string Lws(const std::string& spec, const std::string& annotations = "") {
  return "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: vllm, "
         "namespace: team, uid: lws-1, annotations: {" +
         annotations +
         "}}, spec: {replicas: 2, "
         "rolloutStrategy: {type: RollingUpdate}, leaderWorkerTemplate: {size: 4}" +
         spec + "}}";
}
std::string LwsMarks(int group, int worker) {
  return "labels: {leaderworkerset.sigs.k8s.io/name: vllm, "
         "leaderworkerset.sigs.k8s.io/group-index: "
         "\"" +
         std::to_string(group) + "\", leaderworkerset.sigs.k8s.io/worker-index: \"" +
         std::to_string(worker) +
         "\", leaderworkerset.sigs.k8s.io/group-key: 5c5fe0, "
         "leaderworkerset.sigs.k8s.io/template-revision-hash: 6b9f}, annotations: "
         "{leaderworkerset.sigs.k8s.io/size: \"4\"}, ";
}
std::string Leader(int group, const std::string& uid, const std::string& spec = "") {
  const std::string name = "vllm-" + std::to_string(group);
  return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", namespace: team, uid: " + uid +
         ", " + LwsMarks(group, 0) + OwnedBy("apps/v1", "StatefulSet", "vllm", "sts-0") +
         "}, spec: {" + spec + "}}";
}
std::string Worker(int group, int worker) {
  const std::string set = "vllm-" + std::to_string(group);
  return PodText(set + "-" + std::to_string(worker),
                 LwsMarks(group, worker) + OwnedBy("apps/v1", "StatefulSet", set, "sts-" + set));
}
// All objects but the workers.
void AddLws(GroupingWorld& world, const std::string& lws, const std::string& leader_spec = "") {
  world.Add(lws);
  world.Add(
      "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: vllm, namespace: team, uid: "
      "sts-0, " +
      OwnedBy("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "vllm", "lws-1") +
      "}, spec: {podManagementPolicy: Parallel, replicas: 2}}");
  for (const int group : {0, 1}) {
    const std::string name = "vllm-" + std::to_string(group);
    world.Add(Leader(group, "pod-" + name, leader_spec));
    world.Add("{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: " + name +
              ", namespace: team, uid: sts-" + name + ", " +
              OwnedBy("v1", "Pod", name, "pod-" + name) +
              "}, spec: {podManagementPolicy: Parallel, replicas: 3, ordinals: {start: 1}}}");
  }
}

}  // namespace

TEST_CASE(
    "a group of a LeaderWorkerSet is a gang of leader and workers, reached through the leader",
    "[kube][grouping]") {
  GroupingWorld world;
  AddLws(world, Lws(", startupPolicy: LeaderCreated"));
  CHECK(world.Told(Leader(0, "pod-vllm-0")) ==
        "leaderworkerset:vllm:vllm-0 needs 4 (leader 1, worker 3) as leader, attempt pod-vllm-0");
  CHECK(world.Told(Worker(0, 2)) ==
        "leaderworkerset:vllm:vllm-0 needs 4 (leader 1, worker 3) as worker, attempt pod-vllm-0");
  const auto key = world.Judge(Leader(0, "pod-vllm-0")).key;
  CHECK(world.Judge(Worker(0, 1)).key == key);
  CHECK(world.Judge(Worker(1, 1)).key != key);
}

TEST_CASE("where workers wait for their leader, the leader starts first", "[kube][grouping]") {
  GroupingWorld world;
  const bool exclusive = GENERATE(false, true);
  const std::string lws = exclusive
                              ? Lws("", "leaderworkerset.sigs.k8s.io/exclusive-topology: rack")
                              : Lws(", startupPolicy: LeaderReady");
  AddLws(world, lws);
  const std::string told =
      "leaderworkerset:vllm:vllm-0 needs 4 (leader 1, worker 3), first 1 (leader 1), as ";
  CHECK(world.Told(Leader(0, "pod-vllm-0")) == told + "leader, attempt pod-vllm-0");
  AddLws(world, lws, "nodeName: node-1");
  CHECK(world.Told(Leader(0, "pod-vllm-0", "nodeName: node-1")) ==
        told + "leader, attempt pod-vllm-0");
  CHECK(world.Told(Worker(0, 1)) == told + "worker, attempt pod-vllm-0");
}

TEST_CASE("a group that is made anew under the same names is another attempt", "[kube][grouping]") {
  GroupingWorld world;
  AddLws(world, Lws(""));
  const Grouping first = world.Judge(Worker(0, 1));
  world.Add(Leader(0, "pod-again"));
  CHECK(world.Told(Worker(0, 1)) == "alone: its owner Pod vllm-0 is gone");
  const Grouping again = world.Judge(Leader(0, "pod-again"));
  CHECK(again.attempt == "pod-again");
  CHECK(again.key != first.key);
}

TEST_CASE("groups of two sizes exist while a LeaderWorkerSet rolls out", "[kube][grouping]") {
  GroupingWorld world;
  std::string bigger = Lws("");
  bigger.replace(bigger.find("size: 4"), 7, "size: 8");
  AddLws(world, bigger);
  CHECK(world.Judge(Worker(0, 1)).minimum == 4);
}

TEST_CASE("a LeaderWorkerSet of a DisaggregatedSet is grouped as any other", "[kube][grouping]") {
  GroupingWorld world;
  std::string lws = Lws("");
  lws.replace(
      lws.find("uid: lws-1"), 10,
      "uid: lws-1, " + OwnedBy("disaggregatedset.x-k8s.io/v1", "DisaggregatedSet", "d", "d-1"));
  AddLws(world, lws);
  world.Add(
      "{apiVersion: disaggregatedset.x-k8s.io/v1, kind: DisaggregatedSet, metadata: {name: d, "
      "namespace: team, uid: d-1}, spec: {}}");
  CHECK(world.Judge(Worker(0, 1)).minimum == 4);
}

}  // namespace muster::kube::testing
