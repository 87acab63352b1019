// Which request heads are accepted, and with what words the others are refused.
#include "http/messages/head.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <variant>

namespace muster::http {
namespace {

struct HeadCase {
  std::string name;
  std::string head;
  int want_status;  // 0: accepted
};

// The status with which Scan and ParseHead together refuse `bytes`; 0 when accepted, -1 when
// incomplete.
int StatusOf(const std::string& bytes, const HeadLimits& limits = {}) {
  HeadScanner scanner(limits);
  switch (scanner.Scan(bytes)) {
    case HeadScanner::State::kIncomplete:
      return -1;
    case HeadScanner::State::kRefused:
      return scanner.refusal().status;
    case HeadScanner::State::kComplete:
      break;
  }
  const auto parsed = ParseHead(std::string_view(bytes).substr(0, scanner.length()), limits);
  const Refusal* refusal = std::get_if<Refusal>(&parsed);
  return refusal == nullptr ? 0 : refusal->status;
}

std::string Get(const std::string& fields) {
  return "GET / HTTP/1.1\r\nHost: t\r\n" + fields + "\r\n";
}
std::string Post(const std::string& fields) {
  return "POST / HTTP/1.1\r\nHost: t\r\n" + fields + "\r\n";
}
std::string Line(const std::string& line) { return line + "\r\nHost: t\r\n\r\n"; }

TEST_CASE("request lines", "[http][head]") {
  const HeadCase test = GENERATE(values<HeadCase>({
      {"plain", Line("GET / HTTP/1.1"), 0},
      {"with query", Line("GET /a/b?c=d&e HTTP/1.1"), 0},
      {"HTTP/1.0", Line("GET / HTTP/1.0"), 0},
      {"HTTP/2.0", Line("GET / HTTP/2.0"), 505},
      {"HTTP/1.2", Line("GET / HTTP/1.2"), 505},
      {"HTTP/0.9", Line("GET /"), 400},
      {"lower-case version", Line("GET / http/1.1"), 400},
      {"no target", Line("GET HTTP/1.1"), 400},
      {"two spaces before the target", Line("GET  / HTTP/1.1"), 400},
      {"space in the target", Line("GET /a b HTTP/1.1"), 400},
      {"unknown method", Line("BREW / HTTP/1.1"), 501},
      {"CONNECT", Line("CONNECT h:1 HTTP/1.1"), 501},
      {"TRACE", Line("TRACE / HTTP/1.1"), 501},
      {"lower-case method", Line("get / HTTP/1.1"), 501},
      {"method with separators", Line("G(T / HTTP/1.1"), 400},
      {"method without end", Line(std::string(100, 'A') + " / HTTP/1.1"), 400},
      {"absolute target", Line("GET http://h/ HTTP/1.1"), 400},
      {"asterisk", Line("OPTIONS * HTTP/1.1"), 400},
      {"bytes above ASCII in the target", Line("GET /\xc3\xa9 HTTP/1.1"), 400},
      {"escaped text", Line("GET /%C3%A9 HTTP/1.1"), 0},
      {"escaped NUL", Line("GET /%00 HTTP/1.1"), 400},
      {"escaped line end", Line("GET /%0d%0aX HTTP/1.1"), 400},
      {"half an escape", Line("GET /%4 HTTP/1.1"), 400},
      {"escape without hex", Line("GET /%zz HTTP/1.1"), 400},
      {"target too long", Line("GET /" + std::string(8000, 'a') + " HTTP/1.1"), 414},
      {"tab for space", Line("GET\t/\tHTTP/1.1"), 400},
      {"empty line first", "\r\n" + Line("GET / HTTP/1.1"), 400},
      {"TLS hello", std::string("\x16\x03\x01\x02", 4), 400},
      {"bare LF", "GET / HTTP/1.1\nHost: t\n\n", 400},
      {"bare CR", Line("GET / HTTP/1.1\rX: y"), 400},
  }));
  INFO(test.name);
  CHECK(StatusOf(test.head) == test.want_status);
}

TEST_CASE("header fields", "[http][head]") {
  const HeadCase test = GENERATE(values<HeadCase>({
      {"none but Host", Get(""), 0},
      {"no Host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"no Host in HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", 0},
      {"two Hosts", Get("Host: u\r\n"), 400},
      {"empty value", Get("X:\r\n"), 0},
      {"blanks around the value", Get("X: \t y \t\r\n"), 0},
      {"blank before the colon", Get("X : y\r\n"), 400},
      {"no colon", Get("X\r\n"), 400},
      {"no name", Get(": y\r\n"), 400},
      {"folded", Get("X: y\r\n z\r\n"), 400},
      {"NUL in a value", Get(std::string("X: a\0b\r\n", 8)), 400},
      {"NUL in a name", Get(std::string("X\0: b\r\n", 7)), 400},
      {"bare CR in a value", Get("X: a\rb\r\n"), 400},
      {"bare LF in a value", Get("X: a\nb\r\n"), 400},
      {"DEL in a value", Get("X: a\x7f\r\n"), 400},
      {"Latin-1 in a value", Get("X: \xe9\r\n"), 0},
  }));
  INFO(test.name);
  CHECK(StatusOf(test.head) == test.want_status);
}

TEST_CASE("how the body is framed", "[http][head]") {
  const HeadCase test = GENERATE(values<HeadCase>({
      {"length", Post("Content-Length: 5\r\n"), 0},
      {"zero", Post("Content-Length: 0\r\n"), 0},
      {"leading zeros", Post("Content-Length: 0005\r\n"), 0},
      {"the cap", Post("Content-Length: 4194304\r\n"), 0},
      {"above the cap", Post("Content-Length: 4194305\r\n"), 413},
      {"2^64", Post("Content-Length: 18446744073709551616\r\n"), 413},
      {"missing", Post(""), 411},
      {"missing in HTTP/1.0", "POST / HTTP/1.0\r\n\r\n", 411},
      {"empty", Post("Content-Length:\r\n"), 400},
      {"plus", Post("Content-Length: +5\r\n"), 400},
      {"minus", Post("Content-Length: -5\r\n"), 400},
      {"hex", Post("Content-Length: 0x5\r\n"), 400},
      {"list", Post("Content-Length: 5, 5\r\n"), 400},
      {"twice the same", Post("Content-Length: 5\r\nContent-Length: 5\r\n"), 400},
      {"twice different", Post("Content-Length: 5\r\ncontent-length: 6\r\n"), 400},
      {"chunked", Post("Transfer-Encoding: chunked\r\n"), 411},
      {"chunked in capitals", Post("TRANSFER-ENCODING: Chunked\r\n"), 411},
      {"another coding", Post("Transfer-Encoding: gzip, chunked\r\n"), 501},
      {"chunked GET", Get("Transfer-Encoding: chunked\r\n"), 411},
      {"both, length first", Post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"both, coding first", Post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), 400},
      {"gzip", Post("Content-Length: 5\r\nContent-Encoding: gzip\r\n"), 415},
      {"br", Post("Content-Length: 5\r\nContent-Encoding: br\r\n"), 415},
      {"identity", Post("Content-Length: 5\r\nContent-Encoding: Identity\r\n"), 0},
      {"two types", Post("Content-Length: 5\r\nContent-Type: a/b\r\nContent-Type: c/d\r\n"), 400},
      {"expect continue", Post("Content-Length: 5\r\nExpect: 100-Continue\r\n"), 0},
      {"expect else", Post("Content-Length: 5\r\nExpect: magic\r\n"), 417},
  }));
  INFO(test.name);
  CHECK(StatusOf(test.head) == test.want_status);
}

TEST_CASE("limits of the head", "[http][head]") {
  HeadLimits limits;
  limits.max_bytes = 200;
  limits.max_lines = 3;
  CHECK(StatusOf(Get("A: 1\r\nB: 2\r\n"), limits) == 0);
  CHECK(StatusOf(Get("A: 1\r\nB: 2\r\nC: 3\r\n"), limits) == 431);
  CHECK(StatusOf(Get("A: " + std::string(200, 'x') + "\r\n"), limits) == 431);
  CHECK(StatusOf("GET /" + std::string(200, 'x'), limits) == 414);

  const std::string fixed = Get("A: \r\n");
  CHECK(StatusOf(Get("A: " + std::string(limits.max_bytes - fixed.size(), 'x') + "\r\n"), limits) ==
        0);
  CHECK(StatusOf(Get("A: " + std::string(limits.max_bytes - fixed.size() + 1, 'x') + "\r\n"),
                 limits) == 431);
}

TEST_CASE("a head in pieces is scanned as in one piece", "[http][head]") {
  const std::string request = Post("Content-Length: 3\r\nX: y\r\n") + "abc";
  HeadScanner scanner({});
  std::size_t complete_at = 0;
  for (std::size_t i = 1; i <= request.size() && complete_at == 0; ++i) {
    const HeadScanner::State state = scanner.Scan(std::string_view(request).substr(0, i));
    REQUIRE(state != HeadScanner::State::kRefused);
    if (state == HeadScanner::State::kComplete) complete_at = i;
  }
  CHECK(complete_at == request.size() - 3);
  CHECK(scanner.length() == complete_at);
}

TEST_CASE("what a head says is kept", "[http][head]") {
  const auto parsed = ParseHead(
      "POST /a?b HTTP/1.1\r\nHost: t\r\nContent-Length: 12\r\nContent-Type: text/x\r\nX-Y:  z "
      "\r\n\r\n",
      {});
  const auto* head = std::get_if<RequestHead>(&parsed);
  REQUIRE(head != nullptr);
  CHECK(head->method == "POST");
  CHECK(head->target == "/a?b");
  CHECK(head->content_length == 12);
  CHECK(head->content_type == "text/x");
  CHECK(head->keep_alive);
  REQUIRE(head->headers.size() == 4);
  CHECK(head->headers[3] == std::pair<std::string, std::string>("x-y", "z"));
}

TEST_CASE("keep-alive follows version and Connection", "[http][head]") {
  const auto keeps = [](const std::string& bytes) {
    const auto parsed = ParseHead(bytes, {});
    return std::get<RequestHead>(parsed).keep_alive;
  };
  CHECK(keeps(Get("")));
  CHECK(keeps(Get("Connection: keep-alive\r\n")));
  CHECK_FALSE(keeps(Get("Connection: close\r\n")));
  CHECK_FALSE(keeps(Get("Connection: keep-alive, close\r\n")));
  CHECK_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
  CHECK(keeps("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
}

}  // namespace
}  // namespace muster::http
