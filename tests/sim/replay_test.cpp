#include "sim/replay.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace muster::sim {
namespace {

ReplayOptions Audited() {
  ReplayOptions options;
  options.cluster.audit = true;
  options.cluster.api.gating = Gating::kAll;
  options.cluster.kubelet.start_delay = cluster::Duration(0);
  return options;
}

Trace GangTrace(const std::string& nodes, const std::string& rows) {
  Trace trace;
  trace.nodes = ParseNodeCount(nodes).value();
  trace.jobs = ReadGangJobs("job_id,submit_s,gpus,duration_s\n" + rows, "jobs.csv").value();
  return trace;
}

TEST_CASE("a replay measures waits and completions of gangs", "[sim][replay]") {
  // 16 GPUs: the second job waits for the first, the third fits beside the second.
  const Trace trace = GangTrace("2x8", "0,0,16,100\n1,10,8,50\n2,20,8,50\n");
  const ReplayReport report = Replay(trace, Audited());
  CHECK(report.pods_total == 4);
  CHECK(report.pods_placed == 4);
  CHECK(report.gangs_started == 3);
  CHECK(report.partial_gangs == 0);
  CHECK(report.wait_s.max == Approx(90));
  CHECK(report.wait_s.p50 == Approx(80));
  CHECK(report.jct_s.max == Approx(140));
  CHECK(report.makespan_s == Approx(150));
  CHECK(report.utilization_mean == Approx(1.0));
  CHECK(report.gpu_allocated_milli == 16000);
  CHECK(report.audit_findings == 0);
}

TEST_CASE("the same trace gives the same decisions, another one others", "[sim][replay]") {
  const Trace trace = GangTrace("4x8", "0,0,16,100\n1,10,8,50\n2,20,32,50\n3,20,1,7\n");
  CHECK(Replay(trace, Audited()).decision_hash == Replay(trace, Audited()).decision_hash);
  const Trace other = GangTrace("4x8", "0,0,16,100\n1,10,8,50\n2,20,32,50\n3,20,1,8\n4,30,1,8\n");
  CHECK(Replay(trace, Audited()).decision_hash != Replay(other, Audited()).decision_hash);
}

TEST_CASE("a job that never fits stays out and holds nothing", "[sim][replay]") {
  const ReplayReport report = Replay(GangTrace("2x8", "0,0,24,100\n1,10,8,50\n"), Audited());
  CHECK(report.gangs_total == 2);
  CHECK(report.gangs_started == 1);
  CHECK(report.pods_unplaced == 3);
  CHECK(report.partial_gangs == 0);
}

TEST_CASE("pods leave when the trace says so only with a timeline", "[sim][replay]") {
  Trace trace;
  trace.nodes = ParseNodeCount("1x8").value();
  trace.jobs =
      ReadOpenbPods(
          "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n"
          "a,1000,1024,8,1000,,0,100\nb,1000,1024,8,1000,,50,200\n",
          "pods.csv")
          .value();
  ReplayOptions options = Audited();
  CHECK(Replay(trace, options).pods_placed == 1);
  options.timeline = true;
  const ReplayReport report = Replay(trace, options);
  CHECK(report.pods_placed == 2);
  CHECK(report.wait_s.max == Approx(50));
  CHECK(report.jct_s.samples == 2);  // deleted at 100, and at 200 after 150 s
  CHECK(report.jct_s.p50 == Approx(100));
  CHECK(report.jct_s.max == Approx(150));
}

TEST_CASE("a job is completed only when it ran and has ended", "[sim][replay]") {
  Trace trace;
  trace.nodes = ParseNodeCount("1x8").value();
  trace.jobs =
      ReadOpenbPods(
          "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time\n"
          "runs,1000,1024,8,1000,,0,100\nwaits-in-vain,1000,1024,8,1000,,10,60\n",
          "pods.csv")
          .value();
  ReplayOptions options = Audited();
  CHECK(Replay(trace, options).jct_s.samples == 0);  // nothing is ever deleted
  options.timeline = true;
  const ReplayReport report = Replay(trace, options);
  CHECK(report.pods_placed == 1);
  CHECK(report.wait_s.samples == 1);
  CHECK(report.jct_s.samples == 1);
  CHECK(report.jct_s.max == Approx(100));
}

TEST_CASE("percentiles are by nearest rank", "[sim][replay]") {
  std::vector<cluster::Duration> samples;
  for (int i = 1; i <= 100; ++i) samples.push_back(cluster::Seconds(101 - i));
  const Distribution result = Summarize(samples);
  CHECK(result.p50 == 50);
  CHECK(result.p95 == 95);
  CHECK(result.p99 == 99);
  CHECK(result.max == 100);
  CHECK(result.mean == Approx(50.5));
  CHECK(result.samples == 100);
  CHECK(Summarize({}).samples == 0);
}

std::string ReadData(const std::string& name) {
  const char* set = std::getenv("MUSTER_DATA_DIR");
  const std::string folder =
      set != nullptr ? set : std::string(MUSTER_SOURCE_DIR) + "/../shared/data";
  std::ifstream file(folder + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("the openb trace fills a cluster without a GPU given out twice", "[sim][replay][data]") {
  const std::string nodes = ReadData("openb/openb_node_list_gpu_node.csv");
  const std::string pods = ReadData("openb/openb_pod_list_default.csv");
  if (nodes.empty() || pods.empty()) {
    WARN(
        "skipped: the openb trace is not there; set MUSTER_DATA_DIR to the folder that holds "
        "openb/");
    return;
  }
  Trace trace;
  trace.nodes = ReadOpenbNodes(nodes, "nodes").value();
  trace.jobs = ReadOpenbPods(pods, "pods").value();
  trace.jobs.resize(300);  // auditing after every event is slow
  const ReplayReport report = Replay(trace, Audited());
  CHECK(report.nodes == 1213);
  CHECK(report.gpus == 6212);
  CHECK(report.pods_placed == 300);
  CHECK(report.audit_findings == 0);
  CHECK(report.decision_hash == Replay(trace, Audited()).decision_hash);
}

}  // namespace
}  // namespace muster::sim
