// Queues for the stories of reload_test: who waits and who runs in them.
#pragma once

#include <memory>
#include <string>

#include "tests/engine/harness.hpp"

namespace muster::testing {

using World = Harness;

inline void OneNode(World& world) { world.Add(MakeNode("n0").Gpus(4)); }

inline void TwoNodes(World& world) {
  OneNode(world);
  world.Add(MakeNode("n1").Gpus(4));
}

// A pod of its own that names a queue.
inline void Asks(World& world, const std::string& name, const std::string& queue, int gpus,
                 int32_t priority = 0) {
  cluster::Pod pod = MakePod(name).Gpus(gpus).Priority(priority).Gated();
  pod.asked_queue = queue;
  world.Add(pod);
}

inline void TwoGpusOfA(World& world) {
  Asks(world, "p", "a", 2);
  world.Settle();
}

inline void OneGpuOfB(World& world) {
  Asks(world, "p", "b", 1);
  world.Settle();
}

// More than there is room for.
inline void ManyOfAAndB(World& world) {
  for (const char* queue : {"a", "b"}) {
    for (int i = 0; i < 4; ++i) Asks(world, queue + std::to_string(i), queue, 1);
  }
  world.Settle();
}

// Four of each of two namespaces want the same four GPUs.
inline void TwoNamespacesOfA(World& world) {
  for (const char* ns : {"one", "two"}) {
    for (int i = 0; i < 4; ++i) {
      cluster::Pod pod = MakePod(ns + std::to_string(i)).Namespace(ns).Gpus(1).Gated();
      pod.asked_queue = "a";
      world.Add(pod);
    }
  }
  world.Settle();
}

// The same after a gang of queue a has run on all of the node.
inline void ManyAfterAUsedMore(World& world) {
  Asks(world, "used", "a", 4);
  world.Settle();
  world.Bind("used");
  world.Pass(cluster::Seconds(7200));
  world.RemovePod("used");
  ManyOfAAndB(world);
}

// A gang of queue a runs on all of the node.
inline void ABorrows(World& world) {
  OneNode(world);
  Asks(world, "borrower", "a", 4);
  world.Settle();
  world.Bind("borrower");
  world.Pass(cluster::Seconds(10));
}

// Two gangs of queue a run on half of the node each, and a budget does not let them go.
inline void ABorrowsWithABudget(World& world) {
  OneNode(world);
  for (const char* name : {"one", "two"}) {
    Asks(world, name, "a", 2);
    world.Settle();
    world.Bind(name);
    world.Change(name, [&](cluster::Pod& pod) {
      pod.phase = cluster::PodPhase::kRunning;
      pod.running_since = world.now();
    });
  }
  world.Pass(cluster::Seconds(10));
  cluster::DisruptionBudget budget;
  budget.uid = cluster::DisruptionBudgetUid("budget");
  budget.key = {world.Pod("one").key.ns, "budget"};
  budget.selector.emplace();  // every pod of the namespace
  world.engine().Apply(budget, world.now());
}

// A gang whose pods say how long they run, and whether they have checkpoints.
inline void AsksFor(World& world, const std::string& name, const std::string& queue, int gpus,
                    int64_t seconds, bool checkpoints = false, int32_t priority = 0) {
  cluster::Pod pod = MakePod(name).Gpus(gpus).Priority(priority).Gated();
  pod.asked_queue = queue;
  pod.run_times = std::make_shared<const cluster::RunTimes>(
      cluster::RunTimes{.declared = cluster::Seconds(seconds), .checkpoints = checkpoints});
  world.Add(pod);
}

// A gang holds three of four GPUs for 1,000 s. One wants all of them, and then one comes that would
// run on the one that is free for ever.
inline void LongRuns(World& world) {
  OneNode(world);
  AsksFor(world, "runs", "a", 3, 1'000, false, 5);
  world.Settle();
  world.Bind("runs");
  world.Pass(cluster::Seconds(10));
}

// `checkpoints`: of the small one, which a big one of priority 1 may evict.
inline void BigThenSmall(World& world, int32_t priority, bool checkpoints) {
  AsksFor(world, "big", "a", 4, 100, false, priority);
  world.Settle();
  world.Pass(cluster::Seconds(400));
  AsksFor(world, "small", "a", 1, 100'000, checkpoints);
  world.Settle();
  world.Pass(cluster::Seconds(20));
}

// Half of the node is free until the gang ends.
inline void HalfRuns(World& world) {
  OneNode(world);
  AsksFor(world, "runs", "a", 2, 1'000, false, 5);
  world.Settle();
  world.Bind("runs");
  world.Pass(cluster::Seconds(10));
}

// Two that would end before the big one starts.
inline void BigThenTwo(World& world) {
  AsksFor(world, "big", "a", 4, 100);
  world.Settle();
  world.Pass(cluster::Seconds(400));
  for (const char* name : {"one", "two"}) AsksFor(world, name, "a", 1, 100);
  world.Settle();
}

// A gang of queue a with a PodGroup runs on all of the node.
inline void GangOfABorrows(World& world) {
  OneNode(world);
  cluster::PodGroup group = MakePodGroup("g").MinMember(4);
  group.queue = "a";
  world.Add(group);
  for (int i = 0; i < 4; ++i)
    world.Add(MakePod("g-" + std::to_string(i)).Gpus(1).InGroup("g").Gated());
  world.Settle();
  world.ScheduleAll("g");
  world.Pass(cluster::Seconds(10));
}

// Its pods go for a gang of queue b, which ends; others take their place.
inline void GangOfAIsEvicted(World& world) {
  Asks(world, "b0", "b", 4);
  world.Settle();
  for (int i = 0; i < 4; ++i) {
    const std::string name = "g-" + std::to_string(i);
    world.RemovePod(name);
    world.Add(MakePod(name).Uid(name + "-again").Gpus(1).InGroup("g").Gated());
  }
  world.Settle();
  world.RemovePod("b0");
  world.Settle();
}

// A gang of queue b has the one that borrows evicted, and dies at once; another one wants the room.
inline void GangOfBDiesEarly(World& world) {
  cluster::PodGroup group = MakePodGroup("g").MinMember(2);
  group.queue = "b";
  world.Add(group);
  for (const char* name : {"g-0", "g-1"}) world.Add(MakePod(name).Gpus(2).InGroup("g").Gated());
  world.Settle();
  world.RemovePod("borrower");
  world.ScheduleAll("g");
  world.Pass(cluster::Seconds(10));
  for (const char* name : {"g-0", "g-1"}) world.RemovePod(name);
  world.Settle();
  Asks(world, "other", "a", 4);
  world.Settle();
}

inline void BigAndSmall(World& world) { BigThenSmall(world, 0, false); }

// Likewise, where nobody knows when the first one ends.
inline void UnknownRuns(World& world) {
  OneNode(world);
  Asks(world, "runs", "a", 3, 5);
  world.Settle();
  world.Bind("runs");
  world.Pass(cluster::Seconds(10));
}

inline void Wants(World& world, const std::string& queue, int32_t priority, int gpus = 4) {
  Asks(world, "claimant", queue, gpus, priority);
  world.Settle();
  world.Pass(cluster::Seconds(20));
}

}  // namespace muster::testing
