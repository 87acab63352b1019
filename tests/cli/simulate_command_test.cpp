// muster simulate, as people type it.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/tables/simulation_report.hpp"
#include "tests/cli/cli_run.hpp"
#include "tests/http/tls_test_support.hpp"

namespace muster::cli::testing {
namespace {

using http::testing::TempFolder;

TEST_CASE("simulate fails on files that are missing or no traces", "[cli]") {
  const TempFolder folder;
  const CliRun missing = Run({"simulate", "--nodes", "2x8", "--jobs", folder.File("none.csv")});
  CHECK(missing.status == kExitFailed);
  CHECK_THAT(missing.err, Catch::Contains("none.csv"));
  std::ofstream(folder.File("bad.csv")) << "a,b\n1,2\n";
  CHECK(Run({"simulate", "--nodes", "2x8", "--jobs", folder.File("bad.csv")}).status ==
        kExitFailed);
  CHECK(Run({"simulate", "--nodes", "0x8", "--jobs", folder.File("bad.csv")}).status ==
        kExitFailed);
}

constexpr const char* kRackNodes = R"(apiVersion: sim.muster.dev/v1alpha1
kind: NodePool
metadata: {name: gpu}
spec:
  count: 4
  template:
    metadata: {labels: {rack: "rack-{index/2}"}}
    status: {allocatable: {cpu: "96", memory: 1Ti, pods: "110", nvidia.com/gpu: "8"}}
---
apiVersion: v1
kind: Node
metadata: {name: alone, labels: {rack: rack-x}}
status:
  allocatable: {cpu: "96", memory: 1Ti, pods: "110", nvidia.com/gpu: "8"}
  conditions: [{type: Ready, status: "True"}]
)";

TEST_CASE("simulate plays topology: nodes of a manifest, levels of jobs, how gangs lie", "[cli]") {
  const TempFolder folder;
  std::ofstream(folder.File("policy.yaml"))
      << "apiVersion: muster.dev/v1alpha1\nkind: Policy\nfabric:\n  trees:\n  - name: dc\n"
         "    levels:\n    - {name: rack, labels: [rack]}\n";
  std::ofstream(folder.File("nodes.yaml")) << kRackNodes;
  std::ofstream(folder.File("jobs.csv"))
      << "job_id,submit_s,gpus,duration_s,topology_required\n0,0,16,60,rack\n1,0,16,60,rack\n"
         "2,0,16,60,rack\n";
  const auto simulate = [&](const std::string& nodes, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"simulate",
                                      "--nodes",
                                      nodes,
                                      "--jobs",
                                      folder.File("jobs.csv"),
                                      "--policy",
                                      folder.File("policy.yaml"),
                                      "--audit"};
    words.insert(words.end(), more.begin(), more.end());
    return Run(words);
  };
  for (const std::string& nodes : {folder.File("nodes.yaml"), std::string("5x8@rack=2")}) {
    const CliRun run = simulate(nodes);
    INFO(run.err);
    REQUIRE(run.status == kExitOk);
    CHECK_THAT(run.out, Catch::Contains("nodes                   5\n"));
    CHECK_THAT(run.out, Catch::Contains("gangs in one dc/rack    3 of 3 (100.00 %), in 1.00 on "
                                        "average, links out 0 of 3 (0.00 %)\n"));
  }
  CHECK_THAT(simulate(folder.File("nodes.yaml"), {"--json", "-"}).out,
             Catch::Contains("\"one_domain\": 3") && Catch::Contains("\"links_out\": 0"));
  SECTION("in every form of --output") {
    const std::string file = folder.File("nodes.yaml");
    CHECK_THAT(simulate(file, {"-o", "json"}).out,
               Catch::StartsWith("{") && Catch::Contains("\"one_domain\": 3"));
    CHECK_THAT(simulate(file, {"-o", "yaml"}).out, Catch::Contains("one_domain: 3\n"));
    CHECK_THAT(simulate(file, {"-o", "wide"}).out,
               Catch::Contains("gangs in one dc/rack    3 of 3"));
    CHECK_THAT(simulate(file, {"-o", "xml"}).err, Catch::Contains("--output must be table"));
    CHECK_THAT(simulate(file, {"-o", "yaml", "--json", "-"}).err,
               Catch::Contains("exclude each other"));
  }
  SECTION("with the policy in a ConfigMap") {
    std::ofstream(folder.File("policy.yaml"))
        << "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: muster-policy}\ndata:\n"
           "  policy.yaml: |\n    apiVersion: muster.dev/v1alpha1\n    kind: Policy\n    fabric:\n"
           "      trees:\n      - name: dc\n        levels:\n"
           "        - {name: rack, labels: [rack]}\n";
    CHECK_THAT(simulate("5x8@rack=2").out, Catch::Contains("gangs in one dc/rack    3 of 3"));
  }
  SECTION("a level that the policy does not have") {
    std::ofstream(folder.File("jobs.csv"))
        << "job_id,submit_s,gpus,duration_s,topology_required\n0,0,16,60,row\n";
    const CliRun run = simulate("5x8@rack=2");
    CHECK(run.status == kExitFailed);
    CHECK_THAT(run.err, Catch::Contains("jobs.csv:2: column topology_required: no level \"row\""));
  }
  SECTION("a manifest of other objects, and one that is malformed") {
    const std::string file = folder.File("nodes.yaml");
    std::ofstream(file) << kRackNodes << "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\n";
    CHECK_THAT(
        simulate(file).err,
        Catch::Contains("nodes.yaml:18:7: kind: expected a Node or NodePool, found \"Pod\""));
    std::ofstream(file)
        << kRackNodes << "---\n"
        << std::string(kRackNodes).substr(std::string(kRackNodes).find("apiVersion: v1\n"));
    CHECK_THAT(simulate(file).err,
               Catch::Contains("nodes.yaml:19:18: metadata.name: expected a name of its own, found "
                               "\"alone\" twice"));
    std::ofstream(file) << "apiVersion: v1\nkind: Node\nmetadata: {name: n0}\nstatus:\n"
                           "  allocatable: {cpu: lots}\n";
    CHECK_THAT(simulate(file).err, Catch::Contains("nodes.yaml:5:22: status.allocatable"));
  }
  CHECK_THAT(simulate("5x8@rack=none").err,
             Catch::Contains("expected LABEL=NODES such as rack=10, found \"rack=none\""));
}

