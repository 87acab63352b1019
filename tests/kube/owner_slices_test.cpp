// What is worked out once for all pods of an owner, and pods that are judged slice by slice.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "tests/kube/grouping_book_world.hpp"

namespace muster::kube {
namespace {

using cluster::PodUid;

// A JobSet of `roles` roles, each of two pods.
std::string JobSetJson(int roles, int version) {
  std::string text = R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{)"
                     R"("name":"train","namespace":"team","uid":"uid-train","resourceVersion":")" +
                     std::to_string(version) + R"("},"spec":{"replicatedJobs":[)";
  for (int i = 0; i < roles; ++i)
    text += (i == 0 ? "" : ",") + (R"({"name":"r)" + std::to_string(i)) +
            R"(","template":{"spec":{"parallelism":2,"completions":2}}})";
  return text + "]}}";
}

// A pod that a JobSet or a LeaderWorkerSet owns, with labels and annotations as in braces.
struct OwnedPods : BookWorld {
  explicit OwnedPods(GroupingBook::Slice slice = {}) : BookWorld(OwnerTable::Options(), slice) {}

  void SeeOwned(const std::string& name, const std::string& kind, const std::string& api_version,
                const std::string& labels, const std::string& annotations) {
    const std::string json =
        R"({"metadata":{"name":")" + name + R"(","namespace":"team","uid":"uid-)" + name +
        R"(","resourceVersion":"7","labels":{)" + labels + R"(},"annotations":{)" + annotations +
        R"(},"ownerReferences":[{"apiVersion":")" + api_version + R"(","kind":")" + kind +
        R"(","name":"train","uid":"uid-train","controller":true}]},)"
        R"("spec":{"schedulerName":"muster","containers":[{"name":"main"}]}})";
    auto pod = DecodePod(json);
    REQUIRE(pod.ok());
    book.Keep(pod->uid,
              std::make_shared<const std::string>(GroupingText(OwnerJson(json)->root(), *pod)));
    book.Join(*pod, now);
  }
  void SeeOfRole(const std::string& name, const std::string& role) {
    SeeOwned(name, "JobSet", "jobset.x-k8s.io/v1alpha2",
             R"("jobset.sigs.k8s.io/replicatedjob-name":")" + role + "\"", "");
  }
  void SeeOfSize(const std::string& name, const std::string& size) {
    SeeOwned(name, "LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1",
             R"("leaderworkerset.sigs.k8s.io/worker-index":"1")",
             R"("leaderworkerset.sigs.k8s.io/size":")" + size + "\"");
  }
  const Grouping& Of(const std::string& pod) {
    const Grouping* grouping = book.Find(PodUid("uid-" + pod));
    REQUIRE(grouping != nullptr);
    return *grouping;
  }
};

TEST_CASE("the roles of an owner are worked out once for all of its pods", "[kube][grouping]") {
  OwnedPods world;
  for (int i = 0; i < 4; ++i) world.SeeOfRole("p" + std::to_string(i), "r" + std::to_string(i / 2));
  world.Answer(JobSetJson(3, 1));
  CHECK(world.Of("p0").roles.size() == 3);
  CHECK(world.Of("p0").minimum == 6);
  CHECK(world.Of("p0").role == "r0");
  CHECK(world.Of("p3").role == "r1");
  CHECK(world.Of("p0").roles.begin() == world.Of("p3").roles.begin());
  // A pod that comes later has the same.
  world.SeeOfRole("late", "r2");
  CHECK(world.Of("p0").roles.begin() == world.Of("late").roles.begin());
  // The next version is another one.
  world.now = world.book.owners().NextDue();
  world.Answer(JobSetJson(4, 2));
  CHECK(world.Of("p0").minimum == 8);
  CHECK(world.Of("p0").roles.begin() == world.Of("late").roles.begin());
}

TEST_CASE("rules that have changed are applied anew to an owner that has not", "[kube][grouping]") {
  OwnedPods world;
  world.SeeOfRole("p0", "r0");
  world.Answer(JobSetJson(3, 1));
  GroupingSettings settings{config::ShippedGroupingRules(), {"muster"}};
  for (cluster::GroupingRule& rule : settings.rules)
    for (cluster::GroupingRole& role : rule.roles)
      role.makes = {cluster::GroupingAmount::Kind::kNumber, 7};
  world.book.Set(settings);
  CHECK(world.Of("p0").minimum == 21);
}

