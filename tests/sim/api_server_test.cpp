#include <catch2/catch.hpp>

#include "sim_support.hpp"

namespace muster::sim::testing {
namespace {

using cluster::Code;
using engine::PodRef;

struct Server {
  explicit Server(ApiServerOptions options = {}) : api(loop, std::move(options)) {
    watch = api.OpenWatch({true, true, true, true}, {});
  }
  // Everything that happened since the last call, one line each.
  std::vector<std::string> Seen() {
    std::vector<std::string> seen;
    while (const WatchEvent* event = watch->Peek()) {
      constexpr const char* kNames[] = {"added ", "modified ", "deleted "};
      std::string line = kNames[static_cast<int>(event->change)];
      if (const auto* pod = std::get_if<PodPtr>(&event->object)) line += (*pod)->pod.key.name;
      if (const auto* node = std::get_if<NodePtr>(&event->object)) line += (*node)->node.name;
      if (const auto* group = std::get_if<PodGroupPtr>(&event->object))
        line += (*group)->group.key.name;
      if (const auto* job = std::get_if<JobPtr>(&event->object)) line += (*job)->key.name;
      seen.push_back(line);
      watch->Pop();
    }
    return seen;
  }
  PodRef Ref(const std::string& name) {
    const PodPtr pod = api.FindPod(Key(name));
    REQUIRE(pod != nullptr);
    return {pod->pod.key, pod->pod.uid};
  }

