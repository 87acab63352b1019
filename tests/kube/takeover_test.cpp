#include "kube/takeover.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/kube/fake_api.hpp"

namespace muster::kube {
namespace {

constexpr const char* kPods = "/api/v1/namespaces/ns/pods";

engine::PodRef Ref(const std::string& name) { return {{"ns", name}, cluster::PodUid("u-" + name)}; }

std::string PodText(const std::string& name, int version) {
  return R"({"kind":"Pod","metadata":{"name":")" + name + R"(","namespace":"ns","uid":"u-)" + name +
         R"(","resourceVersion":")" + std::to_string(version) + R"("},"spec":{}})";
}

TEST_CASE("the fence changes the version of every pod, and passes over those that are gone",
          "[kube][takeover]") {
  FakeApi api;
  api.On(Method::kPatch, "/api/v1/namespaces/ns/pods/a", Reply(200, PodText("a", 30)));
  api.On(Method::kPatch, "/api/v1/namespaces/ns/pods/gone", Refusal(404, "not found"));
  api.On(Method::kPatch, "/api/v1/namespaces/ns/pods/anew", Refusal(422, "uid: immutable"));
  api.On(Method::kPatch, "/api/v1/namespaces/ns/pods/b", Reply(200, PodText("b", 31)));
  std::vector<std::string> noted;
  int asked = 0;
  const FencePorts ports{.api = api,
                         .versions =
                             [&](const engine::PodRef& pod, int64_t version) {
                               noted.push_back(pod.key.name + "@" + std::to_string(version));
                             },
                         .leads = [&] { return ++asked <= 4; },
                         .warn = [](const std::string&) {}};
  CHECK(Fence(ports, {Ref("a"), Ref("gone"), Ref("anew"), Ref("b")}, 7).ok());
  CHECK(noted == std::vector<std::string>{"a@30", "b@31"});
  CHECK(api.requests().front().body ==
        R"({"metadata":{"uid":"u-a","annotations":{"muster.dev/epoch":"7"}}})");
  CHECK_FALSE(Fence(ports, {Ref("a")}, 7).ok());  // the term is over
  CHECK(api.requests().size() == 4);
}

TEST_CASE("a pod that nobody may write does not keep the cluster without a leader",
          "[kube][takeover]") {
  FakeApi api;
  api.On(Method::kPatch, "/api/v1/namespaces/ns/pods/a", Refusal(400, "a webhook says no"));
  api.On(Method::kPatch, "/api/v1/namespaces/ns/pods/b", Reply(200, PodText("b", 31)));
  std::vector<std::string> warnings;
  int noted = 0;
  CHECK(Fence({.api = api,
               .versions = [&](const engine::PodRef&, int64_t) { ++noted; },
               .leads = [] { return true; },
               .warn = [&](const std::string& line) { warnings.push_back(line); }},
              {Ref("a"), Ref("b")}, 7)
            .ok());
  CHECK(noted == 1);
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings.front(), Catch::Contains("ns/a") && Catch::Contains("a webhook says no"));
}

TEST_CASE("a fence that is not answered is none", "[kube][takeover]") {
  FakeApi api;
  api.On(Method::kPatch, "/api/v1/namespaces/ns/pods/a", Refusal(500, "etcd is gone"));
  const cluster::Status done = Fence({.api = api,
                                      .versions = [](const engine::PodRef&, int64_t) {},
                                      .leads = [] { return true; },
                                      .warn = [](const std::string&) {}},
                                     {Ref("a")}, 7);
  REQUIRE_FALSE(done.ok());
  CHECK_THAT(done.error().ToString(), Catch::Contains("ns/a"));
}

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
