#include "extender/engine_loop.hpp"

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace muster::extender {
namespace {

using cluster::MutexLock;
using cluster::Time;

// The clock of NextWake is asked again at least this often.
constexpr int64_t kLongestSleepMs = 1000;

// The id by which the action's outcome will be reported; 0: none will.
uint64_t AwaitedId(const engine::Action& action) {
  return std::visit(
      [](const auto& one) -> uint64_t {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, engine::PatchGang> ||
                      std::is_same_v<T, engine::EmitEvent> ||
                      std::is_same_v<T, engine::AnswerBind>) {
          return 0;
        } else {
          return one.id.value;
        }
      },
      action);
}

}  // namespace

void EngineLoop::Start() {
  thread_ = std::thread([this] { Run(); });
}

void EngineLoop::Stop() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void EngineLoop::Poke() {
  const MutexLock lock(mu_);
  if (poked_) return;
  poked_ = true;
  wake_.NotifyAll();
}

void EngineLoop::Apply(std::span<const engine::Fact> facts) {
  parts_.scheduler.Apply(facts, parts_.now());
  Poke();
}

void EngineLoop::Report(const engine::Outcome& outcome) {
  std::size_t kind = std::variant_size_v<engine::Action>;
  {
    const MutexLock lock(mu_);
    const auto found = awaited_.find(outcome.id.value);
    if (found != awaited_.end()) {
      kind = found->second;
      awaited_.erase(found);
    }
  }
  parts_.metrics.ActionEnded(kind, outcome.kind);
  if (outcome.kind != engine::OutcomeKind::kDone && parts_.log.Wants(LogLevel::kDebug)) {
    parts_.log.Debug("write not done",
                     {{"kind", ActionKindName(kind)}, {"message", outcome.message}});
  }
  parts_.scheduler.Report(outcome, parts_.now());
  Poke();
}

void EngineLoop::Run() {
  while (true) {
    const Time due = parts_.scheduler.NextWake();
    {
      const MutexLock lock(mu_);
      while (!poked_ && !stopping_) {
        const int64_t left = due == Time::Never() ? kLongestSleepMs : (due - parts_.now()).value();
        if (left <= 0) break;
        wake_.WaitFor(mu_, std::chrono::milliseconds(std::min(left, kLongestSleepMs)));
      }
      if (stopping_) return;
      poked_ = false;
    }
    const auto begin = std::chrono::steady_clock::now();
    Round();
    Rest(std::chrono::steady_clock::now() - begin);
  }
}

// A round costs a wake-up, and time that grows with the size of the touched gangs, however few
// facts came: all facts that come while the loop rests cost one more round, not many.
void EngineLoop::Rest(std::chrono::nanoseconds round) {
  constexpr std::chrono::nanoseconds kShortest = std::chrono::milliseconds(2);
  constexpr std::chrono::nanoseconds kLongest = std::chrono::milliseconds(5);
  std::this_thread::sleep_for(std::clamp(3 * round, kShortest, kLongest));
}

void EngineLoop::Round() {
  const auto begin = std::chrono::steady_clock::now();
  const engine::Progress progress = parts_.scheduler.Advance(parts_.now());
  parts_.metrics.Planned(progress.gangs_tried, progress.gangs_planned,
                         std::chrono::steady_clock::now() - begin);
  for (const engine::GangStarted& started : progress.started) {
    parts_.metrics.GangStarted(started);
    parts_.log.Info("gang started", {{"gang", started.gang.key.ToString()},
                                     {"waited_ms", std::to_string(started.waited.value())}});
  }
  for (const engine::GangWaits& waits : progress.waits) {
    parts_.log.Info("gang waits", {{"gang", waits.gang.key.ToString()},
                                   {"state", ToString(waits.state)},
                                   {"reason", ToString(waits.code)},
                                   {"message", waits.message}});
  }
  HandOut(progress);
}

void EngineLoop::HandOut(const engine::Progress& progress) {
  if (progress.actions.empty()) return;
  {
    const MutexLock lock(mu_);
    for (const engine::Action& action : progress.actions) {
      if (const uint64_t id = AwaitedId(action); id != 0) awaited_.emplace(id, action.index());
    }
  }
  std::vector<engine::Action> writes;
  for (const engine::Action& action : progress.actions) {
    parts_.metrics.ActionSent(action.index());
    if (const auto* answer = std::get_if<engine::AnswerBind>(&action)) {
      parts_.answer(*answer);
    } else {
      writes.push_back(action);
    }
  }
  if (!writes.empty()) parts_.port.Perform(writes);
}

}  // namespace muster::extender
