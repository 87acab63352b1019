#include "sim/api_server/event_loop.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace muster::sim {
namespace {

using cluster::Duration;
using cluster::Time;

TEST_CASE("events run in order of time, then of posting", "[loop]") {
  EventLoop loop;
  std::string order;
  loop.Post(Time(20), [&] { order += 'd'; });
  loop.Post(Time(10), [&] {
    order += 'a';
    loop.Post([&] { order += 'c'; });
  });
  loop.Post(Time(10), [&] { order += 'b'; });
  CHECK(loop.RunUntilIdle(Time::Never()));
  CHECK(order == "abcd");
  CHECK(loop.now() == Time(20));
  CHECK(loop.events_run() == 4);
}

TEST_CASE("what is due in the past runs now, and Never is never", "[loop]") {
  EventLoop loop(Time(100));
  Time ran;
  loop.Post(Time(5), [&] { ran = loop.now(); });
  loop.Post(Time::Never(), [&] { FAIL("ran"); });
  loop.RunUntil(Time(1000));
  CHECK(ran == Time(100));
  CHECK(loop.now() == Time(1000));
  CHECK(loop.pending() == 0);
}

TEST_CASE("RunUntil stops at its time and RunUntilIdle at its limit", "[loop]") {
  EventLoop loop;
  int ran = 0;
  for (const int64_t at : {10, 20, 30}) loop.Post(Time(at), [&] { ++ran; });
  CHECK(loop.RunUntil(Time(20)) == 2);
  CHECK_FALSE(loop.RunUntilIdle(Time(29)));
  CHECK(ran == 2);
  CHECK(loop.RunUntilIdle(Time(30)));
  CHECK(ran == 3);
}

TEST_CASE("background events do not keep the loop going", "[loop]") {
  EventLoop loop;
  int background = 0;
  loop.PostBackground(Time(5), [&] { ++background; });
  loop.PostBackground(Time(50), [&] { ++background; });
  loop.Post(Time(10), [] {});
  CHECK(loop.RunUntilIdle(Time::Never()));
  CHECK(background == 1);
  CHECK(loop.NextDue() == Time(50));
}

TEST_CASE("a loop that follows a clock runs what is due at the clock's time", "[loop]") {
  EventLoop loop;
  Time ran;
  for (const int64_t at : {10, 20, 90}) loop.Post(Time(at), [&] { ran = loop.now(); });
  CHECK_FALSE(loop.RunDue(Time(50), 1));
  CHECK(ran == Time(50));
  CHECK(loop.RunDue(Time(40), 10));
  CHECK(loop.now() == Time(50));
  CHECK(loop.NextDue() == Time(90));
}

TEST_CASE("a timer fires once, at the time it was last set to", "[loop]") {
  EventLoop loop;
  std::vector<int64_t> fired;
  Timer timer(loop, false, [&] { fired.push_back(loop.now().milliseconds()); });

  SECTION("later") {
    timer.Set(Time(10));
    timer.Set(Time(30));
    CHECK(loop.RunUntilIdle(Time::Never()));
    CHECK(fired == std::vector<int64_t>{30});
  }
  SECTION("earlier") {
    timer.Set(Time(30));
    timer.Set(Time(10));
    loop.RunUntil(Time(100));
    CHECK(fired == std::vector<int64_t>{10});
  }
  SECTION("stopped") {
    timer.Set(Time(10));
    timer.Stop();
    CHECK(loop.idle());
    loop.RunUntil(Time(100));
    CHECK(fired.empty());
  }
  SECTION("again") {
    timer.Set(Time(10));
    loop.RunUntil(Time(15));
    timer.Set(Time(20));
    CHECK_FALSE(loop.idle());
    loop.RunUntil(Time(100));
    CHECK(fired == std::vector<int64_t>{10, 20});
  }
  SECTION("set again after it was stopped, later than before") {
    timer.Set(Time(10));
    timer.Stop();
    timer.Set(Time(40));
    CHECK(loop.RunUntilIdle(Time::Never()));
    CHECK(fired == std::vector<int64_t>{40});
  }
}

TEST_CASE("a timer may end before its loop", "[loop]") {
  EventLoop loop;
  {
    Timer timer(loop, false, [] { FAIL("fired"); });
    timer.Set(Time(10));
    CHECK_FALSE(loop.idle());
  }
  CHECK(loop.idle());
  loop.RunUntil(Time(100));
}

}  // namespace
}  // namespace muster::sim
