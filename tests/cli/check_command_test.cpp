// muster check: manifests without a server.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/cli_run.hpp"
#include "tests/http/tls_test_support.hpp"

namespace muster::cli::testing {
namespace {

using http::testing::TempFolder;

// Of a file with this text, which is called f.yaml in what it prints.
CliRun Check(const std::string& text) {
  const TempFolder folder;
  const std::string file = folder.File("f.yaml");
  std::ofstream(file) << text;
  CliRun run = Run({"check", file});
  for (std::string* said : {&run.out, &run.err}) {
    for (std::size_t at = said->find(file); at != std::string::npos; at = said->find(file))
      said->replace(at, file.size(), "f.yaml");
  }
  return run;
}

std::string Pod(const std::string& spec, const std::string& annotations = "{}") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: p, annotations: " + annotations +
         "}\nspec:\n" + spec;
}

std::string Deployment(const std::string& spec) {
  return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  template:\n"
         "    spec: " +
         spec + "\n";
}

std::string JobSpec(const std::string& spec, const std::string& pod, const std::string& indent) {
  std::string text;
  std::istringstream lines(spec + "  template:\n" + pod);
  for (std::string line; std::getline(lines, line);) text += indent + line + "\n";
  return text;
}

const std::string kContainers = "      containers: [{name: main, image: i}]\n";
const std::string kEnds = "    spec:\n      restartPolicy: Never\n" + kContainers;
const std::string kOurs =
    "    spec:\n      schedulerName: muster\n      restartPolicy: Never\n" + kContainers;

// `pod`: of the template.
std::string Job(const std::string& spec, const std::string& pod,
                const std::string& metadata = "{name: j}") {
  return "apiVersion: batch/v1\nkind: Job\nmetadata: " + metadata + "\nspec:\n" +
         JobSpec(spec, pod, "");
}

std::string CronJob(const std::string& spec, const std::string& pod,
                    const std::string& metadata = "{name: c}") {
  return "apiVersion: batch/v1\nkind: CronJob\nmetadata: " + metadata +
         "\nspec:\n  schedule: \"0 2 * * *\"\n  jobTemplate:\n    spec:\n" +
         JobSpec(spec, pod, "    ");
}

TEST_CASE("check finds nothing wrong with the samples", "[cli][check]") {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(MUSTER_SOURCE_DIR) + "/manifests/samples")) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path());
    const CliRun run = Run({"check", entry.path().string()});
    CHECK(run.err.empty());
    CHECK(run.status == kExitOk);
    ++files;
  }
  CHECK(files >= 25);
}

TEST_CASE("check tells all faults of manifests without a server", "[cli][check]") {
  const CliRun fine = Check(Pod("  containers: [{name: main, image: i}]\n") +
                            "---\napiVersion: x.io/v1\nkind: Training\n");
  CHECK(fine.status == kExitOk);
  CHECK(fine.out ==
        "f.yaml: fine, 2 objects; of Training only names and pod templates were looked at\n");
  CHECK(fine.err.empty());
  CHECK(Check("apiVersion: batch.x.io/v1alpha1\nkind: Job\nmetadata: {name: j}\n").out ==
        "f.yaml: fine, 1 object; of Job only names and pod templates were looked at\n");
  CHECK(Check("apiVersion: bach/v1\nkind: Job\nmetadata: {name: j}\n").status == kExitFailed);
  const CliRun policy = Check("apiVersion: muster.dev/v1alpha1\nkind: Policy\n");
  CHECK(policy.status == kExitFailed);
  CHECK(policy.err == "muster: f.yaml: a Policy is checked by muster check-policy\n");
  const CliRun wrong =
      Check(Pod("  hostNetwrok: true\n  containers: [{nmae: main, name: main, image: i}]\n"));
  CHECK(wrong.status == kExitFailed);
  CHECK(wrong.out.empty());
  CHECK(wrong.err ==
        "muster: f.yaml:5:16: spec.hostNetwrok: unknown field, did you mean hostNetwork?\n"
        "muster: f.yaml:6:23: spec.containers[0].nmae: unknown field, did you mean name?\n");
}