TEST_CASE("simulate tells delays by size, and draws them", "[cli]") {
  const TempFolder folder;
  std::ofstream(folder.File("policy.yaml"))
      << "apiVersion: muster.dev/v1alpha1\nkind: Policy\nqueues:\n- {name: a, guarantee: {gpu: "
         "8}}\n";
  std::ofstream(folder.File("jobs.csv")) << "job_id,vc,submit_s,gpus,duration_s\n0,a,0,16,7200\n"
                                            "1,b,3600,8,3600\n2,a,90000,1,60\n";
  const auto simulate = [&](const std::string& plot) {
    return Run({"simulate", "--nodes", "2x8", "--jobs", folder.File("jobs.csv"), "--policy",
                folder.File("policy.yaml"), "--window", "3600-86400", "--durations", "exact",
                "--plot", folder.File(plot)});
  };
  const CliRun run = simulate("a.svg");
  REQUIRE(run.status == kExitOk);
  CHECK(
      run.err ==
      "muster simulate: 1 of 3 jobs name queues that the policy does not have (b); they are in the "
      "queue of their namespace\n");
  CHECK_THAT(run.out,
             Catch::Contains("\ndelay, all jobs\n"
                             "GPUS    JOBS        MEAN    P50    P90    P99    MAX  EVICTIONS\n"
                             "all        3  20 min 1 s  1.0 s    1 h    1 h    1 h          0\n"));
  CHECK_THAT(run.out, Catch::Contains("\ndelay, jobs submitted from 3600 to 86400 s\n"));
  CHECK_THAT(run.out, Catch::Contains("\nmakespan                1 d 1 h\n"));
  CHECK_THAT(run.out, !Catch::Contains("runs evicted") && !Catch::Contains("in part"));
  CHECK_THAT(run.out, Catch::Contains("least service/share 1.000 (a)"));
  std::stringstream drawn;
  drawn << std::ifstream(folder.File("a.svg")).rdbuf();
  CHECK_THAT(drawn.str(), Catch::StartsWith("<svg ") && Catch::EndsWith("</svg>\n"));
  CHECK_THAT(drawn.str(), Catch::Contains("delay, hours (logarithmic)") &&
                              Catch::Contains("GPUs in use, %") &&
                              Catch::Contains("days since the first job"));
  REQUIRE(simulate("b.svg").status == kExitOk);
  std::stringstream again;
  again << std::ifstream(folder.File("b.svg")).rdbuf();
  CHECK(again.str() == drawn.str());
}

