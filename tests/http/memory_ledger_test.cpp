// What is kept for callers, by address and in all; and when free pages go back to the system.
#include "http/connections/memory_ledger.hpp"

#include <catch2/catch.hpp>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/server/idle_trim.hpp"
#include "http/server/server.hpp"
#include "http_test_support.hpp"

namespace muster::http::testing {
namespace {

using std::chrono::milliseconds;
using Kept = MemoryLedger::Kept;

TEST_CASE("one address has at most half, and each further one finds room", "[http][memory]") {
  MemoryLedger ledger(1'200);
  Kept first = ledger.Of("10.0.0.1");
  CHECK_FALSE(first.Set(601));
  CHECK(first.Set(600));
  Kept more = ledger.Of("10.0.0.1");
  CHECK_FALSE(more.Add(1));
  Kept second = ledger.Of("10.0.0.2");
  CHECK_FALSE(second.Set(301));
  CHECK(second.Set(300));
  Kept third = ledger.Of("10.0.0.3");
  CHECK(third.Set(150));
  CHECK_FALSE(third.Set(151));
  CHECK(ledger.bytes() == 1'050);
  // Less is always taken, and gives the others more.
  CHECK(first.Set(100));
  CHECK(third.Set(400));
  CHECK(ledger.TakePeak() == 1'050);
  CHECK(ledger.TakePeak() == 800);
}

TEST_CASE("what is large leaves room for what is small", "[http][memory]") {
  constexpr std::size_t kKiB = 1024;
  MemoryLedger ledger(1'024 * kKiB);  // one address has 512 KiB of it
  Kept body = ledger.Of("10.0.0.1");
  // 15/16 of what the others leave: 1024 - 496 = 528, of which 495.
  CHECK_FALSE(body.Set(496 * kKiB));
  REQUIRE(body.Set(495 * kKiB));
  std::vector<Kept> probes;
  for (int i = 0; i < 17; ++i) {
    probes.push_back(ledger.Of("10.0.0.1"));
    CHECK(probes.back().Set(kKiB));
  }
  CHECK_FALSE(ledger.Of("10.0.0.1").Set(kKiB));
}

TEST_CASE("what is kept is given back once, by whoever has it last", "[http][memory]") {
  auto ledger = std::make_unique<MemoryLedger>(1'000);
  Kept whole = ledger->Of("a");
  REQUIRE(whole.Set(300));
  Kept part = whole.Split(100);
  CHECK(whole.bytes() == 200);
  CHECK(ledger->bytes() == 300);
  whole = std::move(part);
  CHECK(whole.bytes() == 100);
  CHECK(ledger->bytes() == 100);
  CHECK_FALSE(whole.Split(500).Add(1'000));
  CHECK(ledger->bytes() == 0);
  Kept other = whole.Another();
  CHECK(other.Set(500));
  CHECK(whole.bytes_of_address() == 500);
  other.Release();
  CHECK(ledger->bytes() == 0);
  REQUIRE(other.Set(5));
  ledger.reset();
  CHECK(other.Set(6));
  CHECK_FALSE(Kept().Set(1));
}

TEST_CASE("addresses that keep nothing any more are forgotten", "[http][memory]") {
  MemoryLedger ledger(1'000'000);
  std::vector<Kept> kept;
  for (int i = 0; i < 1'000; ++i) {
    Kept one = ledger.Of(std::to_string(i));
    REQUIRE(one.Set(1));
    if (i % 100 == 0) kept.push_back(std::move(one));
  }
  CHECK(ledger.bytes() == kept.size());
  for (int i = 0; i < 1'000; i += 100) CHECK(ledger.Of(std::to_string(i)).bytes_of_address() == 1);
}

constexpr std::size_t kMiB = 1024 * 1024;

TEST_CASE("free pages go back once, when a load is over", "[http][memory]") {
  IdleTrim trim;
  IdleTrim::Time now{};
  // Of so many seconds with that much kept, and answered in each tenth of a second.
  const auto dues = [&](int seconds, std::size_t mebibytes, std::size_t answered = 0) {
    int due = 0;
    for (int i = 0; i < 10 * seconds; ++i) {
      now += milliseconds(100);
      due += trim.Due(now, mebibytes * kMiB, answered) ? 1 : 0;
    }
    return due;
  };
  CHECK(dues(60, 0) == 0);
  CHECK(dues(60, 8) == 0);  // no load
  CHECK(dues(60, 0) == 0);
  CHECK(dues(60, 200) == 0);  // not over
  CHECK(dues(60, 120) == 0);
  CHECK(dues(1, 20) == 0);
  CHECK(dues(1, 150) == 0);  // it was not over
  CHECK(dues(60, 20) == 1);
  CHECK(dues(60, 5) == 1);  // what stayed was a load, too
  CHECK(dues(60, 0) == 0);
  CHECK(dues(10, 0, kMiB) == 0);  // answers for 100 MiB
  CHECK(dues(60, 0) == 1);
  CHECK(dues(1, 0, kMiB) == 0);  // for 10 MiB
  CHECK(dues(60, 0) == 0);
}

// A server whose pages of 1 KiB wait for their turn.
struct TurnServer {
  explicit TurnServer(ServerOptions options) : server(std::move(options)) {
    server.HandleInTurn("POST", "/page", [this](const Request&) {
      go_on.wait();
      return Response{.body = "page"};
    });
    REQUIRE(server.Start().ok());
  }
  ~TurnServer() {
    if (!go_on.try_wait()) go_on.count_down();
    server.Stop();
  }

  std::latch go_on{1};
  Server server;
};

TEST_CASE("what waits for its turn is counted until it is answered", "[http][memory]") {
  ServerOptions options;
  options.max_buffered_bytes = 8 * kMiB;
  TurnServer test(options);
  {
    std::vector<std::unique_ptr<RawCaller>> callers;
    const std::string request = PostRequest("/page", std::string(kMiB, 'x'));
    for (int i = 0; i < 3; ++i) {
      callers.push_back(std::make_unique<RawCaller>(test.server.port()));
      REQUIRE(callers.back()->Send(request));
    }
    REQUIRE(Eventually([&] { return test.server.stats().open_calls == 3; }));
    RawCaller fourth(test.server.port());
    CHECK(fourth.Call(request).status == 503);
  }
  CHECK(test.server.stats().buffered_bytes > 3 * kMiB);
  test.go_on.count_down();
  CHECK(Eventually([&] { return test.server.stats().buffered_bytes == 0; }));
}

}  // namespace
}  // namespace muster::http::testing
