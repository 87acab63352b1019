// Owners of pods, read by ClusterFeed from a played API server.
#include <algorithm>
#include <catch2/catch.hpp>
#include <future>
#include <span>
#include <string>

#include "config/policies/grouping_file.hpp"
#include "kube/owners/owner_reader.hpp"
#include "tests/kube/feed_world.hpp"

namespace muster::kube {
namespace {

using std::chrono::milliseconds;

const char* const kJobPath = "/apis/batch/v1/namespaces/team/jobs/train";
const char* const kJob =
    R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"train","namespace":"team",)"
    R"("uid":"train-uid","resourceVersion":"1"},"spec":{"completionMode":"Indexed",)"
    R"("parallelism":2,"completions":2}})";

std::string OwnedPod(const std::string& name) {
  return R"({"metadata":{"name":")" + name + R"(","namespace":"team","uid":")" + name +
         R"(-uid","resourceVersion":"4","ownerReferences":[{"apiVersion":"batch/v1",)"
         R"("kind":"Job","name":"train","uid":"train-uid","controller":true}]},)"
         R"("spec":{"schedulerName":"muster","containers":[{"name":"main"}]}})";
}

// Two pods of one Job.
struct OwnedWorld : FeedWorld {
  explicit OwnedWorld(FakeApi::Answer job, milliseconds patience = std::chrono::minutes(1))
      : FeedWorld(std::chrono::hours(1), patience) {
    api.On(Method::kGet, "/api/v1/pods?limit=500",
           Reply(200, ListOf("PodList", OwnedPod("a") + "," + OwnedPod("b"))));
    api.On(Method::kGet, kJobPath, std::move(job));
    feed->SetGrouping({config::ShippedGroupingRules(), {"muster"}});
  }
  int64_t Reads() const {
    const auto lines = api.lines();
    return std::count(lines.begin(), lines.end(), std::string("GET ") + kJobPath);
  }
};

TEST_CASE("the start waits for the owners of pods, which are read once for all of them",
          "[kube][feed][grouping]") {
  OwnedWorld world(Reply(200, kJob));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  const auto told = world.told();
  const auto gang = [](const std::string& line) {
    return line.starts_with("declared gang team/job:train~") && line.ends_with(" of 2");
  };
  CHECK(std::count_if(told.begin(), told.end(), gang) == 1);
  CHECK(world.Told("pod team/a"));
  CHECK(world.Told("pod team/b"));
  CHECK(world.Reads() == 1);
}

TEST_CASE("the pods of a large gang are told in pieces, its minimum before them",
          "[kube][feed][grouping]") {
  constexpr int kManyPods = 1'000;
  std::string job = kJob;
  for (const char* count : {"\"parallelism\":2", "\"completions\":2"})
    job.insert(job.find(count) + std::string(count).size(), "000");
  OwnedWorld world(Reply(200, job));
  std::string pods;
  for (int i = 0; i < kManyPods; ++i)
    pods += (i == 0 ? "" : ",") + OwnedPod("p" + std::to_string(i));
  world.api.On(Method::kGet, "/api/v1/pods?limit=500", Reply(200, ListOf("PodList", pods)));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  CHECK(world.most_together() <= 256);
  const auto told = world.told();
  const auto first = [&](const std::string& begin) {
    return std::find_if(told.begin(), told.end(),
                        [&](const std::string& line) { return line.starts_with(begin); });
  };
  CHECK(std::count_if(told.begin(), told.end(), [](const std::string& line) {
          return line.starts_with("pod team/p");
        }) == kManyPods);
  CHECK(first("declared gang team/job:train~") < first("pod team/p"));
  CHECK_THAT(world.LastTold("declared gang"), Catch::EndsWith(" of 2000"));
}

bool Told(std::span<const engine::Fact> facts, const std::string& name) {
  return std::any_of(facts.begin(), facts.end(), [&](const engine::Fact& fact) {
    const auto* pod = std::get_if<cluster::Pod>(&fact);
    return pod != nullptr && pod->key.name == name;
  });
}

TEST_CASE("a pod is asked for while the engine takes pods of other namespaces, not of its own",
          "[kube][feed][grouping]") {
  OwnedWorld world(Reply(200, kJob));
  std::promise<void> began;
  std::promise<void> go_on;
  world.on_apply = [&, waits = go_on.get_future().share()](std::span<const engine::Fact> facts) {
    if (!Told(facts, "a")) return;
    began.set_value();
    waits.wait();
  };
  world.feed->Start();
  began.get_future().wait();
  const auto ask = [&](const std::string& ns) {
    return std::async(std::launch::async, [&world, ns] {
      cluster::Pod pod;
      pod.key = {ns, "single"};
      pod.uid = cluster::PodUid("single");
      return world.feed->AskGrouping(pod);
    });
  };
  std::future<std::string> other = ask("other");
  std::future<std::string> same = ask("team");
  CHECK(other.wait_for(std::chrono::seconds(10)) == std::future_status::ready);
  CHECK(same.wait_for(milliseconds(50)) == std::future_status::timeout);
  go_on.set_value();
  CHECK(same.get().empty());
  CHECK(Eventually([&] { return world.synced() == 1; }));
}

TEST_CASE("pods that wait by themselves are a gang as soon as gangs by owner are switched on",
          "[kube][feed][grouping]") {
  OwnedWorld world(Reply(200, kJob));
  world.feed->SetGrouping({config::ShippedGroupingRules(), {"muster"}, false});
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  CHECK(world.Told("pod team/a"));
  CHECK(world.LastTold("declared gang").empty());
  const size_t before = world.told().size();
  // Without Jobs, whose watch the start does not wait for: they come when they come.
  const auto since = [&] {
    auto lines = world.told();
    lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(before));
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("job "); });
    return lines;
  };
  world.feed->SetGrouping({config::ShippedGroupingRules(), {"muster"}});
  REQUIRE(Eventually([&] { return !world.LastTold("declared gang").empty(); }));
  REQUIRE(Eventually([&] { return since().size() >= 5; }));
  const auto told = since();
  CHECK(told[0] == "withdrawn pod a-uid");
  CHECK(told[1] == "withdrawn pod b-uid");
  CHECK(std::count(told.begin(), told.end(), "pod team/a") == 1);
  CHECK(std::count(told.begin(), told.end(), "pod team/b") == 1);
}