TEST_CASE("check goes on after a file that is not fine", "[cli][check]") {
  const TempFolder folder;
  std::ofstream(folder.File("f.yaml")) << Pod("  containers: [{name: main, image: i}]\n");
  const CliRun run = Run({"check", folder.File("absent.yaml"), folder.File("f.yaml")});
  CHECK(run.status == kExitFailed);
  CHECK_THAT(run.out, Catch::Contains("f.yaml: fine, 1 object\n"));
  CHECK_THAT(run.err, Catch::Contains("absent.yaml: cannot be read"));
}

TEST_CASE("check says what the engine refuses, or goes without", "[cli][check]") {
  const auto pod = [](const std::string& scheduler, const std::string& limits,
                      const std::string& annotations = "{}") {
    return Check(Pod("  " + scheduler +
                         "\n  containers: [{name: c, image: i, resources: {limits: " + limits +
                         "}}]\n",
                     annotations));
  };
  const std::string ours = "schedulerName: muster";
  for (const char* device : {"nvidia.com/mig-1g.5gb", "amd.com/gpu", "huawei.com/Ascend910"}) {
    CAPTURE(device);
    const std::string limits = std::string("{") + device + ": 1}";
    const CliRun refused = pod(ours, limits);
    CHECK(refused.status == kExitFailed);
    CHECK_THAT(refused.err, Catch::Contains(std::string("Muster does not plan ") + device));
    const CliRun unsaid = pod("priority: 0", limits);
    CHECK(unsaid.status == kExitOk);
    CHECK_THAT(unsaid.err, Catch::Contains("note: ") && Catch::Contains(device));
    CHECK(pod("schedulerName: another", limits).err.empty());
  }
  CHECK_THAT(pod("priority: 0", "{nvidia.com/gpu: 1}").err,
             Catch::Contains("note: f.yaml:4:1: spec: schedulerName is not said"));
  const CliRun claims =
      Check(Pod("  schedulerName: muster\n  resourceClaims: [{name: g, resourceClaimName: x}]\n"
                "  containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]\n"));
  CHECK_THAT(claims.err, Catch::Contains("Muster does not plan spec.resourceClaims"));
  const CliRun duration = pod(ours, "{nvidia.com/gpu: 1}", "{muster.dev/expected-duration: 90x}");
  CHECK(duration.status == kExitFailed);
  CHECK(duration.err ==
        "muster: f.yaml:3:65: metadata.annotations[\"muster.dev/expected-duration\"]: expected a "
        "duration such as 90m or 1h30m, found \"90x\"\n");
}

TEST_CASE("check notes Jobs that look like gangs and are none", "[cli][check]") {
  const std::string four = "  parallelism: 4\n";
  const std::string indexed = four + "  completionMode: Indexed\n";
  CHECK_THAT(Check(Job(indexed + "  completions: 8\n", kOurs)).err,
             Catch::Contains("spec.completions: its pods start one by one: an Indexed Job is a"));
  CHECK_THAT(Check(Job(indexed + "  completions: 4\n  backoffLimitPerIndex: 1\n", kOurs)).err,
             Catch::Contains("spec.backoffLimitPerIndex: its pods start one by one"));
  CHECK_THAT(Check(Job(four, kOurs)).err, Catch::Contains("spec.parallelism: its pods start"));
  CHECK(Check(Job(indexed + "  completions: 4\n", kOurs)).err.empty());
  CHECK(Check(Job(indexed + "  completions: 8\n", kEnds)).err.empty());
}

TEST_CASE("check of nothing fails as submit does", "[cli][check]") {
  for (const char* text : {"", "# nothing\n", "---\n", "apiVersion: v1\nkind: List\nitems: []\n"}) {
    CAPTURE(text);
    const CliRun run = Check(text);
    CHECK(run.status == kExitFailed);
    CHECK(run.out.empty());
    CHECK(run.err == "muster: f.yaml: expected at least one object, found none\n");
    std::istringstream input(text);
    std::streambuf* const before = std::cin.rdbuf(input.rdbuf());
    const CliRun piped = Run({"check", "-"});
    std::cin.rdbuf(before);
    CHECK(piped.status == kExitFailed);
    CHECK(piped.err == "muster: stdin: expected at least one object, found none\n");
  }
}