  EventLoop loop;
  ApiServer api;
  std::unique_ptr<Watch> watch;
};

using Lines = std::vector<std::string>;

TEST_CASE("names are unique, UIDs never come again, versions only grow", "[api]") {
  Server server;
  const PodPtr first = Create(server.api, MakePod("a"));
  const auto again = server.api.CreatePod(Actor::kUser, *first);
  REQUIRE_FALSE(again.ok());
  CHECK(again.error().code == Code::kConflict);
  REQUIRE(server.api.DeletePod(Actor::kUser, server.Ref("a")).ok());
  const PodPtr second = Create(server.api, MakePod("a"));
  CHECK(second->pod.uid != first->pod.uid);
  CHECK(second->pod.resource_version > first->pod.resource_version);
  CHECK(first->pod.uid.text().size() == 36);
  CHECK(server.Seen() == Lines{"added a", "deleted a", "added a"});
  CHECK(server.api.FindPod(first->pod.uid) == nullptr);
  CHECK(server.api.FindPod(second->pod.uid) == second);
}

TEST_CASE("the same seed gives the same UIDs, another seed others", "[api]") {
  const auto uid = [](uint64_t seed) {
    Server server(ApiServerOptions{.seed = seed});
    return Create(server.api, MakePod("a"))->pod.uid;
  };
  CHECK(uid(1) == uid(1));
  CHECK(uid(1) != uid(2));
}

TEST_CASE("malformed objects are refused", "[api]") {
  Server server;
  PodRecord pod;
  pod.pod = MakePod("a");
  pod.pod.spec = nullptr;
  CHECK(server.api.CreatePod(Actor::kUser, pod).error().code == Code::kInvalidArgument);
  pod.pod = MakePod("");
  CHECK(server.api.CreatePod(Actor::kUser, pod).error().code == Code::kInvalidArgument);
  pod.pod = MakePod("a").BoundTo("n").Gated();
  CHECK(server.api.CreatePod(Actor::kUser, pod).error().code == Code::kInvalidArgument);
  CHECK_FALSE(server.api.CreateNode(Actor::kUser, {}).ok());
  CHECK_FALSE(server.api.CreatePodGroup(Actor::kUser, {}).ok());
  CHECK_FALSE(server.api.CreateJob(Actor::kUser, {}).ok());
  CHECK(server.Seen().empty());
  CHECK(server.api.Writes(Actor::kUser) == 0);
}

TEST_CASE("the admission policy gates gangs of muster's, as far as it is set to", "[api]") {
  struct Case {
    Gating gating;
    bool gang, solo, foreign;
  };
  const Case test =
      GENERATE(Case{Gating::kNone, false, false, false}, Case{Gating::kGangs, true, false, false},
               Case{Gating::kAll, true, true, false});
  Server server(ApiServerOptions{.gating = test.gating});
  const auto gated = [&](const cluster::Pod& pod) {
    return Create(server.api, pod)->pod.gated_by_muster();
  };
  CHECK(gated(MakePod("a").InGroup("g").Scheduler("muster")) == test.gang);
  CHECK(gated(MakePod("b").Scheduler("muster")) == test.solo);
  CHECK(gated(MakePod("c").InGroup("g").Scheduler("default-scheduler")) == test.foreign);
  // Static pods have their node from the start.
  CHECK_FALSE(gated(MakePod("d").InGroup("g").Scheduler("muster").BoundTo("n")));
}

TEST_CASE("a Binding sets node and annotations in one write and clears the nomination", "[api]") {
  Server server;
  Create(server.api, MakePod("a").Gpus(2));
  PodStatusPatch patch;
  patch.nominated_node = "n1";
  REQUIRE(server.api.PatchPodStatus(Actor::kMuster, server.Ref("a"), patch).ok());
  CHECK(server.api.FindPod(Key("a"))->pod.nominated_node == "n1");
  server.Seen();
  server.loop.RunUntil(At(7));
  REQUIRE(server.api.BindPod(Actor::kMuster, {server.Ref("a"), "n2", {{"muster.dev/gpus", "0,3"}}})
              .ok());
  const PodPtr pod = server.api.FindPod(Key("a"));
  CHECK(pod->pod.node_name == "n2");
  CHECK(pod->pod.nominated_node.empty());
  CHECK(pod->annotations.at("muster.dev/gpus") == "0,3");
  CHECK(pod->pod.bound_gpus == std::vector<cluster::GpuIndex>{{0}, {3}});
  CHECK(pod->bound_at == At(7));
  CHECK(server.Seen() == Lines{"modified a"});
  CHECK(server.api.decisions().count() == 1);
}

TEST_CASE("a Binding is refused with a conflict, and changes nothing", "[api]") {
  Server server;
  Create(server.api, MakePod("a"));
  PodRef ref = server.Ref("a");
  std::string node = "n1";
  Code expected = Code::kConflict;

  SECTION("when the pod has a node") {
    REQUIRE(server.api.BindPod(Actor::kMuster, {ref, "n1", {}}).ok());
    node = GENERATE("n1", "n2");
  }
  SECTION("when the pod is being deleted") {
    REQUIRE(server.api.BindPod(Actor::kMuster, {ref, "n1", {}}).ok());
    REQUIRE(server.api.DeletePod(Actor::kUser, ref).ok());
  }
  SECTION("when the pod has gates") {
    Create(server.api, MakePod("b").Gated("other"));
    ref = server.Ref("b");
  }
  SECTION("when the UID is another one") { ref.uid = cluster::PodUid("other"); }
  SECTION("or not found when there is no such pod") {
    ref = {Key("nobody"), {}};
    expected = Code::kNotFound;
  }
  SECTION("or invalid without a node") {
    node = "";
    expected = Code::kInvalidArgument;
  }
  server.Seen();
  const int64_t version = server.api.resource_version();
  const auto status = server.api.BindPod(Actor::kMuster, {ref, node, {{"k", "v"}}});
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == expected);
  CHECK(server.Seen().empty());
  CHECK(server.api.resource_version() == version);
}

TEST_CASE("capacity and the node's existence are not checked by a Binding", "[api]") {
  Server server;
  Create(server.api, MakePod("a").Gpus(64));
  CHECK(server.api.BindPod(Actor::kMuster, {server.Ref("a"), "nowhere", {}}).ok());
}

TEST_CASE("unbound and ended pods are deleted at once, running ones when their time is over",
          "[api]") {
  Server server;
  Create(server.api, MakePod("waiting"));
  Create(server.api, MakePod("bound"));
  Create(server.api, MakePod("ended"));
  REQUIRE(server.api.BindPod(Actor::kMuster, {server.Ref("bound"), "n", {}}).ok());
  REQUIRE(server.api.BindPod(Actor::kMuster, {server.Ref("ended"), "n", {}}).ok());
  PodStatusPatch done;
  done.phase = cluster::PodPhase::kSucceeded;
  REQUIRE(server.api.PatchPodStatus(Actor::kKubelet, server.Ref("ended"), done).ok());
  server.Seen();
  const bool evict = GENERATE(false, true);
  for (const std::string name : {"waiting", "bound", "ended"}) {
    const PodRef ref = server.Ref(name);
    CHECK(
        (evict ? server.api.EvictPod(Actor::kMuster, ref) : server.api.DeletePod(Actor::kUser, ref))
            .ok());
  }
  CHECK(server.Seen() == Lines{"deleted waiting", "modified bound", "deleted ended"});
  const PodPtr leaving = server.api.FindPod(Key("bound"));
  CHECK(leaving->pod.deleting);
  CHECK(leaving->delete_at == At(30));
  // Once more changes nothing; a shorter grace brings the end nearer, none ends it.
  CHECK(server.api.EvictPod(Actor::kMuster, server.Ref("bound")).ok());
  CHECK(server.Seen().empty());
  CHECK(server.api.DeletePod(Actor::kUser, server.Ref("bound"), Seconds(5)).ok());
  CHECK(server.api.FindPod(Key("bound"))->delete_at == At(5));
  CHECK(server.api.DeletePod(Actor::kKubelet, server.Ref("bound"), Seconds(0)).ok());
  CHECK(server.Seen() == Lines{"modified bound", "deleted bound"});
}

TEST_CASE("writes that change nothing make no version and no event", "[api]") {
  Server server;
  Create(server.api, MakeNode("n").Gpus(8));
  Create(server.api, MakePod("a").Gated());
  Create(server.api, MakePodGroup("g").MinMember(3));
  const PodRef ref = server.Ref("a");
  server.Seen();
  const int64_t version = server.api.resource_version();
  CHECK(server.api.UpdateNode(Actor::kUser, MakeNode("n").Gpus(8)).ok());
  CHECK(server.api.UpdatePodGroup(Actor::kUser, MakePodGroup("g").MinMember(3)).ok());
  CHECK(server.api.RemoveGate(Actor::kMuster, ref, "other").ok());
  CHECK(server.api.PatchPodStatus(Actor::kMuster, ref, {}).ok());
  CHECK(server.api.resource_version() == version);
  CHECK(server.Seen().empty());
  CHECK(server.api.UpdateNode(Actor::kUser, MakeNode("n").Gpus(4)).ok());
  CHECK(server.api.UpdatePodGroup(Actor::kUser, MakePodGroup("g").MinMember(2)).ok());
  CHECK(server.api.RemoveGate(Actor::kMuster, ref, cluster::kGangGate).ok());
  CHECK(server.api.Annotate(Actor::kMuster, ref, {{"k", "v"}}).ok());
  CHECK(server.Seen() == Lines{"modified n", "modified g", "modified a", "modified a"});
  CHECK(server.api.FindPod(Key("a"))->pod.gates.empty());
}

TEST_CASE("writes are counted by writer and verb", "[api]") {
  Server server;
  Create(server.api, MakePod("a"));
  REQUIRE(server.api.Annotate(Actor::kMuster, server.Ref("a"), {{"k", "v"}}).ok());
  REQUIRE(server.api.BindPod(Actor::kMuster, {server.Ref("a"), "n", {}}).ok());
  REQUIRE_FALSE(server.api.BindPod(Actor::kMuster, {server.Ref("a"), "n", {}}).ok());
  CHECK(server.api.Writes(Actor::kUser, Verb::kCreate) == 1);
  CHECK(server.api.Writes(Actor::kMuster, Verb::kPatch) == 1);
  CHECK(server.api.Writes(Actor::kMuster, Verb::kBind) == 1);
  CHECK(server.api.Writes(Actor::kMuster) == 2);
  CHECK(server.api.Writes(Actor::kKubelet) == 0);
}

TEST_CASE("a watch sees what it asked for, from the moment it was opened", "[api]") {
  Server server;
  Create(server.api, MakePod("before"));
  int told = 0;
  const auto pods = server.api.OpenWatch({.pods = true}, [&] { ++told; });
  const auto nodes = server.api.OpenWatch({.nodes = true}, {});
  Create(server.api, MakePod("after"));
  Create(server.api, MakeNode("n"));
  CHECK(told == 1);
  REQUIRE(pods->Peek() != nullptr);
  CHECK(std::get<PodPtr>(pods->Peek()->object)->pod.key.name == "after");
  pods->Pop();
  CHECK(pods->Peek() == nullptr);
  REQUIRE(nodes->Peek() != nullptr);
  CHECK(std::get<NodePtr>(nodes->Peek()->object)->node.name == "n");
  CHECK(server.api.List({.pods = true}).size() == 2);
}

TEST_CASE("a slow watch loses nothing, however much happens meanwhile", "[api]") {
  Server server;
  const auto slow = server.api.OpenWatch({.pods = true}, {});
  const auto nodes_only = server.api.OpenWatch({.nodes = true}, {});
  constexpr int kPods = 5000;
  for (int i = 0; i < kPods; ++i) {
    Create(server.api, MakePod("p" + std::to_string(i)));
    if (i % 7 == 0) server.Seen();
  }
  int seen = 0;
  while (const WatchEvent* event = slow->Peek()) {
    REQUIRE(std::get<PodPtr>(event->object)->pod.key.name == "p" + std::to_string(seen));
    slow->Pop();
    ++seen;
  }
  CHECK(seen == kPods);
  CHECK(nodes_only->Peek() == nullptr);
}

TEST_CASE("Events are aggregated and bounded", "[api]") {
  Server server(ApiServerOptions{.max_events = 3});
  engine::EmitEvent event{Key("g"), "uid", false, true, "Waiting", "0"};
  for (int i = 0; i < 5; ++i) {
    event.message = std::to_string(i);
    server.api.RecordEvent(Actor::kMuster, event);
    server.api.RecordEvent(Actor::kMuster, event);
  }
  REQUIRE(server.api.Events().size() == 3);
  CHECK(server.api.Events().front().message == "2");
  CHECK(server.api.Events().back().count == 2);
  event.message = "0";  // forgotten, so it is new again
  server.api.RecordEvent(Actor::kMuster, event);
  CHECK(server.api.Events().back().count == 1);
}

TEST_CASE("a PodGroup's status is written under its UID only", "[api]") {
  Server server;
  Create(server.api, MakePodGroup("g").MinMember(2));
  engine::PatchGang patch;
  patch.key = Key("g");
  patch.uid = server.api.FindPodGroup(Key("g"))->group.uid;
  patch.state = "Queued";
  CHECK(server.api.PatchPodGroupStatus(Actor::kMuster, patch).ok());
  CHECK(server.api.FindPodGroup(Key("g"))->state == "Queued");
  patch.uid = cluster::PodGroupUid("other");
  CHECK(server.api.PatchPodGroupStatus(Actor::kMuster, patch).error().code == Code::kNotFound);
}

}  // namespace
}  // namespace muster::sim::testing
