// FullWorld: a Harness in which one gang of low priority holds everything, for tests of preemption.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "tests/engine/harness.hpp"

namespace muster::testing {

inline engine::Options Preempting() {
  engine::Options options;
  options.queues = queues::OneQueue(queues::Order::kFifo, queues::WithinQueue::kLowerPriority);
  return options;
}

// Two nodes of eight GPUs; gang `old` of four, of priority 0, runs on both.
struct FullWorld : Harness {
  explicit FullWorld(engine::Options options = Preempting()) : Harness(options) {
    for (const char* name : {"n0", "n1"}) Add(MakeNode(name).Gpus(8));
    Start("old", 4, 4, 0);
    Pass(cluster::Seconds(10));
    log.clear();
  }
  void Submit(const std::string& group, int count, int gpus, int32_t priority) {
    Harness::Add(MakePodGroup(group).MinMember(count).CreatedAt(now().milliseconds()));
    for (int i = 0; i < count; ++i) {
      PodBuilder pod = MakePod(group + "-" + std::to_string(i));
      Harness::Add(pod.Gpus(gpus).Priority(priority).InGroup(group).Gated());
    }
  }
  void Start(const std::string& group, int count, int gpus, int32_t priority) {
    Submit(group, count, gpus, priority);
    ScheduleAll(group);
    REQUIRE(Gang(group).state == engine::GangState::kRunning);
  }
  std::vector<std::string> Evicted() const {
    std::vector<std::string> pods;
    for (const engine::Action& action : log) {
      if (const auto* evict = std::get_if<engine::EvictPod>(&action))
        pods.push_back(evict->pod.key.name);
    }
    std::sort(pods.begin(), pods.end());
    return pods;
  }
  template <typename A>
  int Count() const {
    return static_cast<int>(std::count_if(log.begin(), log.end(), [](const engine::Action& a) {
      return std::holds_alternative<A>(a);
    }));
  }
};

using Names = std::vector<std::string>;
inline const Names kAllOld{"old-0", "old-1", "old-2", "old-3"};

// Nominations of `who` fail as long as `held` is set.
inline std::function<std::optional<engine::Outcome>(const engine::Action&)> HoldNominations(
    const bool& held, const std::string& who) {
  return [&held, who](const engine::Action& action) -> std::optional<engine::Outcome> {
    const auto* nominate = std::get_if<engine::Nominate>(&action);
    if (!held || nominate == nullptr || nominate->pod.key.name != who) return std::nullopt;
    return engine::Outcome{{}, engine::OutcomeKind::kRetry, "500"};
  };
}

}  // namespace muster::testing
