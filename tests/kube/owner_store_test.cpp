// Bounds of what is kept of owners of pods, and rules that read what was not kept.
#include "kube/owners/owner_store.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "config/policies/grouping_file.hpp"
#include "config/policies/grouping_text.hpp"
#include "kube/dialects/dialect_fields.hpp"
#include "kube/json/json_view.hpp"
#include "kube/owners/owner_reader.hpp"
#include "tests/kube/grouping_book_world.hpp"

namespace muster::kube {
namespace {

OwnerKey JobKey(const std::string& ns, const std::string& name) {
  return {"batch/v1", "Job", ns, name, "uid-" + name};
}

OwnerObject TextOf(size_t bytes) {
  const std::string json = '"' + std::string(bytes - 2, 'x') + '"';
  return {json, OwnerJson(json)};
}

TEST_CASE("one namespace has at most a quarter of what is kept of owners", "[kube][grouping]") {
  OwnerStore store(4'000);
  CHECK(store.Keep(JobKey("a", "one"), TextOf(600)));
  CHECK_FALSE(store.Keep(JobKey("a", "two"), TextOf(600)));
  CHECK(store.Keep(JobKey("b", "one"), TextOf(1'000)));
  CHECK(store.Keep(JobKey("a", "small"), TextOf(400)));
  CHECK(store.bytes() == 2'000);
  CHECK(store.Find(JobKey("a", "two")).json == nullptr);
}

TEST_CASE("what all namespaces keep of owners is bounded, too", "[kube][grouping]") {
  OwnerStore store(4'000);
  for (const char* ns : {"a", "b", "c", "d"}) CHECK(store.Keep(JobKey(ns, "one"), TextOf(1'000)));
  CHECK_FALSE(store.Keep(JobKey("e", "one"), TextOf(10)));
  CHECK_THAT(store.WhyNot(JobKey("e", "one")), Catch::Contains("of all owners of pods"));
  CHECK_FALSE(store.TakeFitting());
  store.Drop(JobKey("b", "one"));
  CHECK(store.TakeFitting() == JobKey("e", "one"));
  CHECK_FALSE(store.TakeFitting());
}

TEST_CASE("an owner that has grown beyond the room is not kept as it was", "[kube][grouping]") {
  OwnerStore store(4'000);
  CHECK(store.Keep(JobKey("a", "one"), TextOf(600)));
  CHECK_FALSE(store.Keep(JobKey("a", "one"), TextOf(1'200)));
  CHECK(store.bytes() == 0);
  CHECK(store.Find(JobKey("a", "one")).json == nullptr);
  CHECK(store.Keep(JobKey("a", "one"), TextOf(800)));
  CHECK_FALSE(store.TakeFitting());
}

TEST_CASE("what is kept of many owners is the same whenever it is asked for", "[kube][grouping]") {
  OwnerStore store(size_t{1} << 20U);
  const auto name = [](int i) { return "job-" + std::to_string(i); };
  for (int i = 0; i < 100; ++i) {
    const std::string json = '"' + name(i) + '"';
    REQUIRE(store.Keep(JobKey("a", name(i)), {json, OwnerJson(json)}));
  }
  for (int i : {99, 0, 1, 50, 0, 99}) {
    const auto found = store.Find(JobKey("a", name(i))).json;
    REQUIRE(found != nullptr);
    JsonProblems problems;
    const JsonView text(found->root(), "text", problems);
    CHECK(text.ScalarText() == name(i));
  }
}

TEST_CASE("pods of an owner for which there is no room wait with the reason, until there is",
          "[kube][grouping]") {
  OwnerTable::Options options;
  options.most_bytes = 1'000;
  BookWorld world(options);
  world.See("a");
  CHECK(world.Answer(JobJson("train", 3)) == "a: job:train of 3;");
  world.See("b", {.job = "second"});
  CHECK_THAT(world.Answer(JobJson("second", 2)),
             Catch::StartsWith("b: job:second of 1;! owners of pods are beyond a bound in "
                               "namespace team, Job second for one") &&
                 Catch::Contains("of the owners of one namespace"));
  CHECK(world.book.Find(cluster::PodUid("uid-b"))->kind == Grouping::Kind::kUnreadable);
  world.See("c", {.job = "third"});
  CHECK_THAT(world.Answer(JobJson("third", 2)), !Catch::Contains("!"));
  // The pod of the first goes: its owner is nobody's any more.
  world.book.Forget(cluster::PodUid("uid-a"), world.now);
  const auto again = world.book.owners().Take(world.now);
  REQUIRE(again);
  const GroupingBook::Told told =
      world.book.Learn(again->key, ReadAs(JobJson(again->key.name, 2)), world.now);
  REQUIRE(told.pods.size() == 1);
  CHECK(BookWorld::Shown(told.pods.front()).ends_with("of 2"));
}

TEST_CASE("pods of an owner of which too much would have to be kept wait with the reason",
          "[kube][grouping]") {
  BookWorld world;
  world.See("a");
  const std::string told =
      world.Answer({OwnerAnswer::Kind::kTooLarge, {}, "Job.spec.x: holds a long text"});
  CHECK_THAT(told, Catch::StartsWith("a: job:train of 1;! owners of pods are beyond a bound"));
  const Grouping* grouping = world.book.Find(cluster::PodUid("uid-a"));
  CHECK(grouping->kind == Grouping::Kind::kUnreadable);
  CHECK(grouping->reason == "Job train: Job.spec.x: holds a long text");
  // It is looked at again as any other.
  world.now = world.book.owners().NextDue();
  CHECK(world.Answer(JobJson("train", 2)) == "a: job:train of 2;");
}

TEST_CASE("a gang keeps together while its owner is too large to be read", "[kube][grouping]") {
  BookWorld world;
  world.See("a");
  world.See("b");
  world.Answer(JobJson("train", 2));
  world.now = world.book.owners().NextDue();
  world.Answer({OwnerAnswer::Kind::kTooLarge, {}, "it is too large"});
  for (const char* pod : {"uid-a", "uid-b"}) {
    const Grouping* grouping = world.book.Find(cluster::PodUid(pod));
    CHECK(grouping->kind == Grouping::Kind::kGang);
    CHECK(grouping->minimum == 2);
  }
}

GroupingSettings WithCase(const std::string& condition) {
  GroupingSettings settings{config::ShippedGroupingRules(), {"muster"}};
  for (cluster::GroupingRule& rule : settings.rules) {
    if (!config::IsForJobs(rule)) continue;
    cluster::GroupingCase one;
    one.when.push_back(*config::ParseGroupingCondition(condition));
    one.gang = cluster::GroupingCase::Gang::kAlone;
    one.because = "the rule says so";
    rule.cases.insert(rule.cases.begin(), one);
  }
  return settings;
}

TEST_CASE("rules that read what was not kept have it read, and till then all stays as it was",
          "[kube][grouping]") {
  BookWorld world;
  world.See("a");
  world.See("b", {.job = "alone"});
  world.Answer(JobJson("alone", 1));
  world.Answer(JobJson("train", 3));
  CHECK_FALSE(world.book.owners().Take(world.now));
  GroupingBook::Told told = world.book.Set(WithCase("owner.spec.suspend is present"));
  CHECK(told.pods.empty());
  CHECK(told.first.empty());
  CHECK(world.book.TakeWithdrawn().empty());
  std::string suspended = JobJson("train", 3, 2);
  suspended.insert(suspended.find("\"parallelism\""), "\"suspend\":false,");
  for (int i = 0; i < 2; ++i) {
    const auto request = world.book.owners().Take(world.now);
    REQUIRE(request);
    const bool train = request->key.name.starts_with("train");
    CHECK(SiftOwner(suspended, *request->fields, "Job").object.text.find("suspend") !=
          std::string::npos);
    told =
        world.book.Learn(request->key, ReadAs(train ? suspended : JobJson("alone", 1)), world.now);
    CHECK(told.pods.size() == (train ? 1 : 0));
    for (const cluster::Pod& pod : told.pods) CHECK(BookWorld::Shown(pod) == "a: alone");
  }
  // These read less: nothing is read for that.
  world.book.Set(WithCase("owner.spec.completionMode is absent"));
  CHECK_FALSE(world.book.owners().Take(world.now));
}

TEST_CASE("what was asked for by the rules of before does not count for those of now",
          "[kube][grouping]") {
  BookWorld world;
  world.See("a");
  world.Answer(JobJson("train", 3));
  world.now = world.book.owners().NextDue();
  const auto request = world.book.owners().Take(world.now);
  REQUIRE(request);
  world.book.Set(WithCase("owner.spec.suspend is present"));
  world.book.Learn(request->key, ReadAs(JobJson("train", 4, 2)), world.now);
  CHECK(world.book.Find(cluster::PodUid("uid-a"))->minimum == 3);
  CHECK(world.Answer(JobJson("train", 4, 2)) == "a: job:train of 4;");
}

// {"spec":{"a":[{"b":true}]}} of "spec.a[].b".
std::string ObjectWith(std::string path, const std::string& value) {
  if (path.empty()) return value;
  const std::string step = path.substr(0, path.find('.'));
  path.erase(0, std::min(path.size(), step.size() + 1));
  const bool list = step.ends_with("[]");
  const std::string name = list ? step.substr(0, step.size() - 2) : step;
  const std::string inner = ObjectWith(path, value);
  return "{\"" + name + "\":" + (list ? "[" + inner + "]" : inner) + "}";
}

TEST_CASE("every field of an owner that is ignored is still reported from what is kept of it",
          "[kube][grouping]") {
  int fields = 0;
  for (const Dialect& dialect : DialectsOfOwners()) {
    const std::string kind(dialect.kinds.front());
    const size_t slash = kind.rfind('/');
    const OwnerKey key{kind.substr(0, slash), kind.substr(slash + 1), "team", "train", "uid"};
    const OwnerFields kept(config::ShippedGroupingRules(), key);
    for (const DialectField& field : dialect.fields) {
      if (field.heed != Heed::kNotHonoured) continue;
      ++fields;
      const std::string large(100'000, 'x');
      const std::vector<std::string> values = {
          R"({"some":"thing"})", R"([{"some":1}])", "\"" + large + "\"", "7", "[]", "\"\""};
      for (const std::string& value : values) {
        const std::string object = ObjectWith(std::string(field.path), value);
        const OwnerAnswer read = SiftOwner(object, kept, key.kind);
        INFO(object.substr(0, 200) << " " << read.why);
        REQUIRE(read.kind == OwnerAnswer::Kind::kRead);
        CHECK(read.object.text.size() < 200);
        JsonProblems ignored;
        const auto told = [&](const Json& json) {
          const JsonView job(json.root(), "Job", ignored);
          return FieldsNotHonoured(dialect, job);
        };
        CHECK(told(*read.object.json) == told(*OwnerJson(object)));
      }
    }
  }
  CHECK(fields >= 4);
}

}  // namespace
}  // namespace muster::kube
