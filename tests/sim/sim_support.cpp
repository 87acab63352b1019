#include "sim_support.hpp"

#include <catch2/catch.hpp>

namespace muster::sim::testing {

PodPtr Create(ApiServer& api, const cluster::Pod& pod, std::optional<cluster::Duration> runs_for) {
  PodRecord record;
  record.pod = pod;
  record.runs_for = runs_for;
  const auto made = api.CreatePod(Actor::kUser, std::move(record));
  REQUIRE(made.ok());
  return *made;
}
void Create(ApiServer& api, const cluster::Node& node) {
  REQUIRE(api.CreateNode(Actor::kUser, node).ok());
}
void Create(ApiServer& api, const cluster::PodGroup& group) {
  REQUIRE(api.CreatePodGroup(Actor::kUser, group).ok());
}

std::string NodeOf(const ApiServer& api, const std::string& pod) {
  const PodPtr record = api.FindPod(Key(pod));
  return record == nullptr ? "?" : record->pod.node_name;
}

int64_t BoundPods(const ApiServer& api, const std::string& prefix) {
  int64_t bound = 0;
  for (const PodPtr& pod : api.Pods()) {
    if (pod->pod.bound() && pod->pod.key.name.starts_with(prefix)) ++bound;
  }
  return bound;
}

cluster::PodGroup GangSpec::Group() const { return MakePodGroup(name).MinMember(members); }

cluster::Pod GangSpec::Pod(int64_t index) const {
  return MakePod(name + "-" + std::to_string(index))
      .Gpus(gpus)
      .InGroup(name)
      .Priority(priority)
      .Scheduler("muster");
}

void GangSpec::CreateAll(ApiServer& api) const {
  Create(api, Group());
  for (int64_t i = 0; i < members; ++i) Create(api, Pod(i), runs_for);
}

ScriptedExtender::ScriptedExtender(EventLoop& loop, ApiServer& api) : loop_(loop), api_(api) {}

FilterReply ScriptedExtender::Filter(const engine::NodesQuestion& question) {
  filter_nodes.push_back(question.nodes);
  filter_pods.push_back(question.pod.key.name);
  return on_filter ? on_filter(question) : PassAll(question);
}

PrioritizeReply ScriptedExtender::Prioritize(const engine::NodesQuestion& question) {
  return on_prioritize ? on_prioritize(question) : PrioritizeReply{};
}

void ScriptedExtender::Bind(const engine::BindCall& call, BindDone done) {
  bind_pods.push_back(call.pod.name);
  std::optional<std::string> error = "";
  if (on_bind) {
    error = on_bind(call);
  } else {
    const auto status = api_.BindPod(Actor::kMuster, {{call.pod, call.uid}, call.node, {}});
    if (!status.ok()) error = status.error().message;
  }
  if (error) {
    loop_.Post([done = std::move(done), text = *error] { done(text); });
  } else {
    unanswered.push_back(std::move(done));
  }
}

FilterReply PassAll(const engine::NodesQuestion& question) {
  FilterReply reply;
  reply.passed = question.nodes;
  return reply;
}

FilterReply PassOnly(const engine::NodesQuestion& question, const std::string& node) {
  FilterReply reply;
  for (const std::string& name : question.nodes) {
    if (name == node) {
      reply.passed.push_back(name);
    } else {
      ++reply.refused["planned elsewhere"];
    }
  }
  return reply;
}

SchedulerBench::SchedulerBench(bool with_extender, KubeSchedulerOptions options)
    : api(loop, ApiServerOptions{.gating = Gating::kNone}),
      extender(loop, api),
      scheduler(loop, api, with_extender ? &extender : nullptr, std::move(options)) {}

}  // namespace muster::sim::testing
