// What keeps a gang's pods off which nodes, by name: worked out by hand.
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "policy/placing/placement.hpp"
#include "tests/policy/random_world.hpp"
#include "tests/policy/world.hpp"

namespace muster::policy {
namespace {

using cluster::GpuSharing;
using cluster::NodeConstraints;
using cluster::SelectorOperator;
using cluster::TaintEffect;
using testing::MakeNode;
using testing::MakePod;
using testing::PodBuilder;
using testing::World;

using Lines = std::vector<std::string>;

const char* WordOf(Cause::What what) {
  constexpr const char* kWords[] = {"taint",   "cordoned",     "not ready", "label",  "left out",
                                    "kept",    "excluded",     "ports",     "attach", "volumes",
                                    "spread",  "spread label", "affinity",  "anti",   "others",
                                    "slots",   "channels",     "cpu",       "memory", "named",
                                    "no GPUs", "other GPUs",   "GPUs",      "pieces", "NUMA"};
  return kWords[static_cast<size_t>(what)];
}

// "6 GPUs 0..6000 of 8000 best n7".
Lines CausesOf(const Shortage& shortage) {
  Lines lines;
  for (const Cause& cause : shortage.causes) {
    std::string line = std::to_string(cause.nodes) + " " + WordOf(cause.what);
    if (!cause.name.empty()) line += " " + cause.name;
    if (!cause.best.empty()) {
      line += " " + std::to_string(cause.least_free) + ".." + std::to_string(cause.most_free) +
              " of " + std::to_string(cause.of) + " best " + cause.best;
    }
    lines.push_back(line);
  }
  return lines;
}

Shortage Refused(World& world, const std::vector<Demand>& demands,
                 NodeFilter filter = NodeFilter::kSchedulable) {
  Placer placer(Options{});
  const PlaceAnswer answer = world.Place(placer, demands, filter);
  REQUIRE_FALSE(answer.placed);
  return answer.shortage;
}

struct CausesCase {
  std::string name;
  std::function<void(World&)> nodes;
  PodBuilder pod;
  int members = 1;
  int64_t want_with_room = 0;
  Lines want;
};

NodeConstraints Requires(const cluster::SelectorRequirement& requirement) {
  NodeConstraints constraints;
  constraints.has_affinity = true;
  constraints.affinity_terms = {{{requirement}, {}}};
  return constraints;
}

std::vector<CausesCase> NamedCases() {
  const auto tainted = [](const char* name, const char* key, const char* value) {
    return MakeNode(name).Gpus(8).Taint(key, value, TaintEffect::kNoSchedule);
  };
  return {
      {"taints by key and value, those of most nodes first",
       [=](World& world) {
         world.Add(tainted("a", "team", "x"));
         world.Add(tainted("b", "gpu", ""));
         world.Add(tainted("c", "gpu", ""));
         world.Add(tainted("d", "soft", "").Taint("gpu", "", TaintEffect::kNoExecute));
       },
       MakePod("p").Gpus(8),
       1,
       0,
       {"2 taint gpu", "1 taint soft and gpu", "1 taint team=x"}},
      {"a taint that is tolerated or only a wish is not named",
       [](World& world) {
         world.Add(MakeNode("a")
                       .Gpus(8)
                       .Taint("mine", "", TaintEffect::kNoSchedule)
                       .Taint("wish", "", TaintEffect::kPreferNoSchedule)
                       .Taint("theirs", "1", TaintEffect::kNoSchedule));
       },
       MakePod("p").Gpus(8).Tolerate(
           {"mine", cluster::Toleration::Op::kExists, "", true, TaintEffect::kNoSchedule}),
       1,
       0,
       {"1 taint theirs=1"}},
      {"cordoned nodes are told from those that are not ready, whatever taints say the same",
       [](World& world) {
         world.Add(MakeNode("a").Gpus(8).Cordoned().Taint("node.kubernetes.io/unschedulable", "",
                                                          TaintEffect::kNoSchedule));
         world.Add(MakeNode("b").Gpus(8).NotReady());
         world.Add(MakeNode("c").Gpus(8).NotReady().Cordoned());
       },
       MakePod("p").Gpus(8),
       1,
       0,
       {"1 cordoned", "2 not ready"}},
      {"labels that the selector asks for",
       [](World& world) {
         world.Add(MakeNode("a").Gpus(8).Label("zone", "b"));
         world.Add(MakeNode("b").Gpus(8));
       },
       MakePod("p").Gpus(8).Select("zone", "a").Select("disk", "ssd"),
       1,
       0,
       {"2 label without label disk=ssd and without label zone=a"}},
      {"another model of GPU",
       [](World& world) {
         world.Add(MakeNode("a").Gpus(8).Label("nvidia.com/gpu.product", "A100"));
         world.Add(MakeNode("b").Gpus(8));
         world.Add(MakeNode("c"));
       },
       MakePod("p").Gpus(8).Select("nvidia.com/gpu.product", "H100"),
       1,
       0,
       {"1 label with another GPU model than H100",
        "1 label without label nvidia.com/gpu.product=H100", "1 no GPUs"}},
      {"labels that the affinity asks for",
       [](World& world) { world.Add(MakeNode("a").Gpus(8).Label("zone", "c")); },
       MakePod("p").Gpus(8).Constraints(Requires({"zone", SelectorOperator::kIn, {"a", "b"}})),
       1,
       0,
       {"1 label without label zone in (a, b)"}},
      {"labels that the affinity shuts out",
       [](World& world) { world.Add(MakeNode("a").Gpus(8).Label("spot", "")); },
       MakePod("p").Gpus(8).Constraints(Requires({"spot", SelectorOperator::kDoesNotExist, {}})),
       1,
       0,
       {"1 label with label spot"}},
  };
}

std::vector<CausesCase> RoomCases() {
  return {
      {"the node with most free GPUs, the first by name",
       [](World& world) {
         for (const char* name : {"c", "a", "b"}) world.Add(MakeNode(name).Gpus(8));
         world.Occupy("c", MakePod("x").Gpus(2));
         world.Occupy("a", MakePod("x").Gpus(8));
         world.Occupy("b", MakePod("x").Gpus(2));
       },
       MakePod("p").Gpus(8),
       1,
       0,
       {"3 GPUs 0..6000 of 8000 best b"}},
      {"nodes of several sizes",
       [](World& world) {
         world.Add(MakeNode("a").Gpus(8));
         world.Add(MakeNode("b").Gpus(4));
         world.Occupy("a", MakePod("x").Gpus(3));
       },
       MakePod("p").Gpus(8),
       1,
       0,
       {"2 GPUs 4000..5000 of 0 best a"}},
      {"nodes that take members are not told among those that take none",
       [](World& world) {
         for (const char* name : {"a", "b", "c"}) world.Add(MakeNode(name).Gpus(8));
         world.Occupy("c", MakePod("x").Gpus(1));
       },
       MakePod("p").Gpus(8),
       3,
       2,
       {"1 GPUs 7000..7000 of 8000 best c"}},
      {"CPU and memory",
       [](World& world) {
         world.Add(MakeNode("a").Gpus(8).Cpu(3));
         world.Add(MakeNode("b").Gpus(8).Cpu(2));
         world.Add(MakeNode("c").Gpus(8).MemoryGiB(8));
         world.Add(MakeNode("d").Cpu(1));
       },
       MakePod("p").Gpus(8).MilliCpu(4000).MemoryMiB(16'384),
       1,
       0,
       {"2 cpu 2000..3000 of 0 best a", "1 memory 8192..8192 of 0 best c", "1 no GPUs"}},
      {"devices that cannot serve it, and free ones in pieces",
       [](World& world) {
         world.Add(MakeNode("a").Gpus(8));
         world.Add(MakeNode("b").Gpus(2).Sharing(GpuSharing::Fractional()));
         for (const int gpu : {0, 1}) world.Occupy("b", MakePod("x").GpuShare(500), {gpu});
       },
       MakePod("p").GpuShare(600),
       1,
       0,
       {"1 other GPUs", "1 pieces 1000..1000 of 2000 best b"}},
      {"resources that have but a name, each by itself, the first by name",
       [](World& world) {
         world.Add(
             MakeNode("a").Gpus(8).Offers("example.com/nic", 4).Offers("ephemeral-storage", 9));
         world.Add(
             MakeNode("b").Gpus(8).Offers("example.com/nic", 1).Offers("ephemeral-storage", 9));
         world.Add(
             MakeNode("c").Gpus(8).Offers("example.com/nic", 4).Offers("ephemeral-storage", 3));
         world.Add(MakeNode("d").Gpus(8).Offers("ephemeral-storage", 9));
         world.Occupy("a", MakePod("x").Wants("example.com/nic", 2));
       },
       MakePod("p").Gpus(1).Wants("example.com/nic", 3).Wants("ephemeral-storage", 5),
       1,
       0,
       {"1 named ephemeral-storage 3..3 of 0 best c", "3 named example.com/nic 0..2 of 0 best a"}},
      {"slots and channels",
       [](World& world) {
         world.Add(MakeNode("a").Gpus(8).PodSlots(0));
         world.Add(MakeNode("b").Gpus(8));
         world.Occupy("b", MakePod("x").Gpus(1).Channel());
       },
       MakePod("p").Gpus(1).Channel(),
       1,
       0,
       {"1 slots", "1 channels"}},
  };
}

void CheckEach(const std::vector<CausesCase>& cases) {
  for (const CausesCase& c : cases) {
    DYNAMIC_SECTION(c.name) {
      World world;
      c.nodes(world);
      const Shortage shortage = Refused(world, world.Ask(c.members, c.pod));
      CHECK(shortage.with_room == c.want_with_room);
      CHECK(CausesOf(shortage) == c.want);
    }
  }
}

TEST_CASE("each node is listed under what keeps a member off it, by name", "[policy][causes]") {
  CheckEach(NamedCases());
}

TEST_CASE("what is short is listed with the least and the most that is free", "[policy][causes]") {
  CheckEach(RoomCases());
}

TEST_CASE("names follow the node records", "[policy][causes]") {
  World world;
  world.Add(MakeNode("a").Gpus(8).Taint("old", "", TaintEffect::kNoSchedule));
  world.Add(MakeNode("b").Gpus(8).Taint("old", "", TaintEffect::kNoSchedule));
  const std::vector<Demand> gang = world.Ask(1, MakePod("p").Gpus(8));
  Placer placer(Options{});
  CHECK(CausesOf(world.Place(placer, gang).shortage) == Lines{"2 taint old"});
  world.Add(MakeNode("a").Gpus(8).Taint("new", "", TaintEffect::kNoSchedule));
  world.Add(MakeNode("c").Gpus(4));
  CHECK(CausesOf(world.Place(placer, gang).shortage) ==
        Lines{"1 taint new", "1 taint old", "1 GPUs 4000..4000 of 4000 best c"});
}

TEST_CASE("of a mixed gang nodes are told as they are before any member is placed",
          "[policy][causes]") {
  World world;
  for (const char* name : {"a", "b"}) world.Add(MakeNode(name).Gpus(8));
  std::vector<Demand> gang = world.Ask(2, MakePod("small").Gpus(4));
  for (const Demand& demand : world.Ask(2, MakePod("large").Gpus(8))) gang.push_back(demand);
  const Shortage shortage = Refused(world, gang);
  CHECK(shortage.with_room == 2);
  CHECK(shortage.causes.empty());
  CHECK(shortage.roles == std::vector<RoleWish>{{2, 8000}, {2, 4000}});
  CHECK(shortage.fits == 2);
  CHECK(shortage.fits_of == 4);
}

TEST_CASE("what the gang may use is reported beside what the cluster has", "[policy][causes]") {
  World world;
  world.Add(MakeNode("a").Gpus(8));
  world.Add(MakeNode("b").Gpus(8).Taint("t", "", TaintEffect::kNoSchedule));
  world.Add(MakeNode("c").Gpus(4).Cordoned());
  world.Add(MakeNode("d"));
  world.Occupy("a", MakePod("x").Gpus(2));
  const Shortage shortage = Refused(world, world.Ask(2, MakePod("p").Gpus(8)));
  CHECK(shortage.gpu_nodes == 1);
  CHECK(shortage.free_gpu_milli == 6000);
  CHECK(shortage.all_gpu_milli == 20'000);
}

TEST_CASE("causes and nodes with room add up to all nodes", "[policy][causes]") {
  const uint64_t seed = testing::SeedOfRun();
  INFO("seed " << seed);
  testing::Dice dice(seed);
  int refused = 0;
  for (int round = 0; round < testing::Rounds(100); ++round) {
    World world;
    const int nodes = dice.Roll(1, 8);
    for (int i = 0; i < nodes; ++i) world.Add(RandomNode(dice, "n" + std::to_string(i)));
    Placer placer(Options{});
    for (int gang = 0; gang < 5; ++gang) {
      const NodeFilter filter = dice.OneIn(3) ? NodeFilter::kAll : NodeFilter::kSchedulable;
      const PlaceAnswer answer = world.Place(placer, RandomGang(dice, world, 6), filter);
      if (answer.placed) continue;
      ++refused;
      int64_t sum = answer.shortage.with_room;
      for (const Cause& cause : answer.shortage.causes) {
        REQUIRE(cause.nodes > 0);
        const bool named =
            cause.what == Cause::What::kTaint || cause.what == Cause::What::kConstraint;
        REQUIRE(named != cause.name.empty());
        sum += cause.nodes;
      }
      REQUIRE(sum == nodes);
    }
  }
  CHECK(refused > 0);
}

}  // namespace
}  // namespace muster::policy
