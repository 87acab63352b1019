// Whole nodes that queues are guaranteed (R14), with nodes of eight GPUs.
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/engine/queue_world.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using queues::QueueSpec;
using testing::MakeNode;
using testing::MakePod;
using testing::MakePodGroup;
using testing::Queue;

QueueSpec Shaped(QueueSpec queue, int64_t nodes, const std::string& model = "") {
  queue.shapes.push_back({nodes, model});
  return queue;
}

struct ShapeGuaranteeWorld : testing::Harness {
  ShapeGuaranteeWorld(std::vector<QueueSpec> queues, int nodes,
                      policy::Strategy strategy = policy::Strategy::kBinpack)
      : Harness(OptionsOf(std::move(queues), strategy)) {
    for (int i = 0; i < nodes; ++i) Add(Node(i));
  }
  static Options OptionsOf(std::vector<QueueSpec> queues, policy::Strategy strategy) {
    Options options;
    options.queues = std::move(queues);
    options.placement.strategy = strategy;
    return options;
  }
  static cluster::Node Node(int i, const std::string& model = "NVIDIA-H100-80GB-HBM3") {
    const std::string name = "n" + std::to_string(i);
    return MakeNode(name).Gpus(8, model).Label("host", name).Build();
  }
  using Harness::Add;
  struct Terms {
    bool kept = false;      // not preemptible
    std::string host = {};  // where it has to be
    int32_t priority = 0;
    bool owned = false;  // its controller makes another one when it is evicted
  };
  void Submit(const std::string& name, const std::string& queue, int gpus, const Terms& terms) {
    auto builder = MakePod(name);
    builder.Gpus(gpus).Priority(terms.priority).CreatedAt(now().milliseconds()).Gated();
    if (!terms.host.empty()) builder.Select("host", terms.host);
    cluster::Pod pod = builder.Build();
    pod.asked_queue = queue;
    if (terms.kept) pod.preemptible = false;
    if (terms.owned) pod.owner_uid = "a-controller";
    Add(pod);
    Settle();
    Check();
  }
  void Submit(const std::string& name, const std::string& queue, int gpus) {
    Submit(name, queue, gpus, {});
  }
  void Start(const std::string& name, const std::string& queue, int gpus, const Terms& terms) {
    Submit(name, queue, gpus, terms);
    Bind(name);
    Settle();
    REQUIRE(Gang(name).state == GangState::kRunning);
    Pass(Seconds(1));
    Check();
  }
  void Start(const std::string& name, const std::string& queue, int gpus) {
    Start(name, queue, gpus, {});
  }
  // So many single GPUs.
  void Flood(const std::string& name, const std::string& queue, int count, const Terms& terms) {
    for (int i = 0; i < count; ++i) Start(name + std::to_string(i), queue, 1, terms);
  }
  // Two pods, a whole node each.
  void SubmitWhole(const std::string& name, const std::string& queue) {
    cluster::PodGroup group = MakePodGroup(name).MinMember(2).Build();
    group.queue = queue;
    Add(group);
    for (int i = 0; i < 2; ++i) {
      Add(MakePod(name + "-" + std::to_string(i))
              .Gpus(8)
              .CreatedAt(now().milliseconds() + i)
              .InGroup(name)
              .Gated()
              .Build());
    }
    Settle();
    Check();
  }
  void Leave(const std::string& pod) {
    RemovePod(pod);
    Settle();
    Check();
  }
  void Check() { CHECK(engine().Audit(now()).empty()); }
  std::string NodeOf(const std::string& name) const {
    const MemberView member = Gang(name).members.front();
    return member.bound_node.empty() ? member.planned_node : member.bound_node;
  }
  std::string Why(const std::string& name) const { return Describe(Gang(name).reason); }
  // "n0 n1: 1 whole, 1 lent, 0 missing"
  std::string Shape(const std::string& queue) {
    Settle();  // what is seen is of the last Advance
    for (const QueueView& view : engine().Queues()) {
      if (view.name != queue || view.shapes.empty()) continue;
      const ShapeView& shape = view.shapes.front();
      std::string text;
      for (const std::string& node : shape.nodes) text += (text.empty() ? "" : " ") + node;
      return text + ": " + std::to_string(shape.whole) + " whole, " + std::to_string(shape.lent) +
             " lent, " + std::to_string(shape.missing()) + " missing";
    }
    return "";
  }
};

