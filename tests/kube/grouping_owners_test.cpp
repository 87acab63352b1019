// Chains of owners: wrappers, what is missing, what is malformed, and how far they are followed.
#include <catch2/catch.hpp>
#include <string>

#include "kube/owners/grouping.hpp"
#include "tests/kube/grouping_world.hpp"

namespace muster::kube::testing {
namespace {

std::string Object(const std::string& api_version, const std::string& kind, const std::string& name,
                   const std::string& owner = "", const std::string& spec = "") {
  return "{apiVersion: " + api_version + ", kind: " + kind + ", metadata: {name: " + name +
         ", namespace: team, uid: uid-" + name + (owner.empty() ? "" : ", ") + owner +
         "}, spec: {" + spec + "}}";
}
std::string Owned(const std::string& api_version, const std::string& kind,
                  const std::string& name) {
  return OwnedBy(api_version, kind, name, "uid-" + name);
}

const std::string kGroupingOwnersIndexed =
    "completionMode: Indexed, parallelism: 4, completions: 4";
const std::string kPod = PodText("p", Owned("batch/v1", "Job", "train"));

}  // namespace

TEST_CASE("what only wraps a workload leaves its gang as it is", "[kube][grouping]") {
  struct Case {
    const char* api_version;
    const char* kind;
  };
  const Case c = GENERATE(values<Case>({
      {"workload.codeflare.dev/v1beta2", "AppWrapper"},
      {"argoproj.io/v1alpha1", "Workflow"},
      {"batch/v1", "CronJob"},
      {"x.io/v1", "Unknown"},
  }));
  GroupingWorld world;
  world.Add(Object(c.api_version, c.kind, "top"));
  world.Add(Object("batch/v1", "Job", "train", Owned(c.api_version, c.kind, "top"),
                   kGroupingOwnersIndexed));
  CHECK(world.Told(kPod) == "job:train needs 4");
  world.Remove(c.kind, "top");
  CHECK(world.Told(kPod) == "job:train needs 4");
}

TEST_CASE("steps of workflows are alone, each with a reason", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Object("argoproj.io/v1alpha1", "Workflow", "flow"));
  CHECK(world.Told(PodText("a", "labels: {workflows.argoproj.io/workflow: flow}, " +
                                    Owned("argoproj.io/v1alpha1", "Workflow", "flow"))) ==
        "alone: Workflow flow runs its own pods one by one");
  world.Add(Object("tekton.dev/v1", "PipelineRun", "pipe"));
  world.Add(
      Object("tekton.dev/v1", "TaskRun", "task", Owned("tekton.dev/v1", "PipelineRun", "pipe")));
  CHECK(world.Told(PodText("a", "labels: {tekton.dev/taskRun: task}, " +
                                    Owned("tekton.dev/v1", "TaskRun", "task"))) ==
        "alone: TaskRun task: a TaskRun is one pod");
}

TEST_CASE("each run of a CronWorkflow is a Workflow: its steps are alone, what they make is not",
          "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Object("argoproj.io/v1alpha1", "CronWorkflow", "nightly"));
  world.Add(Object("argoproj.io/v1alpha1", "Workflow", "nightly-1",
                   Owned("argoproj.io/v1alpha1", "CronWorkflow", "nightly")));
  const std::string step = PodText("nightly-1-prepare-7",
                                   "labels: {workflows.argoproj.io/workflow: nightly-1, "
                                   "workflows.argoproj.io/completed: \"false\"}, annotations: "
                                   "{workflows.argoproj.io/node-id: nightly-1-7}, " +
                                       Owned("argoproj.io/v1alpha1", "Workflow", "nightly-1"));
  CHECK(world.Told(step) == "alone: Workflow nightly-1 runs its own pods one by one");
  world.Add(Object("batch/v1", "Job", "train",
                   Owned("argoproj.io/v1alpha1", "Workflow", "nightly-1"), kGroupingOwnersIndexed));
  CHECK(world.Told(kPod) == "job:train needs 4");
  world.Remove("CronWorkflow", "nightly");
  CHECK(world.Told(step) == "alone: Workflow nightly-1 runs its own pods one by one");
  CHECK(world.Told(kPod) == "job:train needs 4");
}

