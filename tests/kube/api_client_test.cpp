// Calls against a server that behaves: what is sent, what comes back, and many at a time.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "api_server_support.hpp"

using namespace muster::kube;
using namespace muster::kube::testing;
using muster::cluster::Code;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// Answers with what it was sent, header by header, in the order of their names.
void Echo(const httplib::Request& request, httplib::Response& reply) {
  std::string text = request.method + " " + request.target + "\n";
  const std::multimap<std::string, std::string> headers(request.headers.begin(),
                                                        request.headers.end());
  for (const auto& [name, value] : headers) {
    if (!name.starts_with("REMOTE_") && !name.starts_with("LOCAL_"))
      text += name + ": " + value + "\n";
  }
  reply.set_content(text + "\n" + request.body, "text/plain");
}

void EchoAll(TestServer& server) {
  server.routes().Get(".*", Echo);
  server.routes().Post(".*", Echo);
  server.routes().Put(".*", Echo);
  server.routes().Patch(".*", Echo);
  server.routes().Delete(".*", Echo);
  server.Start();
}

std::string Body(ApiClient& client, const ApiRequest& request) {
  const auto reply = client.Call(request);
  if (!reply.ok()) return reply.error().ToString();
  CHECK(reply->status == 200);
  return reply->body;
}

}  // namespace

TEST_CASE("a request says what it is", "[kube][client]") {
  TestServer server;
  EchoAll(server);
  ClientConfig config = server.Config();
  config.path_prefix = "/k8s/c-1";
  config.token = "abc";
  config.user_agent = "muster/test";
  const auto client = MakeClient(config);
  const std::string host = "Host: 127.0.0.1:" + std::to_string(server.port()) + "\n";

  CHECK(Body(*client, {.path = "/api/v1/pods?fieldSelector=a%3Db&limit=5"}) ==
        "GET /k8s/c-1/api/v1/pods?fieldSelector=a%3Db&limit=5\nAccept: application/json\n"
        "Authorization: Bearer abc\n" +
            host + "User-Agent: muster/test\n\n");
  CHECK(Body(*client, {.method = Method::kPatch,
                       .path = "/p",
                       .body = "{}",
                       .content_type = "application/merge-patch+json"}) ==
        "PATCH /k8s/c-1/p\nAccept: application/json\nAuthorization: Bearer abc\n"
        "Content-Length: 2\nContent-Type: application/merge-patch+json\n" +
            host + "User-Agent: muster/test\n\n{}");
  CHECK_THAT(Body(*client, {.method = Method::kPost, .path = "/p", .body = "{\"a\":1}"}),
             Catch::StartsWith("POST /k8s/c-1/p\n") && Catch::EndsWith("\n\n{\"a\":1}"));
  CHECK_THAT(Body(*client, {.method = Method::kPut, .path = "/p"}),
             Catch::StartsWith("PUT ") && Catch::Contains("Content-Length: 0\n"));
  CHECK_THAT(Body(*client, {.method = Method::kDelete, .path = "/p", .body = "{}"}),
             Catch::StartsWith("DELETE ") && Catch::EndsWith("\n\n{}"));
  CHECK(client->stats().connections_opened == 1);
}

