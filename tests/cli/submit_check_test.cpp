// What muster check and muster submit say alike of manifests, without a Muster to ask.
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/cli_run.hpp"
#include "tests/http/tls_test_support.hpp"

namespace muster::cli::testing {
namespace {

using http::testing::TempFolder;

const std::string kGpu = "containers: [{name: c, image: i, resources: {limits: {";

std::string PodIn(const std::string& ns, const std::string& more,
                  const std::string& device = "nvidia.com/gpu") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: " + ns + "}\nspec: {" + more +
         kGpu + device + ": 1}}}]}\n";
}

class Commands {
 public:
  explicit Commands(const std::string& text) : file_(folder_.File("f.yaml")) {
    std::ofstream(file_) << text;
  }
  CliRun Check() const { return Run({"check", file_}); }
  // Nobody listens there.
  CliRun Submit() const { return Run({"submit", "-f", file_, "--server", "127.0.0.1:1"}); }

 private:
  const TempFolder folder_;
  const std::string file_;
};

TEST_CASE("submit refuses what check refuses, before it asks a Muster", "[cli][check]") {
  const std::string job =
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {";
  const std::string pod = "apiVersion: v1\nkind: Pod\nmetadata: ";
  for (const std::string& text :
       {PodIn("a", "schedulerName: muster, ", "nvidia.com/mig-1g.5gb"),
        pod + "{name: p, annotations: {muster.dev/expected-duration: 90x}}\nspec: {schedulerName: "
              "muster, containers: [{name: c, image: i}]}\n",
        pod + "{name: p, labels: {muster.dev/que: a}}\nspec: {containers: [{name: c, image: i}]}\n",
        pod + "{name: p}\nspec: {containers: [{name: c}]}\n",
        pod + "{name: p}\nspec: {hostNetwrok: true, containers: [{nmae: c}]}\n",
        job + kGpu + "nvidia.com/gpu: 1}}}]}}}\n",
        std::string("apiVersion: muster.dev/v1alpha1\nkind: Policy\n"), std::string("# nothing\n"),
        std::string("kind: Pod\n")}) {
    CAPTURE(text);
    const Commands commands(text);
    const CliRun check = commands.Check();
    const CliRun submit = commands.Submit();
    CHECK(check.status == kExitFailed);
    CHECK(submit.status == kExitFailed);
    CHECK(submit.out.empty());
    CHECK(submit.err == check.err);
  }
  CHECK_THAT(Commands(PodIn("a", "schedulerName: muster, ")).Submit().err,
             Catch::Contains("127.0.0.1:1"));
}

TEST_CASE("check takes the label of a namespace in the file for the scheduler of its pods",
          "[cli][check]") {
  const auto space = [](const std::string& taken) {
    return "apiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: "
           "{muster.dev/schedule: " +
           taken + "}}\n---\n";
  };
  CHECK(Commands(space("gpu") + PodIn("team", "")).Check().err.empty());
  CHECK_THAT(Commands(space("gpu") + PodIn("other", "")).Check().err,
             Catch::Contains("note: ") && Catch::Contains("schedulerName is not said"));
  CHECK_THAT(Commands(space("none") + PodIn("team", "")).Check().err,
             Catch::Contains("schedulerName is not said"));
  const CliRun mig = Commands(space("all") + PodIn("team", "", "nvidia.com/mig-1g.5gb")).Check();
  CHECK(mig.status == kExitFailed);
  CHECK_THAT(mig.err, Catch::Contains("Muster does not plan nvidia.com/mig-1g.5gb"));
  // The webhook takes no pod for a device that Muster does not plan.
  CHECK(Commands(space("gpu") + PodIn("team", "", "nvidia.com/mig-1g.5gb")).Check().status ==
        kExitOk);
  const std::string job =
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: team}\nspec: {parallelism: "
      "4, template: {spec: {restartPolicy: Never, " +
      kGpu + "nvidia.com/gpu: 1}}}]}}}\n";
  CHECK_THAT(Commands(space("gpu") + job).Check().err,
             Catch::Contains("its pods start one by one"));
}

TEST_CASE("check leaves a PriorityClass to the cluster that is not in the file", "[cli][check]") {
  const std::string one =
      "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\n"
      "value: 1000\n";
  const auto pod = [](const std::string& name) {
    return PodIn("a", "schedulerName: muster, priorityClassName: " + name + ", ");
  };
  const CliRun run = Commands(pod("high")).Check();
  CHECK(run.status == kExitOk);
  CHECK_THAT(run.err, Catch::Contains(":4:50: spec.priorityClassName: PriorityClass high is not in "
                                      "the file: the cluster must have it\n"));
  CHECK(Commands(pod("high") + one).Check().err.empty());
  CHECK(Commands(pod("system-node-critical")).Check().err.empty());
  const std::string set =
      "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: s}\nspec: "
      "{replicatedJobs: [{name: w, template: {spec: {template: {spec: {schedulerName: muster, "
      "restartPolicy: Never, priorityClassName: high, " +
      kGpu + "nvidia.com/gpu: 1}}}]}}}}}]}\n";
  CHECK_THAT(Commands(set).Check().err,
             Catch::Contains("template.spec.priorityClassName: PriorityClass high is not in"));
  CHECK(Commands(set + one).Check().err.empty());
}

TEST_CASE("check refuses durations that cannot be read, whoever says them", "[cli][check]") {
  const std::string says = "annotations: {muster.dev/expected-duration: 90x}";
  const std::string pods =
      "template: {spec: {schedulerName: muster, restartPolicy: Never, containers: [{name: c, "
      "image: "
      "i}]}}";
  const std::vector<std::string> texts = {
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, " + says + "}\nspec: {" + pods + "}\n",
      "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: j}\nspec:\n  schedule: \"@daily\"\n"
      "  jobTemplate: {metadata: {" +
          says + "}, spec: {" + pods + "}}\n",
      "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: g, " + says +
          "}\nspec: {minMember: 2}\n"};
  for (const std::string& text : texts) {
    CAPTURE(text);
    const CliRun run = Commands(text).Check();
    CHECK(run.status == kExitFailed);
    CHECK_THAT(run.err, Catch::Contains("metadata.annotations[\"muster.dev/expected-duration\"]: "
                                        "expected a duration such as 90m or 1h30m, found \"90x\""));
  }
}

TEST_CASE("check looks into the lists that an API server gives", "[cli][check]") {
  const CliRun run =
      Commands(
          "apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: p}\n  spec: {containers: "
          "[{name: c}]}\n")
          .Check();
  CHECK(run.status == kExitFailed);
  CHECK_THAT(run.err, Catch::Contains(":5:23: items[0].spec.containers[0].image: expected"));
}

}  // namespace
}  // namespace muster::cli::testing
