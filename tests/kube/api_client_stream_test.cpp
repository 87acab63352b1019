// Streams: pieces as they come, silence, and stopping at any moment.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "api_server_support.hpp"

using namespace muster::kube;
using namespace muster::kube::testing;
using muster::cluster::Code;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr const char* kChunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

bool TakeNothing(std::string_view /*piece*/) { return true; }

}  // namespace

TEST_CASE("a stream gives pieces while the body is still open", "[kube][stream]") {
  std::atomic<int> taken = 0;
  std::string head;
  RawServer server({[&](const RawConnection& connection) {
    head = connection.ReadHead();
    connection.Send(kChunkedHead);
    connection.Send("4\r\none\n\r\n");
    if (!Eventually([&] { return taken == 1; })) return;
    connection.Send("4\r\ntwo\n\r\n");
    if (!Eventually([&] { return taken == 2; })) return;
    connection.Send("0\r\n\r\n");
    connection.WaitForClose();
  }});
  ClientConfig config = server.Config();
  config.token = "abc";
  const auto client = MakeClient(config);
  const auto stream = client->OpenStream();
  std::string body;
  const auto reply = stream->Run(
      "/api/v1/pods?watch=1",
      [&](std::string_view piece) {
        body += piece;
        ++taken;
        return true;
      },
      seconds(30));
  INFO((reply.ok() ? std::string() : reply.error().ToString()));
  REQUIRE(reply.ok());
  CHECK(reply->status == 200);
  CHECK(reply->body.empty());
  CHECK(body == "one\ntwo\n");
  CHECK(head.starts_with("GET /api/v1/pods?watch=1 HTTP/1.1\r\n"));
  CHECK(head.find("Authorization: Bearer abc\r\n") != std::string::npos);
  CHECK(head.find("Accept-Encoding") == std::string::npos);
}

TEST_CASE("a stream ends when `take` has enough", "[kube][stream]") {
  RawServer server({[](const RawConnection& connection) {
    connection.ReadHead();
    connection.Send(kChunkedHead);
    connection.Send("4\r\none\n\r\n");
    connection.WaitForClose();
  }});
  const auto client = MakeClient(server.Config());
  const auto reply = client->OpenStream()->Run(
      "/watch", [](std::string_view) { return false; }, seconds(30));
  INFO((reply.ok() ? std::string() : reply.error().ToString()));
  REQUIRE(reply.ok());
  CHECK(reply->status == 200);
}

TEST_CASE("a stream that is silent for too long is dead", "[kube][stream]") {
  RawServer server({[](const RawConnection& connection) {
    connection.ReadHead();
    connection.Send(kChunkedHead);
    connection.Send("4\r\none\n\r\n");
    connection.WaitForClose();
  }});
  const auto client = MakeClient(server.Config());
  const auto reply = client->OpenStream()->Run("/watch", TakeNothing, milliseconds(50));
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == Code::kUnavailable);
  CHECK(reply.error().message == "no complete answer in time");
}

TEST_CASE("a stream that breaks off is no end", "[kube][stream]") {
  RawServer server({[](const RawConnection& connection) {
    connection.ReadHead();
    connection.Send(kChunkedHead);
    connection.Send("8\r\none\n");
  }});
  const auto client = MakeClient(server.Config());
  const auto reply = client->OpenStream()->Run("/watch", TakeNothing, seconds(30));
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == Code::kUnavailable);
}

TEST_CASE("a refused stream gives the server's words and takes nothing", "[kube][stream]") {
  TestServer server;
  server.routes().Get("/watch", [](const httplib::Request&, httplib::Response& reply) {
    reply.status = 410;
    reply.set_content(R"({"kind":"Status","reason":"Expired"})", "application/json");
  });
  server.Start();
  const auto client = MakeClient(server.Config());
  bool taken = false;
  const auto reply = client->OpenStream()->Run(
      "/watch", [&](std::string_view) { return taken = true; }, seconds(30));
  INFO((reply.ok() ? std::string() : reply.error().ToString()));
  REQUIRE(reply.ok());
  CHECK(reply->status == 410);
  CHECK(reply->body == R"({"kind":"Status","reason":"Expired"})");
  CHECK_FALSE(taken);
}

