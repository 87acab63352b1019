#include "kube/lead/takeover.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

using cluster::Seconds;
using cluster::Time;

constexpr const char* kPods = "/api/v1/namespaces/ns/pods";
constexpr const char* kLabelled =
    "/api/v1/namespaces/ns/pods?labelSelector=muster.dev%2Fleader%3Dtrue";
constexpr const char* kMine = "/api/v1/namespaces/ns/pods/me/status";

TEST_CASE("the leader's label is on one pod, and no webhook of pods is asked", "[kube][takeover]") {
  FakeApi api;
  api.On(Method::kGet, std::string(kPods) + "?labelSelector=muster.dev%2Fleader%3Dtrue",
         Reply(200, R"({"items":[{"metadata":{"name":"old"}}]})"));
  api.On(Method::kPatch, std::string(kPods) + "/old/status", Reply(200));
  api.On(Method::kPatch, kMine, Reply(200));
  REQUIRE(TakeLeaderLabel(api, {"ns", "me"}, [] { return true; }).ok());
  CHECK(api.lines() ==
        std::vector<std::string>{
            "GET /api/v1/namespaces/ns/pods?labelSelector=muster.dev%2Fleader%3Dtrue",
            "PATCH /api/v1/namespaces/ns/pods/old/status",
            "PATCH /api/v1/namespaces/ns/pods/me/status"});
  CHECK(api.requests()[1].body == R"({"metadata":{"labels":{"muster.dev/leader":null}}})");
  CHECK(api.requests()[2].body == R"({"metadata":{"labels":{"muster.dev/leader":"true"}}})");

  api.On(Method::kPatch, kMine, Refusal(404, "not found"));
  CHECK(DropLeaderLabel(api, {"ns", "me"}).ok());
  CHECK_FALSE(TakeLeaderLabel(api, {"ns", "me"}, [] { return true; }).ok());
}

TEST_CASE("a leader takes its label although another one's cannot be taken off",
          "[kube][takeover]") {
  FakeApi api;
  api.On(Method::kGet, kLabelled, Reply(200, R"({"items":[{"metadata":{"name":"old"}}]})"));
  api.On(Method::kPatch, std::string(kPods) + "/old/status", Refusal(403, "forbidden"));
  api.On(Method::kPatch, kMine, Reply(200));
  CHECK_FALSE(TakeLeaderLabel(api, {"ns", "me"}, [] { return true; }).ok());
  CHECK(api.lines().back() == "PATCH /api/v1/namespaces/ns/pods/me/status");

  // It is all as it should be: nothing is written.
  api.On(Method::kGet, kLabelled, Reply(200, R"({"items":[{"metadata":{"name":"me"}}]})"));
  api.ForgetRequests();
  CHECK(TakeLeaderLabel(api, {"ns", "me"}, [] { return true; }).ok());
  CHECK(api.lines().size() == 1);
}

TEST_CASE("who loses the lease or ends tries no label again", "[kube][takeover]") {
  FakeApi api;
  bool leads = true;
  api.On(Method::kGet, kLabelled, Reply(200, R"({"items":[]})"));
  api.On(Method::kPatch, kMine, [&](const ApiRequest& request) -> FakeApi::Answer {
    CHECK(request.timeout <= std::chrono::milliseconds(3'500));
    leads = false;
    return NoConnection();
  });
  CHECK_FALSE(TakeLeaderLabel(api, {"ns", "me"}, [&] { return leads; }).ok());
  CHECK(api.lines() ==
        std::vector<std::string>{std::string("GET ") + kLabelled, std::string("PATCH ") + kMine});
  api.ForgetRequests();
  CHECK_FALSE(DropLeaderLabel(api, {"ns", "me"}).ok());
  CHECK(api.requests().size() == 1);
}

// A replica and its label, of which `on` is the truth.
struct Replica {
  FakeApi api;
  bool on = true;
  bool leads = false;
  bool holds_lease = true;
  int refusals = 0;  // of patches that are still to come
  std::vector<std::string> warnings;
  Time now{1'000};
  LeaderLabel label{{.api = api,
                     .leading = [this] { return leads; },
                     .may_write = [this] { return leads && holds_lease; },
                     .warn = [this](const std::string& line) { warnings.push_back(line); }},
                    {"ns", "me"}};

  Replica() {
    api.On(Method::kGet, kLabelled, [this](const ApiRequest&) {
      return Reply(200, on ? R"({"items":[{"metadata":{"name":"me"}}]})" : R"({"items":[]})");
    });
    api.On(Method::kPatch, kMine, [this](const ApiRequest& request) -> FakeApi::Answer {
      if (refusals > 0) {
        --refusals;
        return Refusal(500, "webhook down");
      }
      on = request.body.find("true") != std::string::npos;
      return Reply(200);
    });
  }
  void Pass(cluster::Duration span) {
    const Time end = now + span;
    for (Time due = label.Step({now, now}); due <= end; due = label.Step({now, now})) {
      now = std::max(due, now + cluster::Duration(1));
    }
    now = end;
  }
};

TEST_CASE("a follower takes off what a process before it left, until it is off",
          "[kube][takeover]") {
  Replica replica;
  replica.refusals = 4;
  replica.Pass(Seconds(1));
  CHECK(replica.on);
  replica.Pass(Seconds(60));
  CHECK_FALSE(replica.on);
  CHECK(replica.warnings.size() == 4);
  replica.api.ForgetRequests();
  replica.Pass(Seconds(3600));
  CHECK(replica.api.requests().empty());
}

TEST_CASE("a leader's label is put on until it is there, and looked after", "[kube][takeover]") {
  Replica replica;
  replica.Pass(Seconds(1));
  CHECK_FALSE(replica.on);
  replica.leads = true;
  replica.Pass(Seconds(1));
  CHECK(replica.on);
  replica.on = false;  // somebody takes it away
  replica.holds_lease = false;
  replica.Pass(Seconds(120));
  CHECK_FALSE(replica.on);
  replica.holds_lease = true;
  replica.Pass(Seconds(60));
  CHECK(replica.on);
  // And off again at the end, by one call.
  replica.leads = false;
  replica.refusals = 1;
  replica.api.ForgetRequests();
  CHECK_FALSE(replica.label.Drop());
  CHECK(replica.label.Drop());
  CHECK_FALSE(replica.on);
  CHECK(replica.api.requests().size() == 2);
}

}  // namespace
}  // namespace muster::kube
