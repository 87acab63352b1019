// What bookings cost in a full cluster: hidden, for people.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "engine/scheduler.hpp"
#include "tests/support/builders.hpp"

namespace muster::engine {
namespace {

using cluster::Seconds;
using cluster::Time;
using testing::MakeNode;
using testing::MakePod;

constexpr int kNodes = 5'000;
constexpr int kPending = 5'000;
constexpr int kQueues = 200;

struct FullCluster {
  explicit FullCluster(int64_t depth) : engine(MakeOptions(depth)) {
    for (int i = 0; i < kNodes; ++i)
      engine.Apply(MakeNode("n" + std::to_string(i)).Gpus(8).Build(), now);
    for (int i = 0; i < kNodes; ++i)
      Run("r" + std::to_string(i), "n" + std::to_string(i), 7'200 + i);
    for (int i = 0; i < kPending; ++i) Ask("p" + std::to_string(i), i % kQueues);
    Advance();
  }
  static Options MakeOptions(int64_t depth) {
    Options options;
    options.queues = {{.name = "root", .bookings = {.depth = depth}}};
    for (int i = 0; i < kQueues; ++i) options.queues.push_back({.name = "q" + std::to_string(i)});
    return options;
  }
  void Run(const std::string& name, const std::string& node, int64_t seconds) {
    cluster::Pod pod = MakePod(name)
                           .Gpus(8)
                           .BoundTo(node, {0, 1, 2, 3, 4, 5, 6, 7})
                           .Phase(cluster::PodPhase::kRunning);
    pod.bound_at = now;
    pod.asked_queue = "q0";
    pod.run_times =
        std::make_shared<const cluster::RunTimes>(cluster::RunTimes{.declared = Seconds(seconds)});
    engine.Apply(pod, now);
  }
  void Ask(const std::string& name, int queue) {
    cluster::Pod pod = MakePod(name).Gpus(8).CreatedAt(now.milliseconds()).Gated();
    pod.asked_queue = "q" + std::to_string(queue);
    engine.Apply(pod, now);
  }
  double Advance() {
    const auto begin = std::chrono::steady_clock::now();
    engine.Advance(now);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
  }
  Time now{1'800'000'000'000};
  Scheduler engine;
};

void Tell(const std::string& what, int64_t depth, std::vector<double> took) {
  std::sort(took.begin(), took.end());
  WARN(what << ", depth " << depth << ", ms: median " << took[took.size() / 2] << ", most "
            << took.back());
}

TEST_CASE("a full cluster of 5,000 nodes, 5,000 gangs that wait in 200 queues", "[.bench]") {
  for (const int64_t depth : {0, 1}) {
    FullCluster world(depth);
    world.now = world.now + Seconds(301);
    Tell("the first booking", depth, {world.Advance()});
    std::vector<double> arrivals;
    std::vector<double> ends;
    for (int round = 0; round < 40; ++round) {
      world.now = world.now + Seconds(1);
      world.Ask("late" + std::to_string(round), round);
      arrivals.push_back(world.Advance());
      world.now = world.now + Seconds(11);
      world.engine.Apply(PodRemoved{cluster::PodUid("pod-r" + std::to_string(4'000 + round))},
                         world.now);
      ends.push_back(world.Advance());
    }
    Tell("a gang arrives", depth, arrivals);
    Tell("a gang ends, another one is planned", depth, ends);
  }
}

}  // namespace
}  // namespace muster::engine