TEST_CASE("a Knative revision's pods are alone", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Object("apps/v1", "ReplicaSet", "rs", Owned("apps/v1", "Deployment", "d")));
  world.Add(Object("apps/v1", "Deployment", "d", Owned("serving.knative.dev/v1", "Revision", "r")));
  world.Add(Object("serving.knative.dev/v1", "Revision", "r",
                   Owned("serving.knative.dev/v1", "Configuration", "c")));
  CHECK(world.Told(PodText("a", "labels: {serving.knative.dev/revision: r}, " +
                                    Owned("apps/v1", "ReplicaSet", "rs"))) ==
        "alone: ReplicaSet rs: the pods of a ReplicaSet serve one by one");
}

TEST_CASE("a Volcano Job's pods name their group; without it the Job says what it is",
          "[kube][grouping]") {
  GroupingWorld world;
  const auto job = [&](const std::string& more) {
    world.Add(Object("batch.volcano.sh/v1alpha1", "Job", "v", "",
                     "minAvailable: 3, tasks: [{name: ps, replicas: 1}, {name: w, replicas: 4, "
                     "minAvailable: 2" +
                         more + "}]"));
  };
  const auto pod = [&](const std::string& version, const std::string& more = "") {
    return PodText("v-w-0",
                   "annotations: {volcano.sh/job-name: v, volcano.sh/task-spec: w, "
                   "volcano.sh/job-version: \"" +
                       version + "\"" + more + "}, " +
                       Owned("batch.volcano.sh/v1alpha1", "Job", "v"));
  };
  job("");
  CHECK(world.Told(pod("0", ", scheduling.k8s.io/group-name: v-uid")) == "linked");
  CHECK(world.Told(pod("0")) == "job:v needs 3 (ps 1, w 2) as w, attempt 0");
  CHECK(world.Judge(pod("0")).key != world.Judge(pod("1")).key);
  job(", dependsOn: {name: [ps]}");
  CHECK(world.Told(pod("0")) == "job:v:w needs 2 (w 2) as w, attempt 0");
}

TEST_CASE("Grove's pods name their PodGang; without it a PodClique is a gang", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Object("nvidia.com/v1beta1", "DynamoGraphDeployment", "graph"));
  world.Add(Object("grove.io/v1alpha1", "PodCliqueSet", "set",
                   Owned("nvidia.com/v1beta1", "DynamoGraphDeployment", "graph")));
  world.Add(Object("grove.io/v1alpha1", "PodClique", "set-0-prefill",
                   Owned("grove.io/v1alpha1", "PodCliqueSet", "set"),
                   "replicas: 4, minAvailable: 3"));
  const auto pod = [&](const std::string& labels) {
    return PodText("a", "labels: {grove.io/podclique: set-0-prefill" + labels + "}, " +
                            Owned("grove.io/v1alpha1", "PodClique", "set-0-prefill"));
  };
  CHECK(world.Told(pod(", grove.io/podgang: set-0")) == "linked");
  CHECK(world.Told(pod("")) == "podclique:set-0-prefill needs 3");
}

TEST_CASE("each PodClique of a PodCliqueScalingGroup's replica is a gang without a PodGang",
          "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Object("grove.io/v1alpha1", "PodCliqueSet", "set"));
  world.Add(Object("grove.io/v1alpha1", "PodCliqueScalingGroup", "set-0-decode",
                   Owned("grove.io/v1alpha1", "PodCliqueSet", "set"),
                   "replicas: 2, cliqueNames: [leader, worker]"));
  const auto pod = [&](const std::string& replica, const std::string& labels = "") {
    const std::string clique = "set-0-decode-" + replica + "-worker";
    world.Add(Object("grove.io/v1alpha1", "PodClique", clique,
                     Owned("grove.io/v1alpha1", "PodCliqueScalingGroup", "set-0-decode"),
                     "replicas: 3"));
    return PodText(clique + "-abcde", "labels: {grove.io/podclique: " + clique +
                                          ", grove.io/podcliquescalinggroup: set-0-decode, "
                                          "grove.io/podcliquescalinggroup-replica-index: \"" +
                                          replica + "\"" + labels + "}, " +
                                          Owned("grove.io/v1alpha1", "PodClique", clique));
  };
  const std::string first = pod("0");
  const std::string second = pod("1");
  CHECK(world.Told(first) == "podclique:set-0-decode-0-worker needs 3");
  CHECK(world.Judge(first).key != world.Judge(second).key);
  CHECK(world.Told(pod("1", ", grove.io/podgang: set-0-decode-0")) == "linked");
  world.Remove("PodCliqueScalingGroup", "set-0-decode");
  CHECK(world.Told(first) == "podclique:set-0-decode-0-worker needs 3");
}

