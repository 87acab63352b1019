// Who makes way when a server is full, and who is cut off before it fills.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <vector>

#include "http/server/server.hpp"
#include "http_test_support.hpp"
#include "tls_test_support.hpp"

namespace muster::http::testing {
namespace {

constexpr const char* kFlood = "127.0.0.2";
constexpr const char* kAnn = "127.0.0.3";

std::unique_ptr<RawCaller> From(const TestServer& test, const char* address) {
  auto caller = std::make_unique<RawCaller>();
  REQUIRE(caller->Connect(test.port(), address));
  return caller;
}

TEST_CASE("who opens many connections makes way for more of their own", "[http][attack]") {
  ServerOptions options;
  SECTION("connections are few") { options.max_connections = 20; }
  SECTION("memory for connections is little") { options.max_connection_bytes = 160 * 1024; }
  TestServer test(options);
  const std::unique_ptr<RawCaller> ann = From(test, kAnn);
  REQUIRE(ann->Call(GetRequest("/healthz")).status == 200);
  std::vector<std::unique_ptr<RawCaller>> flood;
  for (int i = 0; i < 100; ++i) {
    flood.push_back(From(test, kFlood));
    CHECK(flood.back()->Call(GetRequest("/healthz")).status == 200);
  }
  CHECK(test.server.stats().displaced >= 79);
  // Hers has waited for longest, and is there.
  CHECK(ann->Call(GetRequest("/healthz")).status == 200);
}

TEST_CASE("who takes no answer makes way", "[http][attack]") {
  ServerOptions options;
  options.max_connections = 8;
  TestServer test(options);
  std::vector<std::unique_ptr<RawCaller>> flood;
  const auto unread = GetRequest("/large") + GetRequest("/large") + GetRequest("/large");
  for (int i = 0; i < 8; ++i) {
    flood.push_back(From(test, kFlood));
    REQUIRE(flood.back()->Send(unread));
  }
  REQUIRE(Eventually([&] { return test.server.stats().requests >= 8; }));
  REQUIRE(Eventually([&] { return From(test, kAnn)->Call(GetRequest("/healthz")).status == 200; }));
  CHECK(test.server.stats().displaced >= 1);
  CHECK(test.server.stats().timeouts == 0);
}

TEST_CASE("a ClientHello that says it is endless ends the connection", "[tls][attack]") {
  const TlsWorld world;
  ServerOptions options = world.Plain();
  options.first_byte_timeout = std::chrono::hours(1);
  TestServer test(options);
  const auto bytes = [](std::initializer_list<int> list) {
    std::string text;
    for (const int byte : list) text += static_cast<char>(byte);
    return text;
  };
  const std::string hello = GENERATE_COPY(
      as<std::string>{}, bytes({22, 3, 1, 64, 0, 1, 2, 0, 0}),
      bytes({22, 3, 1, 64, 0, 1, 0, 64, 1}),
      // In records of one byte.
      bytes({22, 3, 1, 0, 1, 1, 22, 3, 1, 0, 1, 2, 22, 3, 1, 0, 1, 0, 22, 3, 1, 0, 1, 0}));
  RawCaller caller(test.port());
  REQUIRE(caller.Send(hello));
  CHECK(caller.ClosedByServer());
  CHECK(test.server.stats().tls_failures == 1);
  CHECK(world.Caller(test.port()).Get("/healthz").handshake);
}

}  // namespace
}  // namespace muster::http::testing
