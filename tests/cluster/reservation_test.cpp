// Reservations: all or nothing, and what becomes of them.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "cluster/holdings/cluster_state.hpp"
#include "tests/support/builders.hpp"

namespace muster::cluster {
namespace {

using testing::MakeNode;
using testing::MakePod;

// Two nodes of four GPUs and three pods of two.
class Reservations {
 public:
  Reservations() {
    state.Upsert(MakeNode("n0").Gpus(4));
    state.Upsert(MakeNode("n1").Gpus(4));
    for (const char* name : {"a", "b", "c"}) state.Upsert(MakePod(name).Gpus(2));
  }

 protected:
  Placement Plan(const std::string& pod, const std::string& node, const std::vector<int>& gpus) {
    return testing::PlaceOn(*state.FindPod(PodUid("pod-" + pod)), *state.FindNode(node),
                            state.IndexOf(node), gpus);
  }
  int64_t Free(const std::string& node) {
    return state.TakeSnapshot()->free().at(state.IndexOf(node)).gpu_total();
  }
  const Allocation* Held(const std::string& pod) {
    return state.AllocationOf(PodUid("pod-" + pod));
  }

  ClusterState state;
};

TEST_CASE_METHOD(Reservations, "a gang is reserved as a whole", "[cluster][reserve]") {
  const std::vector<Placement> plan{Plan("a", "n0", {0, 1}), Plan("b", "n0", {2, 3}),
                                    Plan("c", "n1", {1, 2})};
  REQUIRE(state.Reserve(plan).ok());
  CHECK(state.reservation_count() == 3);
  CHECK(Free("n0") == 0);
  CHECK(Free("n1") == 2000);
  REQUIRE(Held("c") != nullptr);
  CHECK(Held("c")->placement == plan[2]);
  CHECK(Held("c")->holding == Holding::kReserved);
  CHECK(state.HoldersOn(state.IndexOf("n0")).size() == 2);
  CHECK(state.Release(PodUid("pod-a")));
  CHECK_FALSE(state.Release(PodUid("pod-a")));
  CHECK(Held("a") == nullptr);
  CHECK(Free("n0") == 2000);
  CHECK(state.reservation_count() == 2);
}

TEST_CASE_METHOD(Reservations, "when one placement does not fit, none is reserved",
                 "[cluster][reserve]") {
  const std::string before = state.Dump();
  const uint64_t generation = state.generation();
  const Placement good = Plan("a", "n0", {0, 1});
  const auto refused = [&](const Placement& bad, const std::string& message) {
    const Status status = state.Reserve({good, bad});
    REQUIRE_FALSE(status.ok());
    CHECK(status.error().code == Code::kConflict);
    CHECK(status.error().message == message);
    CHECK(state.Dump() == before);
    CHECK(state.generation() == generation);
    CHECK(state.reservation_count() == 0);
  };
  SECTION("the devices overlap") {
    refused(Plan("b", "n0", {1, 2}), "pod default/b does not fit on n0");
  }
  SECTION("a device is not there") {
    Placement bad = Plan("b", "n1", {0, 1});
    bad.gpus[1].index = GpuIndex{7};
    refused(bad, "pod default/b does not fit on n1");
  }
  SECTION("the devices are out of order") {
    Placement bad = Plan("b", "n1", {0, 1});
    std::swap(bad.gpus[0], bad.gpus[1]);
    refused(bad, "pod default/b does not fit on n1");
  }
  SECTION("a share is empty") {
    Placement bad = Plan("b", "n1", {0, 1});
    bad.gpus[0].taken = GpuMilli(0);
    refused(bad, "pod default/b does not fit on n1");
  }
  SECTION("too much CPU") {
    Placement bad = Plan("b", "n1", {0, 1});
    bad.requests.cpu = MilliCpu(64'001);
    refused(bad, "pod default/b does not fit on n1");
  }
  SECTION("the CPU is used up by the other") {
    Placement bad = Plan("b", "n0", {2, 3});
    bad.requests.cpu = MilliCpu(63'001);
    refused(bad, "pod default/b does not fit on n0");
  }
  SECTION("the pod is not known") {
    Placement bad = Plan("b", "n1", {0, 1});
    bad.pod = PodUid("ghost");
    refused(bad, "pod ghost on n1 is not known");
  }
  SECTION("the node is not known") {
    Placement bad = Plan("b", "n1", {0, 1});
    bad.node = NodeIndex{9};
    refused(bad, "pod default/b is planned on a node that is not known");
  }
  SECTION("the same pod twice") {
    refused(Plan("a", "n1", {0, 1}), "pod default/a on n1 is planned twice");
  }
}

TEST_CASE_METHOD(Reservations, "only a live pod that is neither bound nor reserved is reserved",
                 "[cluster][reserve]") {
  const Placement a = Plan("a", "n0", {0, 1});
  SECTION("reserved") {
    REQUIRE(state.Reserve({a}).ok());
    CHECK(state.Reserve({Plan("a", "n1", {0, 1})}).error().message ==
          "pod default/a on n1 has a reservation");
  }
  SECTION("bound") {
    state.Upsert(MakePod("a").Gpus(2).BoundTo("n1"));
    CHECK(state.Reserve({a}).error().message == "pod default/a on n0 is bound to n1");
  }
  SECTION("ended") {
    state.Upsert(MakePod("a").Gpus(2).Phase(PodPhase::kFailed));
    CHECK(state.Reserve({a}).error().message == "pod default/a on n0 has ended");
  }
}

TEST_CASE_METHOD(Reservations, "a reservation becomes the holding when the pod is bound there",
                 "[cluster][reserve]") {
  REQUIRE(state.Reserve({Plan("a", "n0", {2, 3})}).ok());
  const std::vector<int> annotation = GENERATE(std::vector<int>{}, std::vector<int>{2, 3});
  const uint64_t growth = state.growth();
  state.Upsert(MakePod("a").Gpus(2).BoundTo("n0", annotation));
  REQUIRE(Held("a") != nullptr);
  CHECK(Held("a")->holding == Holding::kBound);
  CHECK(Held("a")->placement.gpus ==
        std::vector<GpuShare>{{GpuIndex{2}, kWholeGpu}, {GpuIndex{3}, kWholeGpu}});
  CHECK(state.growth() == growth);
  CHECK(state.reservation_count() == 0);
  CHECK_FALSE(state.Release(PodUid("pod-a")));
  CHECK(Held("a") != nullptr);
}

TEST_CASE_METHOD(Reservations, "the annotation takes precedence over the reservation",
                 "[cluster][reserve]") {
  REQUIRE(state.Reserve({Plan("a", "n0", {2, 3})}).ok());
  state.Upsert(MakePod("a").Gpus(2).BoundTo("n0", {0, 2}));
  CHECK(Held("a")->placement.gpus[0].index == GpuIndex{0});
  CHECK(Held("a")->placement.gpus[1].index == GpuIndex{2});
  CHECK(Free("n0") == 2000);
}

TEST_CASE_METHOD(Reservations, "a pod that is bound elsewhere gives its reservation back",
                 "[cluster][reserve]") {
  REQUIRE(state.Reserve({Plan("a", "n0", {2, 3})}).ok());
  const uint64_t growth = state.growth();
  SECTION("on a known node") {
    state.Upsert(MakePod("a").Gpus(2).BoundTo("n1"));
    CHECK(Free("n1") == 2000);
    CHECK(Held("a")->placement.node == state.IndexOf("n1"));
    CHECK(Held("a")->placement.gpus[0].index == GpuIndex{0});
  }
  SECTION("on a node that is not known") {
    state.Upsert(MakePod("a").Gpus(2).BoundTo("n7"));
    CHECK(Held("a") == nullptr);
  }
  CHECK(Free("n0") == 4000);
  CHECK(state.growth() != growth);
  CHECK(state.reservation_count() == 0);
  CHECK(state.HoldersOn(state.IndexOf("n0")).empty());
}

TEST_CASE_METHOD(Reservations, "a reservation ends with its pod or its node",
                 "[cluster][reserve]") {
  REQUIRE(state.Reserve({Plan("a", "n0", {2, 3}), Plan("b", "n1", {0, 1})}).ok());
  SECTION("the pod is removed") { state.Remove(PodUid("pod-a")); }
  SECTION("the pod has ended") {
    state.Upsert(MakePod("a").Gpus(2).Phase(PodPhase::kFailed));
    // And does not come back with a record that says otherwise.
    state.Upsert(MakePod("a").Gpus(2));
  }
  SECTION("the pod is replaced") { state.Upsert(MakePod("a").Uid("again").Gpus(2)); }
  SECTION("the node is removed") { state.Remove(NodeUid("node-n0")); }
  SECTION("the node is replaced") { state.Upsert(MakeNode("n0").Uid("again").Gpus(4)); }
  CHECK(Held("a") == nullptr);
  CHECK(state.reservation_count() == 1);
  if (state.IndexOf("n0").valid()) CHECK(Free("n0") == 4000);
  CHECK(Held("b") != nullptr);
}

TEST_CASE_METHOD(Reservations, "a deleting pod keeps its reservation until it is gone",
                 "[cluster][reserve]") {
  REQUIRE(state.Reserve({Plan("a", "n0", {2, 3})}).ok());
  state.Upsert(MakePod("a").Gpus(2).Deleting());
  CHECK(Free("n0") == 2000);
}

TEST_CASE_METHOD(Reservations, "bound pods are assumed on devices that are not reserved",
                 "[cluster][reserve]") {
  REQUIRE(state.Reserve({Plan("a", "n0", {0, 1})}).ok());
  state.Upsert(MakePod("b").Gpus(2).BoundTo("n0"));
  CHECK(Held("b")->placement.gpus[0].index == GpuIndex{2});
  CHECK_FALSE(state.Overcommitted(state.IndexOf("n0")));
}

TEST_CASE_METHOD(Reservations, "reservations move together or not at all", "[cluster][reserve]") {
  state.Upsert(MakeNode("n1").Gpus(4));
  state.Upsert(MakePod("c").Gpus(4));
  REQUIRE(state.Reserve({Plan("a", "n0", {0, 1}), Plan("c", "n1", {0, 1, 2, 3})}).ok());
  SECTION("each takes the other's place") {
    REQUIRE(state.Move({Plan("c", "n0", {0, 1, 2, 3}), Plan("a", "n1", {2, 3})}).ok());
    CHECK(Free("n0") == 0);
    CHECK(Free("n1") == 2000);
    CHECK(state.Sound(PodUid("pod-a")));
    CHECK(state.reservation_count() == 2);
  }
  SECTION("a pod whose devices nobody knows keeps out of the way") {
    state.Upsert(MakePod("silent").Gpus(2).BoundTo("n0"));
    REQUIRE(state.Move({Plan("a", "n0", {0, 1})}).ok());
    CHECK(Held("a")->placement.gpus[0].index == GpuIndex{0});
  }
  SECTION("what does not fit changes nothing") {
    const std::string before = state.Dump();
    CHECK_FALSE(state.Move({Plan("a", "n1", {0, 1})}).ok());
    CHECK_FALSE(state.Move({Plan("a", "n0", {2, 3}), Plan("a", "n0", {0, 1})}).ok());
    CHECK_FALSE(state.Move({Plan("b", "n0", {2, 3})}).ok());
    CHECK(state.Dump() == before);
  }
}

TEST_CASE_METHOD(Reservations, "a reservation whose devices are lost is no longer sound",
                 "[cluster][reserve]") {
  REQUIRE(state.Reserve({Plan("a", "n0", {2, 3})}).ok());
  const NodeIndex n0 = state.IndexOf("n0");
  SECTION("somebody is bound to them") {
    state.Upsert(MakePod("b").Gpus(2).BoundTo("n0", {1, 2}));
    CHECK(Held("b")->devices_known);
  }
  SECTION("the node has fewer") { state.Upsert(MakeNode("n0").Gpus(3)); }
  SECTION("one broke down") { state.Upsert(MakeNode("n0").Gpus(4).Unhealthy(3)); }
  CHECK(state.Overcommitted(n0));
  CHECK_FALSE(Held("a")->devices_known);
  CHECK(Free("n0") == 0);
  CHECK(state.Release(PodUid("pod-a")));
  CHECK_FALSE(state.Overcommitted(n0));
}

TEST_CASE_METHOD(Reservations, "a reservation of a share ends where devices are no longer shared",
                 "[cluster][reserve]") {
  const auto node = [](const GpuSharing& sharing) {
    return MakeNode("n0").Gpus(2).Sharing(sharing);
  };
  state.Upsert(node(GpuSharing::Fractional()));
  state.Upsert(MakePod("share").GpuShare(300));
  REQUIRE(state.Reserve({Plan("share", "n0", {0})}).ok());
  state.Upsert(node(GpuSharing::Exclusive()));
  CHECK_FALSE(state.Sound(PodUid("pod-share")));
  CHECK(Free("n0") == 0);
  SECTION("until they are again") {
    state.Upsert(node(GpuSharing::Fractional()));
    CHECK(state.Sound(PodUid("pod-share")));
    CHECK(Free("n0") == 1700);
  }
  SECTION("and given back, all of them are free") {
    CHECK(state.Release(PodUid("pod-share")));
    CHECK(Free("n0") == 2000);
  }
}

TEST_CASE_METHOD(Reservations, "a reservation that was lost is whole again when its devices are",
                 "[cluster][reserve]") {
  REQUIRE(state.Reserve({Plan("a", "n0", {2, 3})}).ok());
  state.Upsert(MakePod("b").Gpus(2).BoundTo("n0", {1, 2}));
  state.Remove(PodUid("pod-b"));
  CHECK(Held("a")->devices_known);
  CHECK(Held("a")->placement.gpus.size() == 2);
  CHECK_FALSE(state.Overcommitted(state.IndexOf("n0")));
}

}  // namespace
}  // namespace muster::cluster
