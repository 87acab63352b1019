// What the tests of sim/ share: records made with the builders, and a kube-scheduler without
// anything else around it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/api_server/api_server.hpp"
#include "sim/api_server/event_loop.hpp"
#include "sim/schedulers/kube_scheduler.hpp"
#include "sim/world/cluster.hpp"
#include "tests/support/builders.hpp"

namespace muster::sim::testing {

using cluster::ObjectKey;
using cluster::Seconds;
using cluster::Time;
using muster::testing::MakeNode;
using muster::testing::MakePod;
using muster::testing::MakePodGroup;

inline ObjectKey Key(const std::string& name) { return {"default", name}; }
inline Time At(int64_t seconds) { return Time() + Seconds(seconds); }

// Creates and requires that it works.
PodPtr Create(ApiServer& api, const cluster::Pod& pod,
              std::optional<cluster::Duration> runs_for = {});
void Create(ApiServer& api, const cluster::Node& node);
void Create(ApiServer& api, const cluster::PodGroup& group);

// The node of a pod; empty: not bound, "?": no such pod.
std::string NodeOf(const ApiServer& api, const std::string& pod);
// How many pods whose names begin with `prefix` are bound.
int64_t BoundPods(const ApiServer& api, const std::string& prefix = "");

// A gang `name` of `members` pods <name>-0 … with `gpus` GPUs each. The PodGroup and its pods are
// not created yet.
struct GangSpec {
  std::string name;
  int64_t members = 1;
  int32_t gpus = 1;
  std::optional<cluster::Duration> runs_for;
  int32_t priority = 0;

  cluster::PodGroup Group() const;
  cluster::Pod Pod(int64_t index) const;
  void CreateAll(ApiServer& api) const;
};

// An extender whose answers the test gives; by default everything passes and Bind writes the
// Binding.
class ScriptedExtender final : public ExtenderPort {
 public:
  explicit ScriptedExtender(EventLoop& loop, ApiServer& api);

  FilterReply Filter(const engine::NodesQuestion& question) override;
  PrioritizeReply Prioritize(const engine::NodesQuestion& question) override;
  void Bind(const engine::BindCall& call, BindDone done) override;

  std::function<FilterReply(const engine::NodesQuestion&)> on_filter;
  std::function<PrioritizeReply(const engine::NodesQuestion&)> on_prioritize;
  // Returns the error; nothing: the call is never answered.
  std::function<std::optional<std::string>(const engine::BindCall&)> on_bind;

  std::vector<std::vector<std::string>> filter_nodes;  // of every Filter call
  std::vector<std::string> filter_pods;
  std::vector<std::string> bind_pods;
  std::vector<BindDone> unanswered;

 private:
  EventLoop& loop_;
  ApiServer& api_;
};

FilterReply PassAll(const engine::NodesQuestion& question);
FilterReply PassOnly(const engine::NodesQuestion& question, const std::string& node);

// An API server and a kube-scheduler, with or without an extender.
struct SchedulerBench {
  explicit SchedulerBench(bool with_extender, KubeSchedulerOptions options = {});

  EventLoop loop;
  ApiServer api;
  ScriptedExtender extender;
  KubeScheduler scheduler;
};

}  // namespace muster::sim::testing
