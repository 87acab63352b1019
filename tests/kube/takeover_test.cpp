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
                         .leads = [&] { return ++asked <= 4; }};
  CHECK(Fence(ports, {Ref("a"), Ref("gone"), Ref("anew"), Ref("b")}, 7).ok());
  CHECK(noted == std::vector<std::string>{"a@30", "b@31"});
  CHECK(api.requests().front().body ==
        R"({"metadata":{"uid":"u-a","annotations":{"muster.dev/epoch":"7"}}})");
  CHECK_FALSE(Fence(ports, {Ref("a")}, 7).ok());  // the term is over
  CHECK(api.requests().size() == 4);
}

TEST_CASE("a fence with a hole is none", "[kube][takeover]") {
  FakeApi api;
  api.On(Method::kPatch, "/api/v1/namespaces/ns/pods/a", Refusal(403, "pods is forbidden"));
  const cluster::Status done = Fence(
      {.api = api, .versions = [](const engine::PodRef&, int64_t) {}, .leads = [] { return true; }},
      {Ref("a")}, 7);
  REQUIRE_FALSE(done.ok());
  CHECK_THAT(done.error().ToString(), Catch::Contains("ns/a"));
}

TEST_CASE("the leader's label is on one pod", "[kube][takeover]") {
  FakeApi api;
  api.On(Method::kGet, std::string(kPods) + "?labelSelector=muster.dev%2Fleader%3Dtrue",
         Reply(200, R"({"items":[{"metadata":{"name":"old"}},{"metadata":{"name":"me"}}]})"));
  api.On(Method::kPatch, std::string(kPods) + "/old", Reply(200));
  api.On(Method::kPatch, std::string(kPods) + "/me", Reply(200));
  REQUIRE(TakeLeaderLabel(api, {"ns", "me"}).ok());
  CHECK(api.lines() ==
        std::vector<std::string>{
            "GET /api/v1/namespaces/ns/pods?labelSelector=muster.dev%2Fleader%3Dtrue",
            "PATCH /api/v1/namespaces/ns/pods/old", "PATCH /api/v1/namespaces/ns/pods/me"});
  CHECK(api.requests()[1].body == R"({"metadata":{"labels":{"muster.dev/leader":null}}})");
  CHECK(api.requests()[2].body == R"({"metadata":{"labels":{"muster.dev/leader":"true"}}})");

  api.On(Method::kPatch, std::string(kPods) + "/me", Refusal(404, "not found"));
  CHECK(DropLeaderLabel(api, {"ns", "me"}).ok());
  CHECK_FALSE(TakeLeaderLabel(api, {"ns", "me"}).ok());
}

}  // namespace
}  // namespace muster::kube
