// Which devices a pod holds, and what is left of a node.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
#include "tests/support/builders.hpp"

namespace muster::cluster {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::PlaceOn;

// "0:1000 3:500", with a "?" after it when not all are known; "-" when the pod holds nothing.
std::string Held(const ClusterState& state, const std::string& pod) {
  const Allocation* held = state.AllocationOf(PodUid("pod-" + pod));
  if (held == nullptr) return "-";
  std::string text;
  for (const GpuShare& share : held->placement.gpus) {
    if (!text.empty()) text += ' ';
    text += std::to_string(share.index.value) + ":" + std::to_string(share.taken.most().value());
  }
  return text + (held->devices_known ? "" : "?");
}

std::vector<int> Free(ClusterState& state, const std::string& node) {
  const auto snapshot = state.TakeSnapshot();
  return testing::Milli(snapshot->free().gpus(state.IndexOf(node)));
}

NodeFree Numbers(ClusterState& state, const std::string& node) {
  return state.TakeSnapshot()->free().at(state.IndexOf(node));
}

TEST_CASE("the annotation says which devices a bound pod has", "[cluster][claims]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(4));
  state.Upsert(MakePod("p").Gpus(2).BoundTo("n0", {3, 1}));
  CHECK(Held(state, "p") == "1:1000 3:1000");
  CHECK(Free(state, "n0") == std::vector<int>{1000, 0, 1000, 0});
  CHECK(Numbers(state, "n0").gpu_total() == 2000);
  CHECK(Numbers(state, "n0").gpu_whole == 2);
  CHECK(Numbers(state, "n0").gpu_most == kWholeGpu);
  CHECK(Numbers(state, "n0").resources.cpu == MilliCpu(63'000));
  CHECK(Numbers(state, "n0").resources.pods == 109);
}

TEST_CASE("an annotation that is not possible gives way to the lowest free devices",
          "[cluster][claims]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(4));
  struct Case {
    const char* name;
    std::vector<int> gpus;
  };
  const Case c = GENERATE(values<Case>({{"absent", {}},
                                        {"too few", {3}},
                                        {"too many", {1, 2, 3}},
                                        {"nothing of it there", {4, 5}}}));
  DYNAMIC_SECTION(c.name) {
    state.Upsert(MakePod("p").Gpus(2).BoundTo("n0", c.gpus));
    CHECK(Held(state, "p") == "0:1000 1:1000");
  }
}

TEST_CASE("of an annotation that is possible in part the pod keeps what is there",
          "[cluster][claims]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(8));
  state.Upsert(MakePod("p").Gpus(2).BoundTo("n0", {5, 7}));
  state.Upsert(MakeNode("n0").Gpus(6));  // GPU 7 is gone
  CHECK(Held(state, "p") == "0:1000 5:1000");
  CHECK(Free(state, "n0") == std::vector<int>{0, 1000, 1000, 1000, 1000, 0});
  state.Upsert(MakeNode("n0").Gpus(8));
  CHECK(Held(state, "p") == "5:1000 7:1000");
  state.Upsert(MakePod("twice").Gpus(2).BoundTo("n0", {3, 3}));
  CHECK(Held(state, "twice") == "0:1000 3:1000");
}

TEST_CASE("of two pods annotated with one device the earlier has it, in any order of facts",
          "[cluster][claims]") {
  std::vector<Pod> pods{MakePod("late").Gpus(1).BoundTo("n0", {0}).CreatedAt(2),
                        MakePod("early").Gpus(1).BoundTo("n0", {0}).CreatedAt(1),
                        MakePod("silent").Gpus(1).BoundTo("n0").CreatedAt(0)};
  std::sort(pods.begin(), pods.end(), [](const Pod& a, const Pod& b) { return a.uid < b.uid; });
  do {
    ClusterState state;
    for (const Pod& pod : pods) state.Upsert(pod);
    state.Upsert(MakeNode("n0").Gpus(3));
    CHECK(Held(state, "early") == "0:1000");
    CHECK(Held(state, "silent") == "1:1000");
    CHECK(Held(state, "late") == "2:1000");
    CHECK_FALSE(state.Overcommitted(state.IndexOf("n0")));
  } while (std::next_permutation(pods.begin(), pods.end(),
                                 [](const Pod& a, const Pod& b) { return a.uid < b.uid; }));
}

TEST_CASE("shares of one device are counted in thousandths", "[cluster][claims]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(2).Sharing(GpuSharing::Fractional()));
  state.Upsert(MakePod("a").GpuShare(600).BoundTo("n0").CreatedAt(1));
  state.Upsert(MakePod("b").GpuShare(600).BoundTo("n0").CreatedAt(2));
  state.Upsert(MakePod("c").GpuShare(300).BoundTo("n0", {1}).CreatedAt(3));
  CHECK(Held(state, "a") == "0:600");
  CHECK(Held(state, "b") == "1:600");
  CHECK(Held(state, "c") == "1:300");
  CHECK(Free(state, "n0") == std::vector<int>{400, 100});
  CHECK(Numbers(state, "n0").gpu_whole == 0);
  CHECK(Numbers(state, "n0").gpu_most == GpuMilli(400));
  state.Upsert(MakePod("d").GpuShare(200, 2).BoundTo("n0").CreatedAt(4));
  CHECK(Held(state, "d") == "0:200?");
  CHECK(state.Overcommitted(state.IndexOf("n0")));
  CHECK(Free(state, "n0") == std::vector<int>{0, 0});
}

TEST_CASE("turns of replicated devices", "[cluster][claims]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(2).Sharing(GpuSharing::TimeSliced(), 4));
  state.Upsert(MakePod("a").Gpus(1).BoundTo("n0", {1}).CreatedAt(1));
  CHECK(Held(state, "a") == "1:250");
  SECTION("are spread over the devices before a device is given twice") {
    state.Upsert(MakePod("b").Gpus(5).BoundTo("n0").CreatedAt(2));
    CHECK(Held(state, "b") == "0:750 1:500");
    CHECK(Free(state, "n0") == std::vector<int>{250, 250});
  }
  SECTION("may be annotated one by one") {
    state.Upsert(MakePod("b").Gpus(3).BoundTo("n0", {1, 1, 0}).CreatedAt(2));
    CHECK(Held(state, "b") == "0:250 1:500");
  }
  SECTION("end") {
    state.Upsert(MakePod("b").Gpus(8).BoundTo("n0").CreatedAt(2));
    CHECK(Held(state, "b") == "0:1000 1:750?");
    CHECK(state.Overcommitted(state.IndexOf("n0")));
  }
}

TEST_CASE("an unhealthy device has nothing free, but who runs on it holds it",
          "[cluster][claims]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(3));
  state.Upsert(MakePod("a").Gpus(1).BoundTo("n0", {1}));
  state.Upsert(MakePod("b").Gpus(1).BoundTo("n0"));
  state.Upsert(MakeNode("n0").Gpus(3).Unhealthy(1));
  CHECK(Held(state, "a") == "1:1000");
  CHECK(Held(state, "b") == "0:1000");
  CHECK(Free(state, "n0") == std::vector<int>{0, 0, 0});  // two healthy ones, two asked for
  // Healthy ones are assumed first; only then is a pod assumed on a device that broke under it.
  state.Upsert(MakeNode("n0").Gpus(3).Unhealthy(0));
  CHECK(Held(state, "b") == "2:1000");
  state.Upsert(MakePod("c").Gpus(1).BoundTo("n0").CreatedAt(9));
  CHECK(Held(state, "c") == "0:1000");
  CHECK(state.Overcommitted(state.IndexOf("n0")));  // three asked for, two healthy
  CHECK(Numbers(state, "n0").gpu_total() == 0);
}

TEST_CASE("for each device that broke under a pod a healthy one is withheld", "[cluster][claims]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(4).Unhealthy(1));
  state.Upsert(MakePod("a").Gpus(1).BoundTo("n0", {1}));
  CHECK(Free(state, "n0") == std::vector<int>{1000, 0, 1000, 0});
  CHECK_FALSE(state.Overcommitted(state.IndexOf("n0")));
  state.Upsert(MakePod("b").Gpus(2));
  Placement plan{PodUid("pod-b"), state.IndexOf("n0"), {}, {}};
  plan.gpus = {{GpuIndex{0}, kWholeGpu}, {GpuIndex{3}, kWholeGpu}};
  CHECK_FALSE(state.Reserve({plan}).ok());
  plan.gpus[1].index = GpuIndex{2};
  REQUIRE(state.Reserve({plan}).ok());
  CHECK(state.Sound(PodUid("pod-b")));
  SECTION("a reservation of the withheld one is lost") {
    state.Upsert(MakePod("c").Gpus(1).BoundTo("n0", {3}));
    CHECK_FALSE(state.Sound(PodUid("pod-b")));
    CHECK(state.Release(PodUid("pod-b")));
    CHECK(Free(state, "n0") == std::vector<int>{1000, 0, 0, 0});
  }
  SECTION("it is offered when the device is whole again") {
    state.Upsert(MakeNode("n0").Gpus(4));
    CHECK(Free(state, "n0") == std::vector<int>{0, 0, 0, 1000});
    CHECK(state.Sound(PodUid("pod-b")));
  }
}

TEST_CASE("a GPU count that shrinks under running pods over-commits the node",
          "[cluster][claims]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(4));
  state.Upsert(MakePod("a").Gpus(2).BoundTo("n0", {2, 3}));
  state.Upsert(MakePod("b").Gpus(1).BoundTo("n0", {0}));
  const NodeIndex n0 = state.IndexOf("n0");
  state.Upsert(MakeNode("n0").Gpus(2));
  CHECK(state.Overcommitted(n0));
  CHECK(Held(state, "a") == "1:1000?");
  CHECK(Held(state, "b") == "0:1000");
  CHECK(Numbers(state, "n0").gpu_total() == 0);
  state.Upsert(MakeNode("n0").Gpus(0));
  CHECK(Held(state, "a") == "?");
  CHECK(state.Overcommitted(n0));
  state.Upsert(MakeNode("n0").Gpus(4));
  CHECK(Held(state, "a") == "2:1000 3:1000");
  CHECK_FALSE(state.Overcommitted(n0));
  CHECK(Numbers(state, "n0").gpu_total() == 1000);
}

TEST_CASE("more CPU, memory or slots held than there is over-commits the node in that",
          "[cluster][claims]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(2));
  state.Upsert(MakePod("a").MilliCpu(40'000).MemoryMiB(1).BoundTo("n0"));
  CHECK_FALSE(state.Overcommitted(state.IndexOf("n0")));
  state.Upsert(MakePod("b").MilliCpu(24'001).MemoryMiB(1).BoundTo("n0"));
  CHECK(state.Overcommitted(state.IndexOf("n0")));
  CHECK(Numbers(state, "n0").resources.cpu == MilliCpu(0));
  CHECK(Numbers(state, "n0").resources.memory == MiB(512 * 1024 - 2));
  CHECK(Numbers(state, "n0").gpu_total() == 2000);
  state.Upsert(MakeNode("n0").Gpus(2).Cpu(65));
  CHECK_FALSE(state.Overcommitted(state.IndexOf("n0")));
  state.Upsert(MakeNode("n0").Gpus(2).Cpu(65).PodSlots(1));
  CHECK(state.Overcommitted(state.IndexOf("n0")));
  CHECK(Numbers(state, "n0").resources.pods == 0);
}

TEST_CASE("a pod holds until it has ended or is removed", "[cluster][claims]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(2));
  state.Upsert(MakePod("p").Gpus(1).BoundTo("n0").Phase(PodPhase::kRunning));
  const NodeIndex n0 = state.IndexOf("n0");
  CHECK(state.HoldersOn(n0) == std::set<PodUid>{PodUid("pod-p")});
  state.Upsert(MakePod("p").Gpus(1).BoundTo("n0").Phase(PodPhase::kRunning).Deleting());
  CHECK(Held(state, "p") == "0:1000");
  state.Upsert(MakePod("p").Gpus(1).BoundTo("n0").Phase(PodPhase::kUnknown).Deleting());
  CHECK(Held(state, "p") == "0:1000");
  const PodPhase end = GENERATE(PodPhase::kSucceeded, PodPhase::kFailed);
  state.Upsert(MakePod("p").Gpus(1).BoundTo("n0").Phase(end));
  CHECK(Held(state, "p") == "-");
  CHECK(state.HoldersOn(n0).empty());
  CHECK(Numbers(state, "n0").gpu_total() == 2000);
  CHECK(Numbers(state, "n0").resources.pods == 110);
}

TEST_CASE("a pending pod holds nothing, a daemon's pod holds what it asks for",
          "[cluster][claims]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(2));
  state.Upsert(MakePod("p").Gpus(1).Nominated("n0"));
  CHECK(Held(state, "p") == "-");
  CHECK(Numbers(state, "n0").gpu_total() == 2000);
  state.Upsert(MakePod("d").Daemon().MilliCpu(500).BoundTo("n0"));
  CHECK(Numbers(state, "n0").resources.cpu == MilliCpu(63'500));
}

TEST_CASE("a pod resized in place holds what its record says", "[cluster][claims]") {
  ClusterState state;
  state.Upsert(MakeNode("n0"));
  state.Upsert(MakePod("p").MilliCpu(4000).BoundTo("n0"));
  state.Upsert(MakePod("p").MilliCpu(6000).BoundTo("n0"));
  CHECK(Numbers(state, "n0").resources.cpu == MilliCpu(58'000));
  CHECK(state.AllocationOf(PodUid("pod-p"))->placement.requests.cpu == MilliCpu(6000));
}

TEST_CASE("devices of a node that come out of order are put in order", "[cluster][claims]") {
  ClusterState state;
  Node node = MakeNode("n0").Gpus(4);
  std::swap(node.gpus[0], node.gpus[3]);
  node.gpus[1].index = GpuIndex{9};
  node.gpus.push_back(node.gpus[2]);
  state.Upsert(node);
  CHECK_FALSE(state.Upsert(node).changed);
  const std::vector<Gpu>& gpus = state.FindNode("n0")->gpus;
  REQUIRE(gpus.size() == 4);
  CHECK(gpus[0].index == GpuIndex{0});
  CHECK(gpus[3].index == GpuIndex{9});
  state.Upsert(MakePod("p").Gpus(1).BoundTo("n0", {9}));
  CHECK(Held(state, "p") == "9:1000");
  CHECK(Free(state, "n0") == std::vector<int>{1000, 1000, 1000, 0});
}

}  // namespace
}  // namespace muster::cluster