TEST_CASE("check tells of a request of a device without a limit, whatever makes the pod",
          "[cli][check]") {
  const std::string container =
      "{name: main, image: i, resources: {requests: {cpu: 1, nvidia.com/gpu: 8}}}";
  const std::string limited =
      "{name: main, image: i, resources: {requests: {rdma/hca: 1}, limits: {rdma/hca: 1}}}";
  const std::string fault =
      ".resources.requests[\"nvidia.com/gpu\"]: needs a limit of the same size\n";
  struct Case {
    std::string yaml;
    std::string path;
  };
  const std::vector<Case> cases = {
      {Pod("  schedulerName: muster\n  containers: [" + container + "]\n"), "spec.containers[0]"},
      {Job("", "    spec: {schedulerName: muster, restartPolicy: Never, containers: [" + limited +
                   "], initContainers: [" + container + "]}\n"),
       ""},
      {Deployment("{schedulerName: muster, containers: [" + limited + ", " + container + "]}"), ""},
      {"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: s}\nspec:\n"
       "  replicatedJobs:\n  - name: w\n    template:\n      spec:\n        template:\n"
       "          spec: {schedulerName: muster, containers: [" +
           container + "]}\n",
       "spec.replicatedJobs[0].template.spec.template.spec.containers[0]"}};
  for (const Case& one : cases) {
    CAPTURE(one.yaml);
    const CliRun run = Check(one.yaml);
    CHECK(run.status == kExitFailed);
    CHECK_THAT(run.err, Catch::Contains(one.path + fault));
    CHECK_THAT(run.err, Catch::StartsWith("muster: f.yaml:"));
    if (!one.path.empty()) CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  }
  CHECK(Check(Pod("  containers: [" + limited + "]\n")).status == kExitOk);
  // What a policy says of containers is none.
  CHECK(Check("apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n"
              "  rules:\n  - name: r\n    validate: {pattern: {spec: {containers: [{resources: "
              "{requests: {nvidia.com/gpu: \"?*\"}}}]}}}\n")
            .status == kExitOk);
}

TEST_CASE("check refuses pods that no API server takes", "[cli][check]") {
  struct Case {
    std::string yaml;
    std::string want;  // behind the file and the line
  };
  const std::string none = ".containers: expected at least one container, found none\n";
  const std::vector<Case> cases = {
      {Pod("  schedulerName: muster\n"), "spec" + none},
      {Pod("  containers: []\n"), "spec" + none},
      {Pod("  containers:\n"), "spec" + none},
      {Deployment("{}"), "spec.template.spec" + none},
      {"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s}\nspec: {replicas: 1}\n",
       "spec.template.spec" + none},
      {"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n"
       "  metadata: {name: p}\n  spec: {containers: []}\n",
       "items[0].spec" + none},
      {Pod("  containers: [{image: i}]\n"),
       "spec.containers[0].name: expected a name, found nothing\n"},
      {Pod("  containers: [{name: main}]\n"),
       "spec.containers[0].image: expected an image, found nothing\n"},
      {Deployment("{containers: [{name: main, image: \"\"}]}"),
       "spec.template.spec.containers[0].image: expected an image, found nothing\n"},
      {Pod("  containers: [{name: a, image: i}, {name: b, image: i}, {name: a, image: i}]\n"),
       "spec.containers[2].name: another container of the pod is called \"a\", too: give it "
       "another "
       "name\n"},
      {Pod("  containers: [{name: a, image: i}]\n  initContainers: [{name: a, image: i}]\n"),
       "spec.initContainers[0].name: another container of the pod is called \"a\""},
      {Job("", "    spec:\n" + kContainers),
       "spec.template.spec.restartPolicy: expected Never or OnFailure, as the pods of a Job end, "
       "found nothing\n"},
      {CronJob("", "    spec:\n      restartPolicy: Always\n" + kContainers),
       "spec.jobTemplate.spec.template.spec.restartPolicy: expected Never or OnFailure, as the "
       "pods of a Job end, found \"Always\"\n"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.yaml);
    const CliRun run = Check(one.yaml);
    CHECK(run.status == kExitFailed);
    CHECK(run.out.empty());
    CHECK_THAT(run.err, Catch::StartsWith("muster: f.yaml:") && Catch::Contains(": " + one.want));
  }
}

TEST_CASE("check refuses a preemption policy that there is not", "[cli][check]") {
  const std::string odd = "preemptionPolicy: never\n";
  for (const std::string& yaml :
       {Pod("  " + odd + "  containers: [{name: c, image: i}]\n"),
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: c}\nvalue: 1\n" +
            odd}) {
    CHECK_THAT(Check(yaml).err,
               Catch::Contains("preemptionPolicy: expected Never or PreemptLowerPriority, found "
                               "\"never\""));
  }
}

