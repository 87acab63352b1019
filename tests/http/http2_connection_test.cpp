// An HTTP/2 connection in memory, frame by frame: what no well-behaved client can be made to send.
#include "http/connections/http2_connection.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "memory_channel.hpp"

namespace muster::http::testing {
namespace {

using std::chrono::milliseconds;
using Next = ServerConnection::Next;

// RFC 9113, 4.1 and 6.
enum class Frame : unsigned char {
  kData = 0,
  kHeaders = 1,
  kReset = 3,
  kSettings = 4,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
  kContinuation = 9
};
constexpr unsigned char kEndStream = 1;
constexpr unsigned char kEndHeaders = 4;
// RFC 9113, 7.
constexpr unsigned kProtocolError = 1;
constexpr unsigned kStreamClosed = 5;

std::string Number(std::size_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i)
    text += static_cast<char>((value >> (8U * unsigned(i))) & 255U);
  return text;
}

std::string Bytes(Frame type, unsigned char flags, std::size_t stream, const std::string& payload) {
  return Number(payload.size(), 3) + static_cast<char>(type) + static_cast<char>(flags) +
         Number(stream, 4) + payload;
}

// HPACK (RFC 7541): ":method" as said, "https", "/", authority "a".
std::string Head(const std::string& method) {
  return "\x02" + Number(method.size(), 1) + method + "\x87\x84" + std::string("\x01\x01") + "a";
}

struct World {
  World() {
    wire.to_server = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    wire.room = 1024 * 1024;
  }

  Next Arrive(const std::string& bytes) {
    wire.to_server += bytes;
    wire.arrived = wire.to_server.size();
    return connection.Advance(now, {buffer.data(), buffer.size()});
  }
  // A whole request on `stream`, taken and answered.
  void Serve(std::size_t stream) {
    REQUIRE(Arrive(Bytes(Frame::kHeaders, kEndStream | kEndHeaders, stream, Head("GET"))) ==
            Next::kRequest);
    connection.answers()->Put({connection.TakeRequest().stream, Response{.body = "fine"}});
    REQUIRE(Arrive("") == Next::kWaitReadable);
  }
  Next Later(milliseconds time) {
    now += time;
    return connection.Expire(now, {buffer.data(), buffer.size()});
  }
  bool Told(Frame type) const { return Code(type).has_value(); }

  // The code that the last GOAWAY or RST_STREAM ends with.
  std::optional<unsigned> Code(Frame type) const {
    std::optional<unsigned> code;
    for (std::size_t at = 0; at + 9 <= wire.to_caller.size();) {
      const auto byte = [&](std::size_t i) {
        return std::size_t{static_cast<unsigned char>(wire.to_caller[at + i])};
      };
      const std::size_t size = (byte(0) << 16U) + (byte(1) << 8U) + byte(2);
      if (byte(3) == static_cast<std::size_t>(type)) {
        code = static_cast<unsigned>(byte(type == Frame::kGoAway ? 9 + 7 : 9 + 3));
      }
      at += 9 + size;
    }
    return code;
  }

