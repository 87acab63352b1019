// The simulated kube-scheduler alone: in-tree checks, order, nominations, what it asks its
// extender, and what it does with the answers.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "sim_support.hpp"

namespace muster::sim::testing {
namespace {

using Names = std::vector<std::string>;
using cluster::TaintEffect;
using cluster::Toleration;

void Nominate(ApiServer& api, const std::string& pod, const std::string& node) {
  const PodPtr record = api.FindPod(Key(pod));
  REQUIRE(record != nullptr);
  PodStatusPatch patch;
  patch.nominated_node = node;
  REQUIRE(api.PatchPodStatus(Actor::kMuster, {record->pod.key, record->pod.uid}, patch).ok());
}

engine::PodRef RefOf(ApiServer& api, const std::string& pod) {
  const PodPtr record = api.FindPod(Key(pod));
  REQUIRE(record != nullptr);
  return {record->pod.key, record->pod.uid};
}

TEST_CASE("the built-in checks leave the nodes that fit", "[kube-scheduler]") {
  const auto node = [] { return MakeNode("n").Gpus(4).Cpu(8).MemoryGiB(32).PodSlots(2); };
  const auto pod = [] { return MakePod("p"); };
  struct Case {
    std::string what;
    cluster::Node node;
    cluster::Pod pod;
    std::string refusal;  // empty: it fits
  };
  const Toleration cordon_ok{"node.kubernetes.io/unschedulable", Toleration::Op::kExists, "", true,
                             TaintEffect::kNoSchedule};
  const std::vector<Case> cases = {
      {"all it has", node(), pod().Gpus(4).MilliCpu(8000).MemoryMiB(32 * 1024), ""},
      {"a GPU too many", node(), pod().Gpus(5), "Insufficient nvidia.com/gpu"},
      {"a milli-CPU too many", node(), pod().MilliCpu(8001), "Insufficient cpu"},
      {"a MiB too many", node(), pod().MemoryMiB(32 * 1024 + 1), "Insufficient memory"},
      {"shares are not counted as GPUs", node(), pod().GpuShare(500, 8), ""},
      {"a broken GPU", node().Unhealthy(1), pod().Gpus(4), "Insufficient nvidia.com/gpu"},
      {"time slices count each", node().Sharing(cluster::GpuSharing::TimeSliced(), 3),
       pod().Gpus(12), ""},
      {"cordoned", node().Cordoned(), pod(), "node(s) were unschedulable"},
      {"cordoned, tolerated", node().Cordoned(), pod().Tolerate(cordon_ok), ""},
      {"not ready", node().NotReady(), pod(), "node(s) were not ready"},
      {"tainted", node().Taint("k", "v", TaintEffect::kNoSchedule), pod(),
       "node(s) had untolerated taint(s)"},
      {"tainted, tolerated", node().Taint("k", "v", TaintEffect::kNoSchedule),
       pod().Tolerate({"k", Toleration::Op::kEqual, "v", true, TaintEffect::kNoSchedule}), ""},
      {"only preferred not", node().Taint("k", "v", TaintEffect::kPreferNoSchedule), pod(), ""},
      {"label missing", node(), pod().Select("zone", "a"),
       "node(s) didn't match Pod's node affinity/selector"},
      {"label there", node().Label("zone", "a"), pod().Select("zone", "a"), ""},
  };
  for (const Case& test : cases) {
    INFO(test.what);
    SchedulerBench bench(false);
    Create(bench.api, test.node);
    Create(bench.api, test.pod);
    CHECK(bench.loop.RunUntilIdle(At(1)));
    CHECK((NodeOf(bench.api, "p") == "n") == test.refusal.empty());
    if (!test.refusal.empty()) {
      const PodPtr record = bench.api.FindPod(Key("p"));
      CHECK(record->status_reason == "Unschedulable");
      CHECK(record->status_message == "0/1 nodes are available: 1 " + test.refusal + ".");
    }
  }
}

TEST_CASE("what bound and assumed pods hold is not free", "[kube-scheduler]") {
  KubeSchedulerOptions options;
  options.bind_latency =
      Seconds(5);  // so that the first is only assumed when the second is looked at
  SchedulerBench bench(false, options);
  Create(bench.api, MakeNode("n").Gpus(8));
  Create(bench.api, MakePod("elsewhere").Gpus(3).Scheduler("other").BoundTo("n"));
  Create(bench.api, MakePod("first").Gpus(3));
  Create(bench.api, MakePod("second").Gpus(3));
  bench.loop.RunUntil(At(60));
  CHECK(NodeOf(bench.api, "first") == "n");
  CHECK(NodeOf(bench.api, "second").empty());
  // An ended pod frees what it held, and that wakes those who wait.
  PodStatusPatch done;
  done.phase = cluster::PodPhase::kSucceeded;
  REQUIRE(bench.api.PatchPodStatus(Actor::kKubelet, RefOf(bench.api, "elsewhere"), done).ok());
  bench.loop.RunUntil(At(80));
  CHECK(NodeOf(bench.api, "second") == "n");
}

TEST_CASE("a higher priority takes precedence, then the earlier pod", "[kube-scheduler]") {
  SchedulerBench bench(true);
  Create(bench.api, MakeNode("n").Gpus(8));
  Create(bench.api, MakePod("low"));
  Create(bench.api, MakePod("early").Priority(5));
  Create(bench.api, MakePod("late").Priority(5));
  Create(bench.api, MakePod("high").Priority(9));
  bench.loop.RunUntilIdle(At(60));
  CHECK(bench.extender.filter_pods == Names{"high", "early", "late", "low"});
}

TEST_CASE("gated pods and other schedulers' pods are never looked at", "[kube-scheduler]") {
  SchedulerBench bench(true);
  Create(bench.api, MakeNode("n").Gpus(8));
  Create(bench.api, MakePod("gated").Gated());
  Create(bench.api, MakePod("foreign").Scheduler("somebody"));
  bench.loop.RunUntil(At(3600));
  CHECK(bench.extender.filter_pods.empty());
  CHECK(bench.scheduler.gated() == 1);
  CHECK(bench.api.Writes(Actor::kKubeScheduler) == 0);
  REQUIRE(bench.api.RemoveGate(Actor::kMuster, RefOf(bench.api, "gated"), cluster::kGangGate).ok());
  bench.loop.RunUntilIdle(At(7200));
  CHECK(NodeOf(bench.api, "gated") == "n");
}

TEST_CASE("a nominated node is tried alone; all others only when it fails", "[kube-scheduler]") {
  SchedulerBench bench(true);
  for (const char* name : {"a", "b", "c"}) Create(bench.api, MakeNode(name).Gpus(8));
  Create(bench.api, MakePod("p").Gpus(8).Gated());
  Nominate(bench.api, "p", "b");

  SECTION("it passes") {
    REQUIRE(bench.api.RemoveGate(Actor::kMuster, RefOf(bench.api, "p"), cluster::kGangGate).ok());
    bench.loop.RunUntilIdle(At(60));
    CHECK(bench.extender.filter_nodes == std::vector<Names>{{"b"}});
    CHECK(NodeOf(bench.api, "p") == "b");
    CHECK(bench.scheduler.stats().single_node_filters == 1);
  }
  SECTION("the extender refuses it") {
    bench.extender.on_filter = [](const auto& question) { return PassOnly(question, "c"); };
    REQUIRE(bench.api.RemoveGate(Actor::kMuster, RefOf(bench.api, "p"), cluster::kGangGate).ok());
    bench.loop.RunUntilIdle(At(60));
    CHECK(bench.extender.filter_nodes == std::vector<Names>{{"b"}, {"a", "b", "c"}});
    CHECK(NodeOf(bench.api, "p") == "c");
  }
  SECTION("it is full by now") {
    Create(bench.api, MakePod("x").Gpus(1).Scheduler("other").BoundTo("b"));
    REQUIRE(bench.api.RemoveGate(Actor::kMuster, RefOf(bench.api, "p"), cluster::kGangGate).ok());
    bench.loop.RunUntilIdle(At(60));
    CHECK(bench.extender.filter_nodes == std::vector<Names>{{"a", "c"}});
  }
  SECTION("an error of the extender is only logged there") {
    bench.extender.on_filter = [](const auto& question) {
      FilterReply reply = PassOnly(question, "a");
      if (question.nodes.size() == 1) reply.error = "not now";
      return reply;
    };
    REQUIRE(bench.api.RemoveGate(Actor::kMuster, RefOf(bench.api, "p"), cluster::kGangGate).ok());
    bench.loop.RunUntilIdle(At(60));
    CHECK(NodeOf(bench.api, "p") == "a");
  }
}

TEST_CASE("a nomination keeps its room free against equals, also from behind a gate",
          "[kube-scheduler]") {
  const int priority = GENERATE(0, 1, 2);
  SchedulerBench bench(false);
  Create(bench.api, MakeNode("n").Gpus(8));
  Create(bench.api, MakePod("planned").Gpus(8).Priority(1).Gated());
  Nominate(bench.api, "planned", "n");
  Create(bench.api, MakePod("rival").Gpus(1).Priority(priority));
  bench.loop.RunUntil(At(60));
  CHECK((NodeOf(bench.api, "rival") == "n") == (priority > 1));
  if (priority > 1) return;
  // Cleared, the room is free again; a status patch wakes nobody, so the rival waits for the next
  // event.
  Nominate(bench.api, "planned", "");
  Create(bench.api, MakeNode("small"));
  bench.loop.RunUntil(At(120));
  CHECK(NodeOf(bench.api, "rival") == "n");
}

TEST_CASE("two pods nominated to one node both get it", "[kube-scheduler]") {
  SchedulerBench bench(true);
  Create(bench.api, MakeNode("n").Gpus(8));
  for (const char* name : {"a", "b"}) {
    Create(bench.api, MakePod(name).Gpus(4).Gated());
    Nominate(bench.api, name, "n");
  }
  for (const char* name : {"a", "b"}) {
    REQUIRE(bench.api.RemoveGate(Actor::kMuster, RefOf(bench.api, name), cluster::kGangGate).ok());
  }
  bench.loop.RunUntilIdle(At(60));
  CHECK(NodeOf(bench.api, "a") == "n");
  CHECK(NodeOf(bench.api, "b") == "n");
  CHECK(bench.extender.filter_nodes == std::vector<Names>{{"n"}, {"n"}});
}

TEST_CASE("percentageOfNodesToScore limits what the extender is asked", "[kube-scheduler]") {
  struct Case {
    int nodes;
    int percentage;
    size_t asked;
  };
  const Case test = GENERATE(Case{99, 0, 99}, Case{1000, 0, 420}, Case{1000, 100, 1000},
                             Case{1000, 20, 200}, Case{1000, 1, 100}, Case{150, 0, 100});
  KubeSchedulerOptions options;
  options.percentage_of_nodes_to_score = test.percentage;
  SchedulerBench bench(true, options);
  for (int i = 0; i < test.nodes; ++i) Create(bench.api, MakeNode("n" + std::to_string(i)).Gpus(1));
  Create(bench.api, MakePod("a"));
  Create(bench.api, MakePod("b"));
  bench.loop.RunUntilIdle(At(60));
  REQUIRE(bench.extender.filter_nodes.size() == 2);
  CHECK(bench.extender.filter_nodes[0].size() == test.asked);
  CHECK(bench.extender.filter_nodes[1].size() == test.asked);
  // The second search starts where the first one ended.
  const size_t start = test.asked % static_cast<size_t>(test.nodes);
  CHECK(bench.extender.filter_nodes[1].front() == "n" + std::to_string(start));
}

TEST_CASE("scores of the extender count ten times its weight", "[kube-scheduler]") {
  KubeSchedulerOptions options;
  options.extender_weight = GENERATE(1, 100);
  SchedulerBench bench(true, options);
  Create(bench.api, MakeNode("idle").Gpus(8));
  Create(bench.api, MakeNode("busy").Gpus(8));
  Create(bench.api, MakePod("x").MilliCpu(60'000).Scheduler("other").BoundTo("busy"));
  bench.extender.on_prioritize = [](const auto&) { return PrioritizeReply{{{"busy", 1}}, ""}; };
  Create(bench.api, MakePod("p"));
  bench.loop.RunUntilIdle(At(60));
  CHECK(bench.scheduler.stats().prioritize_calls == 1);
  // LeastAllocated puts "idle" some 47 points ahead: more than 10 × 1, less than 10 × 100.
  CHECK(NodeOf(bench.api, "p") == (options.extender_weight == 1 ? "idle" : "busy"));
}

TEST_CASE("one node left needs no scores; a failing Prioritize is ignored", "[kube-scheduler]") {
  SchedulerBench bench(true);
  Create(bench.api, MakeNode("a").Gpus(8));
  Create(bench.api, MakeNode("b").Gpus(8));
  const bool narrow = GENERATE(false, true);
  bench.extender.on_filter = [narrow](const auto& question) {
    return narrow ? PassOnly(question, "b") : PassAll(question);
  };
  bench.extender.on_prioritize = [](const auto&) { return PrioritizeReply{{{"a", 10}}, "broken"}; };
  Create(bench.api, MakePod("p"));
  bench.loop.RunUntilIdle(At(60));
  CHECK(bench.scheduler.stats().prioritize_calls == (narrow ? 0 : 1));
  CHECK_FALSE(NodeOf(bench.api, "p").empty());
}

TEST_CASE("MostAllocated fills, LeastAllocated spreads, ties go by name if asked to",
          "[kube-scheduler]") {
  KubeSchedulerOptions options;
  options.scoring = GENERATE(Scoring::kLeastAllocated, Scoring::kMostAllocated);
  options.tie_break = TieBreak::kByName;
  SchedulerBench bench(false, options);
  for (const char* name : {"c", "b", "a"}) Create(bench.api, MakeNode(name).Gpus(8));
  for (const char* name : {"p", "q", "r"}) Create(bench.api, MakePod(name).Gpus(2));
  bench.loop.RunUntilIdle(At(60));
  const std::set<std::string> used = {NodeOf(bench.api, "p"), NodeOf(bench.api, "q"),
                                      NodeOf(bench.api, "r")};
  CHECK(NodeOf(bench.api, "p") == "a");
  CHECK(used.size() == (options.scoring == Scoring::kLeastAllocated ? 3U : 1U));
}

TEST_CASE("an answer that names a node not asked about fails the attempt", "[kube-scheduler]") {
  SchedulerBench bench(true);
  Create(bench.api, MakeNode("a").Gpus(8));
  bench.extender.on_filter = [](const auto&) {
    FilterReply reply;
    reply.passed = {"elsewhere"};
    return reply;
  };
  Create(bench.api, MakePod("p"));
  bench.loop.RunUntil(Time(500));
  CHECK(bench.api.FindPod(Key("p"))->status_reason == "SchedulerError");
  CHECK(bench.scheduler.backing_off() == 1);
}

TEST_CASE("errors of Filter back off 1, 2, 4, 8, then 10 seconds", "[kube-scheduler]") {
  SchedulerBench bench(true);
  Create(bench.api, MakeNode("a").Gpus(8));
  std::vector<int64_t> calls;
  bench.extender.on_filter = [&](const auto&) {
    calls.push_back(bench.loop.now().milliseconds() / 1000);
    FilterReply reply;
    reply.error = "not synced";
    return reply;
  };
  Create(bench.api, MakePod("p"));
  bench.loop.RunUntil(At(40));
  CHECK(calls == std::vector<int64_t>{0, 1, 3, 7, 15, 25, 35});
}

TEST_CASE("a rejected pod waits for an event or five minutes", "[kube-scheduler]") {
  SchedulerBench bench(true);
  Create(bench.api, MakeNode("a").Gpus(8));
  bool open = false;
  bench.extender.on_filter = [&](const auto& question) {
    return open ? PassAll(question) : PassOnly(question, "none");
  };
  Create(bench.api, MakePod("p"));
  Nominate(bench.api, "p", "a");
  bench.loop.RunUntil(At(30));
  CHECK(bench.extender.filter_pods.size() == 2);  // alone, then the full list; then nothing
  CHECK(bench.scheduler.unschedulable() == 1);
  const PodPtr pod = bench.api.FindPod(Key("p"));
  CHECK(pod->status_message == "0/1 nodes are available: 1 planned elsewhere.");
  CHECK(pod->pod.nominated_node.empty());  // used up
  open = true;

  SECTION("a patch of its status does not wake it") {
    Nominate(bench.api, "p", "a");
    bench.loop.RunUntil(At(299));
    CHECK(NodeOf(bench.api, "p").empty());
    bench.loop.RunUntil(At(301));
    CHECK(NodeOf(bench.api, "p") == "a");
  }
  SECTION("an annotation does") {
    REQUIRE(
        bench.api.Annotate(Actor::kMuster, RefOf(bench.api, "p"), {{"muster.dev/wake", "1"}}).ok());
    bench.loop.RunUntil(At(31));
    CHECK(NodeOf(bench.api, "p") == "a");
  }
  SECTION("a node event does") {
    Create(bench.api, MakeNode("b").Gpus(1));
    bench.loop.RunUntil(At(31));
    CHECK_FALSE(NodeOf(bench.api, "p").empty());
  }
  SECTION("another pod's start and end do") {
    Create(bench.api, MakePod("x").Scheduler("other").BoundTo("a"));
    bench.loop.RunUntil(At(31));
    CHECK(NodeOf(bench.api, "p") == "a");
  }
}

TEST_CASE("a woken pod waits out its backoff first", "[kube-scheduler]") {
  SchedulerBench bench(true);
  Create(bench.api, MakeNode("a").Gpus(8));
  bench.extender.on_filter = [](const auto& question) { return PassOnly(question, "none"); };
  Create(bench.api, MakePod("p"));
  for (int i = 1; i <= 100; ++i) {
    bench.loop.RunUntil(Time(i * 100));
    Create(bench.api, MakeNode("n" + std::to_string(i)));
  }
  // Rejected at 0 s, then after 1, 2, 4 … seconds of backoff, although something happens every 100
  // ms.
  CHECK(bench.extender.filter_pods.size() == 4);
}

TEST_CASE("a pod that only the built-in checks rejected ignores events that bring no room",
          "[kube-scheduler]") {
  SchedulerBench bench(true);
  Create(bench.api, MakeNode("a").Gpus(1));
  Create(bench.api, MakePod("p").Gpus(2));
  bench.loop.RunUntil(At(20));
  CHECK(bench.scheduler.stats().cycles == 1);
  CHECK(bench.extender.filter_pods.empty());  // no node was left to ask about
  Create(bench.api, MakePod("x").Scheduler("other").BoundTo("a"));
  bench.loop.RunUntil(At(21));
  CHECK(bench.scheduler.stats().cycles == 1);
  REQUIRE(bench.api.UpdateNode(Actor::kUser, MakeNode("a").Gpus(2)).ok());
  bench.loop.RunUntil(At(22));
  CHECK(NodeOf(bench.api, "p") == "a");
}

TEST_CASE("a failed Bind lets go of the room and comes back after its backoff",
          "[kube-scheduler]") {
  SchedulerBench bench(true);
  Create(bench.api, MakeNode("a").Gpus(8));
  int failures = 2;
  std::vector<int64_t> calls;
  bench.extender.on_bind = [&](const engine::BindCall& call) -> std::optional<std::string> {
    calls.push_back(bench.loop.now().milliseconds() / 1000);
    if (failures-- > 0) return "the barrier timed out";
    const auto status = bench.api.BindPod(Actor::kMuster, {{call.pod, call.uid}, call.node, {}});
    return status.ok() ? "" : status.error().message;
  };
  Create(bench.api, MakePod("p").Gpus(8));
  bench.loop.RunUntil(At(60));
  CHECK(calls == std::vector<int64_t>{0, 1, 3});
  CHECK(NodeOf(bench.api, "p") == "a");
  CHECK(bench.scheduler.stats().bind_errors == 2);
  CHECK(bench.scheduler.stats().bound == 1);
}

TEST_CASE("cycles go on while Bind calls are open, and each open call holds its room",
          "[kube-scheduler]") {
  SchedulerBench bench(true);
  Create(bench.api, MakeNode("a").Gpus(8));
  bench.extender.on_bind = [](const auto&) { return std::nullopt; };
  for (int i = 0; i < 10; ++i) Create(bench.api, MakePod("p" + std::to_string(i)).Gpus(1));
  bench.loop.RunUntil(At(1));
  CHECK(bench.scheduler.binding() == 8);
  CHECK(bench.scheduler.unschedulable() == 2);
  CHECK(bench.extender.bind_pods.size() == 8);
}

TEST_CASE("a Bind call that is not answered fails after httpTimeout", "[kube-scheduler]") {
  KubeSchedulerOptions options;
  options.http_timeout = Seconds(30);
  SchedulerBench bench(true, options);
  Create(bench.api, MakeNode("a").Gpus(8));
  bench.extender.on_bind = [](const auto&) { return std::nullopt; };
  Create(bench.api, MakePod("p").Gpus(8));
  bench.loop.RunUntil(Time(30'500));
  CHECK(bench.scheduler.stats().bind_timeouts == 1);
  CHECK(bench.scheduler.backing_off() == 1);
  bench.loop.RunUntil(At(32));
  CHECK(bench.extender.bind_pods == Names{"p", "p"});
  // A late answer to the first call means nothing to the second.
  bench.extender.unanswered.front()("");
  CHECK(bench.scheduler.binding() == 1);
  CHECK(bench.scheduler.stats().bound == 0);
}

TEST_CASE("bound although the call failed: the pod is not tried again", "[kube-scheduler]") {
  SchedulerBench bench(true);
  Create(bench.api, MakeNode("a").Gpus(8));
  bench.extender.on_bind = [&](const engine::BindCall& call) -> std::optional<std::string> {
    REQUIRE(bench.api.BindPod(Actor::kMuster, {{call.pod, call.uid}, call.node, {}}).ok());
    return std::nullopt;
  };
  Create(bench.api, MakePod("p").Gpus(8));
  Create(bench.api, MakePod("q").Gpus(8));
  bench.loop.RunUntil(At(200));
  CHECK(bench.scheduler.stats().bind_timeouts == 1);
  CHECK(bench.extender.bind_pods == Names{"p"});
  CHECK(NodeOf(bench.api, "p") == "a");
  CHECK(NodeOf(bench.api, "q").empty());  // its room is still taken
}

TEST_CASE("a pod deleted while it is being bound gives its room back", "[kube-scheduler]") {
  SchedulerBench bench(true);
  Create(bench.api, MakeNode("a").Gpus(8));
  bench.extender.on_bind = [&](const engine::BindCall& call) -> std::optional<std::string> {
    if (call.pod.name == "p") return std::nullopt;
    return bench.api.BindPod(Actor::kMuster, {{call.pod, call.uid}, call.node, {}}).ok() ? ""
                                                                                         : "no";
  };
  Create(bench.api, MakePod("p").Gpus(8));
  Create(bench.api, MakePod("q").Gpus(8));
  bench.loop.RunUntil(At(1));
  REQUIRE(bench.api.DeletePod(Actor::kUser, RefOf(bench.api, "p")).ok());
  bench.loop.RunUntil(At(2));
  CHECK(NodeOf(bench.api, "q").empty());  // the call is still open
  bench.extender.unanswered.front()("pod not found");
  bench.loop.RunUntil(At(10));
  CHECK(NodeOf(bench.api, "q") == "a");
  CHECK(bench.scheduler.binding() == 0);
}

TEST_CASE("deleted pods leave every queue", "[kube-scheduler]") {
  SchedulerBench bench(true);
  Create(bench.api, MakeNode("a").Gpus(8));
  bench.extender.on_filter = [](const auto& question) {
    FilterReply reply = PassOnly(question, "none");
    if (question.pod.key.name == "failing") reply.error = "broken";
    return reply;
  };
  for (const char* name : {"rejected", "failing"}) Create(bench.api, MakePod(name));
  Create(bench.api, MakePod("gated").Gated());
  bench.loop.RunUntil(Time(10));
  CHECK(bench.scheduler.unschedulable() + bench.scheduler.backing_off() + bench.scheduler.gated() ==
        3);
  for (const char* name : {"rejected", "failing", "gated"}) {
    REQUIRE(bench.api.DeletePod(Actor::kUser, RefOf(bench.api, name)).ok());
  }
  bench.loop.RunUntil(Time(20));
  CHECK(bench.scheduler.unschedulable() + bench.scheduler.backing_off() + bench.scheduler.gated() ==
        0);
}

TEST_CASE("a restarted kube-scheduler learns everything again and drops its open calls",
          "[kube-scheduler]") {
  SchedulerBench bench(true);
  Create(bench.api, MakeNode("a").Gpus(8));
  bool answer = false;
  bench.extender.on_bind = [&](const engine::BindCall& call) -> std::optional<std::string> {
    if (!answer) return std::nullopt;
    return bench.api.BindPod(Actor::kMuster, {{call.pod, call.uid}, call.node, {}}).ok() ? ""
                                                                                         : "no";
  };
  Create(bench.api, MakePod("x").Gpus(4).Scheduler("other").BoundTo("a"));
  Create(bench.api, MakePod("p").Gpus(4));
  Create(bench.api, MakePod("q").Gpus(4));
  bench.loop.RunUntil(At(1));
  CHECK(bench.scheduler.binding() == 1);
  answer = true;
  bench.scheduler.Restart();
  CHECK(bench.scheduler.binding() == 0);
  bench.loop.RunUntil(At(2));
  bench.extender.unanswered.front()("");  // an answer to a process that is gone
  bench.loop.RunUntil(At(400));
  CHECK(BoundPods(bench.api) == 2);
  CHECK(bench.scheduler.unschedulable() == 1);
}

}  // namespace
}  // namespace muster::sim::testing