TEST_CASE("what two pods show of their owner differently is worked out for each",
          "[kube][grouping]") {
  OwnedPods world;
  for (int i = 0; i < 40; ++i) world.SeeOfSize("p" + std::to_string(i), std::to_string(i + 2));
  world.SeeOfSize("same", "5");
  world.SeeOfSize("bad", "many");
  world.SeeOfSize("worse", "many");
  world.Answer(
      R"({"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","metadata":{)"
      R"("name":"train","namespace":"team","uid":"uid-train","resourceVersion":"1"},)"
      R"("spec":{"leaderWorkerTemplate":{"size":3}}})");
  for (int i = 0; i < 40; ++i) CHECK(world.Of("p" + std::to_string(i)).minimum == i + 2);
  CHECK(world.Of("same").minimum == 5);
  // What is malformed is said of the pod on which it stands.
  CHECK_THAT(world.Of("bad").reason, Catch::StartsWith("Pod bad."));
  CHECK_THAT(world.Of("worse").reason, Catch::StartsWith("Pod worse."));
}

TEST_CASE("an owner with more roles than are counted is refused", "[kube][grouping]") {
  OwnedPods world;
  world.SeeOfRole("p0", "r0");
  world.Answer(JobSetJson(1'024, 1));
  CHECK(world.Of("p0").minimum == 2'048);
  world.SeeOfRole("p1", "r1");
  world.now = world.book.owners().NextDue();
  world.Answer(JobSetJson(1'025, 2));
  CHECK(world.Of("p1").kind == Grouping::Kind::kRefused);
  CHECK(world.Of("p1").reason == "JobSet train has more than 1024 roles");
}

TEST_CASE("pods of an owner are judged slice by slice, each once", "[kube][grouping]") {
  OwnedPods world({.least = 2, .most = 4});
  for (int i = 0; i < 10; ++i) world.SeeOfRole("p" + std::to_string(i), "r0");
  const auto request = world.book.owners().Take(world.now);
  REQUIRE(request);
  GroupingBook::Told told = world.book.Learn(request->key, ReadAs(JobSetJson(5, 1)), world.now);
  CHECK(told.pods.size() + told.first.size() == 4);
  CHECK(world.book.withheld() == 6);
  // Meanwhile another pod comes, and one goes.
  world.SeeOfRole("late", "r1");
  CHECK(world.Of("late").minimum == 10);
  world.book.Forget(PodUid("uid-p9"), world.now);
  std::set<std::string> seen;
  for (int slices = 1;; ++slices) {
    for (const auto* pods : {&told.pods, &told.first})
      for (const cluster::Pod& pod : *pods) CHECK(seen.insert(pod.key.name).second);
    if (!world.book.behind()) break;
    REQUIRE(slices < 4);
    told = world.book.GoOn();
  }
  CHECK(seen.size() == 9);
  CHECK(world.book.withheld() == 0);
}

TEST_CASE("pods of one owner are judged together where they fit into a slice", "[kube][grouping]") {
  OwnedPods world({.least = 2, .most = 4});
  for (const char* job : {"a", "b", "c"})
    for (int i = 0; i < 3; ++i) world.See(job + std::to_string(i), {.job = job});
  for (int i = 0; i < 3; ++i) {
    const auto request = world.book.owners().Take(world.now);
    REQUIRE(request);
    world.book.Learn(request->key, ReadAs(JobJson(request->key.name, 3)), world.now);
  }
  GroupingSettings other{config::ShippedGroupingRules(), {"muster"}};
  other.by_owner = false;
  GroupingBook::Told told = world.book.Set(other);
  for (int slices = 0; slices < 3; ++slices) {
    REQUIRE(told.pods.size() == 3);
    CHECK(told.pods.front().key.name[0] == told.pods.back().key.name[0]);
    told = world.book.GoOn();
  }
  CHECK_FALSE(world.book.behind());
}

}  // namespace
}  // namespace muster::kube
