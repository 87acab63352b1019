// What well-behaved callers rely on: routing, keep-alive, pipelining, held calls, drain.
#include "http/server/server.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "http/client/client.hpp"
#include "http_test_support.hpp"

namespace muster::http::testing {
namespace {

using cluster::Result;

ClientOptions ClientOf(const TestServer& test) {
  ClientOptions options;
  options.port = test.port();
  return options;
}

TEST_CASE("a kept-alive connection carries many calls", "[http]") {
  TestServer test;
  Client client(ClientOf(test));
  for (int i = 0; i < 200; ++i) {
    const std::string body = "{\"call\":" + std::to_string(i) + "}";
    const Result<Reply> reply = client.Post("/echo", body);
    REQUIRE(reply.ok());
    CHECK(reply->status == 200);
    CHECK(reply->body == body);
    CHECK(reply->content_type == "application/json");
  }
  CHECK(test.server.stats().accepted == 1);
  CHECK(test.server.stats().requests == 200);
}

TEST_CASE("bodies of every size up to the cap arrive whole", "[http]") {
  ServerOptions options;
  options.max_body_bytes = 3 * 1024 * 1024;
  TestServer test(options);
  Client client(ClientOf(test));
  const std::size_t size = GENERATE(0U, 1U, 15U, 4095U, 65536U, 65537U, 1048577U, 3145728U);
  std::string body;
  for (std::size_t i = 0; i < size; ++i) body += static_cast<char>('a' + i % 23);
  const Result<Reply> reply = client.Post("/echo", body);
  REQUIRE(reply.ok());
  CHECK(reply->status == 200);
  CHECK(reply->body == body);
  CHECK(Eventually([&] { return test.server.stats().buffered_bytes == 0; }));
}

TEST_CASE("paths are routed exactly, by prefix, or answered 404 and 405", "[http]") {
  TestServer test;
  RawCaller caller(test.port());
  CHECK(caller.Call(GetRequest("/healthz")).body == "ok");
  CHECK(caller.Call(GetRequest("/items/a%20b/c?x=1&y=%2F")).body == "/items/a b/c|x=1|y=/");
  CHECK(caller.Call(GetRequest("/items/")).body == "/items/");

  const RawReply unknown = caller.Call(GetRequest("/nowhere"));
  CHECK(unknown.status == 404);
  CHECK(unknown.body == "{\"error\":\"no such path\"}\n");
  CHECK(unknown.HasHeader("Content-Type: application/json"));

  const RawReply wrong = caller.Call(PostRequest("/healthz", "{}"));
  CHECK(wrong.status == 405);
  CHECK(wrong.HasHeader("Allow: GET, HEAD\r\n"));
  CHECK(caller.Call(GetRequest("/healthz")).status == 200);
}

TEST_CASE("HEAD answers like GET without the body", "[http]") {
  TestServer test;
  RawCaller caller(test.port());
  REQUIRE(caller.Send("HEAD /healthz HTTP/1.1\r\nHost: t\r\n\r\n"));
  const RawReply reply = caller.ReadReply(true);
  CHECK(reply.status == 200);
  CHECK(reply.HasHeader("Content-Length: 2\r\n"));
  CHECK(caller.Call(GetRequest("/healthz")).body == "ok");
}

TEST_CASE("an exception in a handler is a 500 that says nothing", "[http]") {
  TestServer test;
  RawCaller caller(test.port());
  const RawReply reply = caller.Call(GetRequest("/throw"));
  CHECK(reply.status == 500);
  CHECK(reply.body == "{\"error\":\"internal error\"}\n");
  CHECK(reply.head.find("secret") == std::string::npos);
  CHECK(reply.head.find("EXCEPTION") == std::string::npos);
  CHECK(test.server.stats().handler_exceptions == 1);
  CHECK(caller.Call(GetRequest("/healthz")).status == 200);
}

TEST_CASE("pipelined requests are answered in order", "[http]") {
  TestServer test;
  RawCaller caller(test.port());
  std::string requests;
  constexpr int kCount = 100;
  for (int i = 0; i < kCount; ++i) requests += PostRequest("/echo", std::to_string(i));
  REQUIRE(caller.Send(requests));
  for (int i = 0; i < kCount; ++i) CHECK(caller.ReadReply().body == std::to_string(i));
}

TEST_CASE("a request that arrives byte by byte is answered", "[http]") {
  TestServer test;
  RawCaller caller(test.port());
  const std::string request = PostRequest("/echo", "slow but steady");
  for (const char byte : request) REQUIRE(caller.Send(std::string_view(&byte, 1)));
  CHECK(caller.ReadReply().body == "slow but steady");
}

TEST_CASE("the connection ends when the caller says so", "[http]") {
  TestServer test;
  const std::string request =
      GENERATE(as<std::string>{}, "GET /healthz HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n",
               "GET /healthz HTTP/1.1\r\nHost: t\r\nConnection: foo, Close\r\n\r\n",
               "GET /healthz HTTP/1.0\r\n\r\n");
  RawCaller caller(test.port());
  const RawReply reply = caller.Call(request);
  CHECK(reply.status == 200);
  CHECK(reply.HasHeader("Connection: close\r\n"));
  CHECK(caller.ClosedByServer());
  CHECK(test.Quiet());
}

TEST_CASE("a caller who half-closes still gets his answer", "[http]") {
  TestServer test;
  RawCaller caller(test.port());
  REQUIRE(caller.Send(PostRequest("/echo", "last words")));
  caller.FinishWriting();
  CHECK(caller.ReadReply().body == "last words");
  CHECK(caller.ClosedByServer());
}

TEST_CASE("Expect: 100-continue is answered before the body is sent", "[http]") {
  TestServer test;
  RawCaller caller(test.port());
  const RawReply go_on = caller.Call(
      "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  CHECK(go_on.status == 100);
  CHECK(caller.Call("body").body == "body");
}

TEST_CASE("IPv6 and all-address listening work", "[http]") {
  ServerOptions options;
  options.host = "::";
  TestServer test(options);
  RawCaller v4(test.port(), "127.0.0.1");
  REQUIRE(v4.connected());
  CHECK(v4.Call(GetRequest("/who")).body == "@127.0.0.1");
  RawCaller v6(test.port(), "::1");
  if (v6.connected()) CHECK(v6.Call(GetRequest("/who")).body == "@::1");
}

TEST_CASE("a port in use is an error that names it", "[http]") {
  TestServer test;
  ServerOptions options;
  options.port = test.port();
  Server second(options);
  const cluster::Status started = second.Start();
  REQUIRE_FALSE(started.ok());
  CHECK(started.error().ToString().find(std::to_string(test.port())) != std::string::npos);
}

TEST_CASE("1,024 held calls delay nobody and take no thread", "[http][held]") {
  TestServer test;
  constexpr std::size_t kHeld = 1024;
  const std::size_t threads = test.server.stats().workers;
  std::vector<std::unique_ptr<RawCaller>> callers;
  for (std::size_t i = 0; i < kHeld; ++i) {
    callers.push_back(std::make_unique<RawCaller>(test.port()));
    REQUIRE(callers.back()->connected());
    REQUIRE(callers.back()->Send(PostRequest("/held", std::to_string(i))));
  }
  REQUIRE(Eventually([&] { return test.gate.waiting() == kHeld; }));
  for (int i = 0; i < 100; ++i) CHECK(test.Healthy());
  CHECK(test.server.stats().workers == threads);
  CHECK(test.server.stats().open_calls == kHeld);

  test.gate.Open();
  for (std::size_t i = 0; i < kHeld; ++i) CHECK(callers[i]->ReadReply().body == std::to_string(i));
  callers.clear();
  CHECK(test.Quiet());
}

TEST_CASE("a held call that its handler forgets is answered with an error", "[http][held]") {
  TestServer test;
  RawCaller caller(test.port());
  const RawReply reply = caller.Call(PostRequest("/forgotten", "x"));
  CHECK(reply.status == 500);
  CHECK(reply.body.find("internal error") != std::string::npos);
  CHECK(caller.Call(GetRequest("/healthz")).status == 200);
}

TEST_CASE("an answer that comes after the server's end is for nobody", "[http][held]") {
  Gate gate;
  auto server = std::make_unique<Server>(ServerOptions{});
  server->HandleLater("POST", "/held", [&gate](const Request&, const Done& done) {
    gate.Hold([done] { done({.body = "late"}); });
  });
  REQUIRE(server->Start().ok());
  RawCaller caller(server->port());
  REQUIRE(caller.Send(PostRequest("/held", "x")));
  REQUIRE(Eventually([&] { return gate.waiting() == 1; }));
  server.reset();
  CHECK(caller.ClosedByServer());
  gate.Open();
}

TEST_CASE("the first of two answers counts", "[http][held]") {
  Server server(ServerOptions{});
  server.HandleLater("GET", "/twice", [](const Request&, const Done& done) {
    done({.body = "first"});
    done({.body = "second"});
    throw 1;
  });
  REQUIRE(server.Start().ok());
  RawCaller caller(server.port());
  CHECK(caller.Call(GetRequest("/twice")).body == "first");
  CHECK(caller.Call(GetRequest("/twice")).body == "first");
  server.Stop();
}

TEST_CASE("callers who leave while held cost nothing", "[http][held]") {
  TestServer test;
  for (int i = 0; i < 50; ++i) {
    RawCaller caller(test.port());
    REQUIRE(caller.Send(PostRequest("/held", "x")));
    REQUIRE(Eventually([&] { return test.gate.waiting() == static_cast<std::size_t>(i) + 1; }));
  }
  CHECK(test.Healthy());
  test.gate.Open();
  CHECK(test.Quiet());
  CHECK(test.Healthy());
}

TEST_CASE("stopping closes connections in every state", "[http][drain]") {
  auto test = std::make_unique<TestServer>();
  std::vector<std::unique_ptr<RawCaller>> callers;
  const std::vector<std::string> beginnings = {
      "", "G", "GET / HTTP/1.1\r\nHost: t\r\n",
      "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nab", PostRequest("/held", "x")};
  for (const std::string& beginning : beginnings) {
    callers.push_back(std::make_unique<RawCaller>(test->port()));
    REQUIRE(callers.back()->connected());
    REQUIRE(callers.back()->Send(beginning));
  }
  REQUIRE(Eventually([&] { return test->gate.waiting() == 1; }));
  test->gate.Open();
  test->server.Stop();
  test->server.Stop();
  CHECK(test->server.stats().connections == 0);
  CHECK(test->server.stats().workers == 0);
  for (const auto& caller : callers) CHECK(caller->ClosedByServer());
}

TEST_CASE("draining answers what is held, closes what is idle and accepts nobody",
          "[http][drain]") {
  TestServer test;
  RawCaller idle(test.port());
  REQUIRE(idle.Call(GetRequest("/healthz")).status == 200);
  std::vector<std::unique_ptr<RawCaller>> held;
  for (int i = 0; i < 20; ++i) {
    held.push_back(std::make_unique<RawCaller>(test.port()));
    REQUIRE(held.back()->Send(PostRequest("/held", std::to_string(i))));
  }
  REQUIRE(Eventually([&] { return test.gate.waiting() == held.size(); }));

  CHECK_FALSE(test.server.Drain(std::chrono::milliseconds(50)));
  CHECK(idle.ClosedByServer());
  CHECK_FALSE(RawCaller(test.port()).connected());

  std::thread opener([&] { test.gate.Open(); });
  CHECK(test.server.Drain(std::chrono::duration_cast<std::chrono::milliseconds>(kPatience)));
  opener.join();
  for (std::size_t i = 0; i < held.size(); ++i) {
    const RawReply reply = held[i]->ReadReply();
    CHECK(reply.body == std::to_string(i));
    CHECK(reply.HasHeader("Connection: close\r\n"));
  }
}

TEST_CASE("many callers through one pool get their own answers", "[http]") {
  TestServer test;
  ClientPool pool(ClientOf(test), 8);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string body = std::to_string(t) + ":" + std::to_string(i);
        const Result<Reply> reply = pool.Post("/echo", body);
        if (!reply.ok() || reply->body != body) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("a client without a server gets an error, not an exception", "[http]") {
  ClientOptions options;
  {
    TestServer test;
    options = ClientOf(test);
  }
  Client client(options);
  const Result<Reply> reply = client.Get("/healthz");
  REQUIRE_FALSE(reply.ok());
  CHECK(reply.error().code == cluster::Code::kUnavailable);
}

}  // namespace
}  // namespace muster::http::testing
