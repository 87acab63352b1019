// What queues have used, in a ConfigMap: what is read, what is written and when, what stays as it
// is.
#include "kube/lead/usage_keeper.hpp"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kube/json/json_writer.hpp"
#include "kube/lead/usage_text.hpp"
#include "queues/usage_memory.hpp"
#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

using cluster::Seconds;
using cluster::Time;
using queues::Resource;
using queues::Uint128;
using queues::UsageRecord;

constexpr const char* kUsageKeeperObject =
    "/api/v1/namespaces/muster-system/configmaps/muster-usage";
constexpr const char* kUsageKeeperObjects = "/api/v1/namespaces/muster-system/configmaps";
constexpr Time kUsageKeeperNow{1'800'000'000'000};

UsageRecord Some(int64_t gpus = 8'000) {
  UsageRecord record;
  record.resources = {{Resource::Kind::kGpu}, {Resource::Kind::kGpuModel, "h100-80gb"}};
  record.queues["research"] = {Seconds(3600),
                               kUsageKeeperNow,
                               {gpus, 7},
                               {(Uint128{5'999} << 24U) + 16'777'215, Uint128{1}}};
  record.queues["all/\"lab\""] = {
      Seconds(60), Time(5), {0, 0}, {0, Uint128{uint64_t{1} << 50U} << 24U}};
  return record;
}

ApiReply Kept(const std::string& text, const std::string& version = "7") {
  std::string body;
  JsonWriter json(body);
  json.BeginObject().Key("metadata").BeginObject().Key("resourceVersion").Text(version).EndObject();
  json.Key("data").BeginObject().TextKey("usage.json").Text(text).EndObject().EndObject();
  return Reply(200, body);
}

struct UsageKeeperPlay {
  UsageKeeperPlay() {
    api.On(Method::kPost, kUsageKeeperObjects,
           Reply(201, R"({"metadata": {"resourceVersion": "7"}})"));
    api.On(Method::kPut, kUsageKeeperObject,
           Reply(200, R"({"metadata": {"resourceVersion": "8"}})"));
  }
  // Lets so much time pass; the requests of the step, if it is due then.
  std::vector<std::string> After(cluster::Duration duration) {
    steady = steady + duration;
    api.ForgetRequests();
    keeper.Step({steady, kUsageKeeperNow});
    return api.lines();
  }
  void Begin() { keeper.Begin(steady); }

  FakeApi api;
  bool leads = true;
  std::optional<UsageRecord> used = UsageRecord{};
  std::vector<UsageRecord> adopted;
  std::vector<std::string> warnings;
  Time steady{1'000'000};
  UsageKeeper keeper{{.api = api,
                      .may_write = [this] { return leads; },
                      .now = [] { return kUsageKeeperNow; },
                      .used = [this] { return used; },
                      .adopt = [this](const UsageRecord& one) { adopted.push_back(one); },
                      .warn = [this](const std::string& what) { warnings.push_back(what); }},
                     {"muster-system", "muster-usage"}};
};

using Lines = std::vector<std::string>;
const std::string kGet = std::string("GET ") + kUsageKeeperObject;     // NOLINT(cert-err58-cpp)
const std::string kPost = std::string("POST ") + kUsageKeeperObjects;  // NOLINT(cert-err58-cpp)
const std::string kPut = std::string("PUT ") + kUsageKeeperObject;     // NOLINT(cert-err58-cpp)

TEST_CASE("what is kept of usage is read back to the last digit", "[kube][usage]") {
  const UsageRecord record = Some();
  const UsageText text = EncodeUsage(record);
  CHECK(text.left_out == 0);
  CHECK_THAT(text.json,
             Catch::StartsWith(R"({"resources":["gpu","gpu/h100-80gb"],"queues":{)") &&
                 Catch::Contains(R"("research":{"halfLife":3600000,"since":1800000000000,)"
                                 R"("used":[8000,7],"mean":[5999,0],"rest":[16777215,1]})"));
  const auto read = DecodeUsage(text.json);
  REQUIRE(read.ok());
  CHECK(*read == record);
  CHECK(CheckUsage(*read, kUsageKeeperNow).ok());
  CHECK(*DecodeUsage(EncodeUsage({}).json) == UsageRecord{});
  CHECK(*DecodeUsage("{}") == UsageRecord{});
}

TEST_CASE("a malformed text of usage is refused with its place", "[kube][usage]") {
  const auto queue = [](const std::string& members) {
    return R"({"resources": ["gpu"], "queues": {"a": )" + members + "}}";
  };
  const std::string good =
      R"({"halfLife": 60000, "since": 5, "used": [1], "mean": [1], "rest": [1]})";
  REQUIRE(DecodeUsage(queue(good)).ok());
  struct Case {
    std::string text;
    const char* want;
  };
  const auto at = GENERATE_COPY(values<Case>({
      {"", "byte 0"},
      {"[]", "usage.json"},
      {R"({"resources": ["tpu"]})", "usage.json.resources[0]: expected gpu"},
      {queue("1"), "usage.json.queues.a"},
      {queue(R"({"halfLife": 1, "since": 5, "used": [1, 2], "mean": [1], "rest": [1]})"),
       "usage.json.queues.a.used: expected a number for each"},
      {queue(R"({"halfLife": 1, "since": 5, "used": [-1], "mean": [1], "rest": [1]})"),
       "usage.json.queues.a.used[0]: expected a whole number from 0"},
      {queue(R"({"halfLife": 1, "since": 5, "used": [1], "mean": [1.5], "rest": [1]})"),
       "usage.json.queues.a.mean[0]"},
      {queue(R"({"halfLife": 1, "since": 5, "used": [1], "mean": [1], "rest": [16777216]})"),
       "usage.json.queues.a.rest[0]"},
      {queue(R"({"halfLife": 1, "since": -5, "used": [1], "mean": [1], "rest": [1]})"),
       "usage.json.queues.a.since"},
      {queue(R"({"halfLife": 1, "used": [1], "mean": [1], "rest": [1]})"),
       "usage.json.queues.a.since: expected a number of milliseconds"},
      {R"({"queues": {"a": {}, "a": {}}})", "usage.json"},
  }));
  INFO(at.text);
  const auto read = DecodeUsage(at.text);
  REQUIRE_FALSE(read.ok());
  CHECK_THAT(read.error().ToString(), Catch::StartsWith(at.want));
}

TEST_CASE("where there is no room for all queues those are left out that use nothing for longest",
          "[kube][usage]") {
  UsageRecord record;
  record.resources = {{Resource::Kind::kGpu}};
  for (int i = 0; i < 10; ++i) {
    record.queues["x" + std::to_string(i)] = {
        Seconds(3600), Time(100 + i), {i < 5 ? 1 : 0}, {Uint128{1}}};
  }
  const size_t all = EncodeUsage(record).json.size();
  CHECK(EncodeUsage(record, all + 1).left_out == 0);
  const UsageText text = EncodeUsage(record, all - 100);
  CHECK(text.left_out == 2);
  CHECK(text.json.size() <= all - 100);
  const auto read = DecodeUsage(text.json);
  REQUIRE(read.ok());
  CHECK_FALSE(read->queues.contains("x5"));
  CHECK_FALSE(read->queues.contains("x6"));
  CHECK(read->queues.size() == 8);
}

TEST_CASE("what was kept is adopted before anything is decided", "[kube][usage]") {
  UsageKeeperPlay play;
  play.api.On(Method::kGet, kUsageKeeperObject, Kept(EncodeUsage(Some()).json));
  play.Begin();
  REQUIRE(play.adopted.size() == 1);
  CHECK(play.adopted.front() == Some());
  play.used = Some();
  CHECK(play.After(UsageKeeper::kFirst).empty());  // the same as is kept
  CHECK(play.warnings.empty());
}

TEST_CASE("usage is written when it changed, and not more often than every five minutes",
          "[kube][usage]") {
  UsageKeeperPlay play;
  play.Begin();
  CHECK(play.api.lines() == Lines{kGet});
  CHECK(play.After(UsageKeeper::kFirst).empty());  // nothing to say
  play.used = Some();
  CHECK(play.After(UsageKeeper::kEvery) == Lines{kPost});
  play.used = Some(4'000);
  CHECK(play.After(UsageKeeper::kEvery - Seconds(1)).empty());
  CHECK(play.After(Seconds(1)) == Lines{kPut});
  const std::string body = play.api.requests().back().body;
  CHECK_THAT(body, Catch::Contains(R"("resourceVersion":"7")") && Catch::Contains("usage.json") &&
                       Catch::Contains(R"(\"used\":[4000,7])"));
  CHECK(play.After(UsageKeeper::kEvery).empty());
  // Who hands over writes what it knows last.
  play.used = Some(2'000);
  play.api.ForgetRequests();
  play.keeper.Finish();
  CHECK(play.api.lines() == Lines{kPut});
  play.api.ForgetRequests();
  play.keeper.Finish();
  CHECK(play.api.lines().empty());
}

TEST_CASE("a policy without half-lives reads nothing, and forgets what was kept", "[kube][usage]") {
  UsageKeeperPlay play;
  play.used.reset();
  play.api.On(Method::kGet, kUsageKeeperObject, Kept(EncodeUsage(Some()).json));
  play.Begin();
  CHECK(play.After(UsageKeeper::kFirst).empty());
  CHECK(play.adopted.empty());
  play.used = Some(1);  // another policy
  CHECK(play.After(UsageKeeper::kEvery) == Lines{kGet, kPut});
  play.used.reset();
  CHECK(play.After(UsageKeeper::kEvery) == Lines{kPut});
  CHECK_THAT(play.api.requests().back().body, Catch::Contains(R"(\"queues\":{}})"));
}

TEST_CASE("what cannot be read stays as it is, is reported once, and is taken up when it can be",
          "[kube][usage]") {
  UsageKeeperPlay play;
  play.used = Some(1);
  const char* want = nullptr;
  SECTION("no right") {
    play.api.On(Method::kGet, kUsageKeeperObject, Refusal(403, "configmaps is forbidden"));
    want =
        "where it keeps what queues have used: give its service account get, create and update "
        "(Role muster-usage";
  }
  SECTION("malformed") {
    play.api.On(Method::kGet, kUsageKeeperObject, Kept("x"));
    want = "ConfigMap muster-system/muster-usage.byte 0: not valid JSON";
  }
  SECTION("from the future") {
    UsageRecord record = Some();
    record.queues["research"].since = kUsageKeeperNow + Seconds(301);
    play.api.On(Method::kGet, kUsageKeeperObject, Kept(EncodeUsage(record).json));
    want =
        "ConfigMap muster-system/muster-usage.usage.json.queues.research.since: 1800000301000 ms";
  }
  SECTION("nobody answers") {
    play.api.On(Method::kGet, kUsageKeeperObject, NoConnection());
    want = "usage of queues is not kept";
  }
  play.Begin();
  for (int i = 0; i < 3; ++i) CHECK(play.After(UsageKeeper::kRetry) == Lines{kGet});
  CHECK(play.adopted.empty());
  REQUIRE(play.warnings.size() == 1);
  CHECK_THAT(play.warnings.front(), Catch::Contains(want));
  play.api.ForgetRequests();
  play.keeper.Finish();
  CHECK(play.api.lines().empty());
  play.api.On(Method::kGet, kUsageKeeperObject, Kept(EncodeUsage(Some()).json));
  CHECK(play.After(UsageKeeper::kRetry) == Lines{kGet});
  CHECK(play.adopted == std::vector<UsageRecord>{Some()});
  CHECK(play.After(UsageKeeper::kFirst) == Lines{kPut});
}

TEST_CASE("who does not lead writes no usage, and a refused write is tried again",
          "[kube][usage]") {
  UsageKeeperPlay play;
  play.Begin();
  play.used = Some();
  play.leads = false;
  play.api.On(Method::kPost, kUsageKeeperObjects, FakeApi::Handler([](const ApiRequest& request) {
                return request.permit() ? FakeApi::Answer(Reply(201))
                                        : FakeApi::Answer(cluster::Error{cluster::Code::kForbidden,
                                                                         "not leading", ""});
              }));
  CHECK(play.After(UsageKeeper::kFirst) == Lines{kPost});
  CHECK(play.warnings.size() == 1);
  CHECK(play.After(UsageKeeper::kRetry) == Lines{kGet, kPost});  // it may have been written
  CHECK(play.warnings.size() == 1);
  play.leads = true;
  play.api.On(Method::kPost, kUsageKeeperObjects, Refusal(500, "etcd is full"));
  CHECK(play.After(UsageKeeper::kRetry) == Lines{kGet, kPost});
  CHECK(play.warnings.size() == 2);
}

// As many as are remembered, with long names.
TEST_CASE("what 4,096 queues have used has room in a ConfigMap", "[kube][usage]") {
  UsageRecord record;
  using Kind = Resource::Kind;
  record.resources = {{Kind::kGpu}, {Kind::kGpuMemory}, {Kind::kCpu}, {Kind::kMemory}};
  for (int i = 0; i < 4'096; ++i) {
    const std::string name = "everybody/team-" + std::to_string(i) + "-of-some-department";
    record.queues[name] = {
        Seconds(604'800), kUsageKeeperNow, {8'000, 655'360, 96'000, 786'432}, {}};
    for (const int64_t used : record.queues[name].used)
      record.queues[name].mean.push_back(Uint128{static_cast<uint64_t>(used)} * 15'000'001U);
  }
  const UsageText text = EncodeUsage(record);
  CHECK(text.json.size() < 900'000);
  CHECK(text.left_out == 0);
  CHECK(*DecodeUsage(text.json) == record);
}

}  // namespace
}  // namespace muster::kube
