// What callers can make the server keep: within its bound while they do it, given back afterwards,
// and a probe is answered meanwhile. Each flood comes from a process of its own.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "bench/flood_process.hpp"
#include "http/server/allocator.hpp"
#include "http/server/server.hpp"
#include "http_test_support.hpp"
#include "tls_test_support.hpp"

namespace muster::http::testing {
namespace {

using bench::FloodAddress;
using bench::FloodProcess;
using bench::FloodSockets;
using bench::HeadFrame;
using bench::Http2Head;
using bench::Http2Opening;
using bench::kNewestField;
using bench::NewField;
using bench::PlainFlood;
using bench::TlsFlood;
using std::chrono::milliseconds;

constexpr std::size_t kMiB = 1024 * 1024;
constexpr std::size_t kAllowed = 16 * kMiB;  // of memory for connections, and as much for calls
// What is not a caller's: the allocator's and the threads' own.
constexpr std::size_t kTolerance = 16 * kMiB;
constexpr std::size_t kLeftOver = 30 * kMiB;
constexpr int kAddresses = 8;
constexpr std::string_view kPostEcho("\x83\x04\x05/echo", 8);  // HPACK

// Looks at the memory, and asks for /healthz, as long as it lives.
class Watch {
 public:
  explicit Watch(std::function<bool()> healthy)
      : healthy_(std::move(healthy)), thread_([this] { Run(); }) {}
  ~Watch() { Finish(); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void Finish() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::size_t peak() const { return peak_; }
  int failures() const { return failures_; }

 private:
  void Run() {
    do {
      if (!healthy_()) ++failures_;
      peak_ = std::max(peak_, ResidentBytes());
      std::this_thread::sleep_for(milliseconds(5));
    } while (!stop_);
    peak_ = std::max(peak_, ResidentBytes());
  }

  const std::function<bool()> healthy_;
  std::atomic<bool> stop_ = false;
  int failures_ = 0;
  std::size_t peak_ = 0;
  std::thread thread_;
};

// `flood` was made before: there must be no thread yet.
void Withstand(FloodProcess& flood, ServerOptions options, const TlsWorld* world = nullptr) {
  GiveFreedMemoryBack();  // as muster serve does
  const std::size_t allowed = options.max_buffered_bytes + options.max_connection_bytes;
  TestServer test(std::move(options));
  const auto healthy = [&] {
    if (world == nullptr) return test.Healthy();
    return world->Caller(test.port()).Get("/healthz").reply.starts_with("HTTP/1.1 200");
  };
  for (int i = 0; i < 20; ++i) REQUIRE(healthy());
  const std::size_t before = ResidentBytes();
  Watch watch(healthy);
  REQUIRE(flood.Begin(test.port()));
  std::this_thread::sleep_for(milliseconds(500));
  watch.Finish();
  const ServerStats stats = test.server.stats();
  flood.End();
  CHECK(watch.failures() == 0);
  if (!Sanitized()) {
    INFO("MiB: before " << before / kMiB << ", peak " << watch.peak() / kMiB << ", counted "
                        << stats.buffered_bytes / kMiB << " and " << stats.connection_bytes / kMiB
                        << ", now " << ResidentBytes() / kMiB);
    CHECK(watch.peak() < before + allowed + kTolerance);
    CHECK(Eventually([&] { return ResidentBytes() < before + kLeftOver; }));
  }
  CHECK(Eventually([&] { return test.server.stats().connection_bytes == 0; }));
  CHECK(test.server.stats().buffered_bytes == 0);
}

ServerOptions Limited(ServerOptions options = {}) {
  options.max_buffered_bytes = kAllowed;
  options.max_connection_bytes = kAllowed;
  options.max_body_bytes = 4 * kMiB;
  return options;
}

// `each` connections of HTTP/2 from each address, which say `first` and then `next` for each
// further stream.
FloodSockets Http2Flood(std::uint16_t port, int each, int streams, const Http2Head& first,
                        const Http2Head& next, std::uint32_t window = 65'535) {
  FloodSockets open;
  std::string more;
  Http2Head head = next;
  for (int i = 1; i < streams; ++i) {
    head.stream = static_cast<std::uint32_t>(2 * i + 1);
    more += HeadFrame(head);
  }
  const std::string bytes = Http2Opening(window) + HeadFrame(first) + more;
  for (int i = 0; i < each * kAddresses; ++i) {
    auto made = TlsFlood(port, FloodAddress(i % kAddresses), "h2");
    if (made == nullptr) continue;
    made->Send(bytes);
    open.push_back(std::move(made));
  }
  return open;
}

TEST_CASE("heads that a few bytes stand for are counted as what they are", "[http][flood]") {
  const TlsWorld world;
  // HPACK: a value of 4,000 bytes once, and then by number.
  FloodProcess flood([](std::uint16_t port) {
    const std::string once = NewField(0, "x", std::string(4'000, 'x'));
    const std::string thrice = std::string(kNewestField) + "\xbe\xbe";
    return Http2Flood(port, 4, 1'000, {.method_and_path = kPostEcho, .fields = once},
                      {.method_and_path = kPostEcho, .fields = thrice});
  });
  SECTION("little is allowed") { Withstand(flood, Limited(world.Plain()), &world); }
  SECTION("as much as by default") { Withstand(flood, world.Plain(), &world); }
}

TEST_CASE("streams with small heads have their price", "[http][flood]") {
  const TlsWorld world;
  FloodProcess flood([](std::uint16_t port) {
    const Http2Head small{.method_and_path = kPostEcho};
    return Http2Flood(port, 16, 1'000, small, small);
  });
  Withstand(flood, Limited(world.Plain()), &world);
}

TEST_CASE("small answers that the caller gives no room for do not pile up", "[http][flood]") {
  const TlsWorld world;
  FloodProcess flood([](std::uint16_t port) {
    const std::string path = "\x82" + NewField(4, "", "/items/" + std::string(3'900, 'x'));
    const std::string again = "\x82" + std::string(kNewestField);
    return Http2Flood(port, 4, 1'000, {.method_and_path = path, .body_follows = false},
                      {.method_and_path = again, .body_follows = false}, 0);
  });
  Withstand(flood, Limited(world.Plain()), &world);
}

TEST_CASE("connections of HTTP/2 have their price", "[http][flood]") {
  const TlsWorld world;
  FloodProcess flood([](std::uint16_t port) {
    const Http2Head small{.method_and_path = kPostEcho};
    return Http2Flood(port, 150, 1, small, small);
  });
  Withstand(flood, Limited(world.Plain()), &world);
}

TEST_CASE("handshakes that do not end have their price", "[http][flood]") {
  const TlsWorld world;
  // A ClientHello that says it is as long as OpenSSL lets it be, and one that is served.
  const std::string length =
      GENERATE(as<std::string>{}, std::string("\x02\x00\x00", 3), std::string("\x00\x3f\x80", 3));
  FloodProcess flood([length](std::uint16_t port) {
    const std::string record =
        std::string("\x16\x03\x01\x40\x00\x01", 6) + length + std::string(16'000, '\0');
    FloodSockets open;
    for (int i = 0; i < 100 * kAddresses; ++i) {
      auto made = PlainFlood(port, FloodAddress(i % kAddresses));
      if (made == nullptr) continue;
      made->Send(record);
      open.push_back(std::move(made));
    }
    return open;
  });
  Withstand(flood, Limited(world.Plain()), &world);
}

TEST_CASE("half heads of HTTP/1.1 are counted", "[http][flood]") {
  FloodProcess flood([](std::uint16_t port) {
    const std::string half = "GET /healthz HTTP/1.1\r\nHost: t\r\nX: " + std::string(16'000, 'x');
    FloodSockets open;
    for (int i = 0; i < 450 * kAddresses; ++i) {
      auto made = PlainFlood(port, FloodAddress(i % kAddresses));
      if (made == nullptr) continue;
      made->Send(half);
      open.push_back(std::move(made));
    }
    return open;
  });
  ServerOptions options = Limited();
  options.header_timeout = milliseconds(10'000);
  Withstand(flood, options);
}

TEST_CASE("answers of HTTP/1.1 that nobody reads are counted", "[http][flood]") {
  FloodProcess flood([](std::uint16_t port) {
    std::string requests;
    for (int i = 0; i < 4; ++i) requests += GetRequest("/large");
    FloodSockets open;
    for (int i = 0; i < 4 * kAddresses; ++i) {
      auto made = PlainFlood(port, FloodAddress(i % kAddresses));
      if (made == nullptr) continue;
      made->Send(requests);
      open.push_back(std::move(made));
    }
    return open;
  });
  ServerOptions options = Limited();
  options.workers = 2;  // each works out an answer of 4 MiB, and copies it
  Withstand(flood, options);
}

}  // namespace
}  // namespace muster::http::testing