TEST_CASE("simulate without Muster gives nobody more of a GPU than there is", "[cli]") {
  const TempFolder folder;
  std::ofstream(folder.File("nodes.csv")) << "sn,cpu_milli,memory_mib,gpu,model\n"
                                          << "a,64000,262144,1,T4\n";
  std::ofstream(folder.File("pods.csv"))
      << "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
      << "p0,1000,1024,1,600\np1,1000,1024,1,600\np2,1000,1024,1,400\n";
  const std::vector<std::string> words = {
      "simulate",        "--nodes", folder.File("nodes.csv"), "--pods", folder.File("pods.csv"),
      "--without-muster"};
  const CliRun refused = Run(words);
  CHECK(refused.status == kExitUsage);
  CHECK(refused.out.empty());
  CHECK_THAT(refused.err, Catch::Contains("pods.csv request shares of GPUs"));
  CHECK_THAT(refused.err, Catch::Contains("--gpu-shares stock"));

  const auto run = [&](const std::string& shares) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--gpu-shares", shares});
    const CliRun done = Run(all);
    CHECK(done.status == kExitOk);
    return done.out;
  };
  CHECK_THAT(run("stock"), Catch::Contains("1 of 3, 2 not"));
  CHECK_THAT(run("hami"), Catch::Contains("2 of 3, 1 not"));
  CHECK_THAT(run("hami"), Catch::Contains("1.000 of 1.000 (100.00 %)"));
}

TEST_CASE("simulate refuses a timeline where the trace has no times", "[cli]") {
  const TempFolder folder;
  const auto run = [&](const std::string& rows) {
    std::ofstream(folder.File("pods.csv")) << rows;
    return Run({"simulate", "--nodes", "1x8", "--pods", folder.File("pods.csv"), "--timeline"});
  };
  const std::string few = "name,cpu_milli,memory_mib,num_gpu,gpu_milli";
  const std::string all = few + ",gpu_spec,creation_time,deletion_time";
  for (const std::string& rows :
       {few + "\np0,1000,1024,1,1000\n", all + "\np0,1000,1024,1,1000,,5,0\n"}) {
    CAPTURE(rows);
    const CliRun refused = run(rows);
    CHECK(refused.status == kExitUsage);
    CHECK_THAT(refused.err, Catch::Contains("--timeline: ") && Catch::Contains("deletion_time"));
  }
  CHECK(run(all + "\np0,1000,1024,1,1000,,5,9\np1,1000,1024,1,1000,,5,0\n").status == kExitOk);
}