  Wire wire;
  SteadyTime now{};
  ServerShared shared{ServerOptions{}};
  Http2Connection connection{std::make_unique<MemoryChannel>(wire),
                             Caller{"peer", "", {}, false, false}, shared, now,
                             shared.connections.Of("peer")};
  std::array<char, 1024> buffer{};
};

TEST_CASE("a request is taken, answered, and its stream is gone", "[http2][connection]") {
  World world;
  REQUIRE(world.Arrive(Bytes(Frame::kSettings, 0, 0, "") +
                       Bytes(Frame::kHeaders, kEndStream | kEndHeaders, 1, Head("GET"))) ==
          Next::kRequest);
  const IncomingRequest request = world.connection.TakeRequest();
  CHECK(request.head.method == "GET");
  CHECK(request.head.target == "/");
  CHECK(world.connection.pending() == Next::kWaitReadable);
  CHECK(world.connection.deadline() == SteadyTime::max());
  world.connection.answers()->Put({request.stream, Response{.body = "fine"}});
  CHECK(world.Arrive("") == Next::kWaitReadable);
  CHECK(world.wire.to_caller.find("fine") != std::string::npos);
  CHECK(world.connection.deadline() == world.now + world.shared.options.idle_timeout);
}

// What was found by reading: the head's end after the refusal began a second answer, longer
// counted as sent than it was, and the memory behind it went out.
TEST_CASE("a head that ends after it was refused begins no second answer",
          "[http2][connection][attack]") {
  World world;
  const std::string head = Head("BREW");
  const std::string small_window = std::string("\x00\x04", 2) + Number(40, 4);
  REQUIRE(world.Arrive(Bytes(Frame::kSettings, 0, 0, small_window) +
                       Bytes(Frame::kHeaders, kEndStream, 1, head.substr(0, 3))) ==
          Next::kWaitReadable);
  CHECK(world.Later(world.shared.options.header_timeout) == Next::kWaitReadable);
  CHECK(world.shared.timeouts == 1);
  world.Arrive(Bytes(Frame::kContinuation, kEndHeaders, 1, head.substr(3)));
  world.Arrive(Bytes(Frame::kWindowUpdate, 0, 1, Number(100'000, 4)));
  CHECK(world.wire.to_caller.size() < 500);
  CHECK(world.wire.to_caller.find("unknown method") == std::string::npos);
  CHECK(world.shared.refused_bad == 0);
}

TEST_CASE("a caller who never stops sending lets others have their turn", "[http2][connection]") {
  World world;
  std::string pings = Bytes(Frame::kSettings, 0, 0, "");
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < 100; ++j) pings += Bytes(Frame::kPing, 1, 0, Number(0, 8));  // answers
  }
  CHECK(world.Arrive(pings) == Next::kGoOn);
  CHECK(world.wire.to_server.size() > pings.size() - 20 * world.buffer.size());
}

TEST_CASE("what has come when the server drains is served, what comes later is not",
          "[http2][connection]") {
  World world;
  world.shared.draining = true;
  REQUIRE(world.Arrive(Bytes(Frame::kSettings, 0, 0, "") +
                       Bytes(Frame::kHeaders, kEndStream | kEndHeaders, 1, Head("GET"))) ==
          Next::kRequest);
  const IncomingRequest request = world.connection.TakeRequest();
  CHECK(world.Arrive("") == Next::kWaitReadable);
  CHECK(world.Told(Frame::kGoAway));
  CHECK(world.Arrive(Bytes(Frame::kHeaders, kEndStream | kEndHeaders, 3, Head("GET"))) ==
        Next::kWaitReadable);
  world.connection.answers()->Put({request.stream, Response{.body = "the last"}});
  CHECK(world.Arrive("") == Next::kWaitReadable);
  CHECK(world.wire.to_caller.find("the last") != std::string::npos);
  CHECK(world.Later(std::chrono::seconds(2)) == Next::kClosed);
}

// RFC 9113, 5.1: "half-closed (remote)" and "closed".
TEST_CASE("frames on a stream that its caller has ended are an error", "[http2][connection]") {
  const bool answered = GENERATE(false, true);
  const bool headers = GENERATE(false, true);
  CAPTURE(answered, headers);
  World world;
  world.Arrive(Bytes(Frame::kSettings, 0, 0, ""));
  if (answered) {
    world.Serve(1);
  } else {
    world.Arrive(Bytes(Frame::kHeaders, kEndStream | kEndHeaders, 1, Head("GET")));
    world.connection.TakeRequest();
  }
  world.Arrive(headers ? Bytes(Frame::kHeaders, kEndStream | kEndHeaders, 1, Head("GET"))
                       : Bytes(Frame::kData, kEndStream, 1, "late"));
  CHECK(world.Code(Frame::kGoAway) == kStreamClosed);
}

TEST_CASE("frames on a stream that its caller has reset are an error", "[http2][connection]") {
  const bool headers = GENERATE(false, true);
  CAPTURE(headers);
  World world;
  world.Arrive(Bytes(Frame::kSettings, 0, 0, "") +
               Bytes(Frame::kHeaders, kEndHeaders, 1, Head("POST")) +
               Bytes(Frame::kReset, 0, 1, Number(8, 4)));
  world.Arrive(headers ? Bytes(Frame::kHeaders, kEndStream | kEndHeaders, 1, Head("GET"))
                       : Bytes(Frame::kData, kEndStream, 1, "late"));
  CHECK(world.Code(Frame::kGoAway) == kStreamClosed);
}

TEST_CASE("what was under way when the server reset a stream is ignored", "[http2][connection]") {
  World world;
  world.Arrive(Bytes(Frame::kSettings, 0, 0, "") +
               Bytes(Frame::kHeaders, kEndHeaders, 1, Head("BREW")));
  REQUIRE(world.Told(Frame::kReset));  // refused before its body came
  world.Arrive(Bytes(Frame::kData, 0, 1, "under way"));
  CHECK(world.Arrive(Bytes(Frame::kData, kEndStream, 1, "as well")) == Next::kWaitReadable);
  CHECK_FALSE(world.Told(Frame::kGoAway));
  world.Serve(3);
}

// RFC 9113, 5.1.1: a new stream closes those of lower numbers that were never opened.
TEST_CASE("a stream whose number is lower than one before is an error", "[http2][connection]") {
  World world;
  world.Arrive(Bytes(Frame::kSettings, 0, 0, ""));
  world.Serve(1);
  world.Serve(9);
  world.Serve(11);
  const std::size_t skipped = GENERATE(std::size_t{3}, std::size_t{5}, std::size_t{7});
  CAPTURE(skipped);
  SECTION("opened late") {
    world.Arrive(Bytes(Frame::kHeaders, kEndStream | kEndHeaders, skipped, Head("GET")));
    CHECK(world.Code(Frame::kGoAway) == kProtocolError);
  }
  SECTION("named in a frame that is allowed there") {
    world.Arrive(Bytes(Frame::kWindowUpdate, 0, skipped, Number(1, 4)));
    CHECK_FALSE(world.Told(Frame::kGoAway));
  }
  CHECK(world.shared.requests == 3);
}

TEST_CASE("a caller who leaves out every other number is served", "[http2][connection]") {
  World world;
  world.Arrive(Bytes(Frame::kSettings, 0, 0, ""));
  constexpr std::size_t kLast = 4 * 300 + 1;
  for (std::size_t stream = 1; stream <= kLast; stream += 4) world.Serve(stream);
  CHECK_FALSE(world.Told(Frame::kGoAway));
  world.Arrive(Bytes(Frame::kHeaders, kEndStream | kEndHeaders, kLast - 2, Head("GET")));
  CHECK(world.Code(Frame::kGoAway) == kProtocolError);
}

TEST_CASE("a caller who takes nothing is closed in time", "[http2][connection][attack]") {
  World world;
  world.wire.room = 10;
  CHECK(world.Arrive(Bytes(Frame::kSettings, 0, 0, "")) == Next::kWaitWritable);
  CHECK(world.connection.deadline() == world.now + world.shared.options.write_timeout);
  CHECK(world.Later(world.shared.options.write_timeout) == Next::kClosed);
  CHECK(world.shared.timeouts == 1);
}

}  // namespace
}  // namespace muster::http::testing
