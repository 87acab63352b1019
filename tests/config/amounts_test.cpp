#include "config/fields/amounts.hpp"

#include <catch2/catch.hpp>
#include <limits>

namespace muster::config {
namespace {

using cluster::Duration;
using cluster::Seconds;

TEST_CASE("durations are read exactly", "[config][amounts]") {
  struct Case {
    const char* text;
    std::optional<Duration> want;
  };
  const Case c = GENERATE(values<Case>({
      {"90s", Seconds(90)},
      {"5m", Seconds(300)},
      {"1h30m", Seconds(5400)},
      {"1h30m5s250ms", Duration(5'405'250)},
      {"250ms", Duration(250)},
      {"0s", Duration(0)},
      {"1h5ms", Duration(3'600'005)},
      {"9223372036854775807ms", Duration(std::numeric_limits<int64_t>::max())},
      {"9223372036854775808ms", std::nullopt},
      {"9223372036854775807s", std::nullopt},
      {"9223372036854775807ms1s", std::nullopt},
      {"2562047788015h2562047788015h", std::nullopt},
      {"2562047788015h13m", std::nullopt},
      {"", std::nullopt},
      {"90", std::nullopt},
      {"s", std::nullopt},
      {"1.5h", std::nullopt},
      {"-5s", std::nullopt},
      {"+5s", std::nullopt},
      {"5 s", std::nullopt},
      {" 5s", std::nullopt},
      {"5s ", std::nullopt},
      {"30m1h", std::nullopt},
      {"1s1s", std::nullopt},
      {"1d", std::nullopt},
      {"1S", std::nullopt},
      {"05s", std::nullopt},
      {"0x5s", std::nullopt},
  }));
  CAPTURE(c.text);
  CHECK(ParseDuration(c.text) == c.want);
}

TEST_CASE("durations are written in their shortest form and read back", "[config][amounts]") {
  CHECK(FormatDuration(Seconds(90)) == "1m30s");
  CHECK(FormatDuration(Seconds(120)) == "2m");
  CHECK(FormatDuration(Duration(5'405'250)) == "1h30m5s250ms");
  CHECK(FormatDuration(Duration(0)) == "0s");
  for (int64_t value = 1; value > 0 && value < int64_t{1} << 62U; value = value * 3 + 1) {
    CHECK(ParseDuration(FormatDuration(Duration(value))) == Duration(value));
  }
}

TEST_CASE("sizes are read exactly", "[config][amounts]") {
  struct Case {
    const char* text;
    std::optional<int64_t> want;
  };
  const Case c = GENERATE(values<Case>({
      {"4MiB", 4 << 20},
      {"512KiB", 512 << 10},
      {"1GiB", 1 << 30},
      {"17B", 17},
      {"0B", 0},
      {"8589934591GiB", 8589934591 * (int64_t{1} << 30U)},
      {"8589934592GiB", std::nullopt},
      {"4", std::nullopt},
      {"4MB", std::nullopt},
      {"4Mi", 4 << 20},
      {"2Ti", int64_t{2} << 40U},
      {"4M", std::nullopt},
      {"4Mib", std::nullopt},
      {"4mib", std::nullopt},
      {"1MiB1KiB", std::nullopt},
      {"1.5MiB", std::nullopt},
      {"-1MiB", std::nullopt},
      {"012MiB", std::nullopt},
      {"MiB", std::nullopt},
      {"", std::nullopt},
  }));
  CAPTURE(c.text);
  CHECK(ParseSize(c.text) == c.want);
}

TEST_CASE("sizes are written in the largest unit that is exact", "[config][amounts]") {
  CHECK(FormatSize(4 << 20) == "4MiB");
  CHECK(FormatSize((4 << 20) + 1024) == "4097KiB");
  CHECK(FormatSize(1023) == "1023B");
  CHECK(FormatSize(0) == "0B");
  CHECK(FormatSize(int64_t{3} << 40U) == "3072GiB");
}

TEST_CASE("whole numbers have one form only", "[config][amounts]") {
  CHECK(ParseWhole("0") == 0);
  CHECK(ParseWhole("16384") == 16384);
  CHECK(ParseWhole("9223372036854775807") == std::numeric_limits<int64_t>::max());
  for (const char* text : {"", "-1", "+1", "012", "00", "1e3", "0x10", "1_000", "1.0", " 1", "1 ",
                           "9223372036854775808", "99999999999999999999999", "one"}) {
    CAPTURE(text);
    CHECK(ParseWhole(text) == std::nullopt);
  }
}

}  // namespace
}  // namespace muster::config
