// QueueWorld: a Harness with queues and one node, whose gangs the test starts and lets go, for
// tests of who is evicted for whom.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/engine/harness.hpp"

namespace muster::testing {

inline queues::QueueSpec Queue(const std::string& name, int64_t guarantee,
                               const std::string& parent = "") {
  queues::QueueSpec queue{.name = name, .parent = parent};
  queue.guarantee.Set({queues::Resource::Kind::kGpu}, queues::Amount(guarantee * 1000));
  return queue;
}

// Queue x, guaranteed eight GPUs: a gang of it that runs for less than ten minutes ends early.
inline queues::QueueSpec Claimant() {
  queues::QueueSpec x = Queue("x", 8);
  x.preemption.min_runtime_preempt = 600'000;
  return x;
}

// One node of eight GPUs, and gangs of single pods or of pods of one GPU each.
struct QueueWorld : Harness {
  explicit QueueWorld(std::vector<queues::QueueSpec> queues, int gpus = 8)
      : Harness(OptionsOf(queues)) {
    Add(MakeNode("n0").Gpus(gpus).Build());
  }
  static engine::Options OptionsOf(std::vector<queues::QueueSpec> queues) {
    engine::Options options;
    options.queues = std::move(queues);
    return options;
  }
  using Harness::Add;
  void Submit(const std::string& name, const std::string& queue, int gpus, int32_t priority = 0) {
    cluster::Pod pod =
        MakePod(name).Gpus(gpus).Priority(priority).CreatedAt(now().milliseconds()).Gated().Build();
    pod.asked_queue = queue;
    Add(pod);
    Settle();
  }
  void Start(const std::string& name, const std::string& queue, int gpus, int32_t priority = 0) {
    Submit(name, queue, gpus, priority);
    Bind(name);
    Settle();
    REQUIRE(Gang(name).state == engine::GangState::kRunning);
    Pass(cluster::Seconds(1));
  }
  void SubmitGang(const std::string& name, const std::string& queue, int count, int min) {
    cluster::PodGroup group = MakePodGroup(name).MinMember(min).Build();
    group.queue = queue;
    Add(group);
    for (int i = 0; i < count; ++i) {
      Add(MakePod(name + "-" + std::to_string(i))
              .Gpus(1)
              .CreatedAt(now().milliseconds() + i)
              .InGroup(name)
              .Gated()
              .Build());
    }
    Settle();
  }
  // Pods that are to go, in order of their names.
  std::string Evicted() const {
    std::vector<std::string> pods;
    for (const engine::Action& action : log) {
      if (const auto* evict = std::get_if<engine::EvictPod>(&action))
        pods.push_back(evict->pod.key.name);
    }
    std::sort(pods.begin(), pods.end());
    std::string text;
    for (const std::string& pod : pods) text += (text.empty() ? "" : " ") + pod;
    return text;
  }
  std::string Told(const std::string& reason) const {
    for (const engine::Action& action : log) {
      const auto* event = std::get_if<engine::EmitEvent>(&action);
      if (event != nullptr && event->reason == reason) return event->message;
    }
    return "";
  }
  bool IsSound() { return engine().Audit(now()).empty(); }
  // Restart windows that ended so.
  int64_t Windows(engine::WindowEnd how) {
    return engine().Count().restart_windows[static_cast<size_t>(how)];
  }
  void Leave(const std::string& pods) {
    std::string name;
    for (const char c : pods + " ") {
      if (c != ' ') {
        name += c;
        continue;
      }
      RemovePod(name);
      name.clear();
    }
    Settle();
    CHECK(engine().Audit(now()).empty());
  }
};

}  // namespace muster::testing
