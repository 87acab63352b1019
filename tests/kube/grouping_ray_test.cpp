// Ray and Spark, whose pods come and go while they run.
#include <catch2/catch.hpp>
#include <string>

#include "kube/owners/grouping.hpp"
#include "tests/kube/grouping_world.hpp"

namespace muster::kube::testing {
namespace {

std::string Cluster(const std::string& spec, const std::string& name = "ray",
                    const std::string& owner = "") {
  return "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: " + name +
         ", namespace: team, uid: uid-" + name + (owner.empty() ? "" : ", ") + owner +
         "}, spec: {headGroupSpec: {rayStartParams: {}}, " + spec + "}}";
}

// labelPod in controllers/ray/common/pod.go of ray-operator v1.6.2.
std::string RayPod(const std::string& type, const std::string& group,
                   const std::string& cluster = "ray") {
  return PodText(cluster + "-" + group + "-abcde",
                 "labels: {ray.io/is-ray-node: \"yes\", ray.io/cluster: " + cluster +
                     ", ray.io/node-type: " + type + ", ray.io/group: " + group +
                     ", ray.io/identifier: " + cluster + "-" + type +
                     ", app.kubernetes.io/created-by: kuberay-operator}, " +
                     OwnedBy("ray.io/v1", "RayCluster", cluster, "uid-" + cluster));
}

std::string Group(const std::string& name, const std::string& sizes) {
  return "{groupName: " + name + ", " + sizes + ", rayStartParams: {}, template: {}}";
}

}  // namespace

TEST_CASE("a RayCluster is a gang of its head and all its workers", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(
      Cluster("workerGroupSpecs: [" +
              Group("gpu", "replicas: 3, minReplicas: 1, maxReplicas: 10, numOfHosts: 1") + ", " +
              Group("tpu", "replicas: 2, minReplicas: 0, maxReplicas: 4, numOfHosts: 4") + "]"));
  CHECK(world.Told(RayPod("head", "headgroup")) ==
        "raycluster:ray needs 12 (headgroup 1, gpu 3, tpu 8) as headgroup");
  CHECK(world.Told(RayPod("worker", "tpu")) ==
        "raycluster:ray needs 12 (headgroup 1, gpu 3, tpu 8) as tpu");
}

TEST_CASE("a RayCluster that scales itself needs no more than it never gives back",
          "[kube][grouping]") {
  GroupingWorld world;
  world.Add(
      Cluster("enableInTreeAutoscaling: true, workerGroupSpecs: [" +
              Group("gpu", "replicas: 7, minReplicas: 2, maxReplicas: 10, numOfHosts: 2") + ", " +
              Group("spot", "replicas: 5, minReplicas: 0, maxReplicas: 5, numOfHosts: 1") + "]"));
  CHECK(world.Told(RayPod("worker", "gpu")) ==
        "raycluster:ray needs 5 (headgroup 1, gpu 4) as gpu");
  CHECK(world.Told(RayPod("worker", "spot")) ==
        "raycluster:ray needs 5 (headgroup 1, gpu 4) as spot");
}

TEST_CASE("the hosts of a replica of a RayCluster are a unit", "[kube][grouping]") {
  GroupingWorld world;
  using Units = std::vector<cluster::RoleUnit>;
  for (const char* scales : {"", "enableInTreeAutoscaling: true, "}) {
    world.Add(Cluster(std::string(scales) + "workerGroupSpecs: [" +
                      Group("gpu", "replicas: 3, minReplicas: 1, maxReplicas: 9") + ", " +
                      Group("tpu", "replicas: 2, minReplicas: 0, maxReplicas: 4, numOfHosts: 4") +
                      "]"));
    CHECK(world.Judge(RayPod("worker", "gpu")).units == Units{{"tpu", 4}});
  }
}

TEST_CASE("a RayCluster's replicas are kept within its bounds, and suspended groups have none",
          "[kube][grouping]") {
  GroupingWorld world;
  const auto of = [&](const std::string& sizes) {
    world.Add(Cluster("workerGroupSpecs: [" + Group("gpu", sizes) + "]"));
    return world.Judge(RayPod("head", "headgroup")).minimum;
  };
  CHECK(of("replicas: 9, minReplicas: 1, maxReplicas: 4") == 5);
  CHECK(of("replicas: 0, minReplicas: 2, maxReplicas: 4") == 3);
  CHECK(of("minReplicas: 2, maxReplicas: 4") == 3);
  CHECK(of("replicas: 2") == 3);
  CHECK(of("suspend: true, replicas: 2, minReplicas: 1, maxReplicas: 4") == 1);
  world.Add(Cluster("workerGroupSpecs: []"));
  CHECK(world.Told(RayPod("head", "headgroup")) ==
        "raycluster:ray needs 1 (headgroup 1) as headgroup");
}

TEST_CASE("the submitter of a RayJob is no member of its cluster", "[kube][grouping]") {
  GroupingWorld world;
  const std::string rayjob = OwnedBy("ray.io/v1", "RayJob", "tune", "rj-1");
  world.Add(
      "{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: tune, namespace: team, uid: "
      "rj-1}, spec: {submissionMode: K8sJobMode}}");
  world.Add(Cluster("workerGroupSpecs: [" + Group("gpu", "replicas: 2") + "]", "tune-x1", rayjob));
  world.Add(
      "{apiVersion: batch/v1, kind: Job, metadata: {name: tune, namespace: team, uid: sj-1, " +
      rayjob + "}, spec: {parallelism: 1, completions: 1}}");
  CHECK(world.Told(RayPod("worker", "gpu", "tune-x1")) ==
        "raycluster:tune-x1 needs 3 (headgroup 1, gpu 2) as gpu");
  CHECK(world.Told(PodText("tune-abcde", OwnedBy("batch/v1", "Job", "tune", "sj-1"))) ==
        "no member: the submitter of a RayJob comes when its RayCluster is ready");
}

TEST_CASE("each retry of a RayJob and each side of a RayService's upgrade is a gang",
          "[kube][grouping]") {
  GroupingWorld world;
  const std::string kind = GENERATE(values<std::string>({"RayJob", "RayService"}));
  const std::string owner = OwnedBy("ray.io/v1", kind, "top", "top-1");
  world.Add("{apiVersion: ray.io/v1, kind: " + kind +
            ", metadata: {name: top, namespace: team, uid: top-1}, spec: {}}");
  const std::string workers = "workerGroupSpecs: [" + Group("gpu", "replicas: 2") + "]";
  world.Add(Cluster(workers, "top-a", owner));
  world.Add(Cluster(workers, "top-b", owner));
  const Grouping a = world.Judge(RayPod("worker", "gpu", "top-a"));
  const Grouping b = world.Judge(RayPod("worker", "gpu", "top-b"));
  CHECK(a.minimum == 3);
  CHECK(b.minimum == 3);
  CHECK(a.key != b.key);
}

TEST_CASE("each run of a RayCronJob is a RayJob, whose RayCluster is a gang", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(
      "{apiVersion: ray.io/v1, kind: RayCronJob, metadata: {name: nightly, namespace: team, uid: "
      "c-1}, spec: {schedule: \"0 2 * * *\", jobTemplate: {}}}");
  // constructRayJob in controllers/ray/raycronjob_controller.go of ray-operator v1.6.2.
  const auto run = [&](const std::string& name) {
    world.Add("{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: " + name +
              ", namespace: team, uid: uid-" + name + ", labels: {ray.io/cronjob-name: nightly}, " +
              OwnedBy("ray.io/v1", "RayCronJob", "nightly", "c-1") + "}, spec: {}}");
    const std::string rayjob = OwnedBy("ray.io/v1", "RayJob", name, "uid-" + name);
    world.Add(
        Cluster("workerGroupSpecs: [" + Group("gpu", "replicas: 2") + "]", name + "-x", rayjob));
    world.Add("{apiVersion: batch/v1, kind: Job, metadata: {name: " + name +
              ", namespace: team, uid: submit-" + name + ", " + rayjob +
              "}, spec: {parallelism: 1, completions: 1}}");
  };
  run("nightly-a");
  run("nightly-b");
  CHECK(world.Told(RayPod("worker", "gpu", "nightly-a-x")) ==
        "raycluster:nightly-a-x needs 3 (headgroup 1, gpu 2) as gpu");
  CHECK(world.Judge(RayPod("worker", "gpu", "nightly-a-x")).key !=
        world.Judge(RayPod("worker", "gpu", "nightly-b-x")).key);
  CHECK(world.Told(PodText("nightly-a-abcde",
                           OwnedBy("batch/v1", "Job", "nightly-a", "submit-nightly-a"))) ==
        "no member: the submitter of a RayJob comes when its RayCluster is ready");
  world.Remove("RayCronJob", "nightly");
  CHECK(world.Told(RayPod("head", "headgroup", "nightly-b-x")) ==
        "raycluster:nightly-b-x needs 3 (headgroup 1, gpu 2) as headgroup");
}

namespace {

const std::string kApp =
    OwnedBy("sparkoperator.k8s.io/v1beta2", "SparkApplication", "etl", "app-1");

std::string SparkLabels(const std::string& role, const std::string& selector) {
  return "labels: {spark-role: " + role + ", spark-app-selector: " + selector +
         ", spark-app-name: etl" + (role == "executor" ? ", spark-exec-id: \"1\"" : "") + "}";
}
std::string Driver(const std::string& uid, const std::string& owner) {
  return "{apiVersion: v1, kind: Pod, metadata: {name: etl-driver, namespace: team, uid: " + uid +
         ", " + SparkLabels("driver", "spark-" + uid) + (owner.empty() ? "" : ", ") + owner +
         "}, spec: {}}";
}
std::string Executor(const std::string& driver_uid, const std::string& more = "") {
  std::string labels = SparkLabels("executor", "spark-" + driver_uid);
  return PodText("etl-exec-1",
                 labels + more + ", " + OwnedBy("v1", "Pod", "etl-driver", driver_uid));
}

}  // namespace

TEST_CASE("a SparkApplication starts with its driver, and its executors join it",
          "[kube][grouping]") {
  GroupingWorld world;
  world.Add(
      "{apiVersion: sparkoperator.k8s.io/v1beta2, kind: SparkApplication, metadata: {name: "
      "etl, namespace: team, uid: app-1}, spec: {mode: cluster, executor: {instances: 4}}}");
  world.Add(Driver("d-1", kApp));
  CHECK(world.Told(Driver("d-1", kApp)) == "sparkapplication:etl needs 1 as driver, attempt d-1");
  CHECK(world.Told(Executor("d-1")) == "sparkapplication:etl needs 1 as executor, attempt d-1");
  CHECK(world.Told(Executor("d-1", ", annotations: {muster.dev/min-member: \"5\"}")) ==
        "refused: SparkApplication etl cannot start 5 pods together, as muster.dev/min-member "
        "asks: executors come when the pod that asks for them runs");
}

TEST_CASE("a retry of a SparkApplication is another attempt", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(
      "{apiVersion: sparkoperator.k8s.io/v1beta2, kind: SparkApplication, metadata: {name: "
      "etl, namespace: team, uid: app-1}, spec: {executor: {instances: 4}}}");
  world.Add(Driver("d-2", kApp));
  CHECK(world.Told(Driver("d-2", kApp)) == "sparkapplication:etl needs 1 as driver, attempt d-2");
  CHECK(world.Told(Executor("d-1")) == "alone: its owner Pod etl-driver is gone");
}

TEST_CASE("a run of a ScheduledSparkApplication is a SparkApplication, and a gang of its own",
          "[kube][grouping]") {
  GroupingWorld world;
  // createSparkApplication in internal/controller/scheduledsparkapplication/controller.go of
  // spark-operator v2.5.0 names no controller; a rule counts in either case.
  const std::string controls = GENERATE(values<std::string>({"", ", controller: true"}));
  world.Add(
      "{apiVersion: sparkoperator.k8s.io/v1beta2, kind: ScheduledSparkApplication, metadata: "
      "{name: nightly, namespace: team, uid: n-1}, spec: {schedule: \"@daily\", template: {}}}");
  const auto driver = [&](const std::string& run) {
    world.Add(
        "{apiVersion: sparkoperator.k8s.io/v1beta2, kind: SparkApplication, metadata: {name: " +
        run + ", namespace: team, uid: uid-" + run +
        ", labels: {sparkoperator.k8s.io/scheduled-app-name: nightly}, ownerReferences: "
        "[{apiVersion: sparkoperator.k8s.io/v1beta2, kind: ScheduledSparkApplication, name: "
        "nightly, uid: n-1, blockOwnerDeletion: true" +
        controls + "}]}, spec: {executor: {instances: 4}}}");
    return PodText(run + "-driver", SparkLabels("driver", "spark-" + run) + ", " +
                                        OwnedBy("sparkoperator.k8s.io/v1beta2", "SparkApplication",
                                                run, "uid-" + run));
  };
  const std::string first = driver("nightly-1");
  const std::string second = driver("nightly-2");
  CHECK(world.Told(first) ==
        "sparkapplication:nightly-1 needs 1 as driver, attempt uid-nightly-1-driver");
  CHECK(world.Told(second) ==
        "sparkapplication:nightly-2 needs 1 as driver, attempt uid-nightly-2-driver");
  world.Remove("ScheduledSparkApplication", "nightly");
  CHECK(world.Told(second) ==
        "sparkapplication:nightly-2 needs 1 as driver, attempt uid-nightly-2-driver");
}

namespace {

// GetServerSelectorLabels and GetExecutorSelectorLabels in internal/controller/sparkconnect/util.go
// of spark-operator v2.5.0. Spark itself makes the server the owner of its executors.
std::string ConnectLabels(const std::string& role) {
  return "labels: {spark-role: " + role +
         ", sparkoperator.k8s.io/connect-name: shell, "
         "sparkoperator.k8s.io/launched-by-spark-operator: \"true\"}, ";
}
std::string ConnectServer(const std::string& uid) {
  return "{apiVersion: v1, kind: Pod, metadata: {name: shell-server, namespace: team, uid: " + uid +
         ", " + ConnectLabels("connect-server") +
         OwnedBy("sparkoperator.k8s.io/v1alpha1", "SparkConnect", "shell", "connect-1") +
         "}, spec: {}}";
}
std::string ConnectExecutor(const std::string& server_uid) {
  return PodText("shell-exec-1",
                 ConnectLabels("executor") + OwnedBy("v1", "Pod", "shell-server", server_uid));
}

}  // namespace

TEST_CASE("a SparkConnect starts with its server, and its executors join it", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(
      "{apiVersion: sparkoperator.k8s.io/v1alpha1, kind: SparkConnect, metadata: {name: shell, "
      "namespace: team, uid: connect-1}, spec: {executor: {instances: 4}}}");
  world.Add(ConnectServer("s-1"));
  CHECK(world.Told(ConnectServer("s-1")) ==
        "sparkconnect:shell needs 1 as connect-server, attempt s-1");
  CHECK(world.Told(ConnectExecutor("s-1")) ==
        "sparkconnect:shell needs 1 as executor, attempt s-1");
  CHECK(world.Judge(ConnectServer("s-1")).key == world.Judge(ConnectExecutor("s-1")).key);
  // The operator makes a server that is gone anew, under the same name.
  const auto before = world.Judge(ConnectServer("s-1")).key;
  world.Add(ConnectServer("s-2"));
  CHECK(world.Judge(ConnectServer("s-2")).key != before);
  CHECK(world.Told(ConnectExecutor("s-1")) == "alone: its owner Pod shell-server is gone");
}

TEST_CASE("spark-submit without an operator is a gang of its driver's", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Driver("d-1", ""));
  CHECK(world.Told(Driver("d-1", "")) == "pod:etl-driver needs 1 as driver");
  CHECK(world.Told(Executor("d-1")) == "pod:etl-driver needs 1 as executor");
  CHECK(world.Judge(Driver("d-1", "")).key == world.Judge(Executor("d-1")).key);
}

TEST_CASE("pods that a pod owns are no gang without a rule for it", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(
      "{apiVersion: v1, kind: Pod, metadata: {name: head, namespace: team, uid: h-1}, spec: "
      "{}}");
  const std::string owner = OwnedBy("v1", "Pod", "head", "h-1");
  CHECK(world.Told(PodText("a", owner)) == "alone: Pod head runs its own pods one by one");
  CHECK(world.Told(PodText("a", "annotations: {muster.dev/min-member: \"2\"}, " + owner)) ==
        "pod:head needs 2");
}

}  // namespace muster::kube::testing
