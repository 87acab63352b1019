// Kubernetes' own controllers, and what people write about grouping.
#include <catch2/catch.hpp>
#include <string>

#include "kube/json/timestamp.hpp"
#include "kube/owners/grouping.hpp"
#include "tests/kube/grouping_world.hpp"

namespace muster::kube::testing {
namespace {

// A Job as its API server keeps it, and a pod of it as its controller makes it.
std::string Job(const std::string& spec, const std::string& meta = "") {
  return "{apiVersion: batch/v1, kind: Job, metadata: {name: train, namespace: team, uid: job-1" +
         meta + "}, spec: {" + spec + "}}";
}
std::string JobPod(int index, const std::string& annotations = "") {
  const std::string i = std::to_string(index);
  return PodText("train-" + i + "-x7k2p",
                 "labels: {batch.kubernetes.io/controller-uid: job-1, "
                 "batch.kubernetes.io/job-name: train, batch.kubernetes.io/job-completion-index: "
                 "\"" +
                     i +
                     "\", controller-uid: job-1, job-name: train}, annotations: "
                     "{batch.kubernetes.io/job-completion-index: \"" +
                     i + "\"" + annotations + "}, " + OwnedBy("batch/v1", "Job", "train", "job-1"));
}

const std::string kIndexed = "completionMode: Indexed, parallelism: 4, completions: 4";
const std::string kNoJobGang =
    "alone: Job train: a Job is a gang when it is Indexed, and parallelism is above 1 and the same "
    "as completions";

std::string SetPod(const std::string& annotations = "") {
  return PodText(
      "web-0",
      "labels: {apps.kubernetes.io/pod-index: \"0\", statefulset.kubernetes.io/pod-name: "
      "web-0}, annotations: {" +
          annotations + "}, " + OwnedBy("apps/v1", "StatefulSet", "web", "set-1"));
}
std::string Set(const std::string& spec) {
  return "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web, namespace: team, uid: "
         "set-1}, spec: {" +
         spec + "}}";
}

std::string ReplicaSet(const std::string& name, const std::string& replicas) {
  return "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: " + name +
         ", namespace: team, uid: uid-" + name + ", " +
         OwnedBy("apps/v1", "Deployment", "app", "app-1") + "}, spec: {replicas: " + replicas +
         "}}";
}
std::string ReplicaSetPod(const std::string& set) {
  return PodText(set + "-abcde", "labels: {pod-template-hash: x}, " +
                                     OwnedBy("apps/v1", "ReplicaSet", set, "uid-" + set));
}
std::string Deployment(const std::string& annotations) {
  return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: app, namespace: team, uid: "
         "app-1, annotations: {" +
         annotations + "}}, spec: {replicas: 4}}";
}

}  // namespace

TEST_CASE("a gang is as old as what its owner says of its last start", "[kube][grouping]") {
  GroupingWorld world;
  const auto since = [&](const std::string& meta, const std::string& status) {
    std::string job = Job(kIndexed, meta);
    job.insert(job.size() - 1, status);
    world.Add(job);
    return world.Judge(JobPod(0)).since;
  };
  CHECK(since("", "") == std::nullopt);
  CHECK(since(", creationTimestamp: soon", "") == std::nullopt);
  const std::string made = ", creationTimestamp: \"2026-01-02T03:04:05Z\"";
  CHECK(since(made, "") == *ParseTimestamp("2026-01-02T03:04:05Z"));
  CHECK(since(made, ", status: {startTime: \"2026-02-02T03:04:05Z\"}") ==
        *ParseTimestamp("2026-02-02T03:04:05Z"));
  CHECK(since(made, ", status: {startTime: \"1999-02-02T03:04:05Z\"}") ==
        *ParseTimestamp("2026-01-02T03:04:05Z"));
}

TEST_CASE("a Job whose indexes may fail by themselves is no gang", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Job(kIndexed + ", backoffLimitPerIndex: 0"));
  CHECK(world.Told(JobPod(0)) ==
        "alone: Job train: with backoffLimitPerIndex each index of a Job may fail by itself");
}