TEST_CASE("check notes what counts on pods and is on their owner, or is in the wrong map",
          "[cli][check]") {
  const std::string told =
      Check(Job("", kOurs,
                "{name: j, labels: {kai.scheduler/queue: a}, annotations: {muster.dev/queue: a, "
                "muster.dev/expected-duration: 1h, volcano.sh/sla-waiting-time: 1h}}"))
          .err;
  CHECK_THAT(told, Catch::Contains("muster.dev/queue: it counts on pods; write it into their"));
  CHECK_THAT(told, Catch::Contains("kai.scheduler/queue: it counts on pods"));
  CHECK_THAT(told, Catch::Contains("volcano.sh/sla-waiting-time: gangs wait in the order"));
  CHECK_THAT(told, !Catch::Contains("expected-duration"));
  CHECK_THAT(
      Check(Pod("  containers: [{name: c, image: i}]\n", "{muster.dev/role: a}")).err,
      Catch::Contains("muster.dev/role: as an annotation it does not count; write it as a label"));
}

TEST_CASE("check takes pods that an API server takes, and leaves other kinds' to their owners",
          "[cli][check]") {
  for (const std::string& yaml :
       {Pod("  containers: [{name: a, image: i}]\n  initContainers: [{name: b, image: i}]\n"),
        Deployment("{containers: [{name: main, image: i}]}"), Job("", kEnds), CronJob("", kEnds),
        Job("", "    spec:\n      restartPolicy: OnFailure\n" + kContainers),
        // Knative gives the container its name.
        std::string("apiVersion: serving.knative.dev/v1\nkind: Service\nmetadata: {name: s}\n"
                    "spec: {template: {spec: {containers: [{image: i}]}}}\n")}) {
    CAPTURE(yaml);
    const CliRun run = Check(yaml);
    INFO(run.err);
    CHECK(run.status == kExitOk);
    CHECK(run.err.empty());
  }
}

TEST_CASE("check notes a Job whose pods start one by one", "[cli][check]") {
  const std::string note =
      "spec.parallelism: its pods start one by one: a Job is a gang when it is Indexed with "
      "completions = parallelism, or has annotation muster.dev/min-member, or gangs.nonIndexedJobs "
      "of the policy says so\n";
  const CliRun job = Check(Job("  parallelism: 4\n", kOurs));
  CHECK(job.status == kExitOk);
  CHECK(job.out == "f.yaml: fine, 1 object\n");
  CHECK(job.err == "muster: note: f.yaml:5:16: " + note);
  // Of the pods it says nothing.
  CHECK_THAT(
      Check(Job("  parallelism: 4\n", kOurs, "{name: j, labels: {muster.dev/gang: \"true\"}}")).err,
      Catch::EndsWith(note));
  const CliRun cron = Check(CronJob("  completionMode: NonIndexed\n  parallelism: 2\n", kOurs));
  CHECK(cron.status == kExitOk);
  CHECK(cron.err == "muster: note: f.yaml:9:20: spec.jobTemplate." + note);

  const std::string four = "  parallelism: 4\n";
  const auto with = [](const std::string& metadata) {
    return "    metadata: " + metadata + "\n" + kOurs;
  };
  for (const std::string& yaml :
       {Job("  parallelism: 1\n", kOurs), Job(four + "  completions: 1\n", kOurs),
        Job(four + "  completions: 4\n  completionMode: Indexed\n", kOurs), Job(four, kEnds),
        Job(four + "  scheduling: {schedulingPolicy: {gang: {minCount: 4}}}\n", kOurs),
        Job(four, kOurs, "{name: j, annotations: {muster.dev/min-member: \"4\"}}"),
        Job(four, kOurs, "{name: j, labels: {muster.dev/gang: \"false\"}}"),
        Job(four, with("{annotations: {muster.dev/min-member: \"4\"}}")),
        Job(four, with("{labels: {scheduling.x-k8s.io/pod-group: g}}")),
        Job(four, kOurs + "      schedulingGroup: {podGroupName: g}\n"),
        CronJob(four, kOurs, "{name: c, annotations: {muster.dev/min-member: \"4\"}}")}) {
    CAPTURE(yaml);
    CHECK_THAT(Check(yaml).err, !Catch::Contains("note"));
  }
}

