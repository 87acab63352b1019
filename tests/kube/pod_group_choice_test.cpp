#include "kube/dialects/pod_group_choice.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "cluster/holdings/cluster_state.hpp"

namespace muster::kube {
namespace {

using cluster::PodGroup;
using cluster::PodGroupUid;

PodGroup Written(const std::string& uid, int64_t created, int64_t min_member = 1) {
  PodGroup group;
  group.uid = PodGroupUid(uid);
  group.key = {"n", "g"};
  group.created = cluster::Time(created);
  group.min_member = min_member;
  return group;
}

// "+old +new -old ~old", joined: objects, removals, those that are not told of any more.
std::string Told(PodGroupChoice& choice, const engine::Fact& fact) {
  std::string text;
  const PodGroupChoice::Told told = choice.Observe(fact);
  for (const engine::Fact& one : told.facts) {
    if (const auto* group = std::get_if<PodGroup>(&one)) text += "+" + group->uid.text();
    if (const auto* gone = std::get_if<engine::PodGroupRemoved>(&one)) {
      text += "-" + gone->uid.text();
    }
    if (const auto* unserved = std::get_if<engine::PodGroupUnserved>(&one)) {
      text += "~" + unserved->uid.text();
    }
  }
  return text + (told.withheld ? "!" : "");
}

TEST_CASE("of PodGroups with one name the oldest counts, in whatever order they are read",
          "[kube][choice]") {
  PodGroupChoice in_order;
  CHECK(Told(in_order, Written("old", 1)) == "+old");
  CHECK(Told(in_order, Written("new", 2)) == "!");
  CHECK(Told(in_order, Written("new", 2, 5)).empty());
  CHECK(Told(in_order, Written("old", 1, 3)) == "+old");

  PodGroupChoice backwards;
  CHECK(Told(backwards, Written("new", 2)) == "+new");
  CHECK(Told(backwards, Written("old", 1)) == "~new+old");
  CHECK(Told(backwards, Written("new", 2)).empty());
}

TEST_CASE("when the PodGroup that counts goes, the next one takes its place", "[kube][choice]") {
  PodGroupChoice choice;
  Told(choice, Written("a", 1));
  Told(choice, Written("b", 2));
  Told(choice, Written("c", 2));
  CHECK(Told(choice, engine::PodGroupRemoved{PodGroupUid("b")}) == "-b");
  CHECK(Told(choice, engine::PodGroupRemoved{PodGroupUid("a")}) == "-a+c");
  CHECK(Told(choice, engine::PodGroupUnserved{PodGroupUid("c")}) == "~c");
  CHECK(Told(choice, engine::PodGroupRemoved{PodGroupUid("never seen")}) == "-never seen");
  CHECK(Told(choice, Written("c", 2)) == "+c");
}

TEST_CASE("a PodGroup that gave way counts again for the engine's model", "[kube][choice]") {
  PodGroupChoice choice;
  cluster::ClusterState state;
  const auto tell = [&](const engine::Fact& fact) {
    for (const engine::Fact& one : choice.Observe(fact).facts) {
      if (const auto* group = std::get_if<PodGroup>(&one)) state.Upsert(*group);
      if (const auto* gone = std::get_if<engine::PodGroupRemoved>(&one)) state.Remove(gone->uid);
      if (const auto* left = std::get_if<engine::PodGroupUnserved>(&one)) state.Forget(left->uid);
    }
  };
  const auto uid = [&] {
    const PodGroup* group = state.FindPodGroup({"n", "g"});
    return group == nullptr ? std::string() : group->uid.text();
  };
  tell(Written("new", 2));
  tell(Written("old", 1));
  CHECK(uid() == "old");
  tell(engine::PodGroupRemoved{PodGroupUid("old")});
  CHECK(uid() == "new");
  tell(engine::PodGroupRemoved{PodGroupUid("new")});
  CHECK(uid().empty());
}

TEST_CASE("other facts pass as they are", "[kube][choice]") {
  PodGroupChoice choice;
  const auto told = choice.Observe(engine::PodRemoved{cluster::PodUid("p")});
  REQUIRE(told.facts.size() == 1);
  CHECK(std::holds_alternative<engine::PodRemoved>(told.facts.front()));
}

}  // namespace
}  // namespace muster::kube
