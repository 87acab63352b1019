// Metrics: everything that /metrics shows, in Prometheus' text form.
//
// Counters and histograms are fed as things happen; what the engine knows by itself (gangs by
// state, reasons, reservations) is read when somebody asks. Labels are closed sets: verbs, states,
// reason codes, kinds; never a namespace, a gang or a node. Owned by main; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "cluster/base/units.hpp"
#include "engine/contract/actions.hpp"
#include "engine/scheduler.hpp"
#include "http/server/server.hpp"

namespace muster::extender {

enum class ExtenderVerb { kFilter, kPrioritize, kPreempt, kBind };
inline constexpr int kExtenderVerbs = 4;
const char* ToString(ExtenderVerb verb);

//   kOk       Filter passed a node, Bind bound, Prioritize and Preempt answered
//   kRefused  Filter passed none, Bind ended with an error for this pod
//   kError    malformed, not synced, too many calls
enum class VerbResult { kOk, kRefused, kError };
inline constexpr int kVerbResults = 3;

// One per alternative of engine::Action, in its order.
inline constexpr int kActionKinds = 13;
const char* ActionKindName(std::size_t kind);

class Metrics {
 public:
  explicit Metrics(const std::string& version);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  void Called(ExtenderVerb verb, VerbResult result, std::chrono::nanoseconds took);
  void GangStarted(const engine::GangStarted& started);
  // One Advance in which `tried` plans were attempted.
  void Planned(int64_t tried, int64_t planned, std::chrono::nanoseconds took);
  // `kind` is an index into engine::Action.
  void ActionSent(std::size_t kind);
  void ActionEnded(std::size_t kind, engine::OutcomeKind outcome);
  void PolicyReloaded(bool ok);
  // An order of an operator, by its kind; `ok`: it was carried out.
  void Ordered(const engine::Order& order, bool ok);
  // So many hold now, see topology::Fabric::findings.
  void FabricFindings(std::int64_t count);

  // The whole page.
  std::string Text(const engine::Counts& counts, const http::ServerStats& extender_server) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::extender
