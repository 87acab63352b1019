// The small grammars around HTTP: base64, Retry-After, Status objects.
#include <catch2/catch.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "kube/api_status.hpp"
#include "kube/base64.hpp"
#include "kube/retry_after.hpp"

using namespace muster::kube;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("base64 is decoded strictly", "[kube][http]") {
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

TEST_CASE("what base64 encodes it decodes", "[kube][http]") {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    CHECK(DecodeBase64(EncodeBase64(bytes)) == bytes);
    bytes += static_cast<char>(i * 7);
  }
  CHECK(EncodeBase64("ann:p@ss") == "YW5uOnBAc3M=");
}

TEST_CASE("Retry-After is seconds or a date, and never long", "[kube][http]") {
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

namespace {

ApiReply Reply(int status, const std::string& body) { return {status, body, {}}; }

}  // namespace

TEST_CASE("a refusal is described on one line", "[kube][http]") {
  struct Case {
    int status;
    std::string body;
    std::string want;
  };
  const auto test = GENERATE(values<Case>({
      {409, R"({"kind":"Status","reason":"Conflict","message":"pod is bound already"})",
       "HTTP 409 Conflict: pod is bound already"},
      {422,
       R"({"kind":"Status","reason":"Invalid","message":"Pod is invalid","details":{"causes":[)"
       R"({"field":"spec.nodeName","message":"is immutable"},{"reason":"Odd"},)"
       R"({"message":"Pod is invalid"},{"message":"fourth is not shown"}]}})",
       "HTTP 422 Invalid: Pod is invalid (spec.nodeName: is immutable; Odd)"},
      {500, R"({"kind":"Status","message":"two\r\nlines"})", "HTTP 500: two  lines"},
      {502, "<html>Authorization: Bearer abc</html>", "HTTP 502"},
      {502, R"({"Authorization":"Bearer abc"})", "HTTP 502"},
      {401, R"({"kind":"Status","message":"Bearer abc.def, refused: \"bearer xyz\""})",
       "HTTP 401: Bearer ..., refused: \"bearer ...\""},
      {403, R"({"kind":"Status","reason":5,"message":"m","details":[]})", "HTTP 403: m"},
      {404, "", "HTTP 404"},
  }));
  DYNAMIC_SECTION(test.want) { CHECK(DescribeReply(Reply(test.status, test.body)) == test.want); }
}

TEST_CASE("a long refusal is cut between characters", "[kube][http]") {
  std::string words;
  while (words.size() < 2000) words += "ä";
  const std::string line =
      DescribeReply(Reply(400, R"({"kind":"Status","message":")" + words + "\"}"));
  CHECK(line.size() <= 512);
  CHECK(line.size() > 508);
  CHECK(line.ends_with("ä..."));
}

TEST_CASE("reason and causes of a Status are found", "[kube][http]") {
  const ApiReply budget = Reply(429, R"({"kind":"Status","reason":"TooManyRequests","details":)"
                                     R"({"causes":[{"reason":"DisruptionBudget"}]}})");
  CHECK(StatusReason(budget) == "TooManyRequests");
  CHECK(HasStatusCause(budget, "DisruptionBudget"));
  CHECK_FALSE(HasStatusCause(budget, "Other"));
  CHECK(StatusReason(Reply(500, "oops")).empty());
  CHECK_FALSE(HasStatusCause(Reply(500, "oops"), "DisruptionBudget"));
}