const std::vector<QueueSpec> kXandY = {Shaped(Queue("x", 16), 2), Queue("y", 8)};

TEST_CASE("R14: a queue has its whole nodes back although single GPUs were lent all over them",
          "[engine][queues][R14]") {
  ShapeGuaranteeWorld world({Shaped(Queue("x", 16), 2), Queue("y", 0)}, 3,
                            policy::Strategy::kSpread);
  world.Flood("y", "y", 24, {});
  CHECK(world.Shape("x") == "n0 n1: 0 whole, 2 lent, 0 missing");
  world.SubmitWhole("x0", "x");
  CHECK(world.Evictions() == 16);
  CHECK(world.Gang("x0").state == GangState::kPreempting);
}

TEST_CASE("R14: a gang of whole nodes has those evicted first that are on its queue's nodes",
          "[engine][queues][R14]") {
  ShapeGuaranteeWorld world({Shaped(Queue("x", 16), 2), Queue("y", 0)}, 3,
                            policy::Strategy::kSpread);
  world.Flood("y", "y", 12, {});
  world.SubmitWhole("x0", "x");
  CHECK(world.Evictions() == 4);  // the other eight are on n2
}

TEST_CASE("R14: gangs that are not preemptible are kept off other queues' whole nodes",
          "[engine][queues][R14]") {
  ShapeGuaranteeWorld world(kXandY, 3, policy::Strategy::kSpread);
  world.Flood("y", "y", 8, {.kept = true});
  for (int i = 0; i < 8; ++i) CHECK(world.NodeOf("y" + std::to_string(i)) == "n2");
  CHECK(world.Shape("x") == "n0 n1: 2 whole, 0 lent, 0 missing");
  world.SubmitWhole("x0", "x");
  CHECK(world.Gang("x0").state == GangState::kReserved);
  CHECK(world.Evictions() == 0);
}

TEST_CASE("R14: a gang waits where only whole nodes of another queue are left, and says so",
          "[engine][queues][R14]") {
  ShapeGuaranteeWorld world(kXandY, 2);
  const bool kept = GENERATE(true, false);  // else it is within its own queue's guarantee
  world.Submit("y0", "y", 1, {.kept = kept});
  CHECK(world.Gang("y0").state == GangState::kQueued);
  CHECK(world.Gang("y0").reason.code == ReasonCode::kReserved);
  CHECK(world.Why("y0") ==
        "there is room, but it is kept for others: queue x is guaranteed 2 whole nodes, and could "
        "not have it evicted");
  world.Add(ShapeGuaranteeWorld::Node(2));
  world.Settle();
  CHECK(world.NodeOf("y0") == "n2");
}

TEST_CASE("R14: what borrows is lent whole nodes of other queues, but only where nothing else is",
          "[engine][queues][R14]") {
  ShapeGuaranteeWorld world({Shaped(Queue("x", 16), 2), Queue("y", 0)}, 3,
                            policy::Strategy::kSpread);
  world.Flood("y", "y", 8, {});
  CHECK(world.Shape("x") == "n0 n1: 2 whole, 0 lent, 0 missing");
  world.Start("y8", "y", 1);
  CHECK(world.Shape("x") == "n0 n1: 1 whole, 1 lent, 0 missing");
}

TEST_CASE("R14: nothing is lent by a queue that reclaims nothing", "[engine][queues][R14]") {
  std::vector<QueueSpec> queues = {Shaped(Queue("x", 16), 2), Queue("y", 0)};
  queues[0].preemption.reclaim = queues::Reclaim::kNever;
  ShapeGuaranteeWorld world(queues, 2);
  world.Submit("y0", "y", 1);
  CHECK(world.Gang("y0").reason.code == ReasonCode::kReserved);
}

