// What people are told of why a gang waits, counted: the sentences by hand, and of small clusters.
#include "engine/reasons/cause_words.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/engine/harness.hpp"

namespace muster::engine {
namespace {

using policy::Cause;
using policy::Shortage;
using testing::Harness;
using testing::MakeNode;
using testing::MakePod;
using What = policy::Cause::What;

constexpr auto kNoSchedule = cluster::TaintEffect::kNoSchedule;

Cause Free(What what, int64_t nodes, int64_t least, int64_t most, const std::string& best,
           int64_t of = 8000) {
  Cause cause{what, "", nodes};
  cause.wants = 4000;
  cause.least_free = least;
  cause.most_free = most;
  cause.best = best;
  cause.of = of;
  return cause;
}

TEST_CASE("a text that is too long is cut where a clause ends, or between characters",
          "[engine][causes]") {
  CHECK(CutAtClause("one; two, three", 15) == "one; two, three");
  CHECK(CutAtClause("one; two, three four", 17) == "one; two, …");
  CHECK(CutAtClause("one and two; three, four", 22) == "one and two; …");
  CHECK(CutAtClause("one; two three four five", 22) == "one; two three fou …");
  const std::string cut = CutAtClause("üüüüüüüü", 11);
  CHECK(cut == "üüü …");
}

TEST_CASE("each cause has its words", "[engine][causes]") {
  struct Case {
    Cause cause;
    std::string want;
  };
  const std::vector<Case> cases = {
      {{What::kTaint, "gpu=yes", 5}, "5 with taint gpu=yes that it does not tolerate"},
      {{What::kCordoned, "", 1}, "1 cordoned"},
      {{What::kNotReady, "", 2}, "2 not ready"},
      {{What::kConstraint, "without label a=b", 3}, "3 without label a=b"},
      {{What::kLeftOut, "", 1}, "1 left out because pods failed there at their start"},
      {{What::kKept, "", 1}, "1 kept from it"},
      {{What::kExcluded, "", 1}, "1 that kube-scheduler turned down for a member"},
      {{What::kPodSlots, "", 1}, "1 with all pod slots in use"},
      {{What::kChannels, "", 1}, "1 with a channel of a ComputeDomain in use"},
      {{What::kNoGpus, "", 3}, "3 without GPUs"},
      {{What::kOtherGpus, "", 3}, "3 with GPUs that cannot serve it"},
      {Free(What::kGpus, 6, 4000, 4000, "n7"), "6 with 4 of 8 GPUs free"},
      {Free(What::kGpus, 6, 0, 6000, "n7"), "6 with 0 to 6 of 8 GPUs free (best: n7, 6 free)"},
      {Free(What::kGpus, 1, 4000, 4000, "n7"), "1 with 4 of 8 GPUs free (n7)"},
      {Free(What::kGpus, 2, 0, 500, "n7", 0), "2 with 0 to 0.5 GPUs free (best: n7, 0.5 free)"},
      {Free(What::kGpus, 2, 0, 0, "n7", 1000), "2 with 0 of 1 GPU free"},
      {Free(What::kGpuDevices, 1, 1500, 1500, "n7"),
       "1 with 1.5 of 8 GPUs free in pieces that are too small (n7)"},
      {Free(What::kNuma, 1, 4000, 4000, "n7"),
       "1 with 4 of 8 GPUs free, of which the kubelet admits no set (n7)"},
      {Free(What::kCpu, 2, 500, 3500, "n7"), "2 with less than 4 CPU free (best: n7, 3.5 free)"},
      {Free(What::kMemory, 2, 1024, 2048, "n7"),
       "2 with less than 4000 MiB memory free (best: n7, 2 GiB free)"},
  };
  for (const Case& c : cases) CHECK(CausesText({c.cause}) == c.want);
}

TEST_CASE("what no number of nodes would help is said first", "[engine][causes]") {
  Harness world;
  for (const char* name : {"n0", "n1"}) world.Add(MakeNode(name).Gpus(8));
  world.Add(MakePod("large").Gpus(16).Gated());
  world.Add(MakePod("half").GpuShare(500).Gated());
  world.Settle();
  const auto why = [&](const char* gang) { return Describe(world.Gang(gang).reason); };
  CHECK_THAT(why("large"), Catch::Contains("each pod wants 16 GPUs, the largest node has 8; it "
                                           "wants 16 GPUs"));
  CHECK_THAT(why("half"), Catch::Contains("it asks for a share of a GPU, and no node that it may "
                                          "use shares its GPUs (HAMi, gpushare or the label "
                                          "muster.dev/gpu-sharing); it wants 0.5 GPUs"));
  world.Add(MakeNode("n2").Gpus(4).Sharing(cluster::GpuSharing::Fractional()));
  world.Settle();
  CHECK(world.Gang("half").state == GangState::kReserved);
}

TEST_CASE("of many taints and labels those of most nodes are named", "[engine][causes]") {
  const std::vector<Cause> causes = {{What::kTaint, "a", 9},
                                     {What::kTaint, "b", 8},
                                     {What::kTaint, "c", 7},
                                     {What::kTaint, "d", 2},
                                     {What::kTaint, "e", 1},
                                     {What::kConstraint, "without w", 4},
                                     {What::kConstraint, "without x", 3},
                                     {What::kConstraint, "without y", 2},
                                     {What::kConstraint, "without z", 1},
                                     {What::kNoGpus, "", 5}};
  CHECK(CausesText(causes) ==
        "9 with taint a that it does not tolerate, 8 with taint b that it does not tolerate, "
        "7 with taint c that it does not tolerate, 3 with other taints that it does not tolerate, "
        "4 without w, 3 without x, 2 without y, "
        "1 outside of its selector and affinity for other reasons, 5 without GPUs");
}

std::string Why(const Harness& world, const std::string& gang) {
  return Describe(world.Gang(gang).reason);
}

TEST_CASE("taints, cordons, nodes without GPUs and nodes in use are counted", "[engine][causes]") {
  Harness world;
  const auto name = [](int i) { return "node-" + std::to_string(i); };
  for (int i = 0; i < 6; ++i) world.Add(MakeNode(name(i)).Gpus(8));
  for (int i = 6; i < 11; ++i)
    world.Add(MakeNode(name(i)).Gpus(8).Taint("nvidia.com/gpu", "", kNoSchedule));
  world.Add(MakeNode(name(11)).Gpus(8).Cordoned());
  for (int i = 12; i < 15; ++i) world.Add(MakeNode(name(i)));
  for (int i = 0; i < 6; ++i) {
    world.Add(
        MakePod("on-" + name(i))
            .Gpus(i == 3 ? 2 : 4)
            .Scheduler("other")
            .BoundTo(name(i), i == 3 ? std::vector<int>{0, 1} : std::vector<int>{0, 1, 2, 3}));
  }
  world.AddGang("train", 3, 8, 3);
  world.Settle();
  CHECK(Why(world, "train") ==
        "enough free GPUs, but no combination of nodes has enough of them: it wants 24 GPUs (3 × "
        "8); 0/15 nodes had room at its last try: 5 with taint nvidia.com/gpu that it does not "
        "tolerate, 1 cordoned, 3 without GPUs, 6 with 4 to 6 of 8 GPUs free (best: node-3, 6 "
        "free)");
}

TEST_CASE("how many members would fit is reported where some would", "[engine][causes]") {
  Harness world;
  for (const char* name : {"a", "b"}) world.Add(MakeNode(name).Gpus(8));
  world.Add(MakeNode("c").Gpus(8));
  world.Add(MakePod("x").Gpus(1).Scheduler("other").BoundTo("c", {0}));
  world.AddGang("train", 3, 8, 3);
  world.Settle();
  CHECK(Why(world, "train") ==
        "not enough free GPUs: it wants 24 GPUs (3 × 8), 23 were free on the 3 nodes that it may "
        "use, the cluster has 24; 2/3 nodes had room at its last try: 1 with 7 of 8 GPUs free (c); "
        "2 of 3 members would fit");
}

TEST_CASE("where some members alone do not fit, they are told apart from the others",
          "[engine][causes]") {
  Harness world;
  for (const char* name : {"a", "b"}) world.Add(MakeNode(name).Gpus(8));
  world.AddGang("train", 3, 8, 4);
  world.Add(MakePod("master").Gpus(8).MilliCpu(700).InGroup("train").Gated());
  world.Settle();
  CHECK_THAT(Why(world, "train"), Catch::Contains("it wants 32 GPUs (4 × 8)") &&
                                      Catch::EndsWith("2 of 3 members that are alike would fit"));
}

TEST_CASE("what can never fit is reported as it would be, not as it was", "[engine][causes]") {
  Harness world;
  for (const char* name : {"a", "b"}) world.Add(MakeNode(name).Gpus(8));
  world.AddGang("huge", 3, 8, 3);
  world.Settle();
  CHECK(Why(world, "huge") ==
        "it would not fit this cluster even if only the pods ran that stay on its nodes: not "
        "enough free GPUs: it wants 24 GPUs (3 × 8), 16 would be free on the 2 nodes that it may "
        "use, the cluster has 16; 2/2 nodes would have room; 2 of 3 members would fit");
}

TEST_CASE("a lack of other kinds of resource is reported without GPUs", "[engine][causes]") {
  Harness world;
  world.Add(MakeNode("a").Cpu(4));
  world.Add(MakeNode("b").Cpu(2));
  world.Add(MakePod("x").MilliCpu(1000).Scheduler("other").BoundTo("a"));
  world.Add(MakePod("cpu").MilliCpu(4000).Gated());
  world.Settle();
  CHECK(Why(world, "cpu") ==
        "not enough free CPU: 0/2 nodes had room at its last try: 2 with less than 4 CPU free "
        "(best: a, 3 free)");
}

TEST_CASE("a mixed gang shows for which of its members there is no room", "[engine][causes]") {
  Harness world;
  for (const char* name : {"a", "b"}) world.Add(MakeNode(name).Gpus(8));
  world.Add(MakePod("x").Gpus(3).Scheduler("other").BoundTo("b", {0, 1, 2}));
  world.Add(testing::MakePodGroup("mixed").MinMember(3).Build());
  for (const char* pod : {"large-0", "large-1"})
    world.Add(MakePod(pod).Gpus(6).InGroup("mixed").Gated());
  world.Add(MakePod("small").Gpus(2).InGroup("mixed").Gated());
  world.Settle();
  CHECK(Why(world, "mixed") ==
        "not enough free GPUs: it wants 14 GPUs (2 × 6 and 1 × 2), 13 were free on the 2 nodes "
        "that it may use, the cluster has 16; 1/2 nodes had room at its last try for a member "
        "with 6 GPUs: 1 with 5 of 8 GPUs free (b); 1 of 2 members with 6 GPUs would fit");
}

TEST_CASE("a count that changed causes no write", "[engine][causes]") {
  Harness world;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    world.Add(MakeNode(name).Gpus(8));
    world.Add(
        MakePod(std::string("on-") + name).Gpus(4).Scheduler("other").BoundTo(name, {0, 1, 2, 3}));
  }
  world.AddGang("train", 3, 8, 3);
  world.Pass(cluster::Seconds(10));
  const std::string before = Why(world, "train");
  const size_t actions = world.log.size();
  world.RemovePod("on-b");
  world.Pass(cluster::Seconds(10));
  CHECK(Why(world, "train") != before);
  CHECK(world.log.size() == actions);
}

}  // namespace
}  // namespace muster::engine
