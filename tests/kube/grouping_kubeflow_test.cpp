// The jobs of Kubeflow's operators, with pods as these make them.
#include <catch2/catch.hpp>
#include <string>

#include "kube/owners/grouping.hpp"
#include "tests/kube/grouping_world.hpp"

namespace muster::kube::testing {
namespace {

std::string Operated(const std::string& kind, const std::string& spec,
                     const std::string& version = "v1") {
  return "{apiVersion: kubeflow.org/" + version + ", kind: " + kind +
         ", metadata: {name: train, namespace: team, uid: job-1}, spec: {" + spec + "}}";
}

// Labels of pkg/controller.v1/common/pod.go of github.com/kubeflow/training-operator v1.9.4: the
// type in lower case.
std::string OperatedPod(const std::string& kind, const std::string& type, int index) {
  const std::string i = std::to_string(index);
  return PodText(
      "train-" + type + "-" + i,
      "labels: {training.kubeflow.org/job-name: train, "
      "training.kubeflow.org/operator-name: op, training.kubeflow.org/replica-index: \"" +
          i + "\", training.kubeflow.org/replica-type: " + type +
          (type == "master" ? ", training.kubeflow.org/job-role: master" : "") + "}, " +
          OwnedBy("kubeflow.org/v1", kind, "train", "job-1"));
}

std::string Replica(const std::string& name, int replicas) {
  return name + ": {replicas: " + std::to_string(replicas) +
         ", restartPolicy: OnFailure, template: {spec: {containers: []}}}";
}

}  // namespace

TEST_CASE("a job of the training operator is a gang of all its replicas", "[kube][grouping]") {
  struct Case {
    const char* kind;
    const char* field;
    std::string replicas;
    const char* type;
    const char* want;
  };
  const Case c = GENERATE(values<Case>({
      {"PyTorchJob", "pytorchReplicaSpecs", Replica("Master", 1) + ", " + Replica("Worker", 3),
       "worker", "pytorchjob:train needs 4 (Master 1, Worker 3) as Worker"},
      {"PyTorchJob", "pytorchReplicaSpecs", Replica("Worker", 3), "worker",
       "pytorchjob:train needs 3 (Worker 3) as Worker"},
      {"TFJob", "tfReplicaSpecs",
       Replica("Chief", 1) + ", " + Replica("PS", 2) + ", " + Replica("Worker", 4) + ", " +
           Replica("Evaluator", 1),
       "ps", "tfjob:train needs 8 (Chief 1, PS 2, Worker 4, Evaluator 1) as PS"},
      {"MPIJob", "mpiReplicaSpecs", Replica("Launcher", 1) + ", " + Replica("Worker", 4),
       "launcher", "mpijob:train needs 5 (Launcher 1, Worker 4) as Launcher"},
      {"XGBoostJob", "xgbReplicaSpecs", Replica("Master", 1) + ", " + Replica("Worker", 2),
       "master", "xgboostjob:train needs 3 (Master 1, Worker 2) as Master"},
      {"PaddleJob", "paddleReplicaSpecs", Replica("Worker", 2), "worker",
       "paddlejob:train needs 2 (Worker 2) as Worker"},
      {"JAXJob", "jaxReplicaSpecs", Replica("Worker", 2), "worker",
       "jaxjob:train needs 2 (Worker 2) as Worker"},
      {"JAXJob", "jaxReplicaSpecs", "Worker: {template: {}}", "worker",
       "jaxjob:train needs 1 (Worker 1) as Worker"},
  }));
  GroupingWorld world;
  world.Add(Operated(c.kind, std::string(c.field) + ": {" + c.replicas + "}"));
  CHECK(world.Told(OperatedPod(c.kind, c.type, 0)) == c.want);
}

TEST_CASE("minAvailable of a training operator's job counts before its replicas",
          "[kube][grouping]") {
  GroupingWorld world;
  const std::string specs =
      "tfReplicaSpecs: {" + Replica("PS", 2) + ", " + Replica("Worker", 4) + "}";
  const auto with = [&](const std::string& minimum) {
    world.Add(Operated("TFJob",
                       specs + ", runPolicy: {schedulingPolicy: {minAvailable: " + minimum + "}}"));
    return world.Told(OperatedPod("TFJob", "worker", 0));
  };
  CHECK(with("3") == "tfjob:train needs 3 as Worker");
  CHECK(with("6") == "tfjob:train needs 6 (PS 2, Worker 4) as Worker");
  CHECK(with("7") ==
        "refused: TFJob train makes 6 pods, and its minimum is set for 7 of them together");
  CHECK(with("0") == "tfjob:train needs 1 as Worker");
  CHECK(with("null") == "tfjob:train needs 6 (PS 2, Worker 4) as Worker");
}

TEST_CASE("queue and class of a training operator's job are the gang's, and the rest is reported",
          "[kube][grouping]") {
  GroupingWorld world;
  world.Add(
      Operated("TFJob", "tfReplicaSpecs: {" + Replica("Worker", 2) +
                            "}, runPolicy: {schedulingPolicy: {queue: q, priorityClass: high, "
                            "minResources: {cpu: 1}, scheduleTimeoutSeconds: 10}}"));
  const Grouping told = world.Judge(OperatedPod("TFJob", "worker", 0));
  CHECK(told.queue == "q");
  CHECK(told.priority_class == "high");
  CHECK(told.not_honoured ==
        std::vector<std::string>{"spec.runPolicy.schedulingPolicy.scheduleTimeoutSeconds: the "
                                 "policy's reservationTimeout says how long a plan is valid"});
}

TEST_CASE("an elastic PyTorchJob or PaddleJob starts with all replicas, and says so",
          "[kube][grouping]") {
  GroupingWorld world;
  const auto elastic = [&](const std::string& kind, const std::string& least,
                           const std::string& replicas) {
    world.Add(
        Operated(kind, "elasticPolicy: {minReplicas: " + least + ", maxReplicas: 8}, " + replicas));
    return world.Judge(OperatedPod(kind, "worker", 0));
  };
  Grouping fewer =
      elastic("PyTorchJob", "1", "pytorchReplicaSpecs: {" + Replica("Worker", 8) + "}");
  CHECK(fewer.minimum == 8);
  CHECK(fewer.keeps_rest);  // torchrun goes on without a worker that is lost
  CHECK(fewer.unheeded ==
        "elasticPolicy.minReplicas is no minimum, all replicas start together; "
        "muster.dev/min-member lets it start with fewer");
  const Grouping all =
      elastic("PyTorchJob", "8", "pytorchReplicaSpecs: {" + Replica("Worker", 8) + "}");
  CHECK(all.minimum == 8);
  CHECK(all.unheeded.empty());
  const Grouping paddle =
      elastic("PaddleJob", "2",
              "paddleReplicaSpecs: {" + Replica("Master", 1) + ", " + Replica("Worker", 4) + "}");
  CHECK(paddle.minimum == 5);
  CHECK_FALSE(paddle.unheeded.empty());
  // What somebody asked for counts, and nothing is to be said of it.
  fewer = elastic("PyTorchJob", "1",
                  "runPolicy: {schedulingPolicy: {minAvailable: 2}}, pytorchReplicaSpecs: {" +
                      Replica("Worker", 8) + "}");
  CHECK(fewer.minimum == 2);
  CHECK(fewer.unheeded.empty());
}

TEST_CASE("a pod that the training operator makes anew joins the same gang", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(Operated("PyTorchJob", "pytorchReplicaSpecs: {" + Replica("Worker", 4) + "}"));
  std::string again = OperatedPod("PyTorchJob", "worker", 1);
  again.replace(again.find("uid: uid-train-worker-1"), 23, "uid: uid-of-another");
  CHECK(world.Judge(OperatedPod("PyTorchJob", "worker", 1)).key == world.Judge(again).key);
}

namespace {

std::string MpiJob(int workers, const std::string& more = "") {
  return Operated("MPIJob",
                  "slotsPerWorker: 1, mpiReplicaSpecs: {" + Replica("Launcher", 1) + ", " +
                      Replica("Worker", workers) + "}" + more,
                  "v2beta1");
}
// defaultLabels in pkg/controller/mpi_job_controller.go of github.com/kubeflow/mpi-operator v0.8.0.
std::string MpiLabels(const std::string& role, const std::string& index) {
  return "labels: {training.kubeflow.org/job-name: train, training.kubeflow.org/operator-name: "
         "mpi-operator, training.kubeflow.org/job-role: " +
         role + (index.empty() ? "" : ", training.kubeflow.org/replica-index: \"" + index + "\"") +
         "}, ";
}
std::string MpiWorker(int index) {
  return PodText("train-worker-" + std::to_string(index),
                 MpiLabels("worker", std::to_string(index)) +
                     OwnedBy("kubeflow.org/v2beta1", "MPIJob", "train", "job-1"));
}
const std::string kLauncher =
    PodText("train-launcher-x8k2p",
            MpiLabels("launcher", "") + OwnedBy("batch/v1", "Job", "train-launcher", "lj-1"));
void AddLauncherJob(GroupingWorld& world) {
  world.Add(
      "{apiVersion: batch/v1, kind: Job, metadata: {name: train-launcher, namespace: team, "
      "uid: lj-1, " +
      OwnedBy("kubeflow.org/v2beta1", "MPIJob", "train", "job-1") +
      "}, spec: {parallelism: 1, completions: 1, completionMode: NonIndexed}}");
}

}  // namespace

TEST_CASE("an MPIJob is a gang of workers and the launcher that a Job makes", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(MpiJob(4));
  AddLauncherJob(world);
  CHECK(world.Told(MpiWorker(0)) == "mpijob:train needs 5 (launcher 1, worker 4) as worker");
  CHECK(world.Told(kLauncher) == "mpijob:train needs 5 (launcher 1, worker 4) as launcher");
  CHECK(world.Judge(MpiWorker(3)).key == world.Judge(kLauncher).key);
}

TEST_CASE("an MPIJob whose launcher waits for ready workers needs the workers alone",
          "[kube][grouping]") {
  GroupingWorld world;
  const std::string waits = ", launcherCreationPolicy: WaitForWorkersReady";
  world.Add(MpiJob(4, waits));
  AddLauncherJob(world);
  CHECK(world.Told(MpiWorker(0)) == "mpijob:train needs 4 (worker 4) as worker");
  CHECK(world.Told(kLauncher) == "mpijob:train needs 4 (worker 4) as launcher");
  // The operator's own PodGroup would count the launcher, and never form.
  world.Add(MpiJob(4, waits + ", runPolicy: {schedulingPolicy: {minAvailable: 5}}"));
  CHECK(world.Told(MpiWorker(0)) == "mpijob:train needs 4 (worker 4) as worker");
  world.Add(MpiJob(4, waits + ", runPolicy: {schedulingPolicy: {minAvailable: 2}}"));
  CHECK(world.Told(MpiWorker(0)) == "mpijob:train needs 2 as worker");
}

TEST_CASE("a minimum that counts a launcher which waits is refused", "[kube][grouping]") {
  GroupingWorld world;
  std::string job = MpiJob(4, ", launcherCreationPolicy: WaitForWorkersReady");
  job.replace(job.find("uid: job-1"), 10,
              "uid: job-1, annotations: {muster.dev/min-member: \"5\"}");
  world.Add(job);
  CHECK(world.Told(MpiWorker(0)) ==
        "refused: MPIJob train cannot start 5 pods together, as muster.dev/min-member asks: with "
        "launcherCreationPolicy WaitForWorkersReady the launcher comes when all workers are ready");
}

TEST_CASE("an MPIJob is read by the rule for its version", "[kube][grouping]") {
  GroupingWorld world;
  world.Add(MpiJob(4));
  CHECK(world.Told(PodText("a", OwnedBy("kubeflow.org/v1alpha2", "MPIJob", "train", "job-1"))) ==
        "alone: no grouping rule is for MPIJob of kubeflow.org");
}

}  // namespace muster::kube::testing
