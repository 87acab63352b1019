// A server whose options change while it serves.
#include "http/server/renewable_server.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>

#include "http_test_support.hpp"

namespace muster::http::testing {
namespace {

using std::chrono::seconds;

class World {
 public:
  World() {
    ServerOptions options;
    options.max_body_bytes = 100;
    REQUIRE(server.Start(options).ok());
  }
  ~World() { gate.Open(); }

  cluster::Status Renew(std::size_t max_body, SameAddress same, std::uint16_t port = 0) {
    ServerOptions options;
    options.port = port;
    options.max_body_bytes = max_body;
    auto next = server.Prepare(options, same);
    if (!next.ok()) return next.error();
    server.Adopt(*std::move(next), seconds(30));
    return cluster::Ok{};
  }
  int Echo(RawCaller& caller, std::size_t bytes) {
    return caller.Call(PostRequest("/echo", std::string(bytes, 'x'))).status;
  }
  int Echo(std::size_t bytes) {
    RawCaller caller(server.port());
    return Echo(caller, bytes);
  }

  Gate gate;
  RenewableServer server{[this](Server& one) {
    one.Handle("POST", "/echo",
               [](const Request& request) { return Response{.body = request.body}; });
    one.HandleLater("GET", "/held", [this](const Request&, const Done& done) {
      gate.Hold([done] { done({.body = "held"}); });
    });
  }};
};

}  // namespace

TEST_CASE("a renewed server has other limits on the same port", "[http][renew]") {
  World world;
  const std::uint16_t port = world.server.port();
  CHECK(world.Echo(101) == 413);
  REQUIRE(world.Renew(200, SameAddress::kYes).ok());
  CHECK(world.server.port() == port);
  CHECK(world.Echo(101) == 200);
  CHECK(world.Echo(201) == 413);
  REQUIRE(world.Renew(50, SameAddress::kYes).ok());
  CHECK(world.Echo(101) == 413);
  CHECK(world.server.stats().refused_bad == 3);  // of all three servers
}

TEST_CASE("what has begun is answered by the server that took it", "[http][renew]") {
  World world;
  RawCaller held(world.server.port());
  REQUIRE(held.Send(GetRequest("/held")));
  REQUIRE(Eventually([&] { return world.gate.waiting() == 1; }));
  RawCaller idle(world.server.port());
  CHECK(world.Echo(idle, 10) == 200);
  REQUIRE(world.Renew(200, SameAddress::kYes).ok());
  CHECK(idle.ClosedByServer());
  for (int i = 0; i < 50; ++i) CHECK(world.Echo(150) == 200);
  world.gate.Open();
  CHECK(held.ReadReply().body == "held");
}

TEST_CASE("callers who come while servers change are all answered", "[http][renew]") {
  World world;
  std::atomic<bool> done = false;
  std::atomic<int> failed = 0;
  std::atomic<int> answered = 0;
  std::thread callers([&] {
    while (!done) ++(world.Echo(10) == 200 ? answered : failed);
  });
  for (int i = 0; i < 20; ++i) REQUIRE(world.Renew(100, SameAddress::kYes).ok());
  REQUIRE(Eventually([&] { return answered > 50; }));
  done = true;
  callers.join();
  CHECK(failed == 0);
}

TEST_CASE("a server that cannot be renewed stays as it is", "[http][renew]") {
  World world;
  const World other;
  const cluster::Status taken = world.Renew(200, SameAddress::kNo, other.server.port());
  REQUIRE_FALSE(taken.ok());
  CHECK_THAT(taken.error().ToString(), Catch::Contains("Address already in use"));
  CHECK(world.Echo(101) == 413);
  CHECK(world.Echo(100) == 200);
}

TEST_CASE("a server moves to another port", "[http][renew]") {
  World world;
  const std::uint16_t before = world.server.port();
  REQUIRE(world.Renew(200, SameAddress::kNo).ok());
  CHECK(world.server.port() != before);
  CHECK(world.Echo(150) == 200);
  CHECK(Eventually([&] { return !RawCaller(before).connected(); }));
}

TEST_CASE("servers that have ended leave nothing behind but what they counted", "[http][renew]") {
  World world;
  const auto renew_and_call = [&](int times) {
    for (int i = 0; i < times; ++i) {
      REQUIRE(world.Renew(100, SameAddress::kYes).ok());
      CHECK(world.Echo(10) == 200);
      CHECK(world.Echo(101) == 413);
      // The one before has nothing to wait for.
      CHECK(Eventually([&] { return world.server.stats().workers == ServerOptions{}.workers; }));
    }
  };
  renew_and_call(3);
  const std::size_t before = OpenFiles();
  renew_and_call(20);
  CHECK(OpenFiles() <= before + 8);  // one may be on its way out
  CHECK(world.server.stats().refused_bad == 23);
}

}  // namespace muster::http::testing