TEST_CASE("check notes what an owner says of its gang and does not count", "[cli][check]") {
  const auto job = [](const std::string& metadata, const std::string& least,
                      const std::string& pod = "{}") {
    return "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: " + metadata +
           "\nspec:\n  elasticPolicy: {rdzvBackend: c10d, minReplicas: " + least +
           ", maxReplicas: 64}\n  pytorchReplicaSpecs:\n    Worker:\n      replicas: 8\n"
           "      template:\n        metadata: " +
           pod +
           "\n        spec:\n          schedulerName: muster\n          containers:\n"
           "          - {name: pytorch, image: i}\n";
  };
  const CliRun run = Check(job("{name: fsdp}", "1"));
  CHECK(run.status == kExitOk);
  CHECK_THAT(run.err, Catch::Contains(
                          "spec: its gang needs 8 pods: elasticPolicy.minReplicas is no minimum, "
                          "all replicas start together; muster.dev/min-member lets it start "
                          "with fewer\n"));
  for (const std::string& yaml :
       {job("{name: fsdp}", "8"),
        job("{name: fsdp, annotations: {muster.dev/min-member: \"1\"}}", "1"),
        job("{name: fsdp}", "1", "{annotations: {muster.dev/min-member: \"1\"}}")}) {
    CAPTURE(yaml);
    CHECK_THAT(Check(yaml).err, !Catch::Contains("its gang needs"));
  }
}

TEST_CASE("check notes words of other schedulers that do not count", "[cli][check]") {
  const std::string gpu =
      "  schedulerName: muster\n  containers: [{name: c, image: i, resources: {limits: "
      "{nvidia.com/gpu: 1}}}]\n";
  CHECK_THAT(Check(Pod(gpu, "{nvidia.com/numa-bind: \"true\"}")).err,
             Catch::Contains("metadata.annotations: nvidia.com/numa-bind: Muster does not "
                             "place by this word of HAMi\n"));
  CHECK_THAT(Check(Pod(gpu,
                       "{gang.scheduling.koordinator.sh/name: g, "
                       "gang.scheduling.koordinator.sh/mode: NonStrict}"))
                 .err,
             Catch::Contains("NonStrict: Muster keeps nothing for a part of a gang"));
  CHECK_THAT(Check(Pod(gpu, "{nvidia.com/use-gputype: A100}")).err, !Catch::Contains("note"));
}

TEST_CASE("check notes what an owner says of the scheduling of its gang and does not count",
          "[cli][check]") {
  CHECK_THAT(
      Check("apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: t}\nspec:\n"
            "  runPolicy: {schedulingPolicy: {minAvailable: 2, queue: q, priorityClass: high, "
            "scheduleTimeoutSeconds: 10}}\n"
            "  pytorchReplicaSpecs: {Worker: {replicas: 2, template: {spec: {containers: "
            "[{name: c, image: i}]}}}}\n")
          .err,
      Catch::Equals("muster: note: f.yaml:5:106: spec.runPolicy.schedulingPolicy."
                    "scheduleTimeoutSeconds: has no effect: the policy's "
                    "reservationTimeout says how long a plan is valid\n"));
  CHECK_THAT(
      Check(Job("  scheduling: {schedulingPolicy: {gang: {}}, disruptionMode: {all: {}}}\n", kEnds))
          .err,
      Catch::Contains("spec.scheduling.disruptionMode: has no effect: it counts in the "
                      "PodGroup that Kubernetes makes"));
}

TEST_CASE("check notes that levels for other systems count where the policy names them",
          "[cli][check]") {
  const std::string kai =
      "apiVersion: scheduling.run.ai/v2alpha2\nkind: PodGroup\nmetadata: {name: g}\n"
      "spec: {minMember: 2, topologyConstraint: {requiredTopologyLevel: zone}}\n";
  CHECK_THAT(Check(kai).err,
             Catch::Contains("spec: spec.topologyConstraint: it counts where fabric.trees of the "
                             "policy has such a level\n"));
  CHECK_THAT(Check(Pod("  schedulerName: muster\n  containers: [{name: c, image: i}]\n",
                       "{kai.scheduler/topology-required-placement: zone}"))
                 .err,
             Catch::Contains("metadata.annotations: annotations kai.scheduler/topology-…: it "
                             "counts where fabric.trees"));
  const std::string own =
      "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g, "
      "annotations: {muster.dev/topology-required: zone}}\nspec: {minMember: 2}\n";
  CHECK(Check(own).err.empty());
}

