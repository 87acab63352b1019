// MusterLink: runs an engine::Scheduler in the simulated cluster: watch events become facts,
// actions become writes, outcomes go back, and Advance is called whenever something happened or
// NextWake has come. What kube/ and the main loop of `serve` do for a real cluster.
//
// Owned by sim::Cluster, driven by its loop. The Scheduler itself may be called from other threads,
// which then make the loop's thread call Kick().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/contract/facts.hpp"
#include "engine/contract/options.hpp"
#include "engine/scheduler.hpp"
#include "sim/api_server/api_server.hpp"
#include "sim/api_server/event_loop.hpp"
#include "sim/api_server/informer.hpp"
#include "sim/api_server/watch.hpp"
#include "sim/calls/api_actions.hpp"

namespace muster::sim {

// What a watch event of a node, pod, PodGroup or ProvisioningRequest tells.
engine::Fact FactOf(const WatchEvent& event);

// Nobody reads for how long a gang waits: no renewed Events, which would keep a loop from being
// idle.
engine::Rules SilentRules();

struct MusterLinkOptions {
  engine::Options engine{};
  engine::Rules rules = SilentRules();
  WatchFaults watch{};
  WriteFaults writes{};
  uint64_t seed = 1;
  // Makes the reader of a process, which makes facts out of the events of all kinds. Null: FactOf,
  // and Jobs and other kinds tell nothing.
  using Reader = std::function<std::vector<engine::Fact>(const WatchEvent&)>;
  std::function<Reader()> make_reader = nullptr;
  // What happens between a plan and its commit (Scheduler::Advance). Null: nothing.
  std::function<void()> meanwhile = nullptr;
};

struct MusterLinkStats {
  int64_t restarts = 0;
  int64_t advances = 0;
  int64_t gangs_tried = 0;
  int64_t gangs_planned = 0;
  int64_t gangs_started = 0;
};

class MusterLink {
 public:
  using AnswerBind = std::function<void(const engine::AnswerBind&)>;
  using Started = std::function<void(const engine::GangStarted&)>;
  using Restarted = std::function<void()>;

  MusterLink(EventLoop& loop, ApiServer& api, MusterLinkOptions options);
  ~MusterLink();
  MusterLink(const MusterLink&) = delete;
  MusterLink& operator=(const MusterLink&) = delete;

  // Another object after every Restart.
  engine::Scheduler& scheduler();
  // The engine was told something beside the watch (Filter, Bind): Advance follows in the loop, at
  // the present time.
  void Kick();
  // The process dies and a new one starts: the engine is rebuilt from API objects alone. Writes
  // that were on their way happen now or never (see ApiActions::Disown); nobody hears of them.
  void Restart();
  // Held from the next cycle on, and over restarts.
  void SetOptions(engine::Options options);
  void SetFaults(WriteFaults faults);
  const WriteFaults& faults() const;

  // Replies to held Bind calls, as they come out of Advance.
  void OnAnswerBind(AnswerBind callback);
  void OnStarted(Started callback);
  // Called when the old engine is gone and before the new one learns anything: open calls fail.
  void OnRestart(Restarted callback);

  const MusterLinkStats& stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::sim