TEST_CASE("a Dynamo component is grouped as what it makes", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Object("nvidia.com/v1beta1", "DynamoComponentDeployment", "c"));
  world.Add(Object("apps/v1", "Deployment", "d",
                   Owned("nvidia.com/v1beta1", "DynamoComponentDeployment", "c")));
  world.Add(
      Object("apps/v1", "ReplicaSet", "rs", Owned("apps/v1", "Deployment", "d"), "replicas: 2"));
  CHECK(world.Told(PodText("a", Owned("apps/v1", "ReplicaSet", "rs"))).substr(0, 6) == "alone:");
  CHECK(world.Told(PodText("a", "annotations: {muster.dev/min-member: \"2\"}, " +
                                    Owned("apps/v1", "ReplicaSet", "rs"))) ==
        "replicaset:rs needs 2");
}

TEST_CASE("an owner that is not read yet is asked for, one at a time", "[kube][grouping]") {
  GroupingWorld world;
  world.Unread("Job");
  const Grouping told = world.Judge(kPod);
  CHECK(told.kind == Grouping::Kind::kUnread);
  REQUIRE(told.next.has_value());
  CHECK(*told.next == OwnerKey{"batch/v1", "Job", "team", "train", "uid-train"});
  GroupingWorld further;
  further.Add(Object("batch/v1", "Job", "train", Owned("jobset.x-k8s.io/v1alpha2", "JobSet", "s")));
  further.Unread("JobSet");
  CHECK(further.Told(kPod) == "read JobSet s");
}

TEST_CASE("as long as an owner cannot be read its pods wait together", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Object("batch/v1", "Job", "train", Owned("jobset.x-k8s.io/v1alpha2", "JobSet", "s"),
                   kGroupingOwnersIndexed));
  const auto off = [](const std::string& more) {
    return PodText("p", "annotations: {" + more + "}, " + Owned("batch/v1", "Job", "train"));
  };
  SECTION("also where one below it was read: that would be a part of the gang") {
    world.Forbid("JobSet");
    CHECK(world.Told(kPod) == "waits as jobset:s: JobSet s: no right");
  }
  SECTION("by the one that is nearest") {
    world.Forbid("JobSet");
    world.Forbid("Job");
    CHECK(world.Told(kPod) == "waits as job:train: Job train: no right");
    CHECK(world.Judge(kPod).key ==
          world.Judge(PodText("q", Owned("batch/v1", "Job", "train"))).key);
  }
  SECTION("unless they say themselves what they are") {
    world.Forbid("Job");
    CHECK(world.Told(off("muster.dev/gang: \"false\"")) == "alone: muster.dev/gang is \"false\"");
    CHECK(world.Told(off("muster.dev/min-member: \"4\"")) == "job:train needs 4");
  }
  SECTION("or an owner that was read does") {
    world.Add(Object("batch/v1", "Job", "train",
                     "annotations: {muster.dev/gang: \"false\"}, " +
                         Owned("jobset.x-k8s.io/v1alpha2", "JobSet", "s"),
                     kGroupingOwnersIndexed));
    world.Forbid("JobSet");
    CHECK(world.Told(kPod) == "alone: muster.dev/gang is \"false\"");
  }
  SECTION("or the policy lets them start alone") {
    world.LetAlone();
    world.Forbid("JobSet");
    CHECK(world.Told(kPod) == "job:train needs 4");
    CHECK(world.Judge(kPod).note ==
          "JobSet s cannot be read: what it and its owners say of gangs does not count");
    world.Forbid("Job");
    CHECK(world.Told(kPod) == "alone: its owner Job train cannot be read");
  }
  SECTION("a kind that no rule names is not asked for") {
    world.Forbid("Strange");
    CHECK(world.Told(PodText("p", Owned("example.com/v1", "Strange", "x"))) ==
          "alone: no grouping rule is for Strange of example.com");
  }
}

TEST_CASE("the pods of an owner that is gone are in no gang", "[kube][grouping]") {
  GroupingWorld world;
  CHECK(world.Told(kPod) == "alone: its owner Job train is gone");
  world.Add(Object("batch/v1", "Job", "train", Owned("jobset.x-k8s.io/v1alpha2", "JobSet", "s"),
                   kGroupingOwnersIndexed));
  CHECK(world.Told(kPod) == "alone: its owner JobSet s is gone");
}

TEST_CASE("owners that own each other are found out", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Object("batch/v1", "Job", "train", Owned("apps/v1", "Deployment", "d")));
  world.Add(Object("apps/v1", "Deployment", "d", Owned("batch/v1", "Job", "train")));
  CHECK(world.Told(kPod) == "alone: its owners own each other: Job train is met twice");
  CHECK(world.Told(PodText("self", Owned("v1", "Pod", "self"))) ==
        "alone: its owners own each other: Pod self is met twice");
}

