#include "queues/wide.hpp"

#include <catch2/catch.hpp>
#include <random>

namespace muster::queues {
namespace {

TEST_CASE("wide numbers carry and borrow over all of their parts", "[queues][wide]") {
  const Wide one(1);
  Wide power = one;
  for (int i = 0; i < 11; ++i) power = power.Times(UINT64_MAX).Plus(power);  // × 2^64
  const Wide below = power.Minus(one);
  CHECK(below < power);
  CHECK(below.Plus(one) == power);
  CHECK(power.Minus(power).zero());
  CHECK(Floor(power.Times(12'345).Plus(below), power) == 12'345);
  CHECK(Floor(power.Times(INT64_MAX), power) == INT64_MAX);
  CHECK(Floor(below, power) == 0);
}

TEST_CASE("fractions that differ in the last digit are told apart, whatever their size",
          "[queues][wide]") {
  const Uint128 huge = Uint128{1} << 120U;
  CHECK((Compare({huge, huge - 1}, {huge + 1, huge}) > 0));
  CHECK((Compare({huge + 1, huge}, {huge, huge - 1}) < 0));
  CHECK((Compare({huge * 2, huge * 4}, {1, 2}) == 0));
  CHECK((Compare({huge - 1, 2 * huge}, {1, 2}) < 0));
  CHECK((Compare({1, 0}, {huge, 1}) > 0));
  CHECK((Compare({1, 0}, {7, 0}) == 0));
  CHECK((Compare({0, 0}, {0, 5}) == 0));
  CHECK((Compare({0, 5}, {1, huge}) < 0));
}

TEST_CASE("the two ways to compare fractions agree", "[queues][wide][property]") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const auto some = [&] { return Uint128{1 + random() % 40}; };
    const Fraction a{some(), some()};
    const Fraction b{some(), some()};
    // By the same factor above and below, so that it does not fit crosswise.
    const Uint128 factor = Uint128{random() | 1U} << 40U;
    const Fraction large{a.over * factor, a.under * factor};
    CHECK((Compare(large, b) == Compare(a, b)));
    CHECK((Compare(a, b) == (a.over * b.under <=> b.over * a.under)));
  }
}

}  // namespace
}  // namespace muster::queues
