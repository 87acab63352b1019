// Work in turns between callers: one that asks for much keeps nobody else waiting.
#include "http/connections/caller_turns.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "http_test_support.hpp"

namespace muster::http::testing {
namespace {

TEST_CASE("a caller has so many jobs at a time, and others have their turns meanwhile",
          "[http][turns]") {
  CallerTurns turns({.threads = 3, .each = 2, .waiting_each = 10, .waiting_all = 15});
  REQUIRE(turns.Start());
  std::latch go_on(1);
  std::atomic<int> running = 0;
  std::atomic<int> done = 0;
  const auto slow = [&] {
    ++running;
    go_on.wait();
    ++done;
  };
  for (int i = 0; i < 2; ++i) REQUIRE(turns.Add("flood", slow));
  REQUIRE(Eventually([&] { return running == 2; }));
  for (int i = 0; i < 10; ++i) CHECK(turns.Add("flood", slow));
  CHECK_FALSE(turns.Add("flood", slow));
  std::atomic<int> others = 0;
  for (int i = 0; i < 20; ++i) {
    REQUIRE(turns.Add("other-" + std::to_string(i), [&] { ++others; }));
    REQUIRE(Eventually([&] { return others == i + 1; }));
  }
  CHECK(running == 2);
  go_on.count_down();
  CHECK(Eventually([&] { return done == 12; }));
}

TEST_CASE("no more waits than fits, whoever asks", "[http][turns]") {
  CallerTurns turns({.threads = 1, .each = 1, .waiting_each = 10, .waiting_all = 3});
  REQUIRE(turns.Start());
  std::latch begun(1);
  std::latch go_on(1);
  REQUIRE(turns.Add("a", [&] {
    begun.count_down();
    go_on.wait();
  }));
  begun.wait();
  std::vector<int> order;
  for (const int i : {1, 2}) REQUIRE(turns.Add("a", [&order, i] { order.push_back(i); }));
  std::latch last(1);
  REQUIRE(turns.Add("b", [&order] { order.push_back(3); }));
  CHECK_FALSE(turns.Add("c", [] {}));
  go_on.count_down();
  REQUIRE(Eventually([&] { return turns.Add("c", [&last] { last.count_down(); }); }));
  last.wait();
  // Whoever has had a turn comes behind those who have not.
  CHECK(order == std::vector<int>{3, 1, 2});
}

TEST_CASE("what waits at the end is dropped, what runs is waited for", "[http][turns]") {
  std::atomic<bool> ran = false;
  std::atomic<bool> dropped = false;
  std::latch begun(1);
  {
    CallerTurns turns({.threads = 1, .each = 1, .waiting_each = 10, .waiting_all = 10});
    REQUIRE(turns.Start());
    REQUIRE(turns.Add("a", [&] {
      begun.count_down();
      ran = Eventually([&] { return dropped.load(); });
    }));
    begun.wait();
    std::shared_ptr<void> held(nullptr, [&](void*) { dropped = true; });
    REQUIRE(turns.Add("a", [held] {}));
  }
  CHECK(ran);
}

}  // namespace
}  // namespace muster::http::testing