TEST_CASE("an owner that may have changed is read again, though nothing else happens",
          "[kube][feed][grouping]") {
  OwnedWorld world(Reply(200, kJob));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  REQUIRE(world.Reads() == 1);
  world.Send("/api/v1/pods", "DELETED", OwnedPod("b"));
  CHECK(Eventually([&] { return world.Reads() == 2; }));
}

OwnerRequest Asked() {
  const OwnerKey key{"batch/v1", "Job", "team", "train", "train-uid"};
  return {key, kJobPath, std::make_shared<OwnerFields>(config::ShippedGroupingRules(), key)};
}

TEST_CASE("of an owner is kept what rules read, however large the rest of it is",
          "[kube][feed][grouping]") {
  FakeApi api;
  std::string fat = kJob;
  const std::string large(size_t{1} << 20U, 'x');
  fat.insert(fat.find("\"name\":\"train\""),
             R"("managedFields":[{"manager":"m"}],"annotations":{"note":")" + large + "\"},");
  fat.insert(fat.find("\"parallelism\""),
             R"("template":{"spec":{"env":[{"name":"A","value":")" + large + "\"}]}},");
  api.On(Method::kGet, kJobPath, Reply(200, fat));
  const OwnerAnswer answer = ReadOwner(api, Asked());
  REQUIRE(answer.kind == OwnerAnswer::Kind::kRead);
  CHECK(answer.object.text ==
        R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"annotations":{},"name":"train",)"
        R"("namespace":"team","uid":"train-uid","resourceVersion":"1"},"spec":{)"
        R"("completionMode":"Indexed","parallelism":2,"completions":2}})");
  CHECK(answer.object.json != nullptr);
}