TEST_CASE("a chain of owners is followed so far and no further", "[kube][grouping]") {
  GroupingWorld world;
  for (int i = 0; i < 40; ++i) {
    world.Add(
        Object("workload.codeflare.dev/v1beta2", "AppWrapper", "w" + std::to_string(i),
               Owned("workload.codeflare.dev/v1beta2", "AppWrapper", "w" + std::to_string(i + 1))));
  }
  CHECK(world.Told(PodText("a", Owned("workload.codeflare.dev/v1beta2", "AppWrapper", "w0"))) ==
        "alone: it has more than 16 owners, one above the other");
  CHECK(world.reads() == 16);
}

TEST_CASE("only the owner that controls an object counts", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Object("batch/v1", "Job", "train", "", kGroupingOwnersIndexed));
  const std::string other = "{apiVersion: batch/v1, kind: Job, name: other, uid: o-1}";
  const std::string job =
      "{apiVersion: batch/v1, kind: Job, name: train, uid: uid-train, controller: true}";
  CHECK(world.Told(PodText("a", "ownerReferences: [" + other + ", " + job + "]")) ==
        "job:train needs 4");
  CHECK(world.Told(PodText("a", "ownerReferences: [" + other + "]")) == "alone: it has no owner");
}

TEST_CASE("numbers that are none are refused with their place", "[kube][grouping]") {
  GroupingWorld world;
  const auto told = [&](const std::string& spec) {
    world.Add(Object("kubeflow.org/v1", "JAXJob", "train", "", spec));
    return world.Told(PodText("p", Owned("kubeflow.org/v1", "JAXJob", "train")));
  };
  const auto of = [&](const std::string& replicas) {
    return told("jaxReplicaSpecs: {Worker: {replicas: " + replicas + "}}");
  };
  const std::string place = "refused: JAXJob train.spec.jaxReplicaSpecs.Worker.replicas: expected ";
  CHECK(of("-1") == place + "a whole number from 0 to 1000000000, found -1");
  CHECK(of("2.5") == place + "a whole number from 0 to 1000000000, found 2.5");
  CHECK(of("three") == place + "a whole number from 0 to 1000000000, found three");
  CHECK(of("99999999999") == place + "a whole number from 0 to 1000000000, found 99999999999");
  CHECK(of("{}") == place + "a quantity, found an object");
  CHECK(of("0") == "jaxjob:train needs 1");
  CHECK(told("jaxReplicaSpecs: {Worker: 3}").substr(0, 8) == "refused:");
  CHECK(told("jaxReplicaSpecs: 3").substr(0, 8) == "refused:");
  CHECK(told("jaxReplicaSpecs: null") == "jaxjob:train needs 1");
  CHECK(told("runPolicy: {schedulingPolicy: {minAvailable: x}}") ==
        "refused: JAXJob train.spec.runPolicy.schedulingPolicy.minAvailable: expected a whole "
        "number from 0 to 1000000000, found x");
}

TEST_CASE("numbers beyond all measure stay numbers", "[kube][grouping]") {
  GroupingWorld world;
  std::string jobs;
  for (int i = 0; i < 50; ++i) {
    jobs += "{name: r" + std::to_string(i) +
            ", replicas: 1000000000, template: {spec: {parallelism: 1000000000}}}, ";
  }
  world.Add(
      Object("jobset.x-k8s.io/v1alpha2", "JobSet", "s", "", "replicatedJobs: [" + jobs + "]"));
  const Grouping told = world.Judge(PodText("p", Owned("jobset.x-k8s.io/v1alpha2", "JobSet", "s")));
  CHECK(told.kind == Grouping::Kind::kGang);
  CHECK(told.minimum == 50 * int64_t{3'000'000'000});
}

TEST_CASE("pods and owners of any shape are judged", "[kube][grouping]") {
  GroupingWorld world;
  for (const std::string meta : {"annotations: text", "ownerReferences: {}",
                                 "ownerReferences: [3, {}, {controller: yes}, null]",
                                 "ownerReferences: [{controller: true}]"}) {
    CHECK(world.Told(PodText("a", meta)).substr(0, 6) == "alone:");
  }
  world.Add(
      "{apiVersion: batch/v1, kind: Job, metadata: {name: train, uid: uid-train, labels: 3, "
      "ownerReferences: 7}, spec: []}");
  CHECK(world.Told(kPod).substr(0, 8) == "refused:");
}

}  // namespace muster::kube::testing
