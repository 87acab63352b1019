// Status objects: what a reply says that is no success.
#include "kube/api/api_status.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace muster::kube;

namespace {

ApiReply ReplyOf(int status, const std::string& body) { return {status, body, {}}; }

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
  DYNAMIC_SECTION(test.want) { CHECK(DescribeReply(ReplyOf(test.status, test.body)) == test.want); }
}

TEST_CASE("a long refusal is cut between characters", "[kube][http]") {
  std::string words;
  while (words.size() < 2000) words += "ä";
  const std::string line =
      DescribeReply(ReplyOf(400, R"({"kind":"Status","message":")" + words + "\"}"));
  CHECK(line.size() <= 512);
  CHECK(line.size() > 508);
  CHECK(line.ends_with("ä..."));
}

TEST_CASE("reason and causes of a Status are found", "[kube][http]") {
  const ApiReply budget = ReplyOf(429, R"({"kind":"Status","reason":"TooManyRequests","details":)"
                                       R"({"causes":[{"reason":"DisruptionBudget"}]}})");
  CHECK(StatusReason(budget) == "TooManyRequests");
  CHECK(HasStatusCause(budget, "DisruptionBudget"));
  CHECK_FALSE(HasStatusCause(budget, "Other"));
  CHECK(StatusReason(ReplyOf(500, "oops")).empty());
  CHECK_FALSE(HasStatusCause(ReplyOf(500, "oops"), "DisruptionBudget"));
}
