// Earmarks: room that others are to leave is kept for a gang, and for nobody twice.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "cluster/cluster_state.hpp"
#include "tests/support/builders.hpp"

namespace muster::cluster {
namespace {

using testing::MakeNode;
using testing::MakePod;

// Two nodes of four GPUs. On n0, `old` has devices 0 to 2; nothing else is taken.
class Earmarks {
 public:
  Earmarks() {
    state.Upsert(MakeNode("n0").Gpus(4));
    state.Upsert(MakeNode("n1").Gpus(4));
    state.Upsert(MakePod("old").Gpus(3).MilliCpu(40'000).BoundTo("n0", {0, 1, 2}));
    state.Upsert(MakePod("urgent").Gpus(2).MilliCpu(30'000));
    state.Upsert(MakePod("mate").Gpus(2).MilliCpu(1'000));
    state.Upsert(MakePod("other").Gpus(1).MilliCpu(1'000));
  }

 protected:
  static PodUid Uid(const std::string& pod) { return PodUid("pod-" + pod); }
  Placement Plan(const std::string& pod, const std::string& node, const std::vector<int>& gpus) {
    return testing::PlaceOn(*state.FindPod(Uid(pod)), *state.FindNode(node), state.IndexOf(node),
                            gpus);
  }
  std::vector<int16_t> FreeGpus(const std::string& node) {
    const auto snapshot = state.TakeSnapshot();
    const auto gpus = snapshot->free().gpus(state.IndexOf(node));
    return {gpus.begin(), gpus.end()};
  }
  int64_t FreeCpu(const std::string& node) {
    return state.TakeSnapshot()->free().at(state.IndexOf(node)).resources.cpu.value();
  }

  ClusterState state;
};

using Gpus = std::vector<int16_t>;

TEST_CASE_METHOD(Earmarks, "what is being left is kept from others, and what it leaves over is not",
                 "[cluster][earmark]") {
  REQUIRE(state.Earmark({Plan("urgent", "n0", {0, 3})}, {Uid("old")}).ok());
  CHECK(state.Earmarked(Uid("urgent")));
  CHECK(state.AllocationOf(Uid("urgent")) == nullptr);
  CHECK(state.reservation_count() == 0);
  CHECK_FALSE(state.Overcommitted(state.IndexOf("n0")));
  CHECK(state.EarmarksOn(state.IndexOf("n0")) == std::vector<PodUid>{Uid("urgent")});
  // Device 3 was free and is spoken for. Of the CPU, what goes is more than what comes.
  CHECK(FreeGpus("n0") == Gpus{0, 0, 0, 0});
  CHECK(FreeCpu("n0") == 24'000);
  CHECK_FALSE(state.Reserve({Plan("other", "n0", {3})}).ok());
  SECTION("when it is left, only the rest is free") {
    state.Remove(Uid("old"));
    CHECK(FreeGpus("n0") == Gpus{0, 1000, 1000, 0});
    CHECK(FreeCpu("n0") == 34'000);
    CHECK_FALSE(state.Reserve({Plan("other", "n0", {0})}).ok());
    CHECK(state.Reserve({Plan("other", "n0", {1})}).ok());
    const uint64_t growth = state.growth();
    REQUIRE(state.Redeem({Uid("urgent")}).ok());
    CHECK(state.growth() == growth);
    CHECK(state.Sound(Uid("urgent")));
    CHECK_FALSE(state.Earmarked(Uid("urgent")));
    CHECK(state.reservation_count() == 2);
    CHECK(FreeGpus("n0") == Gpus{0, 0, 1000, 0});
  }
  SECTION("before it is left, it cannot be had") {
    const std::string before = state.Dump();
    const uint64_t growth = state.growth();
    CHECK(state.Redeem({Uid("urgent")}).error().message == "pod default/urgent does not fit on n0");
    CHECK(state.Dump() == before);
    CHECK(state.growth() == growth);
  }
  SECTION("given back, and its holder spared, all is as before") {
    const uint64_t growth = state.growth();
    CHECK(state.Release(Uid("urgent")));
    state.Spare(Uid("old"));
    CHECK_FALSE(state.Release(Uid("urgent")));
    CHECK(FreeGpus("n0") == Gpus{0, 0, 0, 1000});
    CHECK(FreeCpu("n0") == 24'000);
    CHECK(state.growth() != growth);
  }
}

TEST_CASE_METHOD(Earmarks, "an earmark is made for a whole gang or not at all",
                 "[cluster][earmark]") {
  const std::string before = state.Dump();
  const auto refused = [&](const std::vector<Placement>& plan, const std::vector<PodUid>& leaving,
                           const std::string& message) {
    const Status status = state.Earmark(plan, leaving);
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code == Code::kConflict);
    CHECK(status.error().message == message);
    CHECK(state.Dump() == before);
  };
  SECTION("nobody leaves that room") {
    refused({Plan("mate", "n1", {0, 1}), Plan("urgent", "n0", {0, 3})}, {},
            "pod default/urgent does not fit on n0");
  }
  SECTION("two want the same device") {
    refused({Plan("mate", "n0", {0, 1}), Plan("urgent", "n0", {1, 2})}, {Uid("old")},
            "pod default/urgent does not fit on n0");
  }
  SECTION("who is to leave holds nothing") {
    refused({Plan("urgent", "n0", {0, 3})}, {Uid("other")}, "pod pod-other has nothing to leave");
  }
}

TEST_CASE_METHOD(Earmarks, "nobody makes way twice", "[cluster][earmark]") {
  REQUIRE(state.Earmark({Plan("mate", "n0", {0, 1})}, {Uid("old")}).ok());
  CHECK(state.Earmark({Plan("urgent", "n0", {2, 3})}, {Uid("old")}).error().message ==
        "pod pod-old has nothing to leave");
  CHECK(state.Earmark({Plan("mate", "n1", {0, 1})}, {}).error().message ==
        "pod default/mate on n1 has a reservation");
}

TEST_CASE_METHOD(Earmarks, "an earmark ends with its pod or its node", "[cluster][earmark]") {
  REQUIRE(
      state.Earmark({Plan("urgent", "n0", {0, 3}), Plan("mate", "n1", {0, 1})}, {Uid("old")}).ok());
  SECTION("the pod is removed") { state.Remove(Uid("urgent")); }
  SECTION("the pod has ended") {
    state.Upsert(MakePod("urgent").Gpus(2).MilliCpu(30'000).Phase(PodPhase::kFailed));
  }
  SECTION("the pod is bound elsewhere") {
    state.Upsert(MakePod("urgent").Gpus(2).MilliCpu(30'000).BoundTo("n1", {2, 3}));
  }
  SECTION("the node is removed") {
    state.Remove(NodeUid("node-n0"));
    state.Upsert(MakeNode("n0").Uid("again").Gpus(4));
  }
  CHECK_FALSE(state.Earmarked(Uid("urgent")));
  CHECK(state.Earmarked(Uid("mate")));
  CHECK(FreeGpus("n0") == Gpus{0, 0, 0, 1000});
  CHECK_FALSE(state.Redeem({Uid("urgent"), Uid("mate")}).ok());
  CHECK(state.Redeem({Uid("mate")}).ok());
}

TEST_CASE_METHOD(Earmarks, "a pod that is bound where it had an earmark holds what it was meant to",
                 "[cluster][earmark]") {
  REQUIRE(state.Earmark({Plan("mate", "n1", {2, 3})}, {}).ok());
  state.Upsert(MakePod("mate").Gpus(2).MilliCpu(1'000).BoundTo("n1"));
  CHECK_FALSE(state.Earmarked(Uid("mate")));
  CHECK(FreeGpus("n1") == Gpus{1000, 1000, 0, 0});
  state.Remove(Uid("mate"));
  CHECK(FreeGpus("n1") == Gpus{1000, 1000, 1000, 1000});
}

}  // namespace
}  // namespace muster::cluster
