// muster simulate: who may start at all, in which namespaces and on which nodes.
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/cli_run.hpp"
#include "tests/http/tls_test_support.hpp"

namespace muster::cli::testing {
namespace {

using http::testing::TempFolder;

constexpr const char* kOfTeams =
    "apiVersion: muster.dev/v1alpha1\nkind: Policy\nqueues:\n"
    "- {name: a, namespaces: {names: [team-a, other]}}\n- {name: b, namespaces: {names: "
    "[team-b]}}\n";

class World {
 public:
  World() { Policy(kOfTeams); }
  void Policy(const std::string& text) { Write("policy.yaml", text); }
  // Two nodes of 8 GPUs with these taints.
  void Taint(const std::string& taints) {
    Write("nodes.yaml",
          "apiVersion: sim.muster.dev/v1alpha1\nkind: NodePool\nmetadata: {name: n}\nspec:\n"
          "  count: 2\n  template:\n    spec: {taints: [" +
              taints +
              "]}\n    status: {allocatable: {cpu: 96, memory: 1Ti, pods: 110, "
              "nvidia.com/gpu: 8}}\n");
    nodes_ = folder_.File("nodes.yaml");
  }
  CliRun Jobs(const std::string& csv, const std::vector<std::string>& more = {}) {
    Write("jobs.csv", csv);
    return Simulate("--jobs", "jobs.csv", more);
  }
  CliRun Pods(const std::string& csv) {
    Write("pods.csv", csv);
    return Simulate("--pods", "pods.csv", {});
  }

 private:
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.File(name)) << text;
  }
  CliRun Simulate(const std::string& flag, const std::string& file,
                  const std::vector<std::string>& more) {
    std::vector<std::string> words = {"simulate", "--nodes", nodes_, flag, folder_.File(file)};
    const bool alone = !more.empty() && more.front() == "--without-muster";
    if (!alone) words.insert(words.end(), {"--policy", folder_.File("policy.yaml")});
    words.insert(words.end(), more.begin(), more.end());
    return Run(words);
  }

  const TempFolder folder_;
  std::string nodes_ = "2x8";
};

TEST_CASE("simulate puts a job into a namespace that may use its queue", "[cli][simulate]") {
  World world;
  const CliRun run =
      world.Jobs("job_id,submit_s,gpus,duration_s,queue\n0,0,16,60,a\n1,0,16,60,b\n");
  CHECK(run.status == kExitOk);
  CHECK(run.err.empty());
  CHECK_THAT(run.out, Catch::Contains("pods placed             4 of 4, 0 not\n"));
  world.Policy("apiVersion: muster.dev/v1alpha1\nkind: Policy\nnamespaces: {allow: [team-c]}\n");
  CHECK(world.Jobs("job_id,submit_s,gpus,duration_s\n0,0,16,60\n").status == kExitOk);
}

TEST_CASE("simulate takes namespace, user and tolerations of a job from the trace",
          "[cli][simulate]") {
  World world;
  world.Taint("{key: dedicated, value: ml, effect: NoSchedule}");
  const std::string head = "job_id,submit_s,gpus,duration_s,namespace,user,tolerations\n";
  const CliRun run = world.Jobs(head +
                                    "0,0,16,60,team-a,eve,dedicated=ml:NoSchedule\n"
                                    "1,0,16,60,team-b,eve,spot;dedicated\n"
                                    "2,0,8,60,other,,*\n",
                                {"--durations", "learnt", "--audit"});
  CHECK(run.status == kExitOk);
  CHECK(run.err.empty());
  CHECK_THAT(run.out, Catch::Contains("pods placed             5 of 5, 0 not\n"));
  CHECK_THAT(world.Jobs(head + "0,0,8,60,team-a,,=ml\n").err,
             Catch::Contains("jobs.csv:2: column tolerations: expected KEY, KEY=VALUE or *"));
  CHECK_THAT(world.Jobs(head + "0,0,8,60,team-a,,dedicated:Never\n").err,
             Catch::Contains("found \"dedicated:Never\""));
  CHECK_THAT(world.Jobs(head + "0,0,8,60,Team,,\n").err,
             Catch::Contains("jobs.csv:2: column namespace: expected lower-case letters"));
  const CliRun pods = world.Pods(
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,queue,namespace,tolerations\n"
      "p,1000,1024,1,1000,b,,dedicated\nq,1000,1024,1,1000,,team-a,dedicated\n");
  CHECK(pods.status == kExitOk);
  CHECK_THAT(pods.out, Catch::Contains("pods placed             2 of 2, 0 not\n"));
}

