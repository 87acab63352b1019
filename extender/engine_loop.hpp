// EngineLoop: the thread that drives an engine::Scheduler against a cluster in real time.
//
//   facts, outcomes, extender calls ──▶ Scheduler ──Poke──▶ [ Advance ] ──actions──▶ ActionPort
//                                                               └──AnswerBind──▶ open Bind calls
//
// Advance runs when something has come, or when NextWake is due; never twice at a time. After
// each run the loop rests, three times as long as the run took, 2 ms at least and 5 ms at most:
// what comes at a quiet time is seen at once, a burst costs few wake-ups. Nothing is locked while
// actions are handed out. Owned by serve; every method from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <span>
#include <thread>
#include <unordered_map>

#include "cluster/base/mutex.hpp"
#include "cluster/base/units.hpp"
#include "engine/contract/ports.hpp"
#include "engine/scheduler.hpp"
#include "extender/telemetry/log.hpp"
#include "extender/telemetry/metrics.hpp"

namespace muster::extender {

class EngineLoop {
 public:
  struct Parts {
    engine::Scheduler& scheduler;
    engine::ActionPort& port;                               // called from the loop's thread only
    std::function<void(const engine::AnswerBind&)> answer;  // called from the loop's thread only
    std::function<cluster::Time()> now;                     // never goes back
    Metrics& metrics;
    const Logger& log;
  };

  explicit EngineLoop(Parts parts) : parts_(std::move(parts)) {}
  ~EngineLoop() { Stop(); }
  EngineLoop(const EngineLoop&) = delete;
  EngineLoop& operator=(const EngineLoop&) = delete;

  void Start();
  // Returns when the thread has ended; what it has handed out so far stays valid. Idempotent.
  void Stop();

  // Something was told to the scheduler directly.
  void Poke();
  // As Scheduler::Apply.
  void Apply(std::span<const engine::Fact> facts);
  void Apply(const engine::Fact& fact) { Apply(std::span(&fact, 1)); }
  // Counts the outcome and tells the scheduler.
  void Report(const engine::Outcome& outcome);

 private:
  void Run();
  void Round();
  static void Rest(std::chrono::nanoseconds round);
  void HandOut(const engine::Progress& progress);

  const Parts parts_;
  std::thread thread_;

  cluster::Mutex mu_;
  cluster::CondVar wake_;
  bool poked_ MUSTER_GUARDED_BY(mu_) = true;
  bool stopping_ MUSTER_GUARDED_BY(mu_) = false;
  // Kinds (index into engine::Action) of the actions whose outcome is awaited. Looked up, never
  // iterated.
  std::unordered_map<uint64_t, std::size_t> awaited_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::extender