TEST_CASE("a stream is stopped in the middle, by itself or with its client", "[kube][stream]") {
  std::atomic<bool> open = false;
  RawServer server({[&](const RawConnection& connection) {
    connection.ReadHead();
    connection.Send(kChunkedHead);
    connection.Send("4\r\none\n\r\n");
    connection.WaitForClose();
  }});
  const auto client = MakeClient(server.Config());
  const auto stream = client->OpenStream();
  const bool whole = GENERATE(false, true);
  std::thread stopper([&] {
    Eventually([&] { return open.load(); });
    if (whole) {
      client->Stop();
    } else {
      stream->Stop();
    }
  });
  const auto take = [&](std::string_view) { return open = true; };
  const auto reply = stream->Run("/watch", take, seconds(60));
  stopper.join();
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == Code::kUnavailable);
  CHECK(reply.error().message == "stopped");
  CHECK(client->stats().streams == 0);
}

TEST_CASE("a stream that was stopped does not begin", "[kube][stream]") {
  RawServer server({});
  const auto client = MakeClient(server.Config());
  const auto stream = client->OpenStream();
  stream->Stop();
  const auto reply = stream->Run("/watch", TakeNothing, seconds(60));
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().message == "stopped");
  CHECK(server.connections() == 0);
}

TEST_CASE("a stream may outlive its client", "[kube][stream]") {
  RawServer server({});
  auto client = MakeClient(server.Config());
  const auto stream = client->OpenStream();
  client.reset();
  const auto reply = stream->Run("/watch", TakeNothing, seconds(60));
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().message == "stopped");
}

TEST_CASE("a call that takes its answer piece by piece has no limit on the whole",
          "[kube][stream]") {
  const std::string body(std::size_t{3} << 20, 'x');
  TestServer server;
  server.routes().Get("/api/v1/pods", [&](const auto&, auto& response) {
    response.set_content(body, "application/json");
  });
  server.routes().Get("/refused", [&](const auto&, auto& response) {
    response.status = 410;
    response.set_content("too old", "text/plain");
  });
  server.Start();
  ApiClientOptions options;
  options.max_body = std::size_t{1} << 20;
  const auto client = MakeClient(server.Config(), options);
  std::size_t taken = 0;
  std::size_t most = 0;
  ApiRequest request{.lane = Lane::kList, .path = "/api/v1/pods"};
  request.take = [&](std::string_view piece) {
    taken += piece.size();
    most = std::max(most, piece.size());
    return true;
  };
  for (int call = 1; call <= 2; ++call) {
    const auto reply = client->Call(request);
    REQUIRE(reply.ok());
    CHECK(reply->body.empty());
    CHECK(taken == static_cast<std::size_t>(call) * body.size());
  }
  CHECK(most <= std::size_t{64} << 10);
  CHECK(client->stats().connections_opened == 1);  // nothing of the answer is left on it
  // What is no success is a reply as ever.
  request.path = "/refused";
  const auto refused = client->Call(request);
  REQUIRE(refused.ok());
  CHECK(refused->status == 410);
  CHECK(refused->body == "too old");
  CHECK(taken == 2 * body.size());
}

TEST_CASE("a call ends when `take` has enough", "[kube][stream]") {
  TestServer server;
  server.routes().Get("/api/v1/pods", [](const auto&, auto& response) {
    response.set_content(std::string(std::size_t{1} << 20, 'x'), "application/json");
  });
  server.Start();
  const auto client = MakeClient(server.Config());
  std::size_t taken = 0;
  const auto take = [&](std::string_view piece) { return (taken += piece.size()) < 1000; };
  const auto reply = client->Call({.lane = Lane::kList, .path = "/api/v1/pods", .take = take});
  REQUIRE(reply.ok());
  CHECK(reply->status == 200);
  CHECK(taken < std::size_t{1} << 19);
}