TEST_CASE("simulate tells why pods stayed out, and what is left of each model", "[cli]") {
  const TempFolder folder;
  std::ofstream(folder.File("nodes.csv")) << "sn,cpu_milli,memory_mib,gpu,model\n"
                                             "a,2000,262144,2,T4\nb,64000,262144,2,A10\n";
  std::ofstream(folder.File("pods.csv"))
      << "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n"
         "p0,2000,1024,1,1000,T4,0,0\np1,2000,1024,1,1000,T4,0,0\np2,2000,1024,1,1000,A10,0,0\n"
         "p3,2000,1024,2,1000,A10,0,0\n";
  const std::vector<std::string> words = {"simulate", "--nodes", folder.File("nodes.csv"), "--pods",
                                          folder.File("pods.csv")};
  const CliRun run = Run(words);
  REQUIRE(run.status == kExitOk);
  CHECK_THAT(run.out, Catch::Contains("gpus free at the end    2: 2 whole; 0 nodes wholly free\n"));
  CHECK_THAT(
      run.out,
      Catch::Contains(
          "\nGPU MODEL  NODES  GPUS  MOST IN USE   OF ALL  FREE AT THE END  WHOLE GPUS  WHOLE "
          "NODES\n"
          "A10            1     2            1  50.00 %                1           1            0\n"
          "T4             1     2            1  50.00 %                1           1            0\n"
          "\nWHY PODS STAYED OUT      ON NODES OF  PODS  GPUS ASKED\n"
          "GPUs in use              A10             1           2\n"
          "no CPU beside free GPUs  T4              1           1\n"));
  // Nothing ends: there is no use over time, and no end.
  CHECK_THAT(run.out, !Catch::Contains("makespan") && !Catch::Contains("completion") &&
                          !Catch::Contains("utilization") && !Catch::Contains("gangs"));
  std::vector<std::string> json = words;
  json.insert(json.end(), {"--json", "-"});
  CHECK_THAT(Run(json).out, Catch::Contains("\"free_whole_gpus\": 1") &&
                                Catch::Contains("\"cause\": \"no CPU beside free GPUs\""));
}

TEST_CASE("the sample replays, under two policies side by side", "[cli]") {
  const std::string demo = std::string(MUSTER_SOURCE_DIR) + "/sim/demo/";
  const std::vector<std::string> words = {"simulate",
                                          "--nodes",
                                          "16x8",
                                          "--jobs",
                                          demo + "jobs.csv",
                                          "--compare",
                                          demo + "fair.yaml," + demo + "fifo.yaml"};
  const CliRun run = Run(words);
  INFO(run.err);
  REQUIRE(run.status == kExitOk);
  CHECK(run.err.empty());
  std::istringstream lines(run.out);
  std::string line;
  std::getline(lines, line);
  CHECK_THAT(line, Catch::StartsWith("MEASURE ") && Catch::Contains(demo + "fair.yaml  ") &&
                       Catch::EndsWith(demo + "fifo.yaml"));
  CHECK_THAT(run.out, Catch::Contains("\ngangs started ") && Catch::Contains(" 120 ") &&
                          Catch::Contains("\ndelay, mean, jobs of over 16 GPUs ") &&
                          Catch::Contains("\nleast service/share "));
  CHECK_THAT(run.out, !Catch::Contains("not placed") && !Catch::Contains("stayed out"));
  std::vector<std::string> json = words;
  json.insert(json.end(), {"--json", "-"});
  CHECK_THAT(Run(json).out, Catch::StartsWith("{\n  \"policies\": [\n    {\n      \"policy\": "));
}

TEST_CASE("times are told as people say them", "[cli]") {
  CHECK(Lasting(0) == "0 s");
  CHECK(Lasting(0.04) == "under 0.1 s");
  CHECK(Lasting(1.24) == "1.2 s");
  CHECK(Lasting(59.2) == "59 s");
  CHECK(Lasting(250) == "4 min 10 s");
  CHECK(Lasting(3600 * 3 + 60 * 12 + 5) == "3 h 12 min");
  CHECK(Lasting(7200) == "2 h");
  CHECK(Lasting(86400 * 2 + 3600 * 4) == "2 d 4 h");
}

}  // namespace
}  // namespace muster::cli::testing
