// Orders of operators over HTTP: who may give them, what they do, and what is refused.
#include "extender/pages/order_desk.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "extender/telemetry/metrics.hpp"
#include "http/client/client.hpp"
#include "tests/extender/service_test_support.hpp"
#include "tests/http/http_test_support.hpp"
#include "tests/kube/fake_api.hpp"
#include "tests/support/builders.hpp"

namespace muster::extender::testing {
namespace {

using cluster::Status;
using http::testing::TlsWorld;
using kube::Method;
using muster::testing::MakeNode;
using muster::testing::MakePod;

constexpr const char* kOrderDeskTokens = "/apis/authentication.k8s.io/v1/tokenreviews";
constexpr const char* kOrderDeskRights = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
constexpr const char* kState = "/v1/queues/research/state";

engine::Options WithQueues() {
  engine::Options options;
  options.queues = {{.name = "research"}, {.name = "edu"}};
  return options;
}

// A desk on a port of its own, before an API server that a test plays.
struct Desk {
  explicit Desk(http::ServerOptions options = {}, bool embedded = false)
      : access(
            {.settings = [this] { return settings; }, .reviewer = embedded ? nullptr : &reviewer}),
        log({.level = LogLevel::kDebug,
             .sink = [this](std::string_view line) { lines.Add(line); },
             .now = {}}),
        desk(
            {.scheduler = scheduler,
             .now = [] { return cluster::Time(1'000); },
             .told = [] {},
             .closed = [this] { return closed; },
             .keep =
                 [this](const engine::StandingOrders& orders) {
                   if (kept.ok()) stored = orders;
                   return kept;
                 },
             .ordered = [this](const engine::Order& order, bool ok) { metrics.Ordered(order, ok); },
             .access = access,
             .log = log}),
        server(std::move(options)) {
    scheduler.Apply(MakeNode("n0").Gpus(8).Build(), cluster::Time(1));
    desk.Mount(server);
    const Status started = server.Start();
    INFO((started.ok() ? "" : started.error().ToString()));
    REQUIRE(started.ok());
  }
  ~Desk() {
    desk.Stop();
    server.Stop();
  }
  void Allows(bool allowed) {
    api.On(Method::kPost, kOrderDeskTokens,
           kube::Reply(201, R"({"status": {"authenticated": true, "user": {"username": "ann"}}})"));
    api.On(Method::kPost, kOrderDeskRights,
           kube::Reply(201, std::string(R"({"status": {"allowed": )") +
                                (allowed ? "true" : "false") + "}}"));
  }
  http::Reply Post(const std::string& path, const std::string& body, const std::string& token = "",
                   const std::string& type = "application/json") {
    http::ClientOptions options;
    options.port = server.port();
    options.bearer_token = token;
    const auto reply = http::Client(options).Post(path, body, type);
    REQUIRE(reply.ok());
    return *reply;
  }

  std::string closed;
  Status kept = cluster::Ok{};
  engine::StandingOrders stored;
  Metrics metrics{"v"};
  config::OperatorSettings settings;
  LogLines lines;
  engine::Scheduler scheduler{WithQueues()};
  kube::FakeApi api;
  kube::AccessReviewer reviewer{{.api = api, .now = [] { return kube::Clocks(); }}, {}};
  CallerAccess access;
  Logger log;
  OrderDesk desk;
  http::Server server;
};

constexpr const char* kHold = R"({"state": "hold"})";

TEST_CASE("whom the cluster's RBAC lets do it gives orders with a bearer token", "[orders]") {
  Desk desk;
  desk.Allows(true);
  const http::Reply held = desk.Post(kState, kHold, "secret");
  CHECK(held.status == 200);
  CHECK_THAT(held.body, Catch::Contains("hold, ordered by ann"));
  CHECK(desk.scheduler.Orders().queues.at("research").by == "ann");
  CHECK(desk.stored == desk.scheduler.Orders());
  CHECK(desk.lines.Has("order=\"queue research: hold\" by=ann"));
  CHECK_FALSE(desk.lines.Has("secret"));
  desk.Allows(false);
  const http::Reply refused = desk.Post("/v1/queues/edu/state", kHold, "secret");
  CHECK(refused.status == 403);
  CHECK_THAT(refused.body, Catch::Contains("ann may not update queues/state.muster.dev"));
  CHECK(desk.scheduler.Orders().queues.size() == 1);
}

TEST_CASE("who sends many orders keeps nobody else's out", "[orders]") {
  constexpr int kMany = 80;
  std::latch go_on(1);
  Desk desk;
  desk.Allows(true);
  desk.api.On(Method::kPost, kOrderDeskTokens, [&](const kube::ApiRequest& request) {
    if (request.body.find("noise-") != std::string::npos) go_on.wait();
    return kube::Reply(201, R"({"status": {"authenticated": true, "audiences": ["muster.dev"], )"
                            R"("user": {"username": "ann"}}})");
  });
  const auto order = [&](http::testing::RawCaller& caller, const char* from,
                         const std::string& token) {
    REQUIRE(caller.Connect(desk.server.port(), from));
    REQUIRE(caller.Send(std::string("POST ") + kState +
                        " HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
                        "X-Muster-Token: " +
                        token + "\r\nContent-Length: " + std::to_string(std::strlen(kHold)) +
                        "\r\n\r\n" + kHold));
  };
  std::vector<std::unique_ptr<http::testing::RawCaller>> many;
  for (int i = 0; i < kMany; ++i) {
    many.push_back(std::make_unique<http::testing::RawCaller>());
    order(*many.back(), "127.0.0.2", "noise-" + std::to_string(i));
  }
  // Some are being served, 64 wait, the others are refused.
  REQUIRE(Eventually([&] { return desk.server.stats().requests == kMany; }));
  http::testing::RawCaller operators;
  order(operators, "127.0.0.3", "operator");
  CHECK(operators.ReadReply().status == 200);
  go_on.count_down();
  int refused = 0;
  for (auto& one : many) refused += one->ReadReply().status == 503 ? 1 : 0;
  // One may have been served already when the last ones came.
  CHECK(refused >= kMany - 65);
  CHECK(refused <= kMany - 64);
}

TEST_CASE("orders are counted by kind and by what came of them, trials are not", "[orders]") {
  Desk desk({}, true);
  CHECK(desk.Post(kState, kHold).status == 200);
  CHECK(desk.Post("/v1/queues/research/reclaim", R"({"gpus": 1, "dryRun": true})").status == 409);
  CHECK(desk.Post("/v1/queues/nobody/state", kHold).status == 404);
  const std::string page = desk.metrics.Text({}, {});
  CHECK_THAT(page, Catch::Contains("muster_orders_total{kind=\"queue\",result=\"ok\"} 1\n"));
  CHECK_THAT(page, Catch::Contains("muster_orders_total{kind=\"queue\",result=\"refused\"} 1\n"));
  CHECK_THAT(page, Catch::Contains("muster_orders_total{kind=\"cancel\",result=\"ok\"} 0\n"));
  CHECK_THAT(page, Catch::Contains("muster_orders_total{kind=\"reclaim\",result=\"refused\"} 0\n"));
}

TEST_CASE("nothing is done while the caller is unknown", "[orders]") {
  Desk desk;
  desk.Allows(true);
  const http::Reply nobody = desk.Post(kState, kHold);
  CHECK(nobody.status == 403);
  CHECK_THAT(nobody.body, Catch::Contains("--token-file"));
  desk.api.On(Method::kPost, kOrderDeskTokens, kube::NoConnection());
  const http::Reply unknown = desk.Post(kState, kHold, "other");
  CHECK(unknown.status == 503);
  CHECK_THAT(unknown.body, Catch::Contains("cannot be asked who may do this"));
  CHECK(desk.scheduler.Orders() == engine::StandingOrders{});
}

TEST_CASE("a client certificate gives orders if the policy names it or its organisation",
          "[orders]") {
  TlsWorld world;
  http::ServerOptions options = world.Mutual();
  options.tls->require_client_cert = false;
  Desk desk(options);
  world.IssueClient(world.authority, {"ann", {}, false, {"ops", "people"}}, "ann");
  const auto post = [&](const std::string& cert) {
    http::ClientOptions client;
    client.port = desk.server.port();
    client.tls = true;
    client.ca_file = world.folder.File("ca.pem");
    if (!cert.empty()) {
      client.cert_file = world.folder.File(cert + ".pem");
      client.key_file = world.folder.File(cert + "-key.pem");
    }
    const auto reply = http::Client(client).Post(kState, kHold);
    REQUIRE(reply.ok());
    return *reply;
  };
  CHECK(post("").status == 403);
  const http::Reply stranger = post("ann");
  CHECK(stranger.status == 403);
  CHECK_THAT(stranger.body, Catch::Contains("operators.clientNames"));
  SECTION("its name") { desk.settings.client_names = {"bob", "ann"}; }
  SECTION("its organisation") { desk.settings.client_organisations = {"people"}; }
  CHECK(post("ann").status == 200);
  CHECK(desk.scheduler.Orders().queues.at("research").by == "ann");
}

TEST_CASE("an embedded cluster takes orders from its own machine", "[orders]") {
  Desk desk({}, true);
  CHECK(desk.Post(kState, kHold).status == 200);
  CHECK(desk.scheduler.Orders().queues.at("research").by == "local");
}

TEST_CASE("an order that cannot be kept is not carried out", "[orders]") {
  Desk desk({}, true);
  desk.kept = cluster::Error{cluster::Code::kForbidden, "no right", ""};
  CHECK(desk.Post(kState, kHold).status == 403);
  CHECK(desk.scheduler.Orders() == engine::StandingOrders{});
}

TEST_CASE("a replica that does not lead takes no orders", "[orders]") {
  Desk desk({}, true);
  desk.closed = "this replica does not lead";
  const http::Reply reply = desk.Post(kState, kHold);
  CHECK(reply.status == 503);
  CHECK_THAT(reply.body, Catch::Contains("does not lead"));
}

TEST_CASE("malformed orders are refused, and say where", "[orders]") {
  Desk desk({}, true);
  struct Case {
    const char* path;
    const char* body;
    int status;
  };
  for (const Case& one : std::initializer_list<Case>{
           {kState, R"({"state": "off"})", 400},
           {kState, R"({})", 400},
           {kState, R"({"state": "hold", "more": 1})", 400},
           {kState, R"([1])", 400},
           {kState, R"({"state": "hold")", 400},
           {"/v1/queues/nowhere/state", kHold, 404},
           {"/v1/queues/research", kHold, 404},
           {"/v1/queues//state", kHold, 404},
           {"/v1/queues/research/other", "{}", 404},
           {"/v1/queues/research/reclaim", "{}", 400},
           {"/v1/queues/research/reclaim", R"({"gpus": 0})", 400},
           {"/v1/queues/research/reclaim", R"({"gpus": 1, "pauseSeconds": 90000})", 400},
           {"/v1/queues/research/reclaim", R"({"gpus": 1})", 409},
           {"/v1/gangs/a/b/priority", R"({"priority": 1.5})", 400},
           {"/v1/gangs/a/b/priority", R"({"priority": 2000000000})", 400},
           {"/v1/gangs/a/b/priority", R"({"priority": 1})", 404},
           {"/v1/gangs/a/b/cancel", R"({"now": true})", 400},
           {"/v1/gangs/a/b/cancel", "", 404},
           {"/v1/gangs/a/b/other", "{}", 404}}) {
    INFO(one.path << " " << one.body);
    CHECK(desk.Post(one.path, one.body).status == one.status);
  }
  // As a form of another site's page would send it.
  CHECK(desk.Post(kState, kHold, "", "text/plain").status == 400);
  CHECK(desk.scheduler.Orders() == engine::StandingOrders{});
}

}  // namespace
}  // namespace muster::extender::testing