TEST_CASE("R14: other nodes are promised where a gang needs those that were",
          "[engine][queues][R14]") {
  ShapeGuaranteeWorld world(kXandY, 3);
  REQUIRE(world.Shape("x") == "n0 n1: 2 whole, 0 lent, 0 missing");
  world.Submit("y0", "y", 1, {.kept = true, .host = "n0"});
  CHECK(world.NodeOf("y0") == "n0");
  CHECK(world.Shape("x") == "n1 n2: 2 whole, 0 lent, 0 missing");
  world.Submit("y1", "y", 1, {.kept = true, .host = "n1"});
  CHECK(world.Gang("y1").reason.code == ReasonCode::kReserved);
  world.Submit("y2", "y", 1, {.kept = true});
  CHECK(world.NodeOf("y2") == "n0");
}

TEST_CASE("R14: the queue's own gangs may be on its whole nodes, and which those are follows them",
          "[engine][queues][R14]") {
  ShapeGuaranteeWorld world(kXandY, 4);
  world.Start("x0", "x", 8, {.host = "n3"});
  CHECK(world.Shape("x") == "n0 n3: 2 whole, 0 lent, 0 missing");
  world.Start("y0", "y", 8, {.kept = true});
  CHECK(world.NodeOf("y0") == "n1");
}

TEST_CASE(
    "R14: a node counts as long as all of it can be used, and those that are missing are said",
    "[engine][queues][R14]") {
  ShapeGuaranteeWorld world({Shaped(Queue("x", 16), 2, "h100"), Queue("y", 0)}, 1);
  world.Add(ShapeGuaranteeWorld::Node(1, "NVIDIA-A100-SXM4-80GB"));
  CHECK(world.Shape("x") == "n0: 1 whole, 0 lent, 1 missing");
  world.Add(ShapeGuaranteeWorld::Node(2));
  CHECK(world.Shape("x") == "n0 n2: 2 whole, 0 lent, 0 missing");
  cluster::Node broken = ShapeGuaranteeWorld::Node(2);
  broken.gpus.front().healthy = false;
  world.Add(broken);
  CHECK(world.Shape("x") == "n0: 1 whole, 0 lent, 1 missing");
}

TEST_CASE("R14: pods of other schedulers take whole nodes away, and pods without GPUs do not",
          "[engine][queues][R14]") {
  ShapeGuaranteeWorld world(kXandY, 2);
  world.Add(MakePod("cores").Scheduler("other").BoundTo("n0").Build());
  world.Settle();
  CHECK(world.Shape("x") == "n0 n1: 2 whole, 0 lent, 0 missing");
  world.Add(MakePod("gpus").Scheduler("other").Gpus(1).BoundTo("n0").Build());
  world.Settle();
  CHECK(world.Shape("x") == "n1: 1 whole, 0 lent, 1 missing");
  world.Submit("y0", "y", 0, {.kept = true, .host = "n1"});
  CHECK(world.NodeOf("y0") == "n1");
}

TEST_CASE("R14: a queue that can have another node leaves its own to one that lacks some",
          "[engine][queues][R14]") {
  ShapeGuaranteeWorld world({Shaped(Queue("x", 16), 1), Shaped(Queue("y", 8), 1)}, 3);
  world.Start("x0", "x", 8, {.host = "n0"});
  world.Start("x1", "x", 8, {.host = "n1"});
  world.RemoveNode("n2");
  REQUIRE(world.Shape("x") == "n0: 1 whole, 0 lent, 0 missing");
  REQUIRE(world.Shape("y") == ": 0 whole, 0 lent, 1 missing");
  world.Leave("x0");
  CHECK(world.Shape("x") == "n1: 1 whole, 0 lent, 0 missing");
  CHECK(world.Shape("y") == "n0: 1 whole, 0 lent, 0 missing");
}

