// The five rules of facts (cluster/holdings/cluster_state.hpp), and records that come in any order.
#include <catch2/catch.hpp>
#include <string>

#include "cluster/holdings/cluster_state.hpp"
#include "tests/support/builders.hpp"

namespace muster::cluster {
namespace {

using testing::MakeNode;
using testing::MakePod;
using testing::MakePodGroup;

int64_t FreeGpus(ClusterState& state, const std::string& node) {
  return state.TakeSnapshot()->free().at(state.IndexOf(node)).gpu_total();
}

TEST_CASE("rule 1: the same fact twice changes nothing the second time", "[cluster][facts]") {
  ClusterState state;
  const Node node = MakeNode("n0").Gpus(8);
  const Pod pod = MakePod("p").Gpus(2).BoundTo("n0").Version(5);
  const PodGroup group = MakePodGroup("g").MinMember(3);
  CHECK(state.Upsert(node).changed);
  CHECK(state.Upsert(pod).changed);
  CHECK(state.Upsert(group).changed);
  const std::string before = state.Dump();
  const uint64_t generation = state.generation();
  CHECK_FALSE(state.Upsert(node).changed);
  CHECK_FALSE(state.Upsert(pod).changed);
  CHECK_FALSE(state.Upsert(group).changed);
  // An equal specification that is another object is the same fact too.
  CHECK_FALSE(state.Upsert(MakePod("p").Gpus(2).BoundTo("n0").Version(5)).changed);
  CHECK(state.Dump() == before);
  CHECK(state.generation() == generation);
}

TEST_CASE("rule 2: a lower version of the same UID is old news", "[cluster][facts]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(8));
  state.Upsert(MakePod("p").Gpus(2).Version(10).BoundTo("n0"));
  CHECK_FALSE(state.Upsert(MakePod("p").Gpus(2).Version(9)).changed);
  CHECK(state.FindPod(PodUid("pod-p"))->bound());
  SECTION("an equal or higher one is news") {
    CHECK(state.Upsert(MakePod("p").Gpus(2).Version(10).BoundTo("n0").Deleting()).changed);
    CHECK(state.Upsert(MakePod("p").Gpus(2).Version(11).BoundTo("n0")).changed);
  }
  SECTION("one of unknown version is applied, and does not make older ones news again") {
    CHECK(state.Upsert(MakePod("p").Gpus(2).BoundTo("n0").Deleting()).changed);
    CHECK_FALSE(state.Upsert(MakePod("p").Gpus(2).Version(9)).changed);
    CHECK(state.FindPod(PodUid("pod-p"))->deleting);
  }
  SECTION("a version that brings nothing else is remembered, but is no change") {
    CHECK_FALSE(state.Upsert(MakePod("p").Gpus(2).Version(20).BoundTo("n0")).changed);
    CHECK_FALSE(state.Upsert(MakePod("p").Gpus(2).Version(15)).changed);
    CHECK(state.FindPod(PodUid("pod-p"))->resource_version == 20);
  }
  SECTION("for PodGroups too") {
    state.Upsert(MakePodGroup("g").MinMember(4).Version(10));
    CHECK_FALSE(state.Upsert(MakePodGroup("g").MinMember(2).Version(9)).changed);
    CHECK(state.Upsert(MakePodGroup("g").MinMember(3)).changed);
    CHECK_FALSE(state.Upsert(MakePodGroup("g").MinMember(2).Version(9)).changed);
    CHECK(state.FindPodGroup({"default", "g"})->min_member == 3);
  }
}

TEST_CASE("rule 3: a new UID under a taken name replaces the object", "[cluster][facts]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(8));
  state.Upsert(MakePod("p").Uid("old").Gpus(2).Version(10).BoundTo("n0"));
  SECTION("a newer pod") {
    const Applied applied = state.Upsert(MakePod("p").Uid("new").Gpus(3).Version(11));
    CHECK(applied.changed);
    CHECK(applied.replaced == "old");
    CHECK(state.FindPod(PodUid("old")) == nullptr);
    CHECK(state.FindPod({"default", "p"})->uid == PodUid("new"));
    CHECK(state.pod_count() == 1);
    CHECK(FreeGpus(state, "n0") == 8000);
    CHECK(state.HoldersOn(state.IndexOf("n0")).empty());
    // The one that was replaced stays removed.
    CHECK_FALSE(state.Upsert(MakePod("p").Uid("old").Version(12)).changed);
  }
  SECTION("an older pod does not, but may still come into its own later") {
    CHECK_FALSE(state.Upsert(MakePod("p").Uid("new").Version(9)).changed);
    CHECK(state.FindPod({"default", "p"})->uid == PodUid("old"));
  }
  SECTION("a pod of unknown version does") {
    CHECK(state.Upsert(MakePod("p").Uid("new")).replaced == "old");
  }
  SECTION("the same name in another namespace is another pod") {
    CHECK(state.Upsert(MakePod("p").Uid("new").Namespace("team")).replaced.empty());
    CHECK(state.pod_count() == 2);
  }
  SECTION("a node") {
    const Applied applied = state.Upsert(MakeNode("n0").Uid("n0-again").Gpus(4));
    CHECK(applied.replaced == "node-n0");
    CHECK(state.node_count() == 1);
    CHECK(FreeGpus(state, "n0") == 2000);  // the bound pod holds its GPUs on the new one
    CHECK_FALSE(state.Upsert(MakeNode("n0").Gpus(8)).changed);
  }
  SECTION("a PodGroup") {
    state.Upsert(MakePodGroup("g").Version(5));
    CHECK_FALSE(state.Upsert(MakePodGroup("g").Uid("older").Version(4)).changed);
    CHECK(state.Upsert(MakePodGroup("g").Uid("newer").Version(6)).replaced == "group-g");
    CHECK_FALSE(state.Remove(PodGroupUid("group-g")));
    CHECK(state.FindPodGroup({"default", "g"})->uid == PodGroupUid("newer"));
    CHECK(state.PodGroups().size() == 1);
  }
}

TEST_CASE("rule 4: what was removed stays removed", "[cluster][facts]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Gpus(8));
  state.Upsert(MakePod("p").Gpus(2).BoundTo("n0"));
  state.Upsert(MakePodGroup("g"));
  CHECK(state.Remove(PodUid("pod-p")));
  CHECK(state.Remove(NodeUid("node-n0")));
  CHECK(state.Remove(PodGroupUid("group-g")));
  CHECK_FALSE(state.Upsert(MakeNode("n0").Gpus(8)).changed);
  CHECK_FALSE(state.Upsert(MakePod("p").Gpus(2).Version(99)).changed);
  CHECK_FALSE(state.Upsert(MakePodGroup("g")).changed);
  CHECK(state.Dump().empty());
  // Recreated under the same name.
  CHECK(state.Upsert(MakeNode("n0").Uid("second").Gpus(8)).changed);
  CHECK(state.Upsert(MakePod("p").Uid("second")).changed);
  CHECK(state.Upsert(MakePodGroup("g").Uid("second")).changed);
}

TEST_CASE("rule 5: a removal that comes first holds", "[cluster][facts]") {
  ClusterState state;
  CHECK_FALSE(state.Remove(PodUid("pod-p")));
  CHECK_FALSE(state.Remove(NodeUid("node-n0")));
  CHECK_FALSE(state.Remove(PodGroupUid("group-g")));
  CHECK_FALSE(state.Upsert(MakePod("p")).changed);
  CHECK_FALSE(state.Upsert(MakeNode("n0")).changed);
  CHECK_FALSE(state.Upsert(MakePodGroup("g")).changed);
  CHECK(state.Dump().empty());
}

TEST_CASE("what was removed is remembered for a bounded number of removals", "[cluster][facts]") {
  ClusterState state;
  state.Remove(PodUid("first"));
  for (int i = 0; i < 65'535; ++i) state.Remove(PodUid("u" + std::to_string(i)));
  CHECK_FALSE(state.Upsert(MakePod("a").Uid("first")).changed);
  state.Remove(PodUid("one more"));
  CHECK(state.Upsert(MakePod("a").Uid("first")).changed);
  CHECK_FALSE(state.Upsert(MakePod("b").Uid("u0")).changed);
}

TEST_CASE("where it is kept what a pod holds stays as long as the pod is known",
          "[cluster][facts]") {
  ClusterState state;
  CHECK(state.FindHolding(PodUid("pod-p")) == nullptr);
  state.Upsert(MakePod("p").Gpus(2));
  const std::optional<Allocation>* holding = state.FindHolding(PodUid("pod-p"));
  REQUIRE(holding != nullptr);
  CHECK_FALSE(holding->has_value());
  for (int i = 0; i < 100; ++i) state.Upsert(MakePod("q" + std::to_string(i)));
  state.Upsert(MakeNode("n0").Gpus(8));
  state.Upsert(MakePod("p").Gpus(2).BoundTo("n0").Version(2));
  CHECK(state.FindHolding(PodUid("pod-p")) == holding);
  REQUIRE(holding->has_value());
  CHECK(&**holding == state.AllocationOf(PodUid("pod-p")));
  state.Remove(NodeUid("node-n0"));
  CHECK_FALSE(holding->has_value());
  state.Remove(PodUid("pod-p"));
  CHECK(state.FindHolding(PodUid("pod-p")) == nullptr);
}

TEST_CASE("a pod bound to a node that is not known yet holds when the node appears",
          "[cluster][facts]") {
  ClusterState state;
  state.Upsert(MakePod("p").Gpus(2).BoundTo("n0"));
  state.Upsert(MakePod("q").Gpus(1).BoundTo("n0", {5}));
  CHECK(state.AllocationOf(PodUid("pod-p")) == nullptr);
  state.Upsert(MakeNode("n0").Gpus(8));
  REQUIRE(state.AllocationOf(PodUid("pod-p")) != nullptr);
  CHECK(state.AllocationOf(PodUid("pod-p"))->placement.gpus.size() == 2);
  CHECK(FreeGpus(state, "n0") == 5000);
  SECTION("and again when the node was lost and comes back") {
    const std::string before = state.Dump();
    state.Remove(NodeUid("node-n0"));
    CHECK(state.AllocationOf(PodUid("pod-p")) == nullptr);
    CHECK(state.HoldersOn(NodeIndex{0}).empty());
    state.Upsert(MakeNode("n0").Uid("back").Gpus(8));
    CHECK(FreeGpus(state, "n0") == 5000);
  }
  SECTION("unless it went in between") {
    state.Remove(NodeUid("node-n0"));
    state.Remove(PodUid("pod-p"));
    state.Upsert(MakePod("q").Gpus(1).BoundTo("n0", {5}).Phase(PodPhase::kFailed));
    state.Upsert(MakeNode("n0").Uid("back").Gpus(8));
    CHECK(FreeGpus(state, "n0") == 8000);
  }
}

TEST_CASE("the lowest free node index is used again", "[cluster][facts]") {
  ClusterState state;
  for (const char* name : {"a", "b", "c", "d"}) state.Upsert(MakeNode(name));
  CHECK(state.IndexOf("c") == NodeIndex{2});
  state.Remove(NodeUid("node-c"));
  state.Remove(NodeUid("node-a"));
  CHECK(state.node(NodeIndex{0}) == nullptr);
  CHECK_FALSE(state.IndexOf("a").valid());
  state.Upsert(MakeNode("e"));
  CHECK(state.IndexOf("e") == NodeIndex{0});
  state.Upsert(MakeNode("f"));
  CHECK(state.IndexOf("f") == NodeIndex{2});
  state.Upsert(MakeNode("g"));
  CHECK(state.IndexOf("g") == NodeIndex{4});
  CHECK(state.IndexOf("b") == NodeIndex{1});
  CHECK(state.TakeSnapshot()->size() == 5);
}

TEST_CASE("an object that is known under another name is renamed", "[cluster][facts]") {
  ClusterState state;
  state.Upsert(MakeNode("n0").Uid("n").Gpus(8));
  state.Upsert(MakeNode("n1").Uid("n").Gpus(8));
  CHECK(state.FindNode("n0") == nullptr);
  CHECK(state.FindNode("n1") != nullptr);
  CHECK(state.node_count() == 1);
  state.Upsert(MakePod("p").Uid("u"));
  state.Upsert(MakePod("q").Uid("u").BoundTo("n1"));
  CHECK(state.FindPod({"default", "p"}) == nullptr);
  CHECK(state.FindPod({"default", "q"})->uid == PodUid("u"));
  state.Upsert(MakePodGroup("g").Uid("u"));
  state.Upsert(MakePodGroup("h").Uid("u"));
  CHECK(state.FindPodGroup({"default", "g"}) == nullptr);
  CHECK(state.PodGroups().size() == 1);
}

TEST_CASE("namespaces, PriorityClasses and budgets follow the same rules", "[cluster][facts]") {
  ClusterState state;
  const Namespace team{NamespaceUid("n1"), {"", "team"}, {{"queue", "red"}}, false, 5};
  CHECK(state.Upsert(team).changed);
  CHECK_FALSE(state.Upsert(team).changed);
  CHECK_FALSE(state.Upsert(Namespace{team.uid, team.key, {}, false, 4}).changed);
  CHECK(state.Upsert(Namespace{team.uid, team.key, team.labels, true, 6}).changed);
  CHECK(state.FindNamespace("team")->deleting);
  CHECK(state.Upsert(Namespace{NamespaceUid("n2"), team.key, {}, false, 9}).replaced == "n1");
  CHECK_FALSE(state.Upsert(team).changed);

  state.Upsert(MakePodGroup("g"));
  CHECK(state.Forget(PodGroupUid("group-g")));
  CHECK_FALSE(state.Forget(PodGroupUid("group-g")));
  CHECK(state.Upsert(MakePodGroup("g")).changed);  // unlike what was removed

  const PriorityClass high{PriorityClassUid("p1"), {"", "high"}, 1000, true, false, 1};
  CHECK(state.Upsert(high).changed);
  CHECK(state.FindPriorityClass("high")->value == 1000);
  CHECK(state.Remove(high.uid));
  CHECK_FALSE(state.Remove(high.uid));
  CHECK_FALSE(state.Upsert(high).changed);
  CHECK(state.FindPriorityClass("high") == nullptr);

  DisruptionBudget budget{DisruptionBudgetUid("b1"), {"team", "b"}, std::nullopt, 1, 1};
  CHECK(state.Upsert(budget).changed);
  budget.selector.emplace();  // nobody is not everybody
  budget.resource_version = 2;
  CHECK(state.Upsert(budget).changed);
  CHECK(state.DisruptionBudgets().front()->selector->empty());
  CHECK(state.Dump().find("budget") != std::string::npos);
}

TEST_CASE("lists are ordered, whatever came first", "[cluster][facts]") {
  ClusterState state;
  for (const char* name : {"n2", "n0", "n1"}) state.Upsert(MakeNode(name));
  for (const char* name : {"c", "a", "b"}) state.Upsert(MakePod(name));
  for (const char* name : {"y", "x"}) state.Upsert(MakePodGroup(name));
  CHECK(state.Nodes()[0]->name == "n0");
  CHECK(state.Nodes()[2]->name == "n2");
  CHECK(state.Pods()[0]->uid == PodUid("pod-a"));
  CHECK(state.Pods()[2]->uid == PodUid("pod-c"));
  CHECK(state.PodGroups()[0]->key.name == "x");
}

TEST_CASE("the dump shows every field and cannot be forged by a value", "[cluster][facts]") {
  ClusterState a;
  a.Upsert(MakePod("p").Role("x\" owner=\"y"));
  ClusterState b;
  b.Upsert(MakePod("p").Role("x").Owner("y"));
  CHECK(a.Dump() != b.Dump());
  CHECK(a.Dump().find("role=\"x\\x22 owner=\\x22y\"") != std::string::npos);
}

TEST_CASE("each field of a pod's record is news, and only the version is not", "[cluster]") {
  ClusterState state;
  Pod pod = MakePod("a").Gpus(1);
  state.Upsert(pod);
  const auto is_news = [&](auto change) {
    change(pod);
    ++pod.resource_version;
    return state.Upsert(pod).changed;
  };
  CHECK_FALSE(is_news([](Pod&) {}));
  CHECK(is_news([](Pod& one) { one.declared_min_member = 4; }));
  CHECK(is_news([](Pod& one) { one.bound_at = Time(5'000); }));
  CHECK(is_news([](Pod& one) { one.running_since = Time(6'000); }));
  CHECK(is_news([](Pod& one) { one.hami_turn = HamiTurn::kAllocating; }));
  CHECK(state.Dump().find("declared=4") != std::string::npos);
  CHECK(state.Dump().find("boundat=5000") != std::string::npos);
}

}  // namespace
}  // namespace muster::cluster
