#include "sim/replay/replay.hpp"

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

// Two blocks of two racks of two nodes.
ReplayReport ReplayInRacks(const std::string& rows, bool with_muster = true) {
  topology::FabricTree tree;
  tree.name = "dc";
  tree.levels = {{"block", {"block"}}, {"rack", {"rack"}}};
  ReplayOptions options = Audited();
  options.cluster.with_muster = with_muster;
  if (!with_muster) {
    options.cluster.audit = false;
    options.cluster.api.gating = Gating::kNone;
  }
  options.cluster.muster.engine.placement.fabric.trees = {tree};
  Trace trace;
  trace.nodes = ParseNodeCount("8x8@rack=2,block=4").value();
  for (cluster::Node& node : trace.nodes) {
    node.topology = "GPU0 GPU1 GPU2 GPU3 GPU4 GPU5 GPU6 GPU7\n";
    for (int row = 0; row < 8; ++row) {
      node.topology += "GPU" + std::to_string(row);
      for (int column = 0; column < 8; ++column) node.topology += row == column ? " X" : " NV18";
      node.topology += "\n";
    }
  }
  trace.jobs =
      ReadGangJobs("job_id,submit_s,gpus,duration_s,gpus_per_pod,topology_required\n" + rows,
                   "jobs.csv", options.cluster.muster.engine.placement.fabric)
          .value();
  return Replay(trace, options);
}

TEST_CASE("a replay tells how gangs lie in the fabric", "[sim][replay]") {
  // One on a node, one in a rack, one in a block, and one that no rack holds.
  const ReplayReport report = ReplayInRacks(
      "0,0,8,100,4,\n1,0,16,100,8,rack\n2,0,32,100,8,\n3,0,24,100,8,rack\n4,0,1,9,8,\n");
  CHECK(report.audit_findings == 0);
  CHECK(report.gangs_started == 4);
  const PlacesReport& places = report.places;
  CHECK(places.gangs == 3);
  CHECK(places.one_node == 1);
  CHECK(places.links == 1 + 1 + 4);
  REQUIRE(places.levels.size() == 2);
  CHECK(places.levels[0].level == "block");
  CHECK(places.levels[0].whole == 3);
  CHECK(places.levels[0].crossings == 0);
  CHECK(places.levels[1].tree == "dc");
  CHECK(places.levels[1].level == "rack");
  CHECK(places.levels[1].whole == 2);
  CHECK(places.levels[1].domains == 1 + 1 + 2);
  CHECK(places.levels[1].crossings == 2);
  CHECK(places.ringed == 2 + 2 + 4);
  CHECK(places.ringed_gangs == 3);
  CHECK(places.ring_gbps > 100);
  CHECK(places.slowest_gbps == Approx(places.ring_gbps));
}

TEST_CASE("without Muster gangs are measured in the same fabric", "[sim][replay]") {
  const ReplayReport report = ReplayInRacks("0,0,64,100,8,\n", false);
  CHECK(report.places.gangs == 1);
  REQUIRE(report.places.levels.size() == 2);
  CHECK(report.places.levels[1].domains == 4);
  CHECK(report.places.ringed == 0);  // nobody says which GPUs the kubelets gave
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
