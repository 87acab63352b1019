// EngineThread: drives an engine::Scheduler as extender::EngineLoop does, resting between rounds
// like it, without its metrics and log. Any thread may tell it something; actions are performed by
// its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "engine/scheduler.hpp"

namespace muster::bench {

class EngineThread {
 public:
  using Clock = std::chrono::steady_clock;

  EngineThread(engine::Scheduler& scheduler, std::function<cluster::Time()> now,
               std::function<void(const std::vector<engine::Action>&)> perform)
      : scheduler_(scheduler), now_(std::move(now)), perform_(std::move(perform)) {}
  ~EngineThread() { Stop(); }
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  void Start() {
    thread_ = std::thread([this] { Run(); });
  }
  void Stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  void Apply(const engine::Fact& fact) {
    scheduler_.Apply(fact, now_());
    poked_ = true;
  }
  void Report(const engine::Outcome& outcome) {
    scheduler_.Report(outcome, now_());
    poked_ = true;
  }
  void Poke() { poked_ = true; }
  // Nothing was told that it has not seen to.
  bool idle() const { return !poked_ && !busy_; }

 private:
  void Run() {
    constexpr std::chrono::milliseconds kLongest{5};
    while (!stopping_) {
      busy_ = true;
      if (!poked_.exchange(false) && scheduler_.NextWake() > now_()) {
        busy_ = false;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        continue;
      }
      const auto begin = Clock::now();
      const engine::Progress progress = scheduler_.Advance(now_());
      if (!progress.actions.empty()) perform_(progress.actions);
      std::this_thread::sleep_for(
          std::min<std::chrono::nanoseconds>(3 * (Clock::now() - begin), kLongest));
    }
  }

  engine::Scheduler& scheduler_;
  const std::function<cluster::Time()> now_;
  const std::function<void(const std::vector<engine::Action>&)> perform_;
  std::atomic<bool> poked_{true};
  std::atomic<bool> busy_{false};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace muster::bench