TEST_CASE("R14: what queues below are guaranteed is part of what their queue is",
          "[engine][queues][R14]") {
  ShapeGuaranteeWorld world({Shaped(Queue("p", 24), 3), Shaped(Queue("x", 16, "p"), 2),
                             Queue("z", 8, "p"), Queue("y", 8)},
                            4);
  CHECK(world.Shape("p") == "n0 n1 n2: 3 whole, 0 lent, 0 missing");
  CHECK(world.Shape("x") == "n0 n1: 2 whole, 0 lent, 0 missing");
  world.Submit("y0", "y", 1, {.kept = true});
  CHECK(world.NodeOf("y0") == "n3");
  world.Submit("z0", "z", 1, {.kept = true});  // p's own
  CHECK(world.NodeOf("z0") == "n3");
  world.Submit("z1", "z", 7, {.kept = true});
  CHECK(world.NodeOf("z1") == "n2");
}

TEST_CASE("R14: those on the whole nodes go where cheaper victims would not free any",
          "[engine][queues][R14]") {
  ShapeGuaranteeWorld world({Shaped(Queue("x", 8), 1), Queue("y", 8), Queue("z", 8)}, 3);
  world.Start("z1", "z", 4, {.kept = true, .host = "n1"});
  world.Start("z2", "z", 4, {.kept = true, .host = "n2"});
  world.Start("y1", "y", 4, {.host = "n1", .owned = true});
  world.Start("y2", "y", 4, {.host = "n2", .owned = true});
  world.Flood("y-late", "y", 8, {.host = "n0"});
  REQUIRE(world.Shape("x") == "n0: 0 whole, 1 lent, 0 missing");
  world.Submit("x0", "x", 8);
  CHECK(world.Evictions() == 8);
  CHECK(world.NodeOf("x0") == "n0");
}

// R5 takes nobody whose queue is beyond its guarantee only by what that one could evict itself.
TEST_CASE("R14: a gang is kept off the whole nodes that is within the guarantee by its priority",
          "[engine][queues][R14]") {
  ShapeGuaranteeWorld world({Shaped(Queue("x", 8), 1), Queue("y", 8)}, 2);
  world.Start("low", "y", 8, {.host = "n1"});
  REQUIRE(world.Shape("x") == "n0: 1 whole, 0 lent, 0 missing");
  SECTION("it has the lower one evicted") {
    world.Submit("high", "y", 8, {.priority = 1});
    CHECK(world.NodeOf("high") == "n1");
    CHECK(world.Shape("x") == "n0: 1 whole, 0 lent, 0 missing");
  }
  SECTION("one of the same priority is lent them") {
    world.Submit("late", "y", 8);
    CHECK(world.NodeOf("late") == "n0");
    CHECK(world.Shape("x") == "n0: 0 whole, 1 lent, 0 missing");
  }
}

TEST_CASE("R14: another policy promises other nodes", "[engine][queues][R14]") {
  ShapeGuaranteeWorld world({Queue("x", 16), Queue("y", 8)}, 2);
  CHECK(world.Shape("x").empty());
  world.Start("y0", "y", 1, {.kept = true});
  Options options = ShapeGuaranteeWorld::OptionsOf(kXandY, policy::Strategy::kBinpack);
  world.engine().SetOptions(options);
  world.Settle();
  CHECK(world.Shape("x") == "n1: 1 whole, 0 lent, 1 missing");
  world.Submit("y1", "y", 1, {.kept = true});
  CHECK(world.NodeOf("y1") == "n0");  // where it takes nothing more
}

TEST_CASE("R14: after a restart those have borrowed that began to run last",
          "[engine][queues][R14]") {
  ShapeGuaranteeWorld world(kXandY, 3);
  world.Start("y0", "y", 8);
  world.Start("a-late", "y", 8);
  const std::string before = world.Shape("x");
  REQUIRE(before == "n0 n1: 1 whole, 1 lent, 0 missing");
  world.Restart();
  world.Settle();
  CHECK(world.Shape("x") == before);
  world.Check();
}

}  // namespace
}  // namespace muster::engine
