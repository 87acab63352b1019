#include "sim/replay/left_over.hpp"

#include <catch2/catch.hpp>

#include "sim/world/cluster.hpp"

namespace muster::sim {
namespace {

using cluster::GpuMilli;
using cluster::Node;

Node NodeOf(const std::string& name, int gpus, const std::string& model, int64_t cpu_milli) {
  Node node = GpuNode(gpus, model);
  node.name = name;
  node.uid = cluster::NodeUid(name);
  node.labels["model"] = model;
  node.allocatable.cpu = cluster::MilliCpu(cpu_milli);
  for (cluster::Gpu& gpu : node.gpus) gpu.sharing = cluster::GpuSharing::Fractional();
  return node;
}

PodPtr PodOf(const std::string& name, int gpus, GpuMilli each, const std::string& node,
             const std::string& model = "") {
  auto record = std::make_shared<PodRecord>();
  cluster::PodSpec spec;
  spec.gpus.count = gpus;
  spec.gpus.each = each;
  spec.requests.cpu = cluster::MilliCpu(1000);
  spec.requests.pods = 1;
  if (!model.empty()) spec.constraints.node_selector["model"] = model;
  record->pod.key = {"default", name};
  record->pod.uid = cluster::PodUid(name);
  record->pod.spec = std::make_shared<const cluster::PodSpec>(std::move(spec));
  record->pod.node_name = node;
  return record;
}

std::string Told(const LeftOver& left) {
  std::string text;
  for (const OutRow& row : left.out)
    text += std::string(ToString(row.cause)) + " | " + row.model + " | " +
            std::to_string(row.pods) + " | " + std::to_string(row.gpus.value()) + "\n";
  return text;
}

TEST_CASE("pods that stayed out are counted by what they lack on each model", "[replay]") {
  // t4 has CPU for two pods; of a100 each node has one GPU left, of v100 none.
  const std::vector<Node> nodes = {NodeOf("a0", 2, "a100", 64'000), NodeOf("a1", 2, "a100", 64'000),
                                   NodeOf("t0", 4, "t4", 2'000), NodeOf("v0", 1, "v100", 64'000)};
  const std::vector<PodPtr> held = {
      PodOf("h0", 1, cluster::kWholeGpu, "a0"), PodOf("h1", 1, cluster::kWholeGpu, "a1"),
      PodOf("h2", 1, cluster::kWholeGpu, "t0"), PodOf("h3", 1, cluster::kWholeGpu, "t0"),
      PodOf("h4", 1, cluster::kWholeGpu, "v0")};
  struct Case {
    std::string name;
    PodPtr pod;
    std::string want;
  };
  const Case c = GENERATE_COPY(values<Case>({
      {"in pieces", PodOf("p", 2, cluster::kWholeGpu, "", "a100"),
       "free GPUs only in pieces | a100 | 1 | 2000\n"},
      {"in use", PodOf("p", 1, cluster::kWholeGpu, "", "v100"), "GPUs in use | v100 | 1 | 1000\n"},
      {"no CPU", PodOf("p", 1, cluster::kWholeGpu, "", "t4"),
       "no CPU beside free GPUs | t4 | 1 | 1000\n"},
      {"fits alone", PodOf("p", 1, GpuMilli(500), "", "a100"),
       "room for it, not for its gang or before its turn | a100 | 1 | 500\n"},
      {"no such model", PodOf("p", 1, cluster::kWholeGpu, "", "h100"),
       "no node that it may use |  | 1 | 1000\n"},
      {"any model", PodOf("p", 2, cluster::kWholeGpu, ""),
       "GPUs in use | v100 | 1 | 2000\n"
       "free GPUs only in pieces | a100 | 1 | 2000\n"
       "no CPU beside free GPUs | t4 | 1 | 2000\n"},
  }));
  CAPTURE(c.name);
  std::vector<PodPtr> pods = held;
  pods.push_back(c.pod);
  CHECK(Told(LookAtTheEnd(nodes, pods, false)) == c.want);
}

TEST_CASE("what is free at the end is reported by model, whole GPUs and whole nodes apart",
          "[replay]") {
  const std::vector<Node> nodes = {NodeOf("a0", 2, "a100", 64'000),
                                   NodeOf("a1", 2, "a100", 64'000)};
  auto held = std::make_shared<PodRecord>(*PodOf("h", 1, GpuMilli(400), "a0"));
  held->pod.bound_gpus = {cluster::GpuIndex{1}};
  const std::vector<PodPtr> pods = {held};
  const auto free = [&](bool whole_only) {
    const LeftOver left = LookAtTheEnd(nodes, pods, whole_only);
    CHECK(left.out.empty());
    REQUIRE(left.free.size() == 1);
    CHECK(left.free[0].model == "a100");
    CHECK(left.free[0].free_whole == 3);
    CHECK(left.free[0].free_nodes == 1);
    return left.free[0].free;
  };
  CHECK(free(false) == GpuMilli(3600));
  CHECK(free(true) == GpuMilli(3000));
}

TEST_CASE("the use of a model is its mean over time and its most", "[replay]") {
  using cluster::Seconds;
  const auto at = [](int64_t seconds) { return cluster::Time() + Seconds(seconds); };
  ModelUse use({NodeOf("a", 4, "a100", 0), NodeOf("b", 2, "t4", 0), NodeOf("c", 4, "a100", 0)});
  use.Use("a", GpuMilli(4000), at(10));
  use.Use("c", GpuMilli(2000), at(20));
  use.Use("a", GpuMilli(-4000), at(30));
  use.Use("nowhere", GpuMilli(1000), at(30));
  const std::vector<ModelReport> reports = use.Report(at(0), at(40));
  REQUIRE(reports.size() == 2);
  CHECK(reports[0].model == "a100");
  CHECK(reports[0].nodes == 2);
  CHECK(reports[0].gpus == 8);
  CHECK(reports[0].most_used == GpuMilli(6000));
  CHECK(reports[0].utilization == Approx((4 * 20 + 2 * 20) / (8.0 * 40)));
  CHECK(reports[1].model == "t4");
  CHECK(reports[1].utilization == 0);
}

}  // namespace
}  // namespace muster::sim