TEST_CASE("an owner of which too much would have to be kept says what is too large",
          "[kube][feed][grouping]") {
  using Kind = OwnerAnswer::Kind;
  const auto read = [](const std::string& before, const std::string& inserted) {
    FakeApi api;
    std::string job = kJob;
    job.insert(job.find(before), inserted);
    api.On(Method::kGet, kJobPath, Reply(200, job));
    return ReadOwner(api, Asked());
  };
  const std::string spec = "\"parallelism\"";
  const OwnerAnswer text =
      read(spec, R"("backoffLimitPerIndex":")" + std::string(5'000, '1') + "\",");
  CHECK(text.kind == Kind::kTooLarge);
  CHECK_THAT(text.why, Catch::StartsWith("Job.spec.backoffLimitPerIndex: holds a text of more "
                                         "than 4096 bytes"));
  std::string owners = R"("ownerReferences":[)";
  for (int i = 0; i < 20'000; ++i)
    owners += std::string(i == 0 ? "" : ",") + R"({"kind":"Thing","name":"thing-of-many-letters"})";
  const OwnerAnswer member = read("\"name\":\"train\"", owners + "],");
  CHECK(member.kind == Kind::kTooLarge);
  CHECK_THAT(member.why, Catch::Contains("ownerReferences") && Catch::Contains("524288 bytes"));
  const OwnerAnswer whole = read(spec, R"("a":")" + std::string(5U << 20U, 'x') + "\",");
  CHECK(whole.kind == Kind::kTooLarge);
  CHECK_THAT(whole.why, Catch::Contains("larger than 4194304 bytes"));
}

TEST_CASE("pods of a Job that may not be read are told in a gang that waits, and that is said once",
          "[kube][feed][grouping]") {
  OwnedWorld world(Refusal(403, "jobs.batch is forbidden"));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  CHECK(world.Told("pod team/a"));
  CHECK_THAT(
      world.LastTold("declared gang"),
      Catch::EndsWith("waits: Job train: Muster lacks the right to get jobs of group batch"));
  const auto warned = world.warned();
  CHECK(std::count_if(warned.begin(), warned.end(), [](const std::string& line) {
          return line.starts_with("owners of kind Job of batch cannot be read");
        }) == 1);
}

TEST_CASE("owners that the API server does not give hold the start up for a while only",
          "[kube][feed][grouping]") {
  OwnedWorld world(Refusal(503, "try later"), milliseconds(30));
  world.feed->Start();
  REQUIRE(Eventually([&] { return world.synced() == 1; }));
  CHECK_THAT(world.warned(),
             Catch::VectorContains(std::string("not waited for any longer: owners of pods")));
}

TEST_CASE("an API server's answers for an owner are distinguished", "[kube][feed][grouping]") {
  using Kind = OwnerAnswer::Kind;
  struct Case {
    FakeApi::Answer answer;
    Kind want;
  };
  ApiReply gone = Refusal(404, "jobs.batch \"train\" not found");
  gone.body = R"({"kind":"Status","status":"Failure","reason":"NotFound","code":404})";
  const Case cases[] = {{Reply(200, kJob), Kind::kRead},
                        {gone, Kind::kGone},
                        {Reply(404, "404 page not found"), Kind::kRefused},
                        {Refusal(403, "forbidden"), Kind::kRefused},
                        {Refusal(401, "who is it"), Kind::kFailed},
                        {Refusal(429, "slowly"), Kind::kFailed},
                        {Refusal(500, "no"), Kind::kFailed},
                        {Reply(200, "no JSON"), Kind::kFailed},
                        {Reply(200, std::string(kJob) + "{}"), Kind::kFailed},
                        {NoConnection(), Kind::kFailed}};
  for (const Case& one : cases) {
    FakeApi api;
    api.On(Method::kGet, kJobPath, one.answer);
    const OwnerAnswer answer = ReadOwner(api, Asked());
    CHECK(answer.kind == one.want);
    CHECK((answer.object.json != nullptr) == (one.want == Kind::kRead));
  }
}

}  // namespace
}  // namespace muster::kube
