#include "cluster/base/quantity.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <optional>
#include <string>

namespace muster::cluster {
namespace {

constexpr int64_t kRefused = -1;

int64_t Cpu(std::string_view text, Round round) {
  const Result<MilliCpu> parsed = ParseCpu(text, round);
  return parsed.ok() ? parsed->value() : kRefused;
}
int64_t Memory(std::string_view text, Round round) {
  const Result<MiB> parsed = ParseMemory(text, round);
  return parsed.ok() ? parsed->value() : kRefused;
}
int64_t Count(std::string_view text) {
  const Result<int64_t> parsed = ParseCount(text);
  return parsed.ok() ? *parsed : kRefused;
}
int64_t Share(std::string_view text) {
  const Result<GpuMilli> parsed = ParseGpuShare(text);
  return parsed.ok() ? parsed->value() : kRefused;
}

TEST_CASE("CPU is read exactly, requests up and offers down", "[cluster][quantity]") {
  struct Case {
    const char* text;
    int64_t want_up;
    int64_t want_down;
  };
  const Case c = GENERATE(values<Case>({
      {"0", 0, 0},
      {"-0", 0, 0},
      {"+0.0", 0, 0},
      {"0Ki", 0, 0},
      {"0e999999999999999999999", 0, 0},
      {"1", 1000, 1000},
      {"+1", 1000, 1000},
      {"001", 1000, 1000},
      {"1.", 1000, 1000},
      {"5.", 5000, 5000},
      {".5", 500, 500},
      {"0.5", 500, 500},
      {"0.1", 100, 100},
      {"0.3", 300, 300},
      {"1.1", 1100, 1100},
      {"0.0005", 1, 0},
      {"0.9999", 1000, 999},
      {"1.0001", 1001, 1000},
      {"1.000000000000000000000000000000000000000000001", 1001, 1000},
      {"100m", 100, 100},
      {"0.5m", 1, 0},
      {"1.5m", 2, 1},
      {"1u", 1, 0},
      {"1000u", 1, 1},
      {"1n", 1, 0},
      {"1000000n", 1, 1},
      {"1000001n", 2, 1},
      {"1e3", 1'000'000, 1'000'000},
      {"1E3", 1'000'000, 1'000'000},
      {"1e+3", 1'000'000, 1'000'000},
      {"1e-3", 1, 1},
      {"15e-1", 1500, 1500},
      {"1e-4", 1, 0},
      {"1e-99999999999999999999999", 1, 0},
      {"1k", 1'000'000, 1'000'000},
      {"1Ki", 1'024'000, 1'024'000},
      {"0.5Ki", 512'000, 512'000},
      {"0.001Ki", 1024, 1024},
      {"0.0001Ki", 103, 102},
      {"1M", 1'000'000'000, 1'000'000'000},
      {"1G", 1'000'000'000'000, 1'000'000'000'000},
      {"1T", 1'000'000'000'000'000, 1'000'000'000'000'000},
      {"1P", 1'000'000'000'000'000'000, 1'000'000'000'000'000'000},
      {"1e15", 1'000'000'000'000'000'000, 1'000'000'000'000'000'000},
      {"9223372036854775806m", 9223372036854775806, 9223372036854775806},
      {"9223372036854775.806", 9223372036854775806, 9223372036854775806},
      {"9223372036854775.8061", kRefused, 9223372036854775806},
      // The largest int64 stands for "no limit".
      {"9223372036854775807m", kRefused, kRefused},
      {"9223372036854775808m", kRefused, kRefused},
      {"1E", kRefused, kRefused},
      {"1Ei", kRefused, kRefused},
      {"10P", kRefused, kRefused},
      {"1e16", kRefused, kRefused},
      {"1e999999999999999999999999", kRefused, kRefused},
      {"99999999999999999999999999999999", kRefused, kRefused},
  }));
  DYNAMIC_SECTION(c.text) {
    CHECK(Cpu(c.text, Round::kUp) == c.want_up);
    CHECK(Cpu(c.text, Round::kDown) == c.want_down);
  }
}

TEST_CASE("memory is read exactly, requests up and offers down", "[cluster][quantity]") {
  struct Case {
    const char* text;
    int64_t want_up;
    int64_t want_down;
  };
  const Case c = GENERATE(values<Case>({
      {"0", 0, 0},
      {"1", 1, 0},
      {"1m", 1, 0},
      {"1048576", 1, 1},
      {"1048577", 2, 1},
      {"1048576.5", 2, 1},
      {"1048576000m", 1, 1},
      {"1024Ki", 1, 1},
      {"1Ki", 1, 0},
      {"1Mi", 1, 1},
      {"1.5Mi", 2, 1},
      {"1M", 1, 0},
      {"1Gi", 1024, 1024},
      {"1G", 954, 953},
      {"1e9", 954, 953},
      {"0.1Gi", 103, 102},
      {"128974848", 123, 123},
      {"129e6", 124, 123},
      {"129M", 124, 123},
      {"128974848000m", 123, 123},
      {"123Mi", 123, 123},
      {"1Ti", 1 << 20, 1 << 20},
      {"1Pi", 1LL << 30, 1LL << 30},
      {"1Ei", 1LL << 40, 1LL << 40},
      {"1E", 953674316407, 953674316406},
      {"8Ei", 1LL << 43, 1LL << 43},
      {"0.000000000000000001Ei", 1, 0},
      {"8388607Ei", 8388607LL << 40, 8388607LL << 40},
      {"8388608Ei", kRefused, kRefused},
      {"1e60", kRefused, kRefused},
  }));
  DYNAMIC_SECTION(c.text) {
    CHECK(Memory(c.text, Round::kUp) == c.want_up);
    CHECK(Memory(c.text, Round::kDown) == c.want_down);
  }
}

TEST_CASE("counts are whole numbers", "[cluster][quantity]") {
  CHECK(Count("2") == 2);
  CHECK(Count("2k") == 2000);
  CHECK(Count("1e1") == 10);
  CHECK(Count("2000m") == 2);
  CHECK(Count("1.50e1") == 15);
  CHECK(Count("8.000") == 8);
  CHECK(Count("1E") == 1'000'000'000'000'000'000);
  CHECK(Count("9223372036854775807") == std::numeric_limits<int64_t>::max());
  CHECK(Count("9223372036854775808") == kRefused);
  CHECK(Count("1500m") == kRefused);
  CHECK(Count("0.5") == kRefused);
  CHECK(Count("1e-30") == kRefused);
  CHECK(Count("-1") == kRefused);
  CHECK(Count("10E") == kRefused);
}

TEST_CASE("shares of a GPU are thousandths", "[cluster][quantity]") {
  CHECK(Share("0.46") == 460);
  CHECK(Share("1") == 1000);
  CHECK(Share("0.001") == 1);
  CHECK(Share("460m") == 460);
  CHECK(Share("0.5000") == 500);
  CHECK(Share("2.5") == 2500);
  CHECK(Share("0") == 0);
  CHECK(Share("0.0005") == kRefused);
  CHECK(Share("0.4601") == kRefused);
  CHECK(Share("46%") == kRefused);
  CHECK(Share("-0.5") == kRefused);
}

TEST_CASE("what is no quantity is refused", "[cluster][quantity]") {
  const std::string text = GENERATE(values<std::string>(
      {"",      " ",     "+",      "-",     ".",     "+.",    "e3",   "Ki",     "m",      "1 ",
       " 1",    "1\n",   "1 Ki",   "1ki",   "1KI",   "1K",    "1mi",  "1ni",    "1i",     "1Mi1",
       "1MiB",  "1Kii",  "1e",     "1e+",   "1e-",   "1e1.5", "1e3k", "1E3Ki",  "1ee3",   "1e 3",
       "1.1.1", "1..1",  "..1",    "--1",   "+-1",   "-+1",   "1-",   "1+",     "1_000",  "1,000",
       "0x10",  "1f",    "inf",    "nan",   "NaN",   "1e3m",  "½",    "１",     "1\xff",  "true",
       "null",  "1.1.M", "1+1.0M", "0.1mi", "0.1am", "aoeu",  ".5i",  "-3.01i", "-3.01e-"}));
  DYNAMIC_SECTION("'" << text << "'") {
    CHECK_FALSE(ParseCpu(text, Round::kUp).ok());
    CHECK_FALSE(ParseMemory(text, Round::kDown).ok());
    CHECK_FALSE(ParseCount(text).ok());
    CHECK_FALSE(ParseGpuShare(text).ok());
  }
  CHECK_FALSE(ParseCount(std::string_view("1\0", 2)).ok());
}

TEST_CASE("negative quantities are refused", "[cluster][quantity]") {
  const char* text =
      GENERATE("-1", "-0.5", "-1m", "-1n", "-1e3", "-1Ki", "-1e-40", "-99999999999999999999");
  CHECK_FALSE(ParseCpu(text, Round::kUp).ok());
  CHECK_FALSE(ParseMemory(text, Round::kDown).ok());
  CHECK_FALSE(ParseCount(text).ok());
}

TEST_CASE("a refusal says what was expected and shows the text, cut and made printable",
          "[cluster][quantity]") {
  const Error garbage = ParseCpu("12 cores", Round::kUp).error();
  CHECK(garbage.code == Code::kInvalidArgument);
  CHECK(garbage.message ==
        "expected a Kubernetes quantity such as 500m, 2, 1.5 or 64Gi, got \"12 cores\"");
  CHECK(ParseCpu("1E", Round::kUp).error().message == "the quantity \"1E\" is too large");
  CHECK(ParseCount("-2").error().message == "expected no negative quantity, got \"-2\"");
  CHECK(ParseCount("2.5").error().message == "expected a whole number, got \"2.5\"");
  const std::string shown = ParseCpu("x\n\"" + std::string(5000, 'y'), Round::kUp).error().message;
  CHECK(shown.size() < 160);
  CHECK(shown.find('\n') == std::string::npos);
}

TEST_CASE("a very long text is read in time linear to its length", "[cluster][quantity]") {
  const std::string zeros(1'000'000, '0');
  CHECK(Cpu(zeros + "1", Round::kUp) == 1000);
  CHECK(Cpu("0." + zeros + "1", Round::kUp) == 1);
  CHECK(Cpu("0." + zeros + "1", Round::kDown) == 0);
  CHECK(Cpu("1" + zeros, Round::kUp) == kRefused);
  CHECK(Cpu("1" + zeros + "e-1000000", Round::kUp) == 1000);
  CHECK(Cpu("0." + zeros + "1e1000001", Round::kUp) == 1000);
  CHECK(Memory("0." + zeros + "1Ei", Round::kUp) == 1);
}

}  // namespace
}  // namespace muster::cluster
