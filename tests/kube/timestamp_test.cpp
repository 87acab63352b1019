#include "kube/json/timestamp.hpp"

#include <catch2/catch.hpp>
#include <string>

namespace muster::kube {
namespace {

using cluster::Time;

TEST_CASE("timestamps are read in RFC 3339", "[kube][timestamp]") {
  struct Case {
    const char* text;
    int64_t want;
  };
  const Case c = GENERATE(values<Case>({
      {"1970-01-01T00:00:00Z", 0},
      {"2024-05-01T09:30:00Z", 1714555800000},
      {"2024-02-29T23:59:59.9876Z", 1709251199987},
      {"2024-05-01T11:30:00+02:00", 1714555800000},
      {"2024-05-01T00:00:00-09:30", 1714555800000},
      {"1969-12-31T23:59:59.999Z", -1},
      {"0001-01-01T00:00:00Z", -62135596800000},
      {"9999-12-31T23:59:59Z", 253402300799000},
  }));
  CAPTURE(c.text);
  const cluster::Result<Time> time = ParseTimestamp(c.text);
  REQUIRE(time.ok());
  CHECK(time->milliseconds() == c.want);
}

TEST_CASE("anything else is refused", "[kube][timestamp]") {
  const char* text =
      GENERATE("", "2024", "2024-05-01", "2024-05-01T09:30:00", "2024-13-01T09:30:00Z",
               "2023-02-29T00:00:00Z", "2024-05-01T24:00:00Z", "2024-05-01T09:60:00Z",
               "2024-05-01T09:30:00.Z", "2024-05-01T09:30:00Zx", "24-05-01T09:30:00Z",
               "2024-05-01T09:30:00+2:00", "0000-01-01T00:00:00Z", "1714555800");
  CAPTURE(text);
  CHECK_FALSE(ParseTimestamp(text).ok());
}

TEST_CASE("what is written is read back", "[kube][timestamp]") {
  CHECK(FormatTimestamp(Time(1714555800000)) == "2024-05-01T09:30:00Z");
  CHECK(FormatTimestamp(Time(1714555800007)) == "2024-05-01T09:30:00.007Z");
  CHECK(FormatTimestamp(Time(-1)) == "1969-12-31T23:59:59.999Z");
  CHECK(FormatTimestamp(Time::Never()) == "9999-12-31T23:59:59.999Z");
  CHECK(FormatTimestamp(Time(INT64_MIN)) == "0001-01-01T00:00:00Z");
  for (int64_t millis = -90'000'000'000'000; millis < 250'000'000'000'000;
       millis += 1'234'567'891'011) {
    const cluster::Result<Time> back = ParseTimestamp(FormatTimestamp(Time(millis)));
    if (millis < -62135596800000) continue;
    REQUIRE(back.ok());
    CHECK(back->milliseconds() == millis);
  }
}

TEST_CASE("times without fractions, and with six digits of them", "[kube][timestamp]") {
  const cluster::Time time = *ParseTimestamp("2024-05-01T09:30:00.070Z");
  CHECK(FormatTimestamp(time) == "2024-05-01T09:30:00.070Z");
  CHECK(FormatSeconds(time) == "2024-05-01T09:30:00Z");
  CHECK(FormatMicroTime(time) == "2024-05-01T09:30:00.070000Z");
  CHECK(FormatMicroTime(cluster::Time(0)) == "1970-01-01T00:00:00.000000Z");
}

}  // namespace
}  // namespace muster::kube
