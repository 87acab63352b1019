#include "kube/takeover.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

constexpr const char* kPods = "/api/v1/namespaces/ns/pods";

TEST_CASE("the leader's label is on one pod", "[kube][takeover]") {
  FakeApi api;
  api.On(Method::kGet, std::string(kPods) + "?labelSelector=muster.dev%2Fleader%3Dtrue",
         Reply(200, R"({"items":[{"metadata":{"name":"old"}}]})"));
  api.On(Method::kPatch, std::string(kPods) + "/old", Reply(200));
  api.On(Method::kPatch, std::string(kPods) + "/me", Reply(200));
  REQUIRE(TakeLeaderLabel(api, {"ns", "me"}, [] { return true; }).ok());
  CHECK(api.lines() ==
        std::vector<std::string>{
            "GET /api/v1/namespaces/ns/pods?labelSelector=muster.dev%2Fleader%3Dtrue",
            "PATCH /api/v1/namespaces/ns/pods/old", "PATCH /api/v1/namespaces/ns/pods/me"});
  CHECK(api.requests()[1].body == R"({"metadata":{"labels":{"muster.dev/leader":null}}})");
  CHECK(api.requests()[2].body == R"({"metadata":{"labels":{"muster.dev/leader":"true"}}})");

  api.On(Method::kPatch, std::string(kPods) + "/me", Refusal(404, "not found"));
  CHECK(DropLeaderLabel(api, {"ns", "me"}).ok());
  CHECK_FALSE(TakeLeaderLabel(api, {"ns", "me"}, [] { return true; }).ok());
}

TEST_CASE("a leader takes its label although another one's cannot be taken off",
          "[kube][takeover]") {
  constexpr const char* kLabelled =
      "/api/v1/namespaces/ns/pods?labelSelector=muster.dev%2Fleader%3Dtrue";
  FakeApi api;
  api.On(Method::kGet, kLabelled, Reply(200, R"({"items":[{"metadata":{"name":"old"}}]})"));
  api.On(Method::kPatch, std::string(kPods) + "/old", Refusal(403, "forbidden"));
  api.On(Method::kPatch, std::string(kPods) + "/me", Reply(200));
  CHECK_FALSE(TakeLeaderLabel(api, {"ns", "me"}, [] { return true; }).ok());
  CHECK(api.lines().back() == "PATCH /api/v1/namespaces/ns/pods/me");

  // It is all as it should be: nothing is written.
  api.On(Method::kGet, kLabelled, Reply(200, R"({"items":[{"metadata":{"name":"me"}}]})"));
  api.ForgetRequests();
  CHECK(TakeLeaderLabel(api, {"ns", "me"}, [] { return true; }).ok());
  CHECK(api.lines().size() == 1);
}

}  // namespace
}  // namespace muster::kube