TEST_CASE("simulate fails where nothing could ever start, in Muster's words", "[cli][simulate]") {
  World world;
  const std::string head = "job_id,submit_s,gpus,duration_s,queue,namespace\n";
  const CliRun none = world.Jobs(head + "0,0,16,60,a,team-b\n1,0,8,60,a,team-b\n");
  CHECK(none.status == kExitFailed);
  CHECK_THAT(none.err, Catch::Contains("muster simulate: ") &&
                           Catch::Contains("2 of 2 jobs can never start, such as team-b/job-0: "
                                           "QueueForbidden: ") &&
                           Catch::Contains("namespace team-b may not use queue a") &&
                           Catch::Contains("no pod was placed"));
  CHECK_THAT(none.out,
             Catch::Contains("Muster refuses its gang") && !Catch::Contains("before its turn"));
  CHECK_THAT(world.Jobs(head + "0,0,16,60,a,team-b\n", {"-o", "json"}).out,
             Catch::Contains("\"code\": \"QueueForbidden\""));
  // Where some could, the others are told, and that is all.
  const CliRun some = world.Jobs(head + "0,0,16,60,a,team-b\n1,0,8,60,b,team-b\n");
  CHECK(some.status == kExitOk);
  CHECK_THAT(some.err, Catch::Contains("1 of 2 jobs can never start") &&
                           !Catch::Contains("no pod was placed"));
  world.Taint("{key: dedicated, value: ml, effect: NoSchedule}");
  const CliRun tainted = world.Jobs(head + "0,0,16,60,a,team-a\n");
  CHECK(tainted.status == kExitFailed);
  CHECK_THAT(tainted.err, Catch::Contains("taint dedicated"));
  const CliRun alone = world.Jobs(head + "0,0,16,60,a,team-a\n", {"--without-muster"});
  CHECK(alone.status == kExitFailed);
  CHECK_THAT(alone.err, Catch::Contains("no pod was placed: no node that it may use"));
}

TEST_CASE("jobs of a trace tolerate the taints that are recommended for GPU nodes",
          "[cli][simulate]") {
  World world;
  world.Taint(
      "{key: nvidia.com/gpu, value: present, effect: NoSchedule}, "
      "{key: sku, value: gpu, effect: NoSchedule}");
  const CliRun run = world.Jobs("job_id,submit_s,gpus,duration_s,queue\n0,0,16,60,a\n");
  CHECK(run.status == kExitOk);
  CHECK_THAT(run.out, Catch::Contains("pods placed             2 of 2, 0 not\n"));
  CHECK(world.Jobs("job_id,submit_s,gpus,duration_s\n0,0,16,60\n", {"--without-muster"}).status ==
        kExitOk);
}

TEST_CASE("without Muster two jobs that come together hold half of the nodes each for ever",
          "[cli][simulate]") {
  World world;
  const std::string jobs = "job_id,submit_s,gpus,duration_s,queue\n0,5,16,60,a\n1,5,16,60,b\n";
  const CliRun alone = world.Jobs(jobs, {"--without-muster"});
  CHECK(alone.status == kExitOk);
  CHECK_THAT(alone.out,
             Catch::Contains("gangs started             0 of 2\n") &&
                 Catch::Contains("gangs in part at the end  2: they hold 16 GPUs and wait for the "
                                 "rest for ever\n"));
  CHECK_THAT(world.Jobs(jobs, {"--without-muster", "-o", "json"}).out,
             Catch::Contains("\"partial_gpu_milli\": 16000"));
  const CliRun with = world.Jobs(jobs);
  CHECK(with.status == kExitOk);
  CHECK_THAT(with.out,
             Catch::Contains("gangs started           2 of 2\n") && !Catch::Contains("in part"));
}

}  // namespace
}  // namespace muster::cli::testing
