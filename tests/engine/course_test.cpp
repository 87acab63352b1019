#include "engine/gangs/course.hpp"

#include <catch2/catch.hpp>

namespace muster::engine {
namespace {

using cluster::Seconds;
using cluster::Time;

const Options kOptions;  // backoff 1 s to 300 s, retries after 1 s

TEST_CASE("each failed start in a row waits twice as long, up to a limit", "[engine][course]") {
  Course course;
  const auto pause = [&] {
    course.Fail(Because(ReasonCode::kBindFailed), kOptions, Time(0));
    return *course.backoff_until - Time(0);
  };
  CHECK(pause() == Seconds(1));
  CHECK(pause() == Seconds(2));
  CHECK(pause() == Seconds(4));
  for (int i = 0; i < 10; ++i) pause();
  CHECK(pause() == Seconds(300));
  course.Start();
  CHECK(course.setback == Reason{});
  CHECK(pause() == Seconds(1));
}

TEST_CASE("a gang whose reservation ran out waits at least as long as it held it",
          "[engine][course]") {
  Course course;
  const auto pause = [&](cluster::Duration held) {
    course.Expire(Because(ReasonCode::kReservationExpired), held, kOptions, Time(0));
    return *course.backoff_until - Time(0);
  };
  CHECK(pause(Seconds(120)) == Seconds(120));
  CHECK(course.expired);
  CHECK(pause(Seconds(120)) == Seconds(240));
  for (int i = 0; i < 10; ++i) pause(Seconds(120));
  CHECK(pause(Seconds(120)) == Seconds(3'600));
  CHECK(pause(Seconds(7'200)) == Seconds(7'200));
}

TEST_CASE("a plan that breaks at once is a failed start, or a pause beside bound members",
          "[engine][course]") {
  Course course;
  SECTION("nothing is bound") {
    course.BreakPlan(false, kOptions, Time(0));
    CHECK(course.attempts == 1);
    CHECK(course.setback.code == ReasonCode::kPlanBroken);
    CHECK_FALSE(course.replan_from);
  }
  SECTION("nothing is bound, and it is known why") {
    course.setback = Because(ReasonCode::kBindFailed);
    course.BreakPlan(false, kOptions, Time(0));
    CHECK(course.setback.code == ReasonCode::kBindFailed);
  }
  SECTION("members are bound") {
    course.BreakPlan(true, kOptions, Time(0));
    course.BreakPlan(true, kOptions, Time(0));
    CHECK(course.attempts == 0);
    CHECK(course.replan_from == Time(2'000));
  }
}

TEST_CASE("deadlines that have come are over", "[engine][course]") {
  Course course;
  course.Fail({}, kOptions, Time(0));
  course.BreakPlan(true, kOptions, Time(1'000));
  course.Pass(Time(999));
  CHECK(course.backoff_until);
  course.Pass(Time(1'000));
  CHECK_FALSE(course.backoff_until);
  CHECK(course.replan_from);
  course.Pass(Time(2'000));
  CHECK_FALSE(course.replan_from);
}

}  // namespace
}  // namespace muster::engine
