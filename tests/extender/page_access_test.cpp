// Who may read the pages of /v1, as they come through the service proxy of an API server.
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "page_server.hpp"

namespace muster::extender::testing {
namespace {

using kube::Method;
using muster::testing::MakePod;

constexpr const char* kAllPages[] = {
    "/v1/gangs", "/v1/gangs?namespace=team-a", "/v1/queues",   "/v1/gangs/team-a/p-team-a",
    "/v1/nodes", "/v1/nodes/n0/topology",      "/v1/topology", "/v1/policy"};

TEST_CASE("without a token a proxy's caller reads nothing but health and metrics",
          "[api][access]") {
  PageServer pages;
  for (const char* path : kAllPages) {
    CAPTURE(path);
    const PageServer::Page page = pages.Proxied(path);
    CHECK(page.status == 403);
    CHECK(page.Has(" does not say who sends it: "));
    CHECK_FALSE(page.Has("team-b"));
  }
  for (const char* path : {"/healthz", "/readyz", "/metrics"})
    CHECK(pages.Proxied(path).status == 200);
  CHECK(pages.api.requests().empty());
}

TEST_CASE("whom RBAC lets list and get reads every page", "[api][access]") {
  PageServer pages;
  for (const char* resource : {"gangs", "nodes", "queues", "topology", "policy"})
    pages.rights.insert(std::string("ann list ") + resource);
  pages.rights.insert({"ann list gangs team-a", "ann get gangs team-a", "ann get nodes"});
  for (const char* path : kAllPages) {
    CAPTURE(path);
    CHECK(pages.Proxied(path, "ann").status == 200);
    CHECK(pages.Proxied(path, "bob").status == 403);
  }
  const PageServer::Page all = pages.Proxied("/v1/gangs", "ann");
  CHECK(all.Has("team-a"));
  CHECK(all.Has("team-b"));
}

TEST_CASE("who may list the gangs of one namespace sees that namespace alone", "[api][access]") {
  PageServer pages;
  pages.rights = {"ann list gangs team-a", "ann get gangs team-a"};
  const PageServer::Page all = pages.Proxied("/v1/gangs", "ann");
  CHECK(all.status == 200);
  CHECK(all.Has("p-team-a"));
  CHECK_FALSE(all.Has("team-b"));
  CHECK(pages.Proxied("/v1/gangs?namespace=team-a", "ann").Has("p-team-a"));
  CHECK(pages.Proxied("/v1/gangs/team-a/p-team-a", "ann").status == 200);
  for (const char* path :
       {"/v1/gangs?namespace=team-b", "/v1/gangs/team-b/p-team-b", "/v1/gangs/team-b/none"}) {
    CAPTURE(path);
    const PageServer::Page page = pages.Proxied(path, "ann");
    CHECK(page.status == 403);
    CHECK(page.Has("ann may not "));
  }
}

TEST_CASE("no answer names gangs of namespaces that the caller may not list", "[api][access]") {
  PageServer pages;
  pages.rights = {"ann get gangs team-a", "bob get gangs team-a", "bob list gangs",
                  "bob list gangs team-a"};
  const PageServer::Page anns = pages.Proxied("/v1/gangs/team-a/p-team-b", "ann");
  CHECK(anns.status == 404);
  CHECK_FALSE(anns.Has("team-b/p-team-b"));
  CHECK_FALSE(pages.Proxied("/v1/gangs/team-a/p-team", "ann").Has("p-team-a"));
  CHECK(pages.Proxied("/v1/gangs/team-a/p-team", "bob").Has("did you mean gang team-a/p-team-a"));
  CHECK(pages.Proxied("/v1/gangs/team-a/p-team-b", "bob").Has("did you mean gang team-b/p-team-b"));
}

TEST_CASE("a caller who may list only namespaces without gangs is to name one", "[api][access]") {
  PageServer pages;
  pages.rights = {"ann list gangs team-c"};
  const PageServer::Page page = pages.Proxied("/v1/gangs", "ann");
  CHECK(page.status == 403);
  CHECK(page.Has("no namespace whose gangs you may list has one now"));
  CHECK(pages.Proxied("/v1/gangs?namespace=team-c", "ann").status == 200);
}

TEST_CASE("with gangs in many namespaces a page needs one right for all, or one namespace",
          "[api][access]") {
  PageServer pages;
  for (int i = 0; i < 70; ++i) {
    const std::string name = "more-" + std::to_string(i);
    pages.scheduler.Apply(MakePod(name).Namespace(name).Gpus(1).Build(), cluster::Time(1));
  }
  pages.rights = {"ann list gangs team-a"};
  const PageServer::Page page = pages.Proxied("/v1/gangs", "ann");
  CHECK(page.status == 403);
  CHECK(page.Has("name one of the 72 namespaces that have gangs (-n NAMESPACE)"));
  CHECK(pages.api.requests().size() == 2);
  CHECK(pages.Proxied("/v1/gangs?namespace=team-a", "ann").status == 200);
}

TEST_CASE("a token for the API server is none for Muster, and is not taken from a proxy",
          "[api][access]") {
  PageServer pages;
  pages.rights = {"theirs list queues"};
  const PageServer::Page page = pages.Proxied("/v1/queues", "theirs");
  CHECK(page.status == 403);
  CHECK(page.Has("kubectl create token --audience muster.dev"));
}

TEST_CASE("what the policy makes public is answered without a token", "[api][access]") {
  PageServer pages;
  pages.public_pages = {"gangs", "queues"};
  CHECK(pages.Proxied("/v1/gangs").Has("p-team-b"));
  CHECK(pages.Proxied("/v1/gangs/team-b/p-team-b").status == 200);
  CHECK(pages.Proxied("/v1/queues").status == 200);
  CHECK(pages.Proxied("/v1/nodes").status == 403);
  CHECK(pages.Proxied("/v1/policy").status == 403);
}

TEST_CASE("callers on the same machine and embedded clusters need no token", "[api][access]") {
  PageServer pages;
  for (const char* path : kAllPages) CHECK(pages.Get(path, {}).status == 200);
  PageServer embedded(true);
  for (const char* path : kAllPages) CHECK(embedded.Proxied(path).status == 200);
}

// A site that gives its own name the address 127.0.0.1, or sends a visitor's browser there.
TEST_CASE("no page of another site in a browser reads anything", "[api][access]") {
  PageServer pages;
  PageServer embedded(true);
  const auto status = [](PageServer& from, const char* path, const httplib::Headers& headers) {
    return from.Get(path, headers).status;
  };
  const std::string own = "localhost:" + std::to_string(pages.server.port());
  for (PageServer* server : {&pages, &embedded}) {
    for (const char* path : {"/v1/gangs", "/v1/gangs/team-a/p-team-a", "/v1/queues",
                             "/v1/nodes/n0/topology", "/v1/policy", "/metrics"}) {
      CAPTURE(path, server == &embedded);
      CHECK(status(*server, path, {{"Host", "site.example"}}) == 403);
      CHECK(status(*server, path, {{"Host", "127.0.0.1.site.example:8080"}}) == 403);
      CHECK(status(*server, path, {{"Origin", "http://site.example"}}) == 403);
      CHECK(status(*server, path, {{"Origin", "null"}}) == 403);
      CHECK(status(*server, path, {{"Host", "site.example"}, {"X-Forwarded-For", "1.2.3.4"}}) ==
            403);
      CHECK(status(*server, path, {{"Host", own}}) == 200);
      CHECK(status(*server, path, {{"Host", "[::1]:80"}}) == 200);
      CHECK(status(*server, path, {{"Host", own}, {"Origin", "http://" + own}}) == 200);
    }
    CHECK(status(*server, "/healthz", {{"Host", "site.example"}}) == 200);
  }
  CHECK(pages.Get("/v1/gangs", {{"Host", "site.example"}}).Has("Host site.example"));
  // A site may call itself as the machine is called, in its own domain.
  std::array<char, 256> name{};
  REQUIRE(gethostname(name.data(), name.size() - 1) == 0);
  const std::string machine = name.data();
  CHECK(status(pages, "/v1/gangs", {{"Host", machine}}) == 200);
  CHECK(status(pages, "/v1/gangs", {{"Host", machine + ".site.example"}}) == 403);
}

TEST_CASE("whoever is sent on by a proxy is nobody of this machine", "[api][access]") {
  PageServer pages;
  for (const char* header :
       {"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP",
        "X-Client-IP", "X-Original-Forwarded-For", "X-Envoy-External-Address", "True-Client-IP",
        "Via"}) {
    CAPTURE(header);
    CHECK(pages.Get("/v1/queues", {{header, "something"}}).status == 403);
  }
}

TEST_CASE("no page is answered while the API server says of nobody who they are", "[api][access]") {
  PageServer pages;
  pages.api.On(Method::kPost, "/apis/authentication.k8s.io/v1/tokenreviews",
               kube::Reply(503, "{}"));
  CHECK(pages.Proxied("/v1/gangs", "ann").status == 503);
  CHECK(pages.Proxied("/v1/queues", "ann").status == 503);
}

}  // namespace
}  // namespace muster::extender::testing
