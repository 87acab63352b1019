// get, submit and explain against a running service.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/flags/cli.hpp"
#include "tests/extender/service_test_support.hpp"

namespace muster::cli::testing {

using extender::testing::Eventually;
using extender::testing::GangYaml;
using extender::testing::TempFolder;
using extender::testing::TestService;

namespace {

// What the command prints that asks that service, and that it ends with `want`.
std::string RunAt(const TestService& test, std::vector<std::string> words, int want) {
  words.insert(words.end(), {"--server", "127.0.0.1:" + std::to_string(test.service.api_port())});
  std::ostringstream out;
  std::ostringstream err;
  const int status = RunCli(words, {out, err});
  INFO(out.str() + err.str());
  CHECK(status == want);
  return out.str() + err.str();
}

}  // namespace

TEST_CASE("whatif tells what would become of a manifest and of another policy", "[cli]") {
  TestService test;
  const TempFolder folder;
  const std::string file = folder.File("jobs.yaml");
  const std::string policy = folder.File("policy.yaml");
  const auto run = [&](std::vector<std::string> words, int want) {
    words.insert(words.begin(), "whatif");
    return RunAt(test, std::move(words), want);
  };
  test.Submit(GangYaml("train", 16, 8));
  REQUIRE(test.Reaches("train", "Running"));
  std::ofstream(file) << GangYaml("more", 1, 8);
  CHECK(run({"-f", file}, kExitOk) ==
        "0 of 1 gang would start, 0 pods would be evicted, 0 other gangs would wait\n"
        "\n"
        "WAITS         QUEUE  PRIORITY  START      WHY\n"
        "default/more  root          0  not known  NotEnoughGpus: not enough free GPUs: it wants 8 "
        "GPUs, 0 were free on the 16 nodes that it may use, the cluster has 128; 0/16 nodes had "
        "room at its last try: 16 with 0 of 8 GPUs free (1 of 1 in queue root)\n");
  std::string urgent = GangYaml("urgent", 1, 8);
  urgent.insert(urgent.find("  schedulerName"), "  priority: 7\n");
  std::ofstream(file) << urgent;
  std::ofstream(policy) << "apiVersion: muster.dev/v1alpha1\nkind: Policy\ngangs:\n"
                           "  preemption: lowerPriority\n";
  const std::string answer = run({"-f", file, "--policy", policy}, kExitOk);
  CHECK(answer ==
        "1 of 1 gang would start, 16 pods would be evicted, 0 other gangs would wait\n"
        "1 gang and 1 queue would be as they are not under the policy in force; these come "
        "first\n"
        "\n"
        "QUEUE  RESOURCE   GUARANTEE  LIMIT               SHARE                USED  GANGS WAIT\n"
        "root   gpu                0      -            128 -> 8            128 -> 8      1 -> 0\n"
        "       gpuMemory          0      -  10439552 -> 652472  10439552 -> 652472\n"
        "\n"
        "#  STARTS          QUEUE  PRIORITY  NOW            THEN     WHERE\n"
        "1  default/urgent  root          7  NotEnoughGpus  at once  node-00\n"
        "\n"
        "EVICTED        PODS      QUEUE  PRIORITY  FOR             NOW    THEN     RIGHT\n"
        "default/train  16 of 16  root          0  default/urgent  stays  at once  of higher "
        "priority\n");
  CHECK_THAT(run({"-f", file, "--policy", policy, "-o", "json"}, kExitOk),
             Catch::Contains("\"preemption\": {") && Catch::Contains("\"gpusMilli\": 128000"));
  CHECK_THAT(run({"-f", file, "-o", "json"}, kExitOk), Catch::StartsWith("{\n  \"gangs\": ["));
  CHECK(test.StateOf("train") == "Running");
  CHECK(test.StateOf("urgent").empty());
  CHECK_THAT(run({}, kExitUsage), Catch::Contains("give -f FILE, --policy FILE, or both"));
  std::ofstream(policy)
      << "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p}\ndata:\n"
         "  policy.yaml: |\n    apiVersion: muster.dev/v1alpha1\n    kind: Policy\n"
         "    gangs:\n      preemption: lowerPriority\n";
  CHECK_THAT(run({"-f", file, "--policy", policy}, kExitOk), Catch::Contains("16 of 16"));
  std::ofstream(file) << "kind: Pod\n";
  CHECK_THAT(run({"-f", file}, kExitFailed), Catch::Contains("jobs.yaml:1:1"));
}

TEST_CASE("get, submit and explain work against a running service", "[cli]") {
  TestService test;
  const auto run = [&](std::vector<std::string> words, int want) {
    return RunAt(test, std::move(words), want);
  };
  CHECK(run({"get", "gangs"}, kExitOk) == "no gangs\n");
  // They come to be known one by one.
  CHECK(Eventually([&] {
    return run({"get", "nodes"}, kExitOk).find("node-15") != std::string::npos;
  }));
  test.Submit(GangYaml("train", 2, 8));
  REQUIRE(test.Reaches("train", "Running"));
  CHECK_THAT(run({"get", "gangs"}, kExitOk), Catch::Contains("train"));
  CHECK_THAT(run({"get", "gangs", "-o", "json"}, kExitOk),
             Catch::StartsWith("{") && Catch::Contains("\"gpus\": 16,"));
  CHECK_THAT(run({"get", "gangs", "-o", "yaml"}, kExitOk),
             Catch::StartsWith("gangs:\n- namespace: default\n  name: train\n") &&
                 Catch::Contains("\n  ageSeconds: "));
  CHECK_THAT(run({"get", "gang", "-n", "default"}, kExitOk), Catch::Contains("train"));
  CHECK(run({"get", "gangs", "-n", "other"}, kExitOk) == "no gangs\n");
  CHECK_THAT(run({"explain", "gang", "train", "-n", "default"}, kExitOk),
             Catch::Contains("Running"));
  const std::string explained = run({"explain", "gang", "default/train"}, kExitOk);
  CHECK_THAT(explained, Catch::Contains("Running"));
  CHECK_THAT(explained, Catch::Contains("train-1"));
  const TempFolder folder;
  const std::string file = folder.File("a b.yaml");
  std::ofstream(file) << GangYaml("more", 1, 1);
  CHECK_THAT(run({"submit", "-f", file}, kExitOk),
             Catch::Equals("PodGroup default/more created\nPod default/more-0 created\n"));
  CHECK_THAT(run({"submit", "-f", file}, kExitFailed),
             Catch::Contains(file + ": PodGroup default/more exists already"));
  std::ofstream(file) << "kind: Pod\napiVersion: v1\nkind: Pod\n";
  CHECK_THAT(run({"submit", "-f", file}, kExitFailed),
             Catch::Contains("muster: " + file + ":3:1: "));
  std::ofstream(file) << "apiVersion: v1\nkind: Node\nmetadata:\n  name: linked\n"
                         "  annotations:\n    muster.dev/gpu-topology: |\n"
                         "      \tGPU0\tGPU1\n      GPU0\t X \tNV4\n      GPU1\tNV4\t X \n"
                         "status:\n  capacity: {nvidia.com/gpu: 2}\n"
                         "  allocatable: {cpu: 8, memory: 8Gi, pods: 20, nvidia.com/gpu: 2}\n"
                         "  conditions: [{type: Ready, status: \"True\"}]\n";
  CHECK_THAT(run({"submit", "-f", file}, kExitOk), Catch::Contains("Node linked created"));
  CHECK(Eventually([&] {
    return run({"get", "nodes"}, kExitOk).find("linked") != std::string::npos;
  }));
  CHECK_THAT(run({"topology", "--node", "linked"}, kExitOk),
             Catch::StartsWith("Source: the node's annotation muster.dev/gpu-topology\n") &&
                 Catch::Contains("NV4"));
  std::ofstream(file) << "apiVersion: v1\nkind: Node\nmetadata:\n  name: unknown\n"
                         "status:\n  capacity: {nvidia.com/gpu: 2}\n"
                         "  allocatable: {cpu: 8, memory: 8Gi, pods: 20, nvidia.com/gpu: 2}\n"
                         "  conditions: [{type: Ready, status: \"True\"}]\n";
  CHECK_THAT(run({"submit", "-f", file}, kExitOk), Catch::Contains("Node unknown created"));
  CHECK(Eventually([&] {
    return run({"get", "nodes"}, kExitOk).find("unknown") != std::string::npos;
  }));
  CHECK(run({"topology", "--node", "unknown"}, kExitOk) ==
        "Source: nothing is known of the links, all GPUs count as alike\n\n"
        "GPU   NUMA  CPUS  NEAREST NICS\n"
        "GPU0  -     -     -\n"
        "GPU1  -     -     -\n");
  CHECK(run({"topology", "--node", "unknown", "--dot"}, kExitOk).find("--") == std::string::npos);
  CHECK_THAT(run({"topology", "--node", "node-15"}, kExitOk),
             Catch::Contains("(machine profile hgx-h100-8)") && Catch::Contains("8        450"));
  CHECK_THAT(run({"topology", "--node", "node-15", "-o", "json"}, kExitOk),
             Catch::StartsWith("{\"source\":\"profile\",\"profile\":\"hgx-h100-8\",\"gpus\":"));
  CHECK_THAT(run({"topology", "--node", "none"}, kExitFailed),
             Catch::Contains("there is no node none"));
  std::ofstream(file) << "apiVersion: v1\nkind: Node\nmetadata:\n  name: odd\n"
                         "  annotations:\n    muster.dev/gpu-topology: |\n"
                         "      \tGPU0\tGPU1\n      GPU0\t X \tNV4\n      GPU1\tPIX\t X \n"
                         "status:\n  allocatable: {cpu: 8, memory: 8Gi, nvidia.com/gpu: 2}\n";
  CHECK_THAT(
      run({"submit", "-f", file}, kExitOk),
      Catch::StartsWith("Node odd created\nmuster: warning: " + file +
                        ":6:30: metadata.annotations[\"muster.dev/gpu-topology\"]: Node odd: "
                        "the topology is ignored: "));
  std::ofstream(file) << "# nothing\n";
  CHECK(run({"submit", "-f", file}, kExitFailed) ==
        "muster: " + file + ": expected at least one object, found none\n");
  CHECK_THAT(run({"submit", "-f", folder.File("none")}, kExitFailed), Catch::Contains("none"));
  CHECK_THAT(run({"explain", "gang", "default/none"}, kExitFailed),
             Catch::Contains("there is no gang default/none"));
}

TEST_CASE("a gang that was evicted says for whom until it starts again", "[cli]") {
  const TempFolder folder;
  extender::ServiceOptions options;
  options.policy_file = folder.File("policy.yaml");
  std::ofstream(options.policy_file) << "apiVersion: muster.dev/v1alpha1\nkind: Policy\ngangs:\n"
                                        "  preemption: lowerPriority\n";
  TestService test(options);
  std::string low = GangYaml("low", 16, 8);
  const std::string spec = "  schedulerName";
  for (std::size_t at = low.find(spec); at != std::string::npos; at = low.find(spec, at + 50))
    low.insert(at, "  terminationGracePeriodSeconds: 0\n");
  test.Submit(low);
  REQUIRE(test.Reaches("low", "Running"));
  std::string high = GangYaml("high", 1, 8);
  high.insert(high.find("  schedulerName"), "  priority: 7\n");
  test.Submit(high);
  REQUIRE(test.Reaches("high", "Running"));
  const std::string why = "16 pods exist: evicted for a gang that takes precedence: default/high";
  CHECK(Eventually([&] {
    return RunAt(test, {"get", "gangs"}, kExitOk).find("0 of " + why) != std::string::npos;
  }));
  CHECK(Eventually([&] { return test.lines.Has(why); }));
  CHECK_THAT(test.Get("/v1/objects/events").body,
             Catch::Contains("16 pods are evicted for gang default/high of higher priority"));
}

TEST_CASE("commands take the names of gangs that their owners make", "[cli]") {
  TestService test;
  const auto run = [&](std::vector<std::string> words, int want) {
    return RunAt(test, std::move(words), want);
  };
  // More pods than there are nodes.
  test.Submit(
      "apiVersion: batch/v1\nkind: Job\nmetadata: {name: big}\nspec:\n  completionMode: Indexed\n"
      "  parallelism: 20\n  completions: 20\n  template:\n    spec:\n      schedulerName: muster\n"
      "      containers: [{name: main, resources: {limits: {nvidia.com/gpu: 8}}}]\n");
  std::string name;
  REQUIRE(Eventually([&] {
    const std::string gangs = test.Get("/v1/gangs").body;
    const std::size_t at = gangs.find("job:big~");
    if (at != std::string::npos) name = gangs.substr(at, gangs.find('"', at) - at);
    return !name.empty();
  }));
  REQUIRE(Eventually(
      [&] { return test.Get("/v1/gangs").body.find("NeverFits") != std::string::npos; }));
  for (const std::string& word : {name, std::string("job:big"), std::string("big")}) {
    CHECK_THAT(run({"explain", "gang", "default/" + word}, kExitOk),
               Catch::Contains("default/" + name) && Catch::Contains("not enough free GPUs"));
  }
  CHECK_THAT(run({"explain", "gang", "default/job:other"}, kExitFailed),
             Catch::Contains("there is no gang default/job:other"));
  CHECK_THAT(run({"explain", "gang", "team:a/big"}, kExitUsage),
             Catch::Contains("\"team:a/big\" is no NAMESPACE/NAME"));
  // An order does not guess.
  CHECK_THAT(run({"cancel", "big", "-n", "default"}, kExitFailed),
             Catch::Contains("did you mean gang default/" + name + "?"));
  CHECK_THAT(run({"priority", name, "7", "-n", "default"}, kExitOk), Catch::Contains("7"));
}

TEST_CASE("operators' commands work against a running service", "[cli]") {
  const TempFolder folder;
  extender::ServiceOptions options;
  options.policy_file = folder.File("policy.yaml");
  std::ofstream(options.policy_file) << "apiVersion: muster.dev/v1alpha1\nkind: Policy\n"
                                        "queues: [{name: research}, {name: edu}]\n";
  TestService test(options);
  const auto run = [&](std::vector<std::string> words, int want) {
    return RunAt(test, std::move(words), want);
  };
  CHECK(run({"queue", "hold", "research"}, kExitOk) == "hold, ordered by local (before: open)\n");
  CHECK(run({"queue", "hold", "research", "--drain"}, kExitOk) ==
        "drain, ordered by local (before: hold, ordered by local)\n");
  CHECK_THAT(run({"get", "queues"}, kExitOk), Catch::Contains("research  drain"));
  CHECK_THAT(run({"get", "queues", "-o", "json"}, kExitOk),
             Catch::Contains("queue research is drained, ordered by local"));
  CHECK(run({"queue", "resume", "research"}, kExitOk) ==
        "open (before: drain, ordered by local)\n");
  CHECK_THAT(
      run({"queue", "reclaim", "edu", "--gpus", "1", "--pause", "5m", "--dry-run"}, kExitFailed),
      Catch::Contains("only 0 GPUs of 1 can be had"));
  CHECK_THAT(run({"priority", "train", "7"}, kExitFailed),
             Catch::Contains("there is no gang default/train"));
  CHECK_THAT(run({"priority", "train", "-7"}, kExitFailed),
             Catch::Contains("there is no gang default/train"));
  CHECK_THAT(run({"cancel", "a/train"}, kExitFailed), Catch::Contains("there is no gang a/train"));
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"queue", "hold"},
           {"queue", "stop", "edu"},
           {"queue", "hold", "a/b"},
           {"queue", "resume", "edu", "--drain"},
           {"queue", "hold", "edu", "--gpus", "1"},
           {"queue", "reclaim", "edu"},
           {"queue", "reclaim", "edu", "--gpus", "1", "--pause", "soon"},
           {"priority", "train"},
           {"priority", "train", "much"},
           {"priority", "train", "-"},
           {"priority", "train", ""},
           {"priority", "train", "1", "--reset"},
           {"cancel"},
           {"cancel", "a/b/c"},
           {"cancel", "train", "--ca", "file"},
           {"cancel", "train", "--token-file", folder.File("none")}}) {
    run(wrong, kExitUsage);
  }
  CHECK_THAT(run({"queue", "resum", "edu"}, kExitUsage),
             Catch::Contains("did you mean \"resume\"?"));
  CHECK_THAT(run({"explain", "gagn", "a/train"}, kExitUsage),
             Catch::Contains("did you mean \"gang\"?"));
  CHECK_THAT(run({"explain", "gang"}, kExitUsage), !Catch::Contains("did you mean"));
}

}  // namespace muster::cli::testing
