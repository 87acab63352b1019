// Who may ask what would become of a workload.
#include "extender/verbs/caller_access.hpp"

#include <catch2/catch.hpp>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "extender/pages/what_if_page.hpp"
#include "tests/kube/fake_api.hpp"
#include "tests/support/builders.hpp"

namespace muster::extender::testing {
namespace {

using cluster::Code;
using kube::Method;
using muster::testing::MakeNode;

constexpr const char* kTokens = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* kRights = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

// A page of a leader, before an API server that a test plays.
struct Asked {
  explicit Asked(bool embedded = false)
      : access(
            {.settings = [this] { return settings; }, .reviewer = embedded ? nullptr : &reviewer}),
        page({scheduler, [] { return cluster::Time(1'000); },
              [] { return kube::GroupingSettings(); }, access}) {
    scheduler.Apply(MakeNode("n0").Gpus(8).Build(), cluster::Time(1));
    request.content_type = "application/json";
    request.body = R"({"manifests": [{"name": "f", "text": "kind: Pod\napiVersion: v1\nmetadata: )"
                   R"({name: p}\nspec: {schedulerName: muster, containers: [{name: c}]}\n"}]})";
  }
  void Knows(const std::string& allowed) {
    api.On(Method::kPost, kTokens,
           kube::Reply(201, R"({"status": {"authenticated": true, "user": {"username": "ann"}}})"));
    api.On(Method::kPost, kRights, kube::Reply(201, R"({"status": {"allowed": )" + allowed + "}}"));
  }
  void Sends(const std::string& token) {
    request.headers = {{"authorization", "Bearer " + token}};
    request.peer = "127.0.0.1";
  }
  // Empty: it is answered.
  std::string Refusal(Code code) {
    const auto answer = page.Answer(request);
    if (answer.ok()) return {};
    CHECK(answer.error().code == code);
    return answer.error().message;
  }

  config::OperatorSettings settings;
  engine::Scheduler scheduler{engine::Options{}};
  kube::FakeApi api;
  kube::AccessReviewer reviewer{{.api = api, .now = [] { return kube::Clocks(); }}, {}};
  CallerAccess access;
  WhatIfPage page;
  http::Request request;
};

TEST_CASE("whom the cluster's RBAC lets create what-ifs has them answered", "[whatif][access]") {
  Asked asked;
  asked.Knows("true");
  asked.Sends("secret");
  CHECK(asked.Refusal(Code::kForbidden).empty());
  const std::string sent = asked.api.requests().back().body;
  CHECK_THAT(sent, Catch::Contains(R"("verb":"create")") &&
                       Catch::Contains(R"("group":"muster.dev","resource":"whatifs")"));
}

TEST_CASE("a what-if without that right is refused before it costs anything", "[whatif][access]") {
  Asked asked;
  asked.Knows("false");
  asked.request.body = "nothing that could be read";
  asked.request.peer = "127.0.0.1";
  CHECK_THAT(asked.Refusal(Code::kForbidden),
             Catch::Contains("the request to create whatifs.muster.dev does not say who sends it: "
                             "send a bearer"));
  asked.Sends("secret");
  CHECK_THAT(asked.Refusal(Code::kForbidden),
             Catch::Contains("ann may not create whatifs.muster.dev: bind a Role or ClusterRole"));
  asked.request.peer = "10.0.0.1";
  CHECK_THAT(asked.Refusal(Code::kForbidden), Catch::Contains("over plain HTTP"));
}

TEST_CASE("nothing is answered while the API server says of nobody what he may",
          "[whatif][access]") {
  Asked asked;
  asked.Sends("secret");
  asked.api.On(Method::kPost, kTokens, kube::Reply(503, "{}"));
  CHECK_THAT(asked.Refusal(Code::kUnavailable), Catch::Contains("HTTP 503"));
  asked.Knows("true");
  CHECK(asked.Refusal(Code::kUnavailable).empty());  // a failure is not remembered
}

TEST_CASE("a client certificate asks what-ifs if the policy names it", "[whatif][access]") {
  Asked asked;
  asked.request.tls = true;
  asked.request.peer = "10.0.0.1";
  asked.request.client_name = "ann";
  CHECK_THAT(asked.Refusal(Code::kForbidden), Catch::Contains("operators.clientNames"));
  asked.settings.client_names = {"ann"};
  CHECK(asked.Refusal(Code::kForbidden).empty());
}

TEST_CASE("an embedded cluster answers what-ifs of its own machine", "[whatif][access]") {
  Asked asked(true);
  asked.request.peer = "127.0.0.1";
  CHECK(asked.Refusal(Code::kForbidden).empty());
  asked.request.content_type = "text/plain";  // as a form of another site's page would send it
  CHECK_THAT(asked.Refusal(Code::kInvalidArgument), Catch::Contains("Content-Type"));
  asked.request.content_type = "application/json";
  asked.request.headers = {{"host", "site.example"}};
  CHECK_THAT(asked.Refusal(Code::kForbidden), Catch::Contains("callers of this machine only"));
  asked.request.headers = {};
  asked.request.peer = "10.0.0.1";
  CHECK_THAT(asked.Refusal(Code::kForbidden), Catch::Contains("callers of this machine only"));
}

}  // namespace
}  // namespace muster::extender::testing