TEST_CASE("a gang that nobody asked for keeps its rest when a member is lost", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Job(kIndexed));
  CHECK(world.Judge(JobPod(0)).keeps_rest);
  world.Add(Job(kIndexed + ", scheduling: {schedulingPolicy: {gang: {minCount: 4}}}"));
  CHECK_FALSE(world.Judge(JobPod(0)).keeps_rest);
  world.Add(Job(kIndexed, ", annotations: {muster.dev/min-member: \"4\"}"));
  CHECK_FALSE(world.Judge(JobPod(0)).keeps_rest);
}

TEST_CASE("an Indexed Job that runs all its completions at once is a gang", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Job(kIndexed));
  CHECK(world.Told(JobPod(0)) == "job:train needs 4");
  CHECK(world.Judge(JobPod(0)).key == world.Judge(JobPod(3)).key);
}

TEST_CASE("other Jobs run their pods one by one", "[kube][grouping]") {
  GroupingWorld world;
  const std::string spec = GENERATE(values<std::string>({
      "completionMode: Indexed, parallelism: 2, completions: 4",
      "completionMode: Indexed, parallelism: 1, completions: 1",
      "completionMode: NonIndexed, parallelism: 4, completions: 4",
      "completionMode: NonIndexed, parallelism: 4",
      "",
  }));
  world.Add(Job(spec));
  CHECK(world.Told(JobPod(0)) == kNoJobGang);
}

TEST_CASE("what a Job says of its scheduling itself counts first", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Job("parallelism: 8, scheduling: {schedulingPolicy: {gang: {minCount: 6}}}"));
  CHECK(world.Told(JobPod(0)) == "job:train needs 6");
  world.Add(Job("parallelism: 8, scheduling: {schedulingPolicy: {gang: {}}}"));
  CHECK(world.Told(JobPod(0)) == "job:train needs 8");
  world.Add(Job(kIndexed + ", scheduling: {schedulingPolicy: {basic: {}}}"));
  CHECK(world.Told(JobPod(0)) == "alone: Job train: its spec.scheduling asks for no gang");
}

TEST_CASE("a gang follows the size of its Job", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Job(kIndexed));
  const auto key = world.Judge(JobPod(0)).key;
  world.Add(Job("completionMode: Indexed, parallelism: 6, completions: 6"));
  CHECK(world.Told(JobPod(0)) == "job:train needs 6");
  CHECK(world.Judge(JobPod(0)).key == key);
}

TEST_CASE("each run of a CronJob is a gang of its own", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(
      "{apiVersion: batch/v1, kind: CronJob, metadata: {name: nightly, namespace: team, uid: "
      "cron-1}, spec: {schedule: \"0 3 * * *\"}}");
  std::vector<cluster::ObjectKey> keys;
  for (const std::string run : {"nightly-1", "nightly-2"}) {
    world.Add("{apiVersion: batch/v1, kind: Job, metadata: {name: " + run +
              ", namespace: team, uid: uid-" + run +
              ", annotations: "
              "{batch.kubernetes.io/cronjob-scheduled-timestamp: \"2026-11-25T03:00:00Z\"}, " +
              OwnedBy("batch/v1", "CronJob", "nightly", "cron-1") + "}, spec: {" + kIndexed + "}}");
    const std::string pod =
        PodText(run + "-0-abcde", OwnedBy("batch/v1", "Job", run, "uid-" + run));
    CHECK(world.Told(pod) == "job:" + run + " needs 4");
    keys.push_back(world.Judge(pod).key);
  }
  CHECK(keys[0] != keys[1]);
}

