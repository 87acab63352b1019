#include "sim/replay/trace.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace muster::sim {
namespace {

constexpr const char* kNodes =
    "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\nn1,96000,524288,8,V100M32\n";
constexpr const char* kPods =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_"
    "time,scheduled_time\n"
    "b,6000,12288,1,460,V100M16|V100M32,LS,Running,427061,12902960,427061\n"
    "a,12000,16384,1,1000,,LS,Running,0,12537496,0\n"
    "cpu,1000,1024,0,0,,LS,Running,0,5,0\n";

TEST_CASE("openb nodes become nodes with shareable GPUs", "[sim][trace]") {
  const auto nodes = ReadOpenbNodes(kNodes, "nodes.csv");
  REQUIRE(nodes.ok());
  REQUIRE(nodes->size() == 2);
  CHECK((*nodes)[1].gpus.size() == 8);
  CHECK((*nodes)[1].gpus[7].sharing == cluster::GpuSharing::Fractional());
  CHECK((*nodes)[1].labels.at("nvidia.com/gpu.product") == "V100M32");
  CHECK((*nodes)[0].allocatable.cpu == cluster::MilliCpu(64000));
}

TEST_CASE("openb pods are ordered by creation, then as in the file", "[sim][trace]") {
  const auto jobs = ReadOpenbPods(kPods, "pods.csv");
  REQUIRE(jobs.ok());
  std::vector<std::string> names;
  for (const TraceJob& job : *jobs) names.push_back(job.name);
  CHECK(names == std::vector<std::string>{"a", "cpu", "b"});
  const cluster::PodSpec& spec = *jobs->back().pods.front().pod.spec;
  CHECK(spec.gpus.each == cluster::GpuMilli(460));
  CHECK(spec.constraints.affinity_terms.front().match_expressions.front().values ==
        std::vector<std::string>{"V100M16", "V100M32"});
  CHECK(jobs->back().deleted == cluster::Time() + cluster::Seconds(12902960));
  CHECK((*jobs)[1].pods.front().pod.spec->gpus.none());
}

TEST_CASE("the short form of the openb pod list has no times", "[sim][trace]") {
  const auto jobs =
      ReadOpenbPods("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,2,2,1000\n", "pods.csv");
  REQUIRE(jobs.ok());
  CHECK_FALSE(jobs->front().deleted.has_value());
  CHECK(jobs->front().pods.front().pod.spec->gpus.count == 2);
}

TEST_CASE("a gang job has members of at most 8 GPUs, equal where it can be", "[sim][trace]") {
  struct Case {
    int gpus;
    std::vector<int> want;
  };
  for (const Case& c : std::vector<Case>{{1, {1}},
                                         {7, {7}},
                                         {8, {8}},
                                         {12, {6, 6}},
                                         {16, {8, 8}},
                                         {20, {8, 8, 4}},
                                         {24, {8, 8, 8}}}) {
    DYNAMIC_SECTION(c.gpus) {
      const auto jobs = ReadGangJobs(
          "job_id,vc,submit_s,gpus,duration_s\n0,a,5," + std::to_string(c.gpus) + ",60\n", "j");
      REQUIRE(jobs.ok());
      std::vector<int> members;
      for (const PodRecord& pod : jobs->front().pods) members.push_back(pod.pod.spec->gpus.count);
      CHECK(members == c.want);
      CHECK(jobs->front().runs_for == cluster::Seconds(60));
    }
  }
}

TEST_CASE("node counts are read or refused", "[sim][trace]") {
  const auto nodes = ParseNodeCount("180x8");
  REQUIRE(nodes.ok());
  CHECK(nodes->size() == 180);
  CHECK(nodes->front().name == "node-000");
  CHECK(nodes->back().name == "node-179");
  for (const std::string bad :
       {"", "x", "8", "0x8", "-1x8", "8x-1", "8x8x8", "1e3x8", "8x129", "100001x8", " 8x8"}) {
    INFO(bad);
    CHECK_FALSE(ParseNodeCount(bad).ok());
  }
}

TEST_CASE("nodes in groups have labels", "[sim][trace]") {
  const auto nodes = ParseNodeCount("24x8@rack=2,example.com/block=12");
  REQUIRE(nodes.ok());
  const auto label = [&](size_t i, const char* key) { return (*nodes)[i].labels.at(key); };
  CHECK(label(0, "rack") == "rack-00");
  CHECK(label(3, "rack") == "rack-01");
  CHECK(label(23, "rack") == "rack-11");
  CHECK(label(11, "example.com/block") == "block-0");
  CHECK(label(12, "example.com/block") == "block-1");
  for (const std::string bad : {"4x8@", "4x8@rack", "4x8@rack=", "4x8@rack=0", "4x8@=2",
                                "4x8@rack=2,", "4x8@ra ck=2", "4x8@rack=2x", "4x8@a/=2"}) {
    INFO(bad);
    CHECK_FALSE(ParseNodeCount(bad).ok());
  }
  CHECK(ParseNodeCount("4x8@rack=2,block=x").error().message ==
        "expected LABEL=NODES such as rack=10, found \"block=x\" at character 12 of "
        "\"4x8@rack=2,block=x\"");
}

topology::FabricOptions BlocksOfRacks() {
  topology::FabricTree tree;
  tree.name = "dc";
  tree.levels = {{"block", {"block"}}, {"rack", {"rack"}}};
  return {{tree}};
}

TEST_CASE("a gang job names levels, segments and the size of its members", "[sim][trace]") {
  const auto jobs = ReadGangJobs(
      "job_id,submit_s,gpus,duration_s,gpus_per_pod,topology_required,topology_preferred,"
      "segments_required,segments_preferred\n"
      "0,0,16,9,2,block,rack,rack=2,block=4\n1,0,8,9,,,rack,,\n2,0,16,9,,,,,\n",
      "j.csv", BlocksOfRacks());
  REQUIRE(jobs.ok());
  const TraceJob& first = jobs->front();
  CHECK(first.pods.size() == 8);
  CHECK(first.pods.front().pod.spec->gpus.count == 2);
  CHECK(first.topology.required == "block");
  CHECK(first.topology.preferred == "rack");
  CHECK(first.topology.segments ==
        std::vector<cluster::TopologySegment>{{"block", 4, false}, {"rack", 2, true}});
  CHECK((*jobs)[1].pods.front().pod.spec->topology.preferred == "rack");
  CHECK((*jobs)[2].topology.none());
}

TEST_CASE("faults of a job's levels are reported at their cell", "[sim][trace]") {
  struct Bad {
    std::string cells;  // gpus_per_pod to segments_preferred
    std::string want;
  };
  for (const Bad& bad : std::vector<Bad>{
           {"0,,,,", "gpus_per_pod: expected a whole number from 1 to 128, found \"0\""},
           {",rak,,,",
            "topology_required: no level \"rak\" in the policy's fabric; expected one of block, "
            "rack"},
           {",,row,,",
            "topology_preferred: no level \"row\" in the policy's fabric; expected one of block, "
            "rack"},
           {",,,rack,",
            "segments_required: expected LEVEL=PODS such as rack=4, several with ';' in "
            "between, found \"rack\""},
           {",,,,rack=2;=1",
            "segments_preferred: expected LEVEL=PODS such as rack=4, several with "
            "';' in between, found \"=1\""},
           {",,,row=2,",
            "segments_required: no level \"row\" in the policy's fabric; expected one of block, "
            "rack"},
           {",,,rack=3,", "segments_required: the 4 pods of the job are not whole segments of 3"},
           {",,,block=4,rack=3",
            "segments_required: the 4 pods of a segment are not whole segments of 3"},
       }) {
    DYNAMIC_SECTION(bad.cells) {
      const auto jobs = ReadGangJobs(
          "job_id,submit_s,gpus,duration_s,gpus_per_pod,topology_required,topology_preferred,"
          "segments_required,segments_preferred\n0,0,8,9,2,,,,\n1,0,32,9," +
              bad.cells + "\n",
          "j.csv", BlocksOfRacks());
      REQUIRE_FALSE(jobs.ok());
      CHECK(jobs.error().ToString() == "j.csv:3: column " + bad.want);
    }
  }
  CHECK_FALSE(
      ReadGangJobs("job_id,submit_s,gpus,duration_s,topology_required\n0,0,8,9,rack\n", "j").ok());
}

TEST_CASE("a malformed trace is refused with file, line and column", "[sim][trace]") {
  struct Bad {
    std::string text;
    std::string want;
  };
  const std::string header = "job_id,submit_s,gpus,duration_s\n";
  for (const Bad& bad : std::vector<Bad>{
           {"", "j.csv:1: the file is empty, expected a header line"},
           {"job_id,gpus,duration_s\n", "j.csv:1: column submit_s is missing from the header"},
           {header + "0,0,1\n", "j.csv:2: expected 4 cells as in the header, found 3"},
           {header + "\n0,0,x,1\n",
            "j.csv:3: column gpus: expected a whole number from 1 to 131072, found \"x\""},
           {header + "0,0,0,1\n",
            "j.csv:2: column gpus: expected a whole number from 1 to 131072, found \"0\""},
           {header + "0,0,1,99999999999999999999\n",
            "j.csv:2: column duration_s: expected a whole number from 0 to 10000000000, found "
            "\"99999999999999999999\""},
           {header + "0,0,1,1\r\n0,0,1,1\r\n",
            "j.csv:3: column job_id: expected an id of its own, found it twice"},
       }) {
    DYNAMIC_SECTION(bad.want) {
      const auto jobs = ReadGangJobs(bad.text, "j.csv");
      REQUIRE_FALSE(jobs.ok());
      CHECK(jobs.error().ToString() == bad.want);
    }
  }
  CHECK(ReadOpenbPods("name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,2,1,0\n", "p.csv")
            .error()
            .ToString() ==
        "p.csv:2: column gpu_milli: a pod with GPUs asks for 1 to 1000 of each, found 0");
}

}  // namespace
}  // namespace muster::sim
