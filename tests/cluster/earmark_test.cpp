// Earmarks: room that others are to leave is kept for a gang, and for nobody twice.
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
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
  std::vector<int> FreeGpus(const std::string& node) {
    const auto snapshot = state.TakeSnapshot();
    return testing::Milli(snapshot->free().gpus(state.IndexOf(node)));
  }
  int64_t FreeCpu(const std::string& node) {
    return state.TakeSnapshot()->free().at(state.IndexOf(node)).resources.cpu.value();
  }

  ClusterState state;
};

using Gpus = std::vector<int>;

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
    state.KeepHolding(Uid("old"));
    CHECK_FALSE(state.Release(Uid("urgent")));
    CHECK(FreeGpus("n0") == Gpus{0, 0, 0, 1000});
    CHECK(FreeCpu("n0") == 24'000);
    CHECK(state.growth() != growth);
  }
}

TEST_CASE_METHOD(Earmarks, "an earmark of a share does not hold where devices are no longer shared",
                 "[cluster][earmark]") {
  state.Upsert(MakeNode("n1").Gpus(1).Sharing(GpuSharing::Fractional()));
  state.Upsert(MakePod("part").GpuShare(800).BoundTo("n1", {0}));
  state.Upsert(MakePod("share").GpuShare(300));
  REQUIRE(state.Earmark({Plan("share", "n1", {0})}, {Uid("part")}).ok());
  CHECK(state.EarmarksHold({Uid("share")}));
  state.Remove(Uid("part"));
  state.Upsert(MakeNode("n1").Gpus(1).Sharing(GpuSharing::Exclusive()));
  CHECK_FALSE(state.EarmarksHold({Uid("share")}));
  state.Upsert(MakeNode("n1").Gpus(1).Sharing(GpuSharing::Fractional()));
  CHECK(state.EarmarksHold({Uid("share")}));
  SECTION("nor is it redeemed there") {
    state.Upsert(MakeNode("n1").Gpus(4));
    CHECK(state.Redeem({Uid("share")}).error().message ==
          "pod default/share on n1 is planned for devices that are given out in another way now");
    CHECK(state.Earmarked(Uid("share")));
  }
  SECTION("it is where they are again") { CHECK(state.Redeem({Uid("share")}).ok()); }
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

TEST_CASE_METHOD(Earmarks, "two that wait on one node do not count on each other's victims",
                 "[cluster][earmark]") {
  state.Upsert(MakePod("small").Gpus(1).MilliCpu(2'000).BoundTo("n0", {3}));
  // `old` leaves more CPU than `mate` takes; `urgent` has what `small` leaves and what is free.
  REQUIRE(state.Earmark({Plan("mate", "n0", {0, 1})}, {Uid("old")}).ok());
  state.Upsert(MakePod("waits").Gpus(1).MilliCpu(20'000));
  REQUIRE(state.Earmark({Plan("waits", "n0", {3})}, {Uid("small")}).ok());
  CHECK(FreeCpu("n0") == 22'000 - 18'000);
  state.Remove(Uid("small"));
  CHECK(state.Redeem({Uid("waits")}).ok());
  CHECK_FALSE(state.Redeem({Uid("mate")}).ok());
}

TEST_CASE_METHOD(Earmarks, "an earmark counts with the devices that others will have then",
                 "[cluster][earmark]") {
  SECTION("a device that is withheld for a broken one") {
    state.Upsert(MakePod("first").Gpus(1).MilliCpu(1'000).BoundTo("n1", {0}));
    state.Upsert(MakePod("second").Gpus(3).MilliCpu(1'000).BoundTo("n1", {1, 2, 3}));
    state.Upsert(MakeNode("n1").Gpus(4).Unhealthy(0));
    state.Upsert(MakePod("three").Gpus(3).MilliCpu(1'000));
    CHECK(state.Earmark({Plan("three", "n1", {1, 2, 3})}, {Uid("second")}).error().message ==
          "others will have what is left there");
  }
  SECTION("a node that loses devices later") {
    REQUIRE(state.Earmark({Plan("urgent", "n0", {0, 3})}, {Uid("old")}).ok());
    CHECK(state.EarmarksHold({Uid("urgent")}));
    state.Upsert(MakeNode("n0").Gpus(3));
    CHECK_FALSE(state.EarmarksHold({Uid("urgent")}));
  }
  SECTION("a stranger that takes what was free") {
    REQUIRE(state.Earmark({Plan("urgent", "n0", {0, 3})}, {Uid("old")}).ok());
    state.Upsert(MakePod("stranger").Gpus(1).MilliCpu(1'000).BoundTo("n0"));
    CHECK_FALSE(state.EarmarksHold({Uid("urgent")}));
    state.Remove(Uid("stranger"));
    CHECK(state.EarmarksHold({Uid("urgent")}));
    CHECK_FALSE(state.EarmarksHold({Uid("mate")}));
  }
}

// Random gangs that wait for random others, while pods come and go as they fit.
class Turmoil {
 public:
  explicit Turmoil(unsigned seed) : random_(seed) {
    for (const char* name : {"n0", "n1", "n2"})
      state_.Upsert(MakeNode(name).Gpus(4).Cpu(16).PodSlots(12));
  }
  void Step() {
    const unsigned choice = Below(6);
    if (choice <= 2) {
      Come();
    } else if (choice == 3) {
      Go();
    } else if (choice == 4) {
      Wait();
    } else {
      Leave();
    }
  }
  int served() const { return served_; }

 private:
  struct Waiting {
    std::vector<PodUid> pods;
    std::vector<PodUid> victims;
  };
  unsigned Below(size_t n) { return static_cast<unsigned>(random_() % n); }
  PodUid Make() {
    const std::string name = "p" + std::to_string(made_++);
    state_.Upsert(MakePod(name)
                      .Gpus(static_cast<int32_t>(Below(4)))
                      .MilliCpu(500 * (1 + Below(12)))
                      .CreatedAt(made_));
    return PodUid("pod-" + name);
  }
  // On the first devices that are free there; what does not fit is what ClusterState is to refuse.
  Placement Anywhere(const PodUid& uid, const FreeTable& free) {
    const Pod& pod = *state_.FindPod(uid);
    const Node& node = *state_.Nodes()[Below(3)];
    Placement plan{uid, state_.IndexOf(node.name), pod.spec->requests, {}};
    for (const Gpu& gpu : node.gpus) {
      const bool whole = free.gpus(plan.node)[gpu.index.value] == kWholeGpu;
      if (whole && plan.gpus.size() < static_cast<size_t>(pod.spec->gpus.count))
        plan.gpus.push_back({gpu.index, kWholeGpu});
    }
    return plan;
  }
  void Bind(const PodUid& uid) {
    Pod bound = *state_.FindPod(uid);
    const Placement plan = state_.AllocationOf(uid)->placement;
    bound.node_name = state_.node(plan.node)->name;
    for (const GpuShare& share : plan.gpus) bound.bound_gpus.push_back(share.index);
    state_.Upsert(bound);
    running_.push_back(uid);
  }
  void Come() {
    const PodUid uid = Make();
    const Placement plan = Anywhere(uid, state_.TakeSnapshot()->free());
    const bool whole =
        plan.gpus.size() == static_cast<size_t>(state_.FindPod(uid)->spec->gpus.count);
    if (whole && state_.Reserve({plan}).ok()) {
      Bind(uid);
    } else {
      state_.Remove(uid);
    }
  }
  void Go() {
    if (running_.empty()) return;
    const unsigned at = Below(running_.size());
    state_.Remove(running_[at]);
    running_.erase(running_.begin() + at);
  }
  void Wait() {
    Waiting waiting;
    FreeTable left = state_.TakeSnapshot()->free();
    for (unsigned i = 1 + Below(4); i > 0 && !running_.empty(); --i) {
      const unsigned at = Below(running_.size());
      const Placement held = state_.AllocationOf(running_[at])->placement;
      left.Give(*state_.node(held.node), held);
      waiting.victims.push_back(running_[at]);
      running_.erase(running_.begin() + at);
    }
    std::vector<Placement> plan;
    bool fits = !waiting.victims.empty();
    for (unsigned i = 1 + Below(3); i > 0; --i) {
      const PodUid uid = Make();
      waiting.pods.push_back(uid);
      plan.push_back(Anywhere(uid, left));
      const Node& node = *state_.node(plan.back().node);
      fits =
          fits &&
          plan.back().gpus.size() == static_cast<size_t>(state_.FindPod(uid)->spec->gpus.count) &&
          left.Fits(node, plan.back());
      if (fits) left.Take(node, plan.back());
    }
    if (fits) {
      REQUIRE(state_.Earmark(plan, waiting.victims).ok());
      waiting_.push_back(waiting);
      return;
    }
    for (const PodUid& uid : waiting.pods) state_.Remove(uid);
    running_.insert(running_.end(), waiting.victims.begin(), waiting.victims.end());
  }
  // One victim leaves; after the last one the gang must have its room.
  void Leave() {
    if (waiting_.empty()) return;
    const unsigned at = Below(waiting_.size());
    Waiting& waiting = waiting_[at];
    if (Below(12) == 0) {  // the gang is given up
      for (const PodUid& uid : waiting.pods) state_.Remove(uid);
      for (const PodUid& uid : waiting.victims) state_.KeepHolding(uid);
      running_.insert(running_.end(), waiting.victims.begin(), waiting.victims.end());
      waiting_.erase(waiting_.begin() + at);
      return;
    }
    state_.Remove(waiting.victims.back());
    waiting.victims.pop_back();
    if (!waiting.victims.empty()) return;
    REQUIRE(state_.Redeem(waiting.pods).ok());
    for (const PodUid& uid : waiting.pods) {
      REQUIRE(state_.Sound(uid));
      Bind(uid);
    }
    ++served_;
    waiting_.erase(waiting_.begin() + at);
  }

  std::mt19937 random_;
  ClusterState state_;
  int64_t made_ = 0;
  std::vector<PodUid> running_;
  std::vector<Waiting> waiting_;
  int served_ = 0;
};

TEST_CASE(
    "when the last one that makes way is gone, the gang has its room, whatever came meanwhile",
    "[cluster][earmark][property]") {
  const unsigned seed = Catch::rngSeed();
  INFO("seed " << seed);
  Turmoil turmoil(seed);
  for (int step = 0; step < 20'000; ++step) turmoil.Step();
  CHECK(turmoil.served() > 100);
}

}  // namespace
}  // namespace muster::cluster