TEST_CASE("check finds what Muster refuses of what is said about a gang", "[cli][check]") {
  const auto job = [](const std::string& more, const std::string& says) {
    return Job("  completionMode: Indexed\n" + more, kOurs,
               "{name: j, annotations: {muster.dev/min-member: \"" + says + "\"}}");
  };
  const std::string of_4 = "  parallelism: 4\n  completions: 4\n";
  CHECK(Check(job(of_4, "3")).status == kExitOk);
  CliRun run = Check(job(of_4, "9"));
  CHECK(run.status == kExitFailed);
  CHECK_THAT(run.err, Catch::Contains("metadata.annotations[\"muster.dev/min-member\"]: Muster "
                                      "would start none of its pods: Job j ") &&
                          Catch::Contains("9") && Catch::Contains("4"));
  const std::string cron_job =
      "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec:\n  schedule: \"@daily\"\n"
      "  jobTemplate:\n    metadata: {annotations: {muster.dev/min-member: \"9\"}}\n    spec:\n" +
      JobSpec("  completionMode: Indexed\n" + of_4, kOurs, "    ");
  run = Check(cron_job);
  CHECK(run.status == kExitFailed);
  CHECK_THAT(run.err,
             Catch::Contains("spec.jobTemplate.metadata.annotations[\"muster.dev/min-member\"]: "));
  run = Check(Pod("  containers: [{name: main, image: i}]\n", "{muster.dev/min-member: \"4\"}"));
  CHECK(run.status == kExitFailed);
  CHECK_THAT(run.err, Catch::Contains("the pod has no owner"));
  const auto set = [](const std::string& policy) {
    return "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s}\nspec:\n  replicas: 4\n"
           "  serviceName: s\n  selector: {matchLabels: {a: b}}\n" +
           policy +
           "  template:\n    metadata: {labels: {a: b}, annotations: {muster.dev/min-member: "
           "\"4\"}}\n    spec: {containers: [{name: main, image: i}]}\n";
  };
  run = Check(set(""));
  CHECK(run.status == kExitFailed);
  CHECK_THAT(run.err,
             Catch::Contains("spec.template.metadata.annotations[\"muster.dev/min-member\"]: ") &&
                 Catch::Contains("StatefulSet s "));
  CHECK(Check(set("  podManagementPolicy: Parallel\n")).status == kExitOk);
}

TEST_CASE("check finds keys of Muster's that there are not", "[cli][check]") {
  CliRun run = Check(
      Job("  parallelism: 1\n", kOurs, "{name: j, annotations: {muster.dev/min-membr: \"3\"}}"));
  CHECK(run.status == kExitFailed);
  CHECK_THAT(run.err,
             Catch::Contains("metadata.annotations[\"muster.dev/min-membr\"]: Muster knows "
                             "no such key; did you mean \"muster.dev/min-member\"?"));
  run = Check(
      "apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: t}\nspec:\n  pods:\n  - "
      "metadata: {labels: {muster.dev/que: a, muster.dev/queue: a}}\n");
  CHECK(run.status == kExitFailed);
  CHECK_THAT(run.err, Catch::Contains("spec.pods[0].metadata.labels[\"muster.dev/que\"]: "));
  CHECK_THAT(run.err, Catch::Contains("of Thing only names and pod templates were looked at"));
}

TEST_CASE("check takes a name that the API server is to make", "[cli][check]") {
  CHECK(Check(Job("  parallelism: 1\n", kOurs, "{generateName: j-}")).status == kExitOk);
  const CliRun run = Check(Job("  parallelism: 1\n", kOurs, "{namespace: a}"));
  CHECK(run.status == kExitFailed);
  CHECK_THAT(run.err, Catch::Contains("metadata.name: is missing"));
}

TEST_CASE("check says of which kinds it does not know the fields", "[cli][check]") {
  const CliRun run = Check(
      "apiVersion: autoscaling.x-k8s.io/v1\nkind: ProvisioningRequest\nmetadata: {name: p}\nspec: "
      "{provisioningClassName: c, podSets: [{count: 1, podTemplateRef: {name: t}}], xx: 3}\n");
  CHECK_THAT(run.out, Catch::Contains("of ProvisioningRequest only names"));
}

}  // namespace
}  // namespace muster::cli::testing
