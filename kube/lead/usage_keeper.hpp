// UsageKeeper: keeps what queues have used (queues::UsageRecord) in a ConfigMap
// (config_map.hpp, usage_text.hpp), so that the next process that leads knows it.
//
//   Begin ──read──▶ adopt      Step ──every kEvery, if it changed──▶ written ◀── Finish
//     └── it cannot be read: Step tries again every kRetry, and writes nothing before
//
// 1. Where no queue has a half-life when this process begins to lead, nothing is read: such a
//    policy forgets. Nothing is written as long as there is nothing to say.
// 2. A failure to read or write is reported once, and again only when it changes.
//
// Owned by ApiCluster. One thread at a time: Begin, then Step, then Finish.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "cluster/base/ids.hpp"
#include "cluster/base/result.hpp"
#include "cluster/base/units.hpp"
#include "kube/api/api_caller.hpp"
#include "kube/api/config_map.hpp"
#include "kube/api/step_thread.hpp"
#include "queues/usage_record.hpp"

namespace muster::kube {

class UsageKeeper {
 public:
  static constexpr cluster::Duration kFirst = cluster::Seconds(60);
  static constexpr cluster::Duration kEvery = cluster::Seconds(300);
  static constexpr cluster::Duration kRetry = cluster::Seconds(30);

  struct Ports {
    ApiCaller& api;
    std::function<bool()> may_write;
    std::function<cluster::Time()> now;  // the engine's
    // What is known now; nothing: no queue has a half-life.
    std::function<std::optional<queues::UsageRecord>()> used;
    std::function<void(const queues::UsageRecord&)> adopt;
    std::function<void(const std::string&)> warn;
  };

  UsageKeeper(Ports ports, const cluster::ObjectKey& config_map);

  // Before this process decides anything.
  void Begin(cluster::Time steady);
  // A step of a StepThread.
  cluster::Time Step(const Clocks& now);
  // The last write, when nothing is decided any more.
  void Finish();

 private:
  cluster::Status Check(std::string_view text) const;
  bool Read();
  bool Write();
  bool Told(const cluster::Status& status);

  const Ports ports_;
  ConfigMapText text_;
  bool adopted_ = false;  // what was kept; before, nothing is written
  queues::UsageRecord kept_;
  std::string told_;  // of what went wrong
  size_t left_out_ = 0;
  cluster::Time due_;  // steady
};

}  // namespace muster::kube