TEST_CASE("a Job that is made anew under its name is another gang", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Job(kIndexed));
  const Grouping old = world.Judge(JobPod(0));
  std::string again = Job(kIndexed);
  again.replace(again.find("job-1"), 5, "job-2");
  world.Add(again);
  CHECK(world.Told(JobPod(0)) == "alone: its owner Job train is gone");
  const Grouping now =
      world.Judge(PodText("train-0-new", OwnedBy("batch/v1", "Job", "train", "job-2")));
  CHECK(now.kind == Grouping::Kind::kGang);
  CHECK(now.key != old.key);
  CHECK(now.key.name.substr(0, 10) == "job:train~");
}

TEST_CASE("a StatefulSet's pods are alone unless somebody asks for a gang", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Set("replicas: 3, podManagementPolicy: Parallel"));
  CHECK(world.Told(SetPod()) ==
        "alone: StatefulSet web: the pods of a StatefulSet serve one by one");
  CHECK(world.Told(SetPod("muster.dev/min-member: \"3\"")) == "statefulset:web needs 3");
  CHECK(world.Told(SetPod("muster.dev/min-member: \"4\"")) ==
        "refused: StatefulSet web makes 3 pods, and muster.dev/min-member asks for 4 of them "
        "together");
}

TEST_CASE("a gang of an OrderedReady StatefulSet is refused, for it could never form",
          "[kube][grouping]") {
  GroupingWorld world;
  const std::string policy =
      GENERATE(values<std::string>({"", ", podManagementPolicy: OrderedReady"}));
  world.Add(Set("replicas: 3" + policy));
  CHECK(world.Told(SetPod()).substr(0, 6) == "alone:");
  CHECK(world.Told(SetPod("muster.dev/min-member: \"2\"")) ==
        "refused: StatefulSet web cannot start 2 pods together, as muster.dev/min-member asks: "
        "with podManagementPolicy OrderedReady it makes each pod when the one before it is ready");
  CHECK(world.Told(SetPod("muster.dev/min-member: \"1\"")) == "statefulset:web needs 1");
}

TEST_CASE("a Deployment's pods are alone, and with a minimum a gang for each rollout",
          "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Deployment(""));
  world.Add(ReplicaSet("app-1", "4"));
  world.Add(ReplicaSet("app-2", "4"));
  CHECK(world.Told(ReplicaSetPod("app-1")) ==
        "alone: ReplicaSet app-1: the pods of a ReplicaSet serve one by one");
  world.Add(Deployment("muster.dev/min-member: \"4\""));
  CHECK(world.Told(ReplicaSetPod("app-1")) == "replicaset:app-1 needs 4");
  CHECK(world.Told(ReplicaSetPod("app-2")) == "replicaset:app-2 needs 4");
  world.Add(ReplicaSet("app-2", "1"));
  CHECK(world.Told(ReplicaSetPod("app-2")) ==
        "refused: ReplicaSet app-2 makes 1 pod, and muster.dev/min-member asks for 4 of them "
        "together");
}

TEST_CASE("the nearest word about grouping counts", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Job(kIndexed, ", annotations: {muster.dev/min-member: \"3\"}"));
  CHECK(world.Told(JobPod(0)) == "job:train needs 3");
  CHECK(world.Told(JobPod(0, ", muster.dev/min-member: \"2\"")) == "job:train needs 2");
  world.Add(Job(kIndexed, ", labels: {muster.dev/min-member: \"3\"}"));
  CHECK(world.Told(JobPod(0)) == "job:train needs 3");
  world.Add(Job(kIndexed, ", annotations: {muster.dev/gang: \"false\"}"));
  CHECK(world.Told(JobPod(0)) == "alone: muster.dev/gang is \"false\"");
  CHECK(world.Told(JobPod(0, ", muster.dev/min-member: \"2\"")) == "job:train needs 2");
}

TEST_CASE("a pod that wants no grouping is alone without a look at its owners",
          "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Job(kIndexed));
  CHECK(world.Told(JobPod(0, ", muster.dev/gang: \"false\"")) ==
        "alone: muster.dev/gang is \"false\"");
  CHECK(world.reads() == 0);
}