TEST_CASE("only lists are asked for packed", "[kube][client]") {
  TestServer server;
  const std::string big(100'000, 'x');
  std::atomic<int> packed = 0;
  server.routes().Get("/list", [&](const httplib::Request& request, httplib::Response& reply) {
    if (request.get_header_value("Accept-Encoding") == "gzip") ++packed;
    reply.set_content(big, "application/json");
  });
  server.Start();
  ClientConfig config = server.Config();
  const auto client = MakeClient(config);
  CHECK(Body(*client, {.lane = Lane::kList, .path = "/list"}) == big);
  CHECK(packed == 1);
  CHECK(Body(*client, {.lane = Lane::kGang, .path = "/list"}) == big);
  CHECK(packed == 1);
  config.disable_compression = true;
  CHECK(Body(*MakeClient(config), {.lane = Lane::kList, .path = "/list"}) == big);
  CHECK(packed == 1);
}

TEST_CASE("metadata alone is asked for where that is enough", "[kube][client]") {
  TestServer server;
  server.routes().Patch("/p", [](const httplib::Request& request, httplib::Response& reply) {
    reply.set_content(request.get_header_value("Accept"), "text/plain");
  });
  server.Start();
  const auto client = MakeClient(server.Config());
  ApiRequest patch{.method = Method::kPatch, .path = "/p", .body = "{}"};
  CHECK(Body(*client, patch) == "application/json");
  patch.metadata_only = true;
  CHECK_THAT(Body(*client, patch),
             Catch::StartsWith("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1") &&
                 Catch::EndsWith(",application/json"));
}

TEST_CASE("any status is a reply", "[kube][client]") {
  const int status = GENERATE(200, 201, 204, 301, 404, 409, 422, 500, 503);
  TestServer server;
  server.routes().Get("/p", [&](const httplib::Request&, httplib::Response& reply) {
    reply.status = status;
    reply.set_header("Location", "/elsewhere");
    if (status != 204) reply.set_content("words", "text/plain");
  });
  server.Start();
  const auto client = MakeClient(server.Config());
  for (int i = 0; i < 2; ++i) {
    const auto reply = client->Call({.path = "/p"});
    REQUIRE(reply.ok());
    CHECK(reply->status == status);
    CHECK(reply->body == (status == 204 ? "" : "words"));
    CHECK_FALSE(reply->retry_after.has_value());
  }
  const ApiClientStats stats = client->stats();
  CHECK(stats.connections_opened == 1);
  CHECK(stats.lanes[static_cast<std::size_t>(Lane::kGang)].calls == 2);
  CHECK(stats.lanes[static_cast<std::size_t>(Lane::kGang)]
            .by_class[static_cast<std::size_t>(status / 100)] == 2);
}

TEST_CASE("Retry-After is passed on for 429 and 503", "[kube][client]") {
  TestServer server;
  server.routes().Get(R"(/(\d+))", [](const httplib::Request& request, httplib::Response& reply) {
    reply.status = std::stoi(request.matches[1]);
    reply.set_header("Retry-After", "7");
  });
  server.Start();
  const auto client = MakeClient(server.Config());
  for (const auto& [path, want] : {std::pair{"/429", true}, {"/503", true}, {"/500", false}}) {
    const auto reply = client->Call({.path = path});
    REQUIRE(reply.ok());
    CHECK(reply->retry_after.has_value() == want);
    if (want) CHECK(*reply->retry_after == seconds(7));
  }
}

TEST_CASE("after 401 the token is read again, and the call repeated once", "[kube][client]") {
  TempFolder folder;
  WriteFile(folder.File("token"), "old");
  TestServer server;
  std::atomic<int> calls = 0;
  server.routes().Post("/p", [&](const httplib::Request& request, httplib::Response& reply) {
    ++calls;
    reply.status = request.get_header_value("Authorization") == "Bearer new" ? 201 : 401;
  });
  server.routes().Get("/watch", [&](const httplib::Request& request, httplib::Response& reply) {
    reply.status = request.get_header_value("Authorization") == "Bearer new" ? 200 : 401;
    reply.set_content("event", "text/plain");
  });
  server.Start();
  ClientConfig config = server.Config();
  config.token_file = folder.File("token");
  const auto client = MakeClient(config);
  const ApiRequest request{.method = Method::kPost, .path = "/p", .body = "{}"};

  SECTION("the same token is not sent twice") {
    const auto reply = client->Call(request);
    REQUIRE(reply.ok());
    CHECK(reply->status == 401);
    CHECK(calls == 1);
    CHECK(client->stats().token_renewals == 0);
  }
  SECTION("a new one is") {
    WriteFile(folder.File("token"), "new");
    const auto reply = client->Call(request);
    REQUIRE(reply.ok());
    CHECK(reply->status == 201);
    CHECK(calls == 2);
    CHECK(client->stats().token_renewals == 1);
    CHECK(client->Call(request)->status == 201);
    CHECK(calls == 3);
  }
  SECTION("streams do the same") {
    WriteFile(folder.File("token"), "new");
    std::string body;
    const auto take = [&](std::string_view piece) {
      body += piece;
      return true;
    };
    const auto reply = client->OpenStream()->Run("/watch", take, seconds(30));
    REQUIRE(reply.ok());
    CHECK(reply->status == 200);
    CHECK(body == "event");
  }
}

TEST_CASE("64 calls at a time have a connection each, and keep them", "[kube][client]") {
  constexpr int kCallers = 64;
  TestServer server;
  std::atomic<int> inside = 0;
  server.routes().Post("/together", [&](const httplib::Request& request, httplib::Response& reply) {
    ++inside;
    Eventually([&] { return inside >= kCallers; });
    reply.set_content(request.body, "text/plain");
  });
  server.routes().Post("/each", [](const httplib::Request& request, httplib::Response& reply) {
    reply.set_content(request.body, "text/plain");
  });
  server.Start();
  const auto client = MakeClient(server.Config());
  std::atomic<int> right = 0;
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&, i] {
      const std::string body = std::to_string(i);
      ApiRequest request{.method = Method::kPost, .lane = Lane::kBind, .path = "/together"};
      request.body = body;
      request.timeout = seconds(60);
      const auto first = client->Call(request);
      if (first.ok() && first->body == body) ++right;
      request.path = "/each";
      for (int j = 0; j < 10; ++j) {
        const auto reply = client->Call(request);
        if (reply.ok() && reply->body == body) ++right;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(right == kCallers * 11);
  const ApiClientStats stats = client->stats();
  CHECK(stats.connections_opened == kCallers);
  CHECK(stats.idle_connections == kCallers);
  CHECK(stats.lanes[static_cast<std::size_t>(Lane::kBind)].calls == kCallers * 11);
  CHECK(stats.lanes[static_cast<std::size_t>(Lane::kBind)].in_flight == 0);
}

TEST_CASE("no more connections are kept than were asked for", "[kube][client]") {
  TestServer server;
  std::atomic<int> inside = 0;
  server.routes().Get("/together", [&](const httplib::Request&, httplib::Response&) {
    ++inside;
    Eventually([&] { return inside >= 4; });
  });
  server.Start();
  ApiClientOptions options;
  options.max_idle = 2;
  const auto client = MakeClient(server.Config(), options);
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back(
        [&] { CHECK_NOTHROW(static_cast<void>(client->Call({.path = "/together"}).ok())); });
  for (std::thread& caller : callers) caller.join();
  CHECK(client->stats().idle_connections == 2);
}

TEST_CASE("Stop ends calls that wait and run, and all that come later", "[kube][client]") {
  RawServer server({[](const RawConnection& connection) {
    connection.ReadHead();
    connection.WaitForClose();
  }});
  ApiClientOptions options;
  options.lanes[static_cast<std::size_t>(Lane::kReport)] = {1, 1};
  const auto client = MakeClient(server.Config(), options);
  std::atomic<int> stopped = 0;
  const auto call = [&](Lane lane) {
    const auto reply = client->Call({.lane = lane, .path = "/p", .timeout = seconds(600)});
    if (!reply.ok() && reply.error().code == Code::kUnavailable &&
        reply.error().message == "stopped")
      ++stopped;
  };
  std::thread running([&] { call(Lane::kReport); });
  REQUIRE(Eventually([&] { return server.connections() == 1; }));
  std::vector<std::thread> waiting;
  for (int i = 0; i < 5; ++i) waiting.emplace_back([&] { call(Lane::kReport); });
  REQUIRE(Eventually(
      [&] { return client->stats().lanes[static_cast<std::size_t>(Lane::kReport)].waiting > 0; }));
  client->Stop();
  running.join();
  for (std::thread& thread : waiting) thread.join();
  call(Lane::kLease);
  CHECK(stopped == 7);
  CHECK(client->stats().idle_connections == 0);
}

TEST_CASE("a call whose permit is gone when its turn comes is not made", "[kube][client]") {
  RawServer server({});
  const auto client = MakeClient(server.Config());
  const auto reply = client->Call({.path = "/p", .permit = [] { return false; }});
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == Code::kForbidden);
  CHECK(server.connections() == 0);
}

TEST_CASE("a path that was not escaped is not sent", "[kube][client]") {
  RawServer server({});
  const auto client = MakeClient(server.Config());
  const std::string path = GENERATE("/a b", "/a\r\nX: y", "/\n", "/\x7f");
  const auto reply = client->Call({.path = path});
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == Code::kInvalidArgument);
}

TEST_CASE("a fresh call goes over a new connection, which is kept", "[kube][client]") {
  TestServer server;
  EchoAll(server);
  const auto client = MakeClient(server.Config());
  Body(*client, {.path = "/p"});
  Body(*client, {.path = "/p"});
  CHECK(client->stats().connections_opened == 1);
  Body(*client, {.path = "/p", .fresh = true});
  Body(*client, {.path = "/p"});
  CHECK(client->stats().connections_opened == 2);
  CHECK(client->stats().idle_connections == 2);
}
