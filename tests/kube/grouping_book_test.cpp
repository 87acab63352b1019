#include "kube/owners/grouping_book.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "kube/decode/kept_fields.hpp"
#include "kube/decode/kept_object.hpp"
#include "tests/kube/grouping_book_world.hpp"

namespace muster::kube {
namespace {

using cluster::Duration;
using cluster::PodUid;
using cluster::Time;

TEST_CASE("pods of a Job wait for it to be read, and are told as a gang then", "[kube][grouping]") {
  BookWorld world;
  CHECK(world.See("a") == "withheld");
  CHECK(world.See("b") == "withheld");
  CHECK(world.book.withheld() == 2);
  CHECK(world.Answer(JobJson("train", 4)) == "a: job:train of 4;b: job:train of 4;");
  CHECK(world.read == "/apis/batch/v1/namespaces/team/jobs/train");
  CHECK(world.book.withheld() == 0);
  CHECK(world.See("c") == "c: job:train of 4");
  CHECK_FALSE(world.book.owners().Take(world.now));
}

TEST_CASE("ten thousand pods of a hundred Jobs cost a hundred reads", "[kube][grouping]") {
  BookWorld world;
  for (int pod = 0; pod < 10'000; ++pod)
    world.See("p" + std::to_string(pod), {.job = "job-" + std::to_string(pod % 100)});
  while (const auto request = world.book.owners().Take(world.now)) {
    ++world.reads;
    world.book.Learn(request->key, ReadAs(JobJson(request->key.name, 100)), world.now);
  }
  CHECK(world.reads == 100);
  CHECK(world.book.withheld() == 0);
  CHECK(world.book.owners().size() == 100);
}

TEST_CASE("an owner that is no longer needed is forgotten", "[kube][grouping]") {
  BookWorld world;
  world.See("a");
  world.Answer(JobJson("train", 2));
  world.book.Forget(PodUid("uid-a"), world.now);
  CHECK(world.book.owners().size() == 0);
  CHECK(world.book.owners().NextDue() == Time::Never());
}

TEST_CASE("a Job that grows is followed when more pods come than it was to have",
          "[kube][grouping]") {
  BookWorld world;
  world.See("a");
  world.See("b");
  world.Answer(JobJson("train", 2));
  CHECK(world.See("c") == "c: job:train of 2");
  CHECK_FALSE(world.book.owners().Take(world.now));  // not again at once
  world.now = world.now + Duration(2'000);
  CHECK(world.Answer(JobJson("train", 3, 2)) ==
        "a: job:train of 3;b: job:train of 3;c: job:train of 3;");
}

TEST_CASE("a Job that shrinks is followed when a pod of it goes", "[kube][grouping]") {
  BookWorld world;
  for (const char* pod : {"a", "b", "c"}) world.See(pod);
  world.Answer(JobJson("train", 3));
  world.now = world.now + Duration(5'000);
  world.book.Forget(PodUid("uid-c"), world.now);
  CHECK(world.Answer(JobJson("train", 2, 2)) == "a: job:train of 2;b: job:train of 2;");
}

TEST_CASE("an owner is read again now and then while its pods wait, seldom while they run",
          "[kube][grouping]") {
  BookWorld world;
  world.See("a");
  world.See("b");
  world.Answer(JobJson("train", 2));
  CHECK(world.book.owners().NextDue() == world.now + Duration(30'000));
  for (const char* pod : {"a", "b"}) world.See(pod, {.node = "n0", .phase = "Running"});
  world.now = world.now + Duration(30'000);
  CHECK(world.Answer(JobJson("train", 2)).empty());  // the same version says the same
  CHECK(world.book.owners().NextDue() == world.now + Duration(300'000));
  for (const char* pod : {"a", "b"}) world.See(pod, {.node = "n0", .phase = "Succeeded"});
  world.now = world.now + Duration(300'000);
  world.Answer(JobJson("train", 2));
  CHECK(world.book.owners().NextDue() == Time::Never());
}

TEST_CASE("looks at many owners are spread over a longer time", "[kube][grouping]") {
  BookWorld world;
  constexpr int kJobs = 3'000;
  for (int job = 0; job < kJobs; ++job)
    world.See("p" + std::to_string(job), {.job = "job-" + std::to_string(job)});
  int reads = 0;
  const Time end = world.now + Duration(600'000);
  for (; world.now < end; world.now = world.now + Duration(1'000)) {
    while (const auto request = world.book.owners().Take(world.now)) {
      ++reads;
      world.book.Learn(request->key, ReadAs(JobJson(request->key.name, 2)), world.now);
    }
  }
  CHECK(reads > 2 * kJobs);
  CHECK(reads <= kJobs + 600 * 20);
}

TEST_CASE("that pods of a Job have ended is reported with those that wait", "[kube][grouping]") {
  BookWorld world;
  world.See("a");
  world.See("b", {.node = "n0", .phase = "Running"});
  world.Answer(JobJson("train", 3));
  world.now = world.now + Duration(30'000);
  std::string ended = JobJson("train", 3, 2);
  ended.insert(ended.size() - 1, R"(,"status":{"succeeded":1})");
  CHECK(world.Answer(ended) == "a: job:train of 3;");
  REQUIRE(world.book.Find(PodUid("uid-a")) != nullptr);
  CHECK(world.book.Find(PodUid("uid-a"))->ended == 1);
}

TEST_CASE("a gang's size is followed when what wraps its owner is gone", "[kube][grouping]") {
  BookWorld world;
  const auto job = [](int parallelism, int version) {
    std::string json = JobJson("train", parallelism, version);
    return json.insert(json.find(R"("resourceVersion")"),
                       R"("ownerReferences":[{"apiVersion":"batch/v1","kind":"CronJob",)"
                       R"("name":"nightly","uid":"uid-nightly","controller":true}],)");
  };
  world.See("a");
  CHECK(world.Answer(job(3, 1)).empty());
  CHECK(world.Answer(OwnerAnswer{OwnerAnswer::Kind::kGone, {}, {}}) == "a: job:train of 3;");
  world.now = world.now + Duration(30'000);
  CHECK(world.Answer(job(2, 2)) == "a: job:train of 2;");
  world.now = world.now + Duration(30'000);
  world.Answer(job(2, 2));
  CHECK(world.book.owners().NextDue() > world.now);  // nobody asks for what is gone
}

TEST_CASE("what pods wait for is read before what only ended pods need", "[kube][grouping]") {
  BookWorld world;
  world.See("a", {.job = "a-ended", .node = "n0", .phase = "Succeeded"});
  world.See("b", {.job = "b-both", .node = "n0", .phase = "Succeeded"});
  world.See("c", {.job = "c-waits"});
  world.See("d", {.job = "b-both"});
  for (const char* job : {"b-both", "c-waits", "a-ended"}) {
    world.Answer(JobJson(job, 2));
    CHECK_THAT(world.read, Catch::EndsWith(std::string("/") + job));
  }
}

TEST_CASE("pods that are judged keep their gang when their owner goes", "[kube][grouping]") {
  BookWorld world;
  world.See("a");
  world.Answer(JobJson("train", 2));
  world.now = world.now + Duration(30'000);
  CHECK(world.Answer(OwnerAnswer{OwnerAnswer::Kind::kGone, {}, {}}).empty());
  CHECK(world.See("a", {.node = "n0"}) == "a: job:train of 2");
  CHECK(world.See("b") == "b: alone");
}

TEST_CASE("an owner made anew under its name is another one", "[kube][grouping]") {
  BookWorld world;
  world.See("a");
  world.Answer(JobJson("train", 2));
  world.now = world.now + Duration(30'000);
  std::string anew = JobJson("train", 5);
  anew.replace(anew.find("uid-train"), 9, "uid-other");
  CHECK(world.Answer(anew).empty());
  CHECK(world.See("a") == "a: job:train of 2");  // its own is gone
}

TEST_CASE("a pod that is not Muster's any more and is bound needs its owners no more",
          "[kube][grouping]") {
  BookWorld world;
  CHECK(world.See("a", {.gated = true, .scheduler = "other"}) == "withheld");
  CHECK(world.book.owners().size() == 1);
  CHECK(world.See("a", {.node = "n0", .scheduler = "other"}) == "a: alone");
  CHECK(world.book.withheld() == 0);
  CHECK(world.book.owners().size() == 0);
}

TEST_CASE("a pod that holds something is withheld before the start only", "[kube][grouping]") {
  BookWorld world;
  CHECK(world.See("a", {.node = "n0", .phase = "Running"}) == "withheld");
  const GroupingBook::Told told = world.book.Start();
  REQUIRE(told.first.size() == 1);
  CHECK(BookWorld::Shown(told.first[0]) == "a: alone");
  CHECK(world.See("b", {.node = "n0", .phase = "Running"}) == "b: alone");
  CHECK(world.See("c") == "withheld");
  CHECK(world.Answer(JobJson("train", 3)) ==
        "c: job:train of 3;a: job:train of 3;b: job:train of 3;");
}

TEST_CASE("a pod that a process before released waits in its gang until its owner is read",
          "[kube][grouping]") {
  BookWorld world;
  CHECK(world.See("a", {.handed_over = true}) == "withheld");
  const GroupingBook::Told told = world.book.Start();
  REQUIRE(told.first.size() == 1);
  CHECK(BookWorld::Shown(told.first[0]) == "a: job:train of 1");
  CHECK(world.See("b", {.node = "n0", .phase = "Running", .bound_in = "job:train~1"}) ==
        "b: job:train of 1");
  const Grouping* waits = world.book.Find(told.first[0].uid);
  REQUIRE(waits != nullptr);
  CHECK(waits->kind == Grouping::Kind::kUnread);
  CHECK(waits->reason == "Job train is not read yet");
  CHECK(world.Answer(JobJson("train", 3)) == "a: job:train of 3;b: job:train of 3;");
}

TEST_CASE("pods of other schedulers are judged when kube-scheduler asks Muster about them",
          "[kube][grouping]") {
  BookWorld world;
  const PodOptions other{.scheduler = "default-scheduler"};
  CHECK(world.See("a", other) == "a: alone");
  CHECK_FALSE(world.book.owners().Take(world.now));
  auto asked = DecodePod(PodJson("a", other));
  REQUIRE(asked.ok());
  CHECK(world.book.Ask(*asked).why == "pod team/a: Job train is not read yet");
  CHECK(world.Answer(JobJson("train", 2)) == "a: job:train of 2;");
  CHECK(world.book.Ask(*asked).why.empty());
  CHECK(BookWorld::Shown(*asked) == "a: job:train of 2");
  auto unseen = DecodePod(PodJson("b", other));
  REQUIRE(unseen.ok());
  CHECK(world.book.Ask(*unseen).why == "pod team/b did not come with the watch yet");
}

TEST_CASE("a minimum that can never be met is the defect of pods that are not placed",
          "[kube][grouping]") {
  BookWorld world;
  world.See("a");
  std::string job = JobJson("train", 2);
  job.insert(job.find(R"("uid")"), R"("annotations":{"muster.dev/min-member":"3"},)");
  CHECK_THAT(world.Answer(job), Catch::StartsWith("a: defect Job train makes 2 pods, and "
                                                  "muster.dev/min-member asks for 3"));
  CHECK(world.See("a", {.node = "n0"}) == "a: alone");
}

TEST_CASE("what runs is held to no more than its owner still makes", "[kube][grouping]") {
  BookWorld world;
  const auto job = [](int pods) {
    std::string json = JobJson("train", pods, pods);
    return json.insert(json.find(R"("uid")"), R"("annotations":{"muster.dev/min-member":"3"},)");
  };
  for (const char* pod : {"a", "b", "c"}) world.See(pod, {.node = "n0"});
  CHECK(world.Answer(job(4)) == "a: job:train of 3;b: job:train of 3;c: job:train of 3;");
  world.book.Forget(PodUid("uid-c"), world.now);
  world.now = world.now + cluster::Seconds(10);
  CHECK(world.Answer(job(2)) == "a: job:train of 2;b: job:train of 2;");
  CHECK_THAT(world.See("d"), Catch::StartsWith("d: defect Job train makes 2 pods"));
}

TEST_CASE("no name of an owner leads out of its place in a path", "[kube][grouping]") {
  BookWorld world;
  for (const char* name : {"../../secrets/x", "a/b", "a?x=y", "a%2fb", "..", "A b"}) {
    CAPTURE(name);
    CHECK(world.See("pod", {.job = name}) == "pod: alone");
    CHECK_FALSE(world.book.owners().Take(world.now));
  }
}

TEST_CASE("rules that change are followed at once", "[kube][grouping]") {
  BookWorld world;
  world.See("a");
  world.Answer(JobJson("train", 2));
  const GroupingBook::Told told = world.book.Set({{}, {"muster"}});
  REQUIRE(told.pods.size() == 1);
  CHECK(BookWorld::Shown(told.pods[0]) == "a: alone");
  CHECK(world.book.owners().size() == 0);
}

TEST_CASE("a pod that waits by itself is withdrawn when rules ask for its owner",
          "[kube][grouping]") {
  BookWorld world;
  world.book.Set({config::ShippedGroupingRules(), {"muster"}, false});
  CHECK(world.See("a") == "a: alone");
  CHECK(world.book.TakeWithdrawn().empty());
  const GroupingBook::Told told = world.book.Set({config::ShippedGroupingRules(), {"muster"}});
  CHECK(told.pods.empty());
  CHECK(told.first.empty());
  CHECK(world.book.TakeWithdrawn() == std::vector<PodUid>{PodUid("uid-a")});
  CHECK(world.book.TakeWithdrawn().empty());
  CHECK(world.book.withheld() == 1);
  CHECK(world.Answer(JobJson("train", 2)) == "a: job:train of 2;");
  CHECK(world.book.TakeWithdrawn().empty());
}

TEST_CASE("a pod that was withdrawn comes back by itself when its owner cannot be read",
          "[kube][grouping]") {
  BookWorld world;
  world.book.Set({config::ShippedGroupingRules(), {"muster"}, false});
  world.See("a");
  world.book.Set({config::ShippedGroupingRules(), {"muster"}});
  REQUIRE(world.book.TakeWithdrawn().size() == 1);
  CHECK_THAT(world.Answer(OwnerAnswer{OwnerAnswer::Kind::kRefused, {}, "forbidden"}),
             Catch::StartsWith("a: job:train of 1;"));
  CHECK(world.book.withheld() == 0);
  // It is deleted in the meantime: nothing is left to withdraw.
  world.book.Set({config::ShippedGroupingRules(), {"muster"}, false});
  world.book.Forget(PodUid("uid-a"), world.now);
  CHECK(world.book.TakeWithdrawn().empty());
}

TEST_CASE("pods that are not Muster's any more are told as they were read", "[kube][grouping]") {
  BookWorld world;
  world.See("a");
  world.See("b", {.job = "unread"});
  world.Answer(JobJson("train", 2));
  const GroupingBook::Told told = world.book.Set({config::ShippedGroupingRules(), {"other"}});
  REQUIRE(told.pods.size() == 1);
  CHECK(BookWorld::Shown(told.pods[0]) == "a: alone");
  REQUIRE(told.first.size() == 1);
  CHECK(BookWorld::Shown(told.first[0]) == "b: alone");
  CHECK(world.book.withheld() == 0);
  CHECK(world.book.owners().size() == 0);
}

TEST_CASE("every part of a pod that a rule names is kept of it", "[kube][grouping]") {
  const auto kept = [](const cluster::GroupingPath& path) {
    if (path.steps.size() < 2) return true;
    const std::string text = R"({"metadata":{"name":"a","namespace":"team","uid":"u",)"
                             R"("ownerReferences":[{"apiVersion":"v1","kind":"K","name":"n",)"
                             R"("uid":"u2","controller":true}],")" +
                             path.steps[1] + R"(":{")" +
                             (path.steps.size() > 2 ? path.steps[2] : "x") +
                             R"(":"here"}},"spec":{"nodeName":"n0","containers":[]}})";
    const auto pod = KeptObject::Read(text, PodFields(), "Pod", {});
    REQUIRE(pod.ok());
    const auto decoded = DecodePod(pod->node());
    REQUIRE(decoded.ok());
    return path.steps[0] == "spec"
               ? path.steps[1] == "nodeName"
               : GroupingText(pod->node(), *decoded).find("here") != std::string::npos;
  };
  int paths = 0;
  const auto check = [&](const cluster::GroupingPath& path) {
    if (path.root != cluster::GroupingPath::Root::kPod) return;
    ++paths;
    CAPTURE(path.steps);
    CHECK(kept(path));
    CHECK(IsInGroupingText(path));
  };
  const auto check_all = [&](const cluster::GroupingConditions& conditions) {
    for (const auto& condition : conditions) check(condition.path);
  };
  for (const cluster::GroupingRule& rule : config::ShippedGroupingRules()) {
    for (const auto* path : {&rule.per, &rule.attempt, &rule.role}) check(*path);
    for (const auto& one : rule.not_members) check_all(one.when);
    for (const auto& one : rule.early) check_all(one.when);
    for (const auto& one : rule.cases) check_all(one.when);
    for (const auto& role : rule.roles) check_all(role.pods);
  }
  for (const char* unkept : {"annotations", "generation"}) {
    const cluster::GroupingPath path = {cluster::GroupingPath::Root::kPod,
                                        {"metadata", unkept, "example.com/try"}};
    CAPTURE(path.steps);
    CHECK_FALSE(kept(path));
    CHECK_FALSE(IsInGroupingText(path));
  }
  CHECK(paths > 10);
}

}  // namespace
}  // namespace muster::kube