TEST_CASE("a malformed word about grouping is refused, not passed over", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Job(kIndexed));
  const std::string size =
      GENERATE(values<std::string>({"zero", "0", "-1", "2.5", "99999999999999999999", "4 "}));
  CHECK(world.Told(JobPod(0, ", muster.dev/min-member: \"" + size + "\"")) ==
        "refused: Pod train-0-x7k2p: muster.dev/min-member expected a whole number from 1, found "
        "\"" +
            size + "\"");
  CHECK(world.Told(JobPod(0, ", muster.dev/gang: \"no\"")) ==
        "refused: Pod train-0-x7k2p: muster.dev/gang expected \"false\" or nothing, found \"no\"");
  world.Add(Job(kIndexed, ", annotations: {muster.dev/min-member: all}"));
  CHECK(world.Told(JobPod(0)) ==
        "refused: Job train: muster.dev/min-member expected a whole number from 1, found \"all\"");
}

TEST_CASE("a minimum without anybody who owns the pod is refused", "[kube][grouping]") {
  GroupingWorld world;
  CHECK(world.Told(PodText("bare", "")) == "alone: it has no owner");
  CHECK(world.Told(PodText("bare", "annotations: {muster.dev/min-member: \"4\"}")) ==
        "refused: muster.dev/min-member asks for 4 members, but the pod has no owner and names no "
        "PodGroup, so nobody knows the others");
  CHECK(world.Told(PodText("bare", "annotations: {muster.dev/min-member: \"1\"}")) ==
        "alone: it has no owner");
}

TEST_CASE("a minimum makes a gang of the pods of any owner", "[kube][grouping]") {
  GroupingWorld world;
  const std::string owner = OwnedBy("x.io/v1", "Foo", "foo", "foo-1");
  CHECK(world.Told(PodText("a", owner)) == "alone: no grouping rule is for Foo of x.io");
  const std::string with = "annotations: {muster.dev/min-member: \"4\"}, " + owner;
  CHECK(world.Told(PodText("a", with)) == "foo:foo needs 4");
  CHECK(world.Judge(PodText("a", with)).key == world.Judge(PodText("b", with)).key);
  CHECK(world.reads() == 0);
}

TEST_CASE("a pod that names its PodGroup is not grouped by its owners", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Job(kIndexed));
  const std::string owner = ", " + OwnedBy("batch/v1", "Job", "train", "job-1");
  for (const std::string meta :
       {"labels: {scheduling.x-k8s.io/pod-group: g}", "labels: {grove.io/podgang: g}",
        "labels: {kueue.x-k8s.io/pod-group-name: g}", "labels: {scheduling.k8s.io/pod-group: g}",
        "annotations: {scheduling.k8s.io/group-name: g}", "annotations: {pod-group-name: g}",
        "labels: {scheduling.x-k8s.io/pod-group: g}, annotations: {muster.dev/gang: \"false\"}"}) {
    CHECK(world.Told(PodText("a", meta + owner)) == "linked");
  }
  CHECK(world.Told(PodText("a", owner.substr(2), "schedulingGroup: {podGroupName: g}")) ==
        "linked");
  CHECK(world.reads() == 0);
}

TEST_CASE("a Kueue group that serves is no gang", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Set("replicas: 3, podManagementPolicy: Parallel"));
  const std::string owner = OwnedBy("apps/v1", "StatefulSet", "web", "set-1");
  const auto pod = [&](const std::string& serving) {
    return PodText("web-0",
                   "labels: {kueue.x-k8s.io/pod-group-name: statefulset-web-1a2b3}, "
                   "annotations: {kueue.x-k8s.io/pod-group-total-count: \"3\", "
                   "kueue.x-k8s.io/pod-group-fast-admission: \"true\"" +
                       serving + "}, " + owner);
  };
  CHECK(world.Told(pod("")) == "linked");
  CHECK(world.Told(pod(", kueue.x-k8s.io/pod-group-serving: \"true\"")) ==
        "alone: StatefulSet web: the pods of a StatefulSet serve one by one");
}

}  // namespace muster::kube::testing
