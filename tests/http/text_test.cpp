// The small grammars around HTTP: base64, Retry-After, addresses, text in URLs.
#include <catch2/catch.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "http/messages/base64.hpp"
#include "http/messages/host_port.hpp"
#include "http/messages/retry_after.hpp"
#include "http/messages/url.hpp"

namespace muster::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("base64 is decoded strictly", "[http]") {
  CHECK(DecodeBase64("") == "");
  CHECK(DecodeBase64("Zg==") == "f");
  CHECK(DecodeBase64("Zm8=") == "fo");
  CHECK(DecodeBase64("Zm9v") == "foo");
  CHECK(DecodeBase64("Zm9v\nYmFy\r\n") == "foobar");
  CHECK(DecodeBase64("AP+/") == std::string("\0\xff\xbf", 3));
  const std::string refused =
      GENERATE("Zg", "Zg=", "Z", "Z===", "Zg===", "=",
               "====", "Zm9v=", "Zh==", "Zm9=", "Zg==Zg==", "Zm 9v", "Zm9-", "Zm9v*");
  INFO(refused);
  CHECK_FALSE(DecodeBase64(refused).has_value());
}

TEST_CASE("what base64 encodes it decodes", "[http]") {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    CHECK(DecodeBase64(EncodeBase64(bytes)) == bytes);
    bytes += static_cast<char>(i * 7);
  }
  CHECK(EncodeBase64("ann:p@ss") == "YW5uOnBAc3M=");
}

TEST_CASE("Retry-After is seconds or a date, and never long", "[http]") {
  using std::chrono::sys_days;
  const std::chrono::sys_seconds now = sys_days(std::chrono::year(2026) / 11 / 21) + seconds(30);
  const std::string date = "Sat, 21 Nov 2026 00:01:00 GMT";
  struct Case {
    std::string value;
    std::string date;
    std::optional<milliseconds> want;
  };
  const auto test = GENERATE_COPY(values<Case>({
      {"0", "", milliseconds(0)},
      {" 7 ", "", seconds(7)},
      {"61", "", seconds(60)},
      {"99999999999999999999", "", seconds(60)},
      {"Sat, 21 Nov 2026 00:00:45 GMT", "", seconds(15)},
      {"Sat, 21 Nov 2026 00:01:09 GMT", date, seconds(9)},
      {"Sat, 21 Nov 2026 00:00:00 GMT", date, seconds(0)},
      {"Sun, 22 Nov 2026 00:00:00 GMT", date, seconds(60)},
      {"Sat, 21 Nov 2026 00:00:45 GMT", "yesterday", seconds(15)},
      {"", "", std::nullopt},
      {"-1", "", std::nullopt},
      {"1.5", "", std::nullopt},
      {"soon", "", std::nullopt},
      {"Sat, 31 Feb 2026 00:00:00 GMT", "", std::nullopt},
      {"Sat, 21 Nov 2026 24:00:00 GMT", "", std::nullopt},
      {"Sat, 21 Nov 2026 00:00:00 CET", "", std::nullopt},
      {"Sat, 21 Xyz 2026 00:00:00 GMT", "", std::nullopt},
  }));
  DYNAMIC_SECTION(test.value) { CHECK(ParseRetryAfter(test.value, test.date, now) == test.want); }
}

TEST_CASE("addresses have a form", "[http]") {
  CHECK(ParseHostPort("10.0.0.1:80")->host == "10.0.0.1");
  CHECK(ParseHostPort("[::1]:443")->host == "::1");
  CHECK(ParseHostPort(":8888")->host.empty());
  CHECK(ParseHostPort("8888")->host == "127.0.0.1");
  CHECK(ParseHostPort("8888")->port == 8888);
  for (const char* wrong : {"", "host", "host:", "h:65536", "h:-1", "::1:80", "[::1:80"}) {
    INFO(wrong);
    CHECK_FALSE(ParseHostPort(wrong).ok());
  }
}

TEST_CASE("whatever would have a meaning in a URL is percent-encoded", "[http]") {
  CHECK(PercentEncoded("") == "");
  CHECK(PercentEncoded("aZ0-._~") == "aZ0-._~");
  CHECK(PercentEncoded("my file.yaml") == "my%20file.yaml");
  CHECK(PercentEncoded("a+b&c=d/%#?") == "a%2Bb%26c%3Dd%2F%25%23%3F");
  CHECK(PercentEncoded(std::string("\0\xff\xc3\xa4", 4)) == "%00%FF%C3%A4");
  CHECK(IsUnreserved("node-7.example_x~"));
  CHECK_FALSE(IsUnreserved("a/b"));
  CHECK_FALSE(IsUnreserved("a b"));
}

}  // namespace
}  // namespace muster::http
