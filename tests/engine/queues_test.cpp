// The policy's queues in the engine: which queue a gang is in, what is charged to it, what it may
// start, which gang is next.
#include <catch2/catch.hpp>
#include <string>

#include "tests/engine/harness.hpp"

namespace muster::engine {
namespace {

using queues::Amount;
using queues::Limit;
using queues::QueueSpec;
using queues::Resource;
using testing::MakeNode;
using testing::MakePod;

const Resource kQueuesGpu{Resource::Kind::kGpu};      // NOLINT(cert-err58-cpp)
const Resource kT4{Resource::Kind::kGpuModel, "t4"};  // NOLINT(cert-err58-cpp)
const Resource kMemory{Resource::Kind::kGpuMemory};   // NOLINT(cert-err58-cpp)

QueueSpec Queue(const std::string& name, int64_t most_gpus = 0, int64_t weight = 1) {
  QueueSpec queue{.name = name, .weight = weight};
  if (most_gpus > 0) queue.limit.Set(kQueuesGpu, Limit(most_gpus * 1000));
  return queue;
}

Options With(std::vector<QueueSpec> queues) {
  Options options;
  options.queues = std::move(queues);
  return options;
}

// A gated pod of `gpus` GPUs that names a queue.
cluster::Pod Asks(const std::string& name, const std::string& queue, int gpus,
                  int64_t created = 0) {
  cluster::Pod pod = MakePod(name).Gpus(gpus).CreatedAt(created).Gated().Build();
  pod.asked_queue = queue;
  return pod;
}

std::string Reserved(testing::Harness& world) {
  std::string names;
  for (const GangView& gang : world.engine().Gangs()) {
    if (gang.state == GangState::kReserved) names += gang.id.key.name + " ";
  }
  CHECK(world.engine().Audit(world.now()).empty());
  return names;
}

TEST_CASE("gangs of queues take turns by what their queues use", "[engine][queues]") {
  testing::Harness world(With({Queue("a", 0, 2), Queue("b")}));
  world.Add(MakeNode("n0").Gpus(6).Build());
  for (int i = 0; i < 8; ++i) world.Add(Asks("a" + std::to_string(i), "a", 1, i));
  for (int i = 0; i < 8; ++i) world.Add(Asks("b" + std::to_string(i), "b", 1, 10 + i));
  world.Settle();
  // 2 : 1
  CHECK(Reserved(world) == "a0 a1 a2 a3 b0 b1 ");
  CHECK(world.Gang("a0").queue == "a");
}

TEST_CASE("a gang over a limit waits, and says which", "[engine][queues][R3]") {
  testing::Harness world(With({Queue("a", 4), Queue("b")}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Add(Asks("a0", "a", 3));
  world.Add(Asks("a1", "a", 2, 1));
  world.Add(Asks("a2", "a", 1, 2));
  world.Add(Asks("never", "a", 5, 3));
  world.Add(Asks("b0", "b", 4, 4));
  world.Settle();
  CHECK(Reserved(world) == "a0 a2 b0 ");
  GangView waits = world.Gang("a1");
  CHECK(waits.state == GangState::kQueued);
  CHECK(waits.reason.code == ReasonCode::kQueueLimit);
  CHECK(Describe(waits.reason) ==
        "the limit of its queue is reached: queue a would use 5 of gpu, its limit is 4");
  CHECK(waits.reason.have == 4);
  CHECK(waits.reason.need == 5);
  // No gang of that size fits the queue: it is set aside, and blocks nobody.
  CHECK(world.Gang("never").state == GangState::kUnsatisfiable);
  CHECK(world.Gang("never").reason.code == ReasonCode::kQueueLimit);
  // What ends gives way.
  world.RemovePod("a0");
  world.Settle();
  CHECK(Reserved(world) == "a1 a2 b0 ");
}

TEST_CASE("limits of models and of GPU memory hold where pods name none", "[engine][queues][R3]") {
  QueueSpec queue = Queue("a");
  queue.limit.Set(kT4, Limit(1'000));
  SECTION("what is over it goes where it may") {
    testing::Harness world(With({queue}));
    world.Add(MakeNode("n0").Gpus(2, "Tesla-T4", 16'384).Build());
    world.Add(Asks("a0", "a", 1));
    world.Add(Asks("a1", "a", 1, 1));
    world.Settle();
    CHECK(Reserved(world) == "a0 ");
    CHECK(world.Gang("a1").reason.code == ReasonCode::kQueueLimit);
    CHECK(world.Gang("a1").reason.detail == "queue a would use 2 of gpu/t4, its limit is 1");
    world.Add(MakeNode("n1").Gpus(1).Build());
    world.Settle();
    CHECK(Reserved(world) == "a0 a1 ");
    CHECK(world.Pod("a1").nominated_node == "n1");
  }
  SECTION("memory is known when there is a plan") {
    queue.limit.Set(kMemory, Limit(20'000));
    queue.limit.Set(kT4, Limit(8'000));
    testing::Harness world(With({queue}));
    world.Add(MakeNode("n0").Gpus(2, "Tesla-T4", 16'384).Build());
    world.Add(Asks("a0", "a", 1));
    world.Add(Asks("a1", "a", 1, 1));
    world.Settle();
    CHECK(Reserved(world) == "a0 ");
    CHECK(world.Gang("a1").reason.detail ==
          "queue a would use 32GiB of gpuMemory, its limit is 20000MiB");
  }
}

TEST_CASE("what a queue does not lend waits for it", "[engine][queues][R3]") {
  QueueSpec owner = Queue("owner");
  owner.guarantee.Set(kQueuesGpu, Amount(4'000));
  owner.lend.Set(kQueuesGpu, Limit(1'000));
  testing::Harness world(With({owner, Queue("guest")}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  for (int i = 0; i < 8; ++i) world.Add(Asks("g" + std::to_string(i), "guest", 1, i));
  world.Settle();
  CHECK(Reserved(world) == "g0 g1 g2 g3 g4 ");
  CHECK(world.Gang("g5").reason.code == ReasonCode::kQueueGuarantee);
  CHECK(world.Gang("g5").reason.detail ==
        "in queue root 0 of gpu may be borrowed, it would borrow 1: 3 kept for owner");
  world.Add(Asks("o0", "owner", 3, 99));
  world.Settle();
  CHECK(Reserved(world) == "g0 g1 g2 g3 g4 o0 ");
}

TEST_CASE("elastic members stay within the limit, lost ones come back whatever it is",
          "[engine][queues][R3]") {
  testing::Harness world(With({Queue("root", 3)}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.AddGang("g", 5, 1, 2);
  world.Settle();
  world.ScheduleAll("g");
  world.Settle();
  CHECK(world.BoundIn("g") == 3);
  CHECK(world.Gang("g").state == GangState::kRunning);
  Options options = world.engine().options();
  options.queues = {Queue("root", 1)};
  world.engine().SetOptions(options);
  world.Settle();
  CHECK(world.BoundIn("g") == 3);  // nobody is evicted for a policy
  CHECK(world.Evictions() == 0);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("a gang without a queue that it may use is Forbidden, until the policy says otherwise",
          "[engine][queues]") {
  QueueSpec research = Queue("research");
  research.namespaces = {"lab"};
  testing::Harness world(With({research, Queue("open")}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Add(Asks("wrong", "research", 1));
  world.Add(Asks("typo", "reserch", 1));
  world.Add(Asks("right", "", 1));
  world.Settle();
  CHECK(world.Gang("wrong").state == GangState::kForbidden);
  CHECK(world.Gang("wrong").reason.code == ReasonCode::kQueueForbidden);
  CHECK(world.Gang("wrong").reason.detail == "namespace default may not use queue research");
  CHECK(world.Gang("typo").reason.code == ReasonCode::kQueueUnknown);
  CHECK(world.Gang("typo").reason.detail == "there is no queue reserch, did you mean research?");
  CHECK(world.Gang("right").queue == "open");
  CHECK(Reserved(world) == "right ");
  Options options = world.engine().options();
  options.queues = {Queue("research"), Queue("reserch")};
  world.engine().SetOptions(options);
  world.Settle();
  CHECK(world.Gang("wrong").state == GangState::kReserved);
  CHECK(world.Gang("typo").state == GangState::kReserved);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("labels of a namespace choose the queue, and a change of them too", "[engine][queues]") {
  QueueSpec a = Queue("a");
  a.selector = queues::NamespaceSelector{{{"team", "a"}}};
  QueueSpec b = Queue("b");
  b.selector = queues::NamespaceSelector{{{"team", "b"}}};
  testing::Harness world(With({a, b}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Add(Asks("p", "", 1));
  world.Settle();
  CHECK(world.Gang("p").state == GangState::kForbidden);
  cluster::Namespace ns;
  ns.uid = cluster::NamespaceUid("ns");
  ns.key.name = "default";
  for (const char* team : {"a", "b"}) {
    ns.labels = {{"team", team}};
    world.engine().Apply(ns, world.now());
    world.Settle();
    CHECK(world.Gang("p").queue == team);
    CHECK(Reserved(world) == "p ");
  }
}

TEST_CASE("hold starts nothing, drain gives no elastic members", "[engine][queues]") {
  QueueSpec queue = Queue("root");
  Options options = With({queue});
  testing::Harness world(options);
  world.Add(MakeNode("n0").Gpus(2).Build());
  world.AddGang("g", 3, 1, 1);
  world.Settle();
  world.ScheduleAll("g");
  world.Settle();
  CHECK(world.BoundIn("g") == 2);
  queue.state = GENERATE(queues::QueueState::kHold, queues::QueueState::kDrain);
  const bool drains = queue.state == queues::QueueState::kDrain;
  options.queues = {queue};
  world.engine().SetOptions(options);
  world.Add(MakeNode("n1").Gpus(4).Build());
  world.Add(Asks("p", "", 1, 5));
  world.Settle();
  world.ScheduleAll("g");
  world.Settle();
  CHECK(world.Gang("p").state == GangState::kQueued);
  CHECK(world.Gang("p").reason.code == ReasonCode::kHold);
  CHECK(world.Gang("p").reason.detail ==
        (drains ? "queue root is drained" : "queue root is on hold"));
  CHECK(world.BoundIn("g") == (drains ? 2 : 3));
  options.queues = {Queue("root")};
  world.engine().SetOptions(options);
  world.Settle();
  CHECK(world.Gang("p").state == GangState::kReserved);
  CHECK(world.Evictions() == 0);
}

TEST_CASE("R13: no gang of a queue counts for more than its cap", "[engine][queues][R13]") {
  QueueSpec capped = Queue("capped");
  capped.priority_cap = 10;
  testing::Harness world(With({capped}));
  world.Add(MakeNode("n0").Gpus(1).Build());
  const auto add = [&](const char* name, int32_t priority) {
    cluster::Pod pod = MakePod(name).Gpus(1).Priority(priority).Gated().Build();
    pod.asked_queue = "capped";
    world.Add(pod);
    world.Settle();
  };
  add("quiet", 9);
  world.Bind("quiet");
  world.Settle();
  add("loud", 1'000);
  CHECK(world.Gang("loud").priority == 10);
  CHECK(world.Evictions() == 1);
  world.RemovePod("quiet");
  world.Settle();
  world.Bind("loud");
  world.Settle();
  CHECK(world.Gang("loud").state == GangState::kRunning);
  add("louder", 2'000);
  CHECK(world.Gang("louder").priority == 10);
  CHECK(world.Evictions() == 1);
  CHECK(world.engine().Audit(world.now()).empty());
}

TEST_CASE("strict order is of a queue: its head blocks it, other queues go on",
          "[engine][queues][R11]") {
  QueueSpec strict = Queue("strict");
  strict.order = queues::Order::kStrictFifo;
  testing::Harness world(With({strict, Queue("other")}));
  world.Add(MakeNode("n0").Gpus(4).Build());
  world.Add(MakeNode("n1").Gpus(8).NotReady().Build());
  world.Add(Asks("big", "strict", 8, 0));
  world.Add(Asks("small", "strict", 1, 1));
  world.Add(Asks("free", "other", 1, 2));
  world.Settle();
  CHECK(Reserved(world) == "free ");
  CHECK(world.Gang("small").reason.code == ReasonCode::kBlockedByOrder);
}

TEST_CASE("pods of a queue that is removed are the orphan's, and nobody is evicted",
          "[engine][queues]") {
  testing::Harness world(With({Queue("a", 2), Queue("b", 2)}));
  world.Add(MakeNode("n0").Gpus(8).Build());
  world.Add(Asks("a0", "a", 2));
  world.Settle();
  world.Bind("a0");
  world.Settle();
  Options options = world.engine().options();
  options.queues = {Queue("b", 2)};
  world.engine().SetOptions(options);
  world.Settle();
  CHECK(world.Gang("a0").queue == "_orphan");
  CHECK(world.Gang("a0").state == GangState::kRunning);
  CHECK(world.Evictions() == 0);
  options.queues = {Queue("a", 2), Queue("b", 2)};
  world.engine().SetOptions(options);
  world.Add(Asks("a1", "a", 1, 1));
  world.Settle();
  CHECK(world.Gang("a0").queue == "a");
  CHECK(world.Gang("a1").reason.code == ReasonCode::kQueueLimit);
  // Without queues nothing is limited, and all pods are in the root.
  options.queues = queues::OneQueue();
  world.engine().SetOptions(options);
  world.Settle();
  CHECK(world.Gang("a1").state == GangState::kReserved);
  CHECK(world.Gang("a0").queue == "root");
  CHECK(world.engine().Audit(world.now()).empty());
}

}  // namespace
}  // namespace muster::engine
