// Packed bodies, in pieces of every size, and the heads of answers.
#include "http/messages/unpacker.hpp"

#include <zlib.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "http/connections/message_text.hpp"

namespace muster::http {
namespace {

std::string Packed(const std::string& text, bool gzip) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, (gzip ? 16 : 0) + MAX_WBITS, 8,
                       Z_DEFAULT_STRATEGY) == Z_OK);
  std::string in = text;
  std::string out(deflateBound(&stream, static_cast<uLong>(in.size())), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

Unpacker::State InPieces(Unpacker& unpacker, std::string_view packed, std::size_t size,
                         std::string& text) {
  for (; !packed.empty(); packed.remove_prefix(std::min(size, packed.size()))) {
    const auto take = [&](std::string_view piece) {
      text += piece;
      return true;
    };
    unpacker.Unpack(packed.substr(0, size), take);
  }
  return unpacker.state();
}

const std::string kText = [] {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i * i) + ",";
  return text;
}();

TEST_CASE("a body is unpacked whatever pieces it comes in", "[http]") {
  const std::string packed = Packed(kText, GENERATE(true, false));
  const std::size_t size = GENERATE(1U, 2U, 1000U, 16U * 1024U, 10'000'000U);
  Unpacker unpacker;
  std::string text;
  CHECK(InPieces(unpacker, packed, size, text) == Unpacker::State::kDone);
  CHECK(text == kText);
}

TEST_CASE("what breaks off in the middle of a packed body is not taken for its end", "[http]") {
  const std::string packed = Packed(kText, true);
  Unpacker unpacker;
  std::string text;
  CHECK(InPieces(unpacker, packed.substr(0, packed.size() - 1), 100, text) ==
        Unpacker::State::kMore);
}

TEST_CASE("what cannot be unpacked is malformed, and so are bytes behind the end", "[http]") {
  std::string packed = Packed(kText, true);
  SECTION("no packing at all") { packed = kText; }
  SECTION("a byte behind the end") { packed += 'x'; }
  SECTION("another checksum") { packed[packed.size() - 5] ^= 1; }
  Unpacker unpacker;
  std::string text;
  CHECK(InPieces(unpacker, packed, 100, text) == Unpacker::State::kMalformed);
}

TEST_CASE("who wants no more of a packed body is given no more", "[http]") {
  const std::string packed = Packed(std::string(10'000'000, 'x'), true);
  Unpacker unpacker;
  std::size_t taken = 0;
  const auto take = [&](std::string_view piece) {
    taken += piece.size();
    return taken < 100'000;
  };
  CHECK(unpacker.Unpack(packed, take) == Unpacker::State::kRefused);
  CHECK(taken < 200'000);
}

TEST_CASE("an answer's text is its status, its fields in order, and its body", "[http]") {
  Response response{.status = 404, .body = "{}", .headers = {{"X-A", "b"}, {"X-B", "c\r\nd"}}};
  const AnswerForm stays{.idle = std::chrono::seconds(7)};
  CHECK(FormatAnswer(response, stays) ==
        "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nContent-Type: application/json\r\n"
        "Keep-Alive: timeout=7\r\nX-A: b\r\n\r\n{}");
  CHECK(FormatAnswer(response, {.close = true, .to_head = true}) ==
        "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 2\r\n"
        "Content-Type: application/json\r\nX-A: b\r\n\r\n");
  response.status = 204;
  CHECK(FormatAnswer(response, {.close = true}) ==
        "HTTP/1.1 204 No Content\r\nConnection: close\r\nX-A: b\r\n\r\n");
}

TEST_CASE("of a target the path and the query are decoded", "[http]") {
  const auto asked = [](std::string target) {
    IncomingRequest request;
    request.head.target = std::move(target);
    return ToRequest(std::move(request));
  };
  CHECK(asked("/a%20b+c").path == "/a b+c");
  CHECK(asked("/a%20b+c").query.empty());
  const Request request = asked("/p?a=1&a=2&b&&c=x+y%2Bz&%64=%3d=&=e");
  CHECK(request.path == "/p");
  CHECK(request.query == std::map<std::string, std::string>{
                             {"a", "1"}, {"b", ""}, {"c", "x y+z"}, {"d", "=="}, {"", "e"}});
}

}  // namespace
}  // namespace muster::http
