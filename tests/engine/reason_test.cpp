#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "tests/engine/harness.hpp"
#include "tests/topology/machines.hpp"

namespace muster::testing {
namespace {

using engine::GangState;
using engine::ReasonCode;

struct ReasonCase {
  std::string name;
  std::vector<cluster::Node> nodes;
  cluster::Pod member;
  int members = 1;
  GangState want_state = GangState::kQueued;
  ReasonCode want_reason = ReasonCode::kNone;
};

std::vector<ReasonCase> Cases() {
  const cluster::Node busy = MakeNode("n0").Gpus(8);
  return {
      {"too few GPUs in all",
       {busy, MakeNode("n1").Gpus(8)},
       MakePod("m").Gpus(8),
       2,
       GangState::kQueued,
       ReasonCode::kNotEnoughGpus},
      {"enough GPUs but not together",
       {busy, MakeNode("n1").Gpus(4), MakeNode("n2").Gpus(4)},
       MakePod("m").Gpus(8),
       1,
       GangState::kQueued,
       ReasonCode::kFragmented},
      {"too little CPU",
       {MakeNode("n0").Gpus(8).Cpu(4)},
       MakePod("m").Gpus(1).MilliCpu(4000),
       1,
       GangState::kQueued,
       ReasonCode::kNotEnoughCpu},
      {"too little memory",
       {MakeNode("n0").Gpus(8).MemoryGiB(4)},
       MakePod("m").Gpus(1).MemoryMiB(4096),
       1,
       GangState::kQueued,
       ReasonCode::kNotEnoughMemory},
      {"no pod slots",
       {MakeNode("n0").Gpus(8).PodSlots(1)},
       MakePod("m").Gpus(1),
       1,
       GangState::kQueued,
       ReasonCode::kNotEnoughPodSlots},
      {"a channel of a ComputeDomain on every node",
       {MakeNode("n0").Gpus(8)},
       MakePod("m").Gpus(1).Channel(),
       2,
       GangState::kUnsatisfiable,
       ReasonCode::kNeverFits},
      {"cordoned nodes",
       {MakeNode("n0").Gpus(8).Cordoned()},
       MakePod("m").Gpus(8),
       1,
       GangState::kQueued,
       ReasonCode::kNodesUnavailable},
      {"no node matches",
       {busy},
       MakePod("m").Gpus(1).Select("zone", "mars"),
       1,
       GangState::kUnsatisfiable,
       ReasonCode::kNeverFits},
      {"larger than the cluster",
       {busy},
       MakePod("m").Gpus(8),
       3,
       GangState::kUnsatisfiable,
       ReasonCode::kNeverFits},
  };
}

TEST_CASE("a gang that does not fit says what is missing", "[engine][reason]") {
  for (const ReasonCase& c : Cases()) {
    DYNAMIC_SECTION(c.name) {
      Harness world;
      for (const cluster::Node& node : c.nodes) world.Add(node);
      // Something runs on n0, so that what the gang needs is there but not free.
      cluster::Pod filler = MakePod("filler").MilliCpu(1000).MemoryMiB(1024).Gpus(
          c.want_reason == ReasonCode::kNotEnoughGpus || c.want_reason == ReasonCode::kFragmented ||
                  c.want_reason == ReasonCode::kNodesUnavailable
              ? 1
              : 0);
      filler.key.name = "filler";
      world.Add(filler);
      const uint64_t ticket = world.Bind("filler", "n0");
      static_cast<void>(ticket);
      world.Settle();
      if (!world.Pod("filler").bound())
        world.Change("filler", [](cluster::Pod& pod) { pod.node_name = "n0"; });
      world.Add(MakePodGroup("gang").MinMember(c.members));
      for (int i = 0; i < c.members; ++i) {
        cluster::Pod pod = c.member;
        pod.key.name = "m-" + std::to_string(i);
        pod.uid = cluster::PodUid(pod.key.name);
        pod.pod_group = "gang";
        pod.gates = {cluster::kGangGate};
        world.Add(pod);
      }
      world.Settle();
      INFO(engine::Describe(world.Gang("gang").reason));
      CHECK(world.Gang("gang").state == c.want_state);
      CHECK(std::string(engine::ToString(world.Gang("gang").reason.code)) ==
            engine::ToString(c.want_reason));
      CHECK(world.engine().Count().reservations == 0);
    }
  }
}

// GPUs 0 to 3 are on one NUMA node, 4 to 7 on the other.
cluster::Node NumaNode(const std::string& name, cluster::NumaPolicy policy) {
  cluster::Node node = MakeNode(name).Gpus(8, "Tesla-V100-SXM2-32GB", 32'768);
  node.topology = topology::testing::kDgx1v;
  node.numa_policy = policy;
  return node;
}

std::string Why(const Harness& world, const std::string& gang) {
  const engine::Reason reason = world.Gang(gang).reason;
  return std::string(engine::ToString(reason.code)) + ": " + engine::Describe(reason);
}

TEST_CASE("it is reported that only a node's NUMA policy turns a gang away", "[engine][reason]") {
  using cluster::NumaPolicy;
  const std::string never =
      "NeverFits: it would not fit this cluster even if only the pods ran that stay on its nodes: ";
  const std::string turned_away =
      "enough free GPUs, but the kubelets' topologyManagerPolicy admits no set of them: ";
  Harness world;
  world.Add(NumaNode("single", NumaPolicy::kSingleNumaNode));
  SECTION("for ever") {
    world.AddGang("five", 1, 5, 1);
    world.Settle();
    CHECK(Why(world, "five") ==
          never + turned_away +
              "it wants 5 GPUs; 0/1 node would have room: 1 with 8 of 8 GPUs free, of which the "
              "kubelet admits no set (single); on 1 node 5 free GPUs are on no one "
              "NUMA node (topologyManagerPolicy single-numa-node)");
  }
  SECTION("until others leave") {
    world.Add(MakePod("x").Gpus(2).BoundTo("single", {0, 4}));
    world.AddGang("four", 1, 4, 1);
    world.Settle();
    CHECK(Why(world, "four") ==
          "NumaPolicy: " + turned_away +
              "it wants 4 GPUs; 0/1 node had room at its last try: 1 with 6 of 8 GPUs free, of "
              "which the kubelet admits no set (single); on 1 node 4 free GPUs are on no one "
              "NUMA node (topologyManagerPolicy single-numa-node)");
  }
  SECTION("by both policies") {
    world.Add(NumaNode("restricted", NumaPolicy::kRestricted));
    world.Add(NumaNode("restricted-2", NumaPolicy::kRestricted));
    for (const char* node : {"single", "restricted", "restricted-2"})
      world.Add(MakePod(std::string("on-") + node).Gpus(4).BoundTo(node, {0, 1, 4, 5}));
    world.AddGang("three", 1, 3, 1);
    world.Settle();
    CHECK(Why(world, "three") ==
          "NumaPolicy: " + turned_away +
              "it wants 3 GPUs; 0/3 nodes had room at its last try: 3 with 4 of 8 GPUs free, of "
              "which the kubelet admits no set; on 1 node 3 free GPUs are on no one "
              "NUMA node (topologyManagerPolicy single-numa-node), on 2 nodes on more NUMA nodes "
              "than 3 GPUs need (restricted)");
  }
  SECTION("beside nodes that have too few") {
    world.Add(MakeNode("n1").Gpus(2));
    world.Add(MakeNode("n2").Gpus(2));
    world.AddGang("five", 1, 5, 1);
    world.Settle();
    CHECK_THAT(Why(world, "five"), Catch::StartsWith(never) &&
                                       Catch::Contains("topologyManagerPolicy single-numa-node"));
  }
}

TEST_CASE("an unsatisfiable gang is tried again when the cluster grows, and only then",
          "[engine][reason]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.AddGang("huge", 3, 8, 3);
  world.Settle();
  CHECK(world.Gang("huge").state == GangState::kUnsatisfiable);
  CHECK(engine::Describe(world.Gang("huge").reason) ==
        "it would not fit this cluster even if only the pods ran that stay on its nodes: not "
        "enough free GPUs: it wants 24 GPUs (3 × 8), 8 would be free on the one node that it may "
        "use, the cluster has 8; 1/1 node would have room; 1 of 3 members would fit");
  const engine::Progress idle = world.engine().Advance(world.now());
  CHECK(idle.gangs_tried == 0);
  world.Add(MakeNode("n1").Gpus(8));
  world.Add(MakeNode("n2").Gpus(8));
  world.ScheduleAll("huge");
  CHECK(world.Gang("huge").state == GangState::kRunning);
}

TEST_CASE("a waiting gang becomes unsatisfiable when the nodes that it needs are removed",
          "[engine][reason]") {
  Harness world;
  for (int i = 0; i < 3; ++i) world.Add(MakeNode("n" + std::to_string(i)).Gpus(8));
  world.Add(MakePod("busy").Gpus(8));
  world.ScheduleAll("");
  world.AddGang("waits", 3, 8, 3);
  world.Settle();
  CHECK(world.Gang("waits").state == GangState::kQueued);
  world.RemoveNode(world.Pod("busy").node_name == "n0" ? "n1" : "n0");
  world.Settle();
  CHECK(world.Gang("waits").state == GangState::kUnsatisfiable);
}

TEST_CASE("a malformed PodGroup is invalid and says which field", "[engine][reason]") {
  struct Bad {
    std::string name;
    cluster::PodGroup group;
    std::string want;
  };
  for (const Bad& bad : std::vector<Bad>{
           {"zero", MakePodGroup("g").MinMember(0), "spec.minMember is 0, expected 1 to 16384"},
           {"negative", MakePodGroup("g").MinMember(-5),
            "spec.minMember is -5, expected 1 to 16384"},
           {"huge", MakePodGroup("g").MinMember(2147483647),
            "spec.minMember is 2147483647, expected 1 to 16384"},
           {"defect", MakePodGroup("g").Defect("spec.minMember: expected an integer"),
            "spec.minMember: expected an integer"},
           {"roles", MakePodGroup("g").MinMember(2).Role("a", 2).Role("b", 1),
            "the roles' minima add up to 3, more than spec.minMember 2"},
       }) {
    DYNAMIC_SECTION(bad.name) {
      Harness world;
      world.Add(MakeNode("n0").Gpus(8));
      world.Add(bad.group);
      world.Add(MakePod("p").Gpus(1).InGroup("g").Gated());
      world.Settle();
      CHECK(world.Gang("g").state == GangState::kInvalid);
      CHECK(world.Gang("g").reason.detail == bad.want);
      world.Add(MakePodGroup("g").MinMember(1));
      world.Settle();
      CHECK(world.Gang("g").state == GangState::kReserved);
    }
  }
}

TEST_CASE("a malformed member makes its gang invalid and is named", "[engine][reason]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePodGroup("g").MinMember(2));
  world.Add(MakePod("ok").Gpus(1).InGroup("g").Gated());
  world.Add(
      MakePod("odd").Gpus(1).InGroup("g").Gated().Defect("limits: \"1500m\" is no whole number"));
  world.Settle();
  CHECK(world.Gang("g").state == GangState::kInvalid);
  CHECK(world.Gang("g").reason.detail == "pod odd: limits: \"1500m\" is no whole number");
}

TEST_CASE("a namespace that the policy shuts out is forbidden until the policy lets it in",
          "[engine][reason]") {
  engine::Options options;
  options.namespaces.deny = {"default"};
  Harness world(options);
  world.Add(MakeNode("n0").Gpus(8));
  world.AddGang("g", 2, 1, 2);
  world.Settle();
  CHECK(world.Gang("g").state == GangState::kForbidden);
  CHECK(world.engine().Count().reservations == 0);
  world.engine().SetOptions(engine::Options{});
  world.ScheduleAll("g");
  CHECK(world.Gang("g").state == GangState::kRunning);
}

TEST_CASE("members behind another controller's gate are waited for", "[engine][reason]") {
  Harness world;
  world.Add(MakeNode("n0").Gpus(8));
  world.Add(MakePodGroup("g").MinMember(2));
  world.Add(MakePod("a").Gpus(1).InGroup("g").Gated());
  world.Add(MakePod("b").Gpus(1).InGroup("g").Gated().Gated("kueue.x-k8s.io/admission"));
  world.Settle();
  CHECK(world.Gang("g").reason == engine::Because(ReasonCode::kGatedByOthers, 1, 2));
  world.Change("b", [](cluster::Pod& pod) { std::erase(pod.gates, "kueue.x-k8s.io/admission"); });
  world.Settle();
  CHECK(world.Gang("g").state == GangState::kReserved);
}

TEST_CASE("every reason has a name and a sentence", "[engine][reason]") {
  for (int code = 1; code <= static_cast<int>(ReasonCode::kNeverFits); ++code) {
    const engine::Reason reason = engine::Because(static_cast<ReasonCode>(code), 1, 2);
    CHECK_FALSE(std::string(engine::ToString(reason.code)).empty());
    CHECK_FALSE(engine::Describe(reason).empty());
  }
}

TEST_CASE("docs/reference/reasons.md has each reason with its sentence", "[engine][reason]") {
  std::ifstream file(std::string(MUSTER_SOURCE_DIR) + "/docs/reference/reasons.md");
  REQUIRE(file.good());
  std::vector<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `")) rows.push_back(line);
  }
  for (int code = 1; code <= static_cast<int>(ReasonCode::kNeverFits); ++code) {
    const auto reason = static_cast<ReasonCode>(code);
    const std::string name = engine::ToString(reason);
    // "`NotEnoughGpus`, `…Cpu`, `…Memory`" is one row, and in the present tense there is no Event.
    const bool row_of_gpus = name == "NotEnoughCpu" || name == "NotEnoughMemory";
    const std::string shown = row_of_gpus ? "NotEnoughGpus" : name;
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const std::string& one) {
      const std::string cell = one.substr(0, one.find(" | "));
      return cell.find("`" + shown + "`") != std::string::npos;
    });
    INFO(name);
    REQUIRE(row != rows.end());
    const std::string said = row->substr(row->find(" | ") + 3);
    const bool summed_up = said.starts_with("–") || said.starts_with("not enough free …") ||
                           said.starts_with("its PodGroup, a member is malformed");
    if (!summed_up) CHECK_THAT(said, Catch::Contains(engine::Describe(engine::Because(reason))));
  }
}

TEST_CASE("a renamed reason tells its former name, which no other reason has", "[engine][reason]") {
  CHECK(std::string(engine::ToString(ReasonCode::kWatchStale)) == "WatchStale");
  REQUIRE(engine::FormerName(ReasonCode::kWatchStale) != nullptr);
  const std::string former = engine::FormerName(ReasonCode::kWatchStale);
  CHECK(former == "StalePicture");
  for (int code = 1; code <= static_cast<int>(ReasonCode::kNeverFits); ++code) {
    CHECK(engine::ToString(static_cast<ReasonCode>(code)) != former);
  }
  CHECK(engine::FormerName(ReasonCode::kNotTried) == nullptr);
}

}  // namespace
}  // namespace muster::testing
