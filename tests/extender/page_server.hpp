// The API port of a leader as a server of its own, for tests of who may read its pages.
#pragma once

#include <httplib.h>

#include <catch2/catch.hpp>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "extender/pages/api.hpp"
#include "tests/kube/fake_api.hpp"
#include "tests/support/builders.hpp"

namespace muster::extender::testing {

// The API port of a leader, before an API server that a test plays. A token is its owner's name,
// and `rights` are what RBAC gives: "ann list gangs team-a", without namespace for all.
struct PageServer {
  explicit PageServer(bool embedded = false)
      : access({.settings = [this] { return settings; },
                .public_pages = [this] { return public_pages; },
                .reviewer = embedded ? nullptr : &reviewer}),
        handlers({.scheduler = scheduler,
                  .now = [] { return cluster::Time(1'000); },
                  .not_ready = [] { return std::string(); },
                  .metrics = [this] { return metrics(); },
                  .policy = [] { return std::string("kind: Policy\n"); },
                  .grouping = [] { return kube::GroupingSettings(); },
                  .access = access}) {
    scheduler.Apply(muster::testing::MakeNode("n0").Gpus(8).Build(), cluster::Time(1));
    for (const char* ns : {"team-a", "team-b"})
      scheduler.Apply(
          muster::testing::MakePod(std::string("p-") + ns).Namespace(ns).Gpus(1).Build(),
          cluster::Time(1));
    api.On(kube::Method::kPost, "/apis/authentication.k8s.io/v1/tokenreviews",
           [](const kube::ApiRequest& request) { return kube::Reply(201, TokenStatus(request)); });
    api.On(kube::Method::kPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews",
           [this](const kube::ApiRequest& request) {
             const bool allowed = rights.count(Asked(request.body)) != 0;
             return kube::Reply(201, std::string(R"({"status": {"allowed": )") +
                                         (allowed ? "true" : "false") + "}}");
           });
    handlers.Mount(server);
    REQUIRE(server.Start().ok());
  }
  ~PageServer() { server.Stop(); }

  // Tokens are for Muster, except "theirs".
  static std::string TokenStatus(const kube::ApiRequest& request) {
    const std::string token = Member(request.body, "token");
    const bool meant = request.body.find(R"("audiences":["muster.dev"])") == std::string::npos
                           ? token == "theirs"
                           : token != "theirs";
    if (!meant) return R"({"status": {"authenticated": false}})";
    return R"({"status": {"authenticated": true, "audiences": ["muster.dev"], "user": {"username": ")" +
           token + "\"}}}";
  }
  static std::string Member(const std::string& body, const std::string& key) {
    const std::string name = "\"" + key + "\":\"";
    const std::size_t at = body.find(name);
    if (at == std::string::npos) return {};
    const std::size_t from = at + name.size();
    return body.substr(from, body.find('"', from) - from);
  }
  static std::string Asked(const std::string& body) {
    std::string right =
        Member(body, "user") + " " + Member(body, "verb") + " " + Member(body, "resource");
    if (const std::string ns = Member(body, "namespace"); !ns.empty()) right += " " + ns;
    return right;
  }

  struct Page {
    int status = 0;
    std::string body;
    bool Has(const std::string& text) const { return body.find(text) != std::string::npos; }
  };
  // As an API server passes it on.
  Page Proxied(const std::string& path, const std::string& token = "") {
    httplib::Headers headers = {{"X-Forwarded-For", "192.0.2.1"}};
    if (!token.empty()) headers.emplace("X-Muster-Token", token);
    return Get(path, headers);
  }
  Page Get(const std::string& path, const httplib::Headers& headers) {
    httplib::Client client("127.0.0.1", server.port());
    const auto reply = client.Get(path.c_str(), headers);
    REQUIRE(reply);
    return {reply->status, reply->body};
  }

  std::set<std::string> rights;
  std::vector<std::string> public_pages;
  std::function<std::string()> metrics = [] { return std::string(); };
  config::OperatorSettings settings;
  engine::Scheduler scheduler{engine::Options{}};
  kube::FakeApi api;
  kube::AccessReviewer reviewer{{.api = api, .now = [] { return kube::Clocks(); }}, {}};
  CallerAccess access;
  ApiHandlers handlers;
  http::Server server{http::ServerOptions()};
};

}  // namespace muster::extender::testing
