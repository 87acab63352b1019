// HTTP/2 of the server: who gets it, many requests on one connection, and how a connection ends.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "http/server/server.hpp"
#include "http2_test_support.hpp"
#include "http_test_support.hpp"
#include "tls_test_support.hpp"

namespace muster::http::testing {
namespace {

using std::chrono::milliseconds;
using Stream = Http2Caller::Stream;

TEST_CASE("HTTP/2 is spoken with those who offer it", "[http2]") {
  const TlsWorld world;
  TestServer test(world.Plain());
  CHECK(Http2Caller(world.Caller(test.port())).protocol() == "h2");
  CHECK(world.Caller(test.port()).Open("http/1.1")->protocol() == "http/1.1");
  CHECK(world.Caller(test.port()).Open("spdy/3")->protocol().empty());
  CHECK(world.Caller(test.port()).Get("/healthz").reply.rfind("HTTP/1.1 200 OK\r\n", 0) == 0);
}

TEST_CASE("a request over HTTP/2 is answered as one over HTTP/1.1", "[http2]") {
  const TlsWorld world;
  TestServer test(world.Plain());
  Http2Caller caller(world.Caller(test.port()));

  const Http2Reply healthy = caller.Do({.path = "/healthz"});
  CHECK(healthy.status == 200);
  CHECK(healthy.body == "ok");
  CHECK(healthy.headers.at("content-type") == "text/plain");
  CHECK(healthy.headers.at("content-length") == "2");
  CHECK(healthy.code == 0);

  CHECK(caller.Do({.method = "POST", .path = "/echo", .body = "text"}).body == "text");
  CHECK(caller.Do({.method = "POST", .path = "/echo"}).status == 200);
  CHECK(caller.Do({.path = "/items/a%20b?x=1&y=2"}).body == "/items/a b|x=1|y=2");
  CHECK(caller.Do({.path = "/nowhere"}).status == 404);
  const Http2Reply wrong = caller.Do({.method = "GET", .path = "/echo"});
  CHECK(wrong.status == 405);
  CHECK(wrong.headers.at("allow") == "POST");
  const Http2Reply thrown = caller.Do({.path = "/throw"});
  CHECK(thrown.status == 500);
  CHECK(thrown.body.find("secret") == std::string::npos);
  const Http2Reply head = caller.Do({.method = "HEAD", .path = "/large"});
  CHECK(head.status == 200);
  CHECK(head.body.empty());
  CHECK(test.server.stats().accepted == 1);
}

TEST_CASE("who waits for 100 Continue gets it", "[http2]") {
  const TlsWorld world;
  TestServer test(world.Plain());
  Http2Caller caller(world.Caller(test.port()));
  const Stream stream = caller.Begin(
      {.method = "POST", .path = "/echo", .headers = {{"expect", "100-continue"}}, .whole = false});
  CHECK(caller.Do({.path = "/healthz"}).status == 200);
  caller.Continue(stream, "body", true);
  const Http2Reply reply = caller.Wait(stream);
  CHECK(reply.continued);
  CHECK(reply.status == 200);
  CHECK(reply.body == "body");
}

TEST_CASE("large bodies go both ways over HTTP/2", "[http2]") {
  const TlsWorld world;
  TestServer test(world.Plain());
  Http2Caller caller(world.Caller(test.port()));
  const std::string large(4 * 1024 * 1024, 'x');
  CHECK(caller.Do({.method = "POST", .path = "/echo", .body = large}).body == large);
  CHECK(caller.Do({.path = "/large"}).body.size() == 4 * 1024 * 1024);
  CHECK(Eventually([&] { return test.server.stats().buffered_bytes == 0; }));
}

TEST_CASE("held calls share one connection and delay nobody on it", "[http2]") {
  const TlsWorld world;
  ServerOptions options = world.Plain();
  options.max_streams = 1'024;
  TestServer test(options);
  Http2Caller caller(world.Caller(test.port()));
  std::vector<Stream> held;
  for (int i = 0; i < 300; ++i) {
    held.push_back(caller.Begin({.method = "POST", .path = "/held", .body = std::to_string(i)}));
  }
  REQUIRE(Eventually([&] { return test.gate.waiting() == 300; }));
  for (int i = 0; i < 20; ++i) CHECK(caller.Do({.path = "/healthz"}).body == "ok");
  test.gate.Open();
  for (int i = 0; i < 300; ++i) {
    CHECK(caller.Wait(held[static_cast<std::size_t>(i)]).body == std::to_string(i));
  }
  CHECK(test.server.stats().accepted == 1);
}

TEST_CASE("many callers with many requests each get their own answers", "[http2]") {
  const TlsWorld world;
  TestServer test(world.Plain());
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Http2Caller caller(world.Caller(test.port()));
      for (int round = 0; round < 20; ++round) {
        std::vector<Stream> streams;
        std::vector<std::string> bodies;
        for (int i = 0; i < 25; ++i) {
          bodies.push_back(std::to_string(t) + "." + std::to_string(round) + "." +
                           std::to_string(i) + std::string(static_cast<std::size_t>(i) * 100, '.'));
          streams.push_back(
              caller.Begin({.method = "POST", .path = "/echo", .body = bodies.back()}));
        }
        for (std::size_t i = 0; i < streams.size(); ++i) {
          if (caller.Wait(streams[i]).body == bodies[i]) ++right;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 4 * 20 * 25);
  CHECK(test.Quiet());
}

TEST_CASE("a certificate that is not on the list is refused each of its requests", "[http2]") {
  TlsWorld world;
  world.IssueClient(world.authority, {"scheduler", {}}, "scheduler");
  world.IssueClient(world.authority, {"outsider", {}}, "outsider");
  ServerOptions options = world.Mutual();
  options.tls->allowed_clients = {"scheduler"};
  TestServer test(options);
  Http2Caller scheduler(world.Caller(test.port(), "scheduler"));
  CHECK(scheduler.Do({.path = "/who"}).body == "scheduler@127.0.0.1");
  Http2Caller outsider(world.Caller(test.port(), "outsider"));
  for (int i = 0; i < 3; ++i) CHECK(outsider.Do({.path = "/who"}).status == 403);
  CHECK(test.server.stats().refused_client == 3);
}

TEST_CASE("a request that is given up is forgotten, and the connection goes on", "[http2]") {
  const TlsWorld world;
  TestServer test(world.Plain());
  Http2Caller caller(world.Caller(test.port()));
  const Stream given_up = caller.Begin({.method = "POST", .path = "/held", .body = "a"});
  REQUIRE(Eventually([&] { return test.gate.waiting() == 1; }));
  caller.Reset(given_up);
  CHECK(caller.Do({.path = "/healthz"}).body == "ok");
  test.gate.Open();
  CHECK(caller.Do({.method = "POST", .path = "/held", .body = "b"}).body == "b");
  CHECK(Eventually([&] { return test.server.stats().open_calls == 0; }));
  CHECK(caller.Wait(given_up).status == 0);
}

TEST_CASE("a caller who leaves while his requests are handled harms nobody", "[http2]") {
  const TlsWorld world;
  TestServer test(world.Plain());
  {
    Http2Caller caller(world.Caller(test.port()));
    for (int i = 0; i < 50; ++i) caller.Begin({.method = "POST", .path = "/held", .body = "x"});
    REQUIRE(Eventually([&] { return test.gate.waiting() == 50; }));
  }
  test.gate.Open();
  CHECK(test.Quiet());
  CHECK(Http2Caller(world.Caller(test.port())).Do({.path = "/healthz"}).body == "ok");
}

TEST_CASE("an answer that is the last lets open requests end and takes no new ones", "[http2]") {
  const TlsWorld world;
  TestServer test(world.Plain());
  Http2Caller caller(world.Caller(test.port()));
  const Stream held = caller.Begin({.method = "POST", .path = "/held", .body = "a"});
  REQUIRE(Eventually([&] { return test.gate.waiting() == 1; }));
  CHECK(caller.Do({.path = "/last"}).body == "bye");
  CHECK(caller.GotGoaway());
  test.gate.Open();
  CHECK(caller.Wait(held).body == "a");
  CHECK(caller.ClosedByServer());
  CHECK(test.server.stats().requests == 2);
}

TEST_CASE("draining lets the requests of HTTP/2 end, and then the connections", "[http2]") {
  const TlsWorld world;
  TestServer test(world.Plain());
  Http2Caller idle(world.Caller(test.port()));
  REQUIRE(idle.Do({.path = "/healthz"}).status == 200);
  Http2Caller busy(world.Caller(test.port()));
  const Stream held = busy.Begin({.method = "POST", .path = "/held", .body = "a"});
  REQUIRE(Eventually([&] { return test.gate.waiting() == 1; }));
  CHECK_FALSE(test.server.Drain(milliseconds(50)));
  CHECK(busy.GotGoaway());
  CHECK(idle.ClosedByServer());
  test.gate.Open();
  CHECK(test.server.Drain(std::chrono::seconds(30)));
  CHECK(busy.Wait(held).body == "a");
  CHECK(busy.ClosedByServer());
}

TEST_CASE("an idle connection of HTTP/2 gets a GOAWAY and is closed", "[http2]") {
  const TlsWorld world;
  ServerOptions options = world.Plain();
  options.idle_timeout = milliseconds(200);
  TestServer test(options);
  Http2Caller caller(world.Caller(test.port()));
  REQUIRE(caller.Do({.path = "/healthz"}).status == 200);
  CHECK(caller.GotGoaway());
  CHECK(caller.ClosedByServer());
  CHECK(test.Quiet());
  CHECK(test.server.stats().timeouts == 0);
}

}  // namespace
}  // namespace muster::http::testing
