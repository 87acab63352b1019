// HTTP/2 of the server: what is too much, too late or not HTTP/2 at all.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "http/server/server.hpp"
#include "http2_test_support.hpp"
#include "http_test_support.hpp"
#include "tls_test_support.hpp"

namespace muster::http::testing {
namespace {

using std::chrono::milliseconds;
using Stream = Http2Caller::Stream;

TEST_CASE("a body over the limit is refused before it is all there", "[http2][attack]") {
  const TlsWorld world;
  ServerOptions options = world.Plain();
  options.max_body_bytes = 1000;
  TestServer test(options);
  Http2Caller caller(world.Caller(test.port()));
  const auto Post = [&](std::size_t size, std::vector<std::pair<std::string, std::string>> headers,
                        bool whole) {
    return caller.Do({.method = "POST",
                      .path = "/echo",
                      .body = std::string(size, 'x'),
                      .headers = std::move(headers),
                      .whole = whole});
  };
  CHECK(Post(1000, {}, true).status == 200);
  CHECK(Post(1001, {}, false).status == 413);
  CHECK(Post(10, {{"content-length", "1001"}}, false).status == 413);
  CHECK(Post(10, {{"content-length", "99999999999999999999"}}, false).status != 200);
  CHECK(caller.Do({.path = "/healthz"}).status == 200);
  CHECK(Eventually([&] { return test.server.stats().buffered_bytes == 0; }));
}

TEST_CASE("a body of another length than was said is a broken stream", "[http2][attack]") {
  const TlsWorld world;
  TestServer test(world.Plain());
  Http2Caller caller(world.Caller(test.port()));
  for (const char* length : {"3", "5", "-4", "4x"}) {
    CAPTURE(length);
    const Http2Reply reply = caller.Do({.method = "POST",
                                        .path = "/echo",
                                        .body = "four",
                                        .headers = {{"content-length", length}}});
    CHECK(reply.status != 200);
  }
  CHECK(caller.Do({.path = "/healthz"}).status == 200);
  CHECK(test.server.stats().requests == 1);
}

TEST_CASE("headers are held to the limits of HTTP/1.1", "[http2][attack]") {
  const TlsWorld world;
  ServerOptions options = world.Plain();
  options.max_header_bytes = 4000;
  options.max_header_lines = 20;
  TestServer test(options);
  Http2Caller caller(world.Caller(test.port()));
  CHECK(caller.Do({.headers = {{"x-large", std::string(5000, 'x')}}}).status == 431);
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 30; ++i) many.emplace_back("x-" + std::to_string(i), "1");
  CHECK(caller.Do({.headers = many}).status == 431);
  CHECK(caller.Do({.path = "/" + std::string(5000, 'x')}).status == 431);
  CHECK(caller.Do({.path = "/%zz"}).status == 400);
  CHECK(caller.Do({.path = "/a%00b"}).status == 400);
  CHECK(caller.Do({.method = "BREW", .path = "/healthz"}).status == 501);
  CHECK(caller
            .Do({.method = "POST",
                 .path = "/echo",
                 .headers = {{"content-encoding", "gzip"}, {"content-length", "0"}}})
            .status == 415);
  CHECK(caller.Do({.headers = {{"content-type", "a"}, {"content-type", "b"}}}).status == 400);
  CHECK(test.server.stats().refused_bad == 8);
  // Past all measure it is not even unpacked.
  const Http2Reply huge = caller.Do({.headers = {{"x-huge", std::string(60'000, 'x')}}});
  CHECK(huge.status == 0);
  CHECK(huge.code != 0);
  CHECK(caller.Do({.path = "/healthz"}).status == 200);
}

TEST_CASE("a request that does not arrive in time is refused, others go on", "[http2][attack]") {
  const TlsWorld world;
  ServerOptions options = world.Plain();
  options.body_timeout = milliseconds(300);
  TestServer test(options);
  Http2Caller caller(world.Caller(test.port()));
  const Stream slow =
      caller.Begin({.method = "POST", .path = "/echo", .body = "half", .whole = false});
  CHECK(caller.Do({.path = "/healthz"}).status == 200);
  const Http2Reply late = caller.Wait(slow);
  CHECK(late.status == 408);
  CHECK(late.code == 0);
  CHECK(test.server.stats().timeouts == 1);
  CHECK(caller.Do({.path = "/healthz"}).status == 200);
  CHECK(Eventually([&] { return test.server.stats().buffered_bytes == 0; }));
}

TEST_CASE("an answer that the caller gives no room for is given up", "[http2][attack]") {
  const TlsWorld world;
  ServerOptions options = world.Plain();
  options.write_timeout = milliseconds(300);
  TestServer test(options);
  Http2Caller caller(world.Caller(test.port()), 1000);
  const Http2Reply reply = caller.Do({.path = "/large"});
  CHECK(reply.status == 200);
  CHECK(reply.body.size() == 1000);
  CHECK(reply.code != 0);
  CHECK(test.server.stats().timeouts == 1);
  CHECK(caller.Do({.path = "/healthz"}).status == 200);
  CHECK(Eventually([&] { return test.server.stats().buffered_bytes == 0; }));
}

TEST_CASE("answers that nobody takes do not pile up", "[http2][attack]") {
  const TlsWorld world;
  ServerOptions options = world.Plain();
  options.max_buffered_bytes = 20 * 1024 * 1024;  // one address has half of it
  TestServer test(options);
  Http2Caller caller(world.Caller(test.port()), 1000);
  std::vector<Stream> streams;
  for (int i = 0; i < 20; ++i) streams.push_back(caller.Begin({.path = "/large"}));
  CHECK(Eventually([&] { return test.server.stats().refused_full >= 18; }));
  CHECK(test.server.stats().buffered_bytes <= 10 * 1024 * 1024);
}

TEST_CASE("bodies of all requests together are limited", "[http2][attack]") {
  const TlsWorld world;
  ServerOptions options = world.Plain();
  options.max_buffered_bytes = 200'000;
  TestServer test(options);
  Http2Caller caller(world.Caller(test.port()));
  const std::string body(60'000, 'x');
  const Stream first =
      caller.Begin({.method = "POST", .path = "/echo", .body = body, .whole = false});
  REQUIRE(Eventually([&] { return test.server.stats().buffered_bytes >= body.size(); }));
  const Http2Reply refused =
      caller.Do({.method = "POST", .path = "/echo", .body = body, .whole = false});
  CHECK(refused.status == 503);
  CHECK(refused.headers.at("retry-after") == "1");
  caller.Continue(first, "end", true);
  CHECK(caller.Wait(first).body == body + "end");
}

TEST_CASE("heads count as bodies do", "[http2][attack]") {
  const TlsWorld world;
  ServerOptions options = world.Plain();
  options.max_buffered_bytes = 48'000;
  TestServer test(options);
  Http2Caller caller(world.Caller(test.port()));
  const Http2Call large = {.method = "POST",
                           .path = "/echo",
                           .body = "x",
                           .headers = {{"x-large", std::string(12'000, 'x')}},
                           .whole = false};
  const Stream first = caller.Begin(large);
  REQUIRE(Eventually([&] { return test.server.stats().buffered_bytes > 12'000; }));
  CHECK(caller.Do(large).status == 503);
  caller.Continue(first, "y", true);
  CHECK(caller.Wait(first).body == "xy");
  CHECK(Eventually([&] { return test.server.stats().buffered_bytes == 0; }));
}

TEST_CASE("a small answer goes out although too much is kept", "[http2][attack]") {
  const TlsWorld world;
  ServerOptions options = world.Plain();
  options.max_buffered_bytes = 200'000;
  TestServer test(options);
  Http2Caller caller(world.Caller(test.port()));
  REQUIRE(caller.Do({.path = "/healthz"}).status == 200);  // now it knows the server's window
  const Stream held = caller.Begin({.method = "POST", .path = "/held", .body = "bound"});
  REQUIRE(Eventually([&] { return test.gate.waiting() == 1; }));
  caller.Begin(
      {.method = "POST", .path = "/echo", .body = std::string(85'000, 'x'), .whole = false});
  REQUIRE(Eventually([&] { return test.server.stats().buffered_bytes > 85'000; }));
  test.gate.Open();
  CHECK(caller.Wait(held).body == "bound");
}

TEST_CASE("calls beyond the limit of streams wait at their caller", "[http2]") {
  const TlsWorld world;
  ServerOptions options = world.Plain();
  options.max_streams = 3;
  TestServer test(options);
  Http2Caller caller(world.Caller(test.port()));
  REQUIRE(caller.Do({.path = "/healthz"}).status == 200);  // now it knows the limit
  std::vector<Stream> streams;
  for (int i = 0; i < 10; ++i) {
    streams.push_back(caller.Begin({.method = "POST", .path = "/held", .body = "x"}));
  }
  REQUIRE(Eventually([&] { return test.gate.waiting() == 3; }));
  CHECK(test.server.stats().open_calls == 3);
  test.gate.Open();
  for (const Stream stream : streams) CHECK(caller.Wait(stream).status == 200);
  CHECK(test.server.stats().refused_full == 0);
}

TEST_CASE("requests that are sent and reset at once are no way around the limit",
          "[http2][attack]") {
  const TlsWorld world;
  ServerOptions options = world.Plain();
  options.max_streams = 7;
  TestServer test(options);
  Http2Caller caller(world.Caller(test.port()));
  for (int i = 0; i < 500; ++i) {
    caller.Reset(caller.Begin({.method = "POST", .path = "/held", .body = "x"}));
  }
  // Streams of a connection are read in order: once this one is refused, all before it were read.
  CHECK(caller.Do({.path = "/healthz"}).status == 0);
  Http2Caller other(world.Caller(test.port()));
  CHECK(other.Do({.path = "/healthz"}).status == 200);
  REQUIRE(Eventually([&] { return test.gate.waiting() >= 7; }));
  CHECK(test.gate.waiting() == 7);
  test.gate.Open();
  CHECK(Eventually([&] { return test.server.stats().open_calls == 0; }));
  CHECK(other.Do({.path = "/healthz"}).status == 200);
}

TEST_CASE("what is not HTTP/2 ends its connection and harms no other", "[http2][attack]") {
  const TlsWorld world;
  TestServer test(world.Plain());
  Http2Caller good(world.Caller(test.port()));
  REQUIRE(good.Do({.path = "/healthz"}).status == 200);

  const std::unique_ptr<TlsSocket> old = world.Caller(test.port()).Open("h2");
  old->Send(GetRequest("/healthz"));
  while (!old->Receive().empty()) {
  }
  CHECK(old->ended());

  Http2Caller broken(world.Caller(test.port()));
  REQUIRE(broken.Do({.path = "/healthz"}).status == 200);
  broken.SendRaw(std::string(64, '\xff'));
  CHECK(broken.GotGoaway());
  CHECK(broken.ClosedByServer());
  CHECK(good.Do({.path = "/healthz"}).status == 200);
}

TEST_CASE("a caller who never begins is closed", "[http2][attack]") {
  const TlsWorld world;
  ServerOptions options = world.Plain();
  options.first_byte_timeout = milliseconds(200);
  TestServer test(options);
  const std::unique_ptr<TlsSocket> silent = world.Caller(test.port()).Open("h2");
  while (!silent->Receive().empty()) {
  }
  CHECK(silent->ended());
  CHECK(test.Quiet());
}

}  // namespace
}  // namespace muster::http::testing
