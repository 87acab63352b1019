// The server under attack at the level of bytes, connections and time: a clear answer each, nothing
// left over, and a health check that keeps answering meanwhile.
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "http/server/allocator.hpp"
#include "http/server/server.hpp"
#include "http_test_support.hpp"

namespace muster::http::testing {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMiB = 1024 * 1024;
// What allocator and thread caches may keep: far below what each attack sends.
constexpr std::size_t kTolerance = 12 * kMiB;

ServerOptions SmallServer() {
  ServerOptions options;
  options.max_body_bytes = kMiB;
  return options;
}

// Every thread but this one has begun and waits for something.
bool OtherThreadsSleep() {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == std::to_string(::gettid())) continue;
    std::ifstream file(thread.path() / "stat");
    std::string stat;
    std::getline(file, stat);
    const std::size_t name_end = stat.rfind(") ");
    if (name_end != std::string::npos && stat.compare(name_end + 2, 1, "S") != 0) return false;
  }
  return true;
}

// Asks for /healthz over fresh connections as long as it lives.
class HealthChecker {
 public:
  explicit HealthChecker(const TestServer& test) : test_(test), thread_([this] { Run(); }) {}
  ~HealthChecker() { Finish(); }
  HealthChecker(const HealthChecker&) = delete;
  HealthChecker& operator=(const HealthChecker&) = delete;

  // How many checks failed; at least one has been made.
  int Finish() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
    return checks_ > 0 ? failures_.load() : -1;
  }

 private:
  void Run() {
    do {
      if (!test_.Healthy()) ++failures_;
      ++checks_;
      std::this_thread::sleep_for(milliseconds(2));
    } while (!stop_);
  }

  const TestServer& test_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> checks_ = 0;
  std::atomic<int> failures_ = 0;
  std::thread thread_;
};

// Runs `attack` under a health checker and checks that memory and connections return to what they
// were.
template <typename Attack>
void Withstand(TestServer& test, const Attack& attack) {
  GiveFreedMemoryBack();  // as muster serve does
  CHECK(test.Healthy());
  CHECK(test.Quiet());
  const std::size_t before = ResidentBytes();
  HealthChecker health(test);
  attack();
  CHECK(health.Finish() == 0);
  CHECK(test.Quiet());
  if (!Sanitized()) {
    INFO("resident before " << before << ", after " << ResidentBytes());
    CHECK(Eventually([&] { return ResidentBytes() < before + kTolerance; }));
  }
  CHECK(test.Healthy());
}

TEST_CASE("64 MB of chunks over a small cap are refused at the header", "[http][attack]") {
  TestServer test(SmallServer());
  Withstand(test, [&] {
    RawCaller caller(test.port());
    REQUIRE(caller.Send("POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"));
    for (int i = 0; i < 64; ++i) {
      if (!caller.Send("100000\r\n") || !caller.SendRepeated('x', kMiB) || !caller.Send("\r\n"))
        break;
    }
    const RawReply reply = caller.ReadReply();
    CHECK(reply.status == 411);
    CHECK(reply.body == "{\"error\":\"chunked bodies are not accepted: send Content-Length\"}\n");
    CHECK(caller.ClosedByServer());
  });
  CHECK(test.server.stats().refused_bad == 1);
}

TEST_CASE("a body above the cap is refused before it is read", "[http][attack]") {
  TestServer test(SmallServer());
  Withstand(test, [&] {
    RawCaller caller(test.port());
    const RawReply reply =
        caller.Call("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 67108864\r\n\r\n");
    CHECK(reply.status == 413);
    CHECK(reply.body.find("1048576") != std::string::npos);
    // Who goes on sending is read for a moment, then cut off.
    caller.SendRepeated('x', 64 * kMiB);
    CHECK(caller.ClosedByServer());
  });
}

TEST_CASE("compressed bodies are refused, so no gzip bomb is inflated", "[http][attack]") {
  TestServer test(SmallServer());
  Withstand(test, [&] {
    // The first bytes of a gzip stream; what follows does not matter, nobody inflates it.
    const std::string bomb =
        std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10) + std::string(261 * 1024, '\0');
    RawCaller caller(test.port());
    const RawReply reply =
        caller.Call("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Encoding: gzip\r\nContent-Length: " +
                    std::to_string(bomb.size()) + "\r\n\r\n" + bomb);
    CHECK(reply.status == 415);
    CHECK(caller.ClosedByServer());
  });
}

TEST_CASE("a 32 MB header line is cut off at the limit", "[http][attack]") {
  TestServer test(SmallServer());
  Withstand(test, [&] {
    RawCaller caller(test.port());
    REQUIRE(caller.Send("GET /healthz HTTP/1.1\r\nHost: t\r\nX: "));
    caller.SendRepeated('x', 32 * kMiB);
    CHECK(caller.ReadReply().status == 431);
    CHECK(caller.ClosedByServer());
  });
}

TEST_CASE("a 32 MB request line is cut off at the limit", "[http][attack]") {
  TestServer test(SmallServer());
  Withstand(test, [&] {
    RawCaller caller(test.port());
    REQUIRE(caller.Send("GET /"));
    caller.SendRepeated('x', 32 * kMiB);
    CHECK(caller.ReadReply().status == 414);
    CHECK(caller.ClosedByServer());
  });
}

TEST_CASE("20,000 headers are refused", "[http][attack]") {
  ServerOptions options = SmallServer();
  options.max_header_bytes = GENERATE(16U * 1024U, 16U * 1024U * 1024U);
  TestServer test(options);
  Withstand(test, [&] {
    std::string request = "GET /healthz HTTP/1.1\r\nHost: t\r\n";
    for (int i = 0; i < 20'000; ++i) request += "X-" + std::to_string(i) + ": y\r\n";
    RawCaller caller(test.port());
    CHECK(caller.Call(request + "\r\n").status == 431);
    CHECK(caller.ClosedByServer());
  });
}

TEST_CASE("ambiguous framing never reaches a handler", "[http][attack]") {
  TestServer test(SmallServer());
  const std::string fields = GENERATE(
      as<std::string>{}, "Content-Length: 5\r\nContent-Length: 60\r\n",
      "Content-Length: 5\r\nContent-Length: 5\r\n",
      "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "Content-Length: 5\r\n folded\r\n",
      "Content-Length: 5\n\r\n", "Content-Length : 5\r\n");
  RawCaller caller(test.port());
  const RawReply reply = caller.Call("POST /echo HTTP/1.1\r\nHost: t\r\n" + fields + "\r\n" +
                                     "hello" + GetRequest("/smuggled"));
  CHECK(reply.status == 400);
  CHECK(reply.HasHeader("Connection: close\r\n"));
  CHECK(caller.ClosedByServer());
  CHECK(test.server.stats().requests == 0);
}

TEST_CASE("unknown methods and other protocols are told so", "[http][attack]") {
  TestServer test(SmallServer());
  const auto status_of = [&](const std::string& bytes) {
    RawCaller caller(test.port());
    return caller.Call(bytes).status;
  };
  CHECK(status_of("BREW /healthz HTTP/1.1\r\nHost: t\r\n\r\n") == 501);
  CHECK(status_of("TRACE /healthz HTTP/1.1\r\nHost: t\r\n\r\n") == 501);
  CHECK(status_of("DELETE /healthz HTTP/1.1\r\nHost: t\r\n\r\n") == 405);
  CHECK(status_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == 505);
  CHECK(status_of(std::string("\x16\x03\x01\x02\x00\x01", 6)) == 400);
  CHECK(status_of("\r\n\r\n\r\n") == 400);
  CHECK(test.server.stats().requests == 1);
}

TEST_CASE("100 half-open connections hold nothing and are closed with an answer",
          "[http][attack]") {
  ServerOptions options = SmallServer();
  options.header_timeout = milliseconds(300);
  options.first_byte_timeout = milliseconds(300);
  TestServer test(options);
  Withstand(test, [&] {
    std::vector<std::unique_ptr<RawCaller>> silent;
    std::vector<std::unique_ptr<RawCaller>> half;
    for (int i = 0; i < 50; ++i) {
      silent.push_back(std::make_unique<RawCaller>(test.port()));
      half.push_back(std::make_unique<RawCaller>(test.port()));
      REQUIRE(half.back()->Send("POST /echo HTTP/1.1\r\nHost: t\r\nX-Half: "));
    }
    for (const auto& caller : half) CHECK(caller->ReadReply().status == 408);
    for (const auto& caller : silent) CHECK(caller->ClosedByServer());
  });
  CHECK(test.server.stats().workers < 20);
}

TEST_CASE("a header that trickles for ever ends at its deadline", "[http][attack]") {
  ServerOptions options = SmallServer();
  options.header_timeout = milliseconds(300);
  TestServer test(options);
  Withstand(test, [&] {
    RawCaller caller(test.port());
    REQUIRE(caller.Send("GET /healthz HTTP/1.1\r\nHost: t\r\nX: "));
    while (caller.Send("x") && test.server.stats().timeouts == 0) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    CHECK(caller.ReadReply().status == 408);
  });
}

TEST_CASE("slow bodies end at their deadline and cost no worker", "[http][attack]") {
  ServerOptions options = SmallServer();
  options.body_timeout = milliseconds(500);
  TestServer test(options);
  Withstand(test, [&] {
    std::vector<std::unique_ptr<RawCaller>> callers;
    for (int i = 0; i < 100; ++i) {
      callers.push_back(std::make_unique<RawCaller>(test.port()));
      REQUIRE(callers.back()->Send(
          "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 1000\r\n\r\nonly this"));
    }
    for (const auto& caller : callers) CHECK(caller->ReadReply().status == 408);
    CHECK(test.server.stats().timeouts == 100);
  });
  CHECK(test.server.stats().workers < 20);
}

TEST_CASE("callers who do not read their answers are dropped", "[http][attack]") {
  ServerOptions options;
  options.write_timeout = milliseconds(200);
  TestServer test(options);
  Withstand(test, [&] {
    std::vector<std::unique_ptr<RawCaller>> callers;
    const std::string request = PostRequest("/echo", std::string(4 * kMiB, 'y'));
    for (int i = 0; i < 10; ++i) {
      callers.push_back(std::make_unique<RawCaller>(test.port()));
      // The kernel's buffers swallow some answers, so one is asked for after the other until the
      // server gives up.
      while (callers.back()->Send(request)) {
      }
    }
    CHECK(test.server.stats().timeouts == 10);
  });
  CHECK(test.server.stats().workers < 20);
}

TEST_CASE("a burst of 500 connections is served", "[http][attack]") {
  TestServer test(SmallServer());
  Withstand(test, [&] {
    std::vector<std::unique_ptr<RawCaller>> callers;
    for (int i = 0; i < 500; ++i) {
      callers.push_back(std::make_unique<RawCaller>(test.port()));
      REQUIRE(callers.back()->connected());
    }
    for (int i = 0; i < 500; ++i) {
      REQUIRE(callers[static_cast<std::size_t>(i)]->Send(PostRequest("/echo", std::to_string(i))));
    }
    for (int i = 0; i < 500; ++i) {
      CHECK(callers[static_cast<std::size_t>(i)]->ReadReply().body == std::to_string(i));
    }
  });
}

TEST_CASE("who holds connections and asks nothing whole keeps nobody out", "[http][attack]") {
  ServerOptions options;
  options.max_connections = 20;
  TestServer test(options);
  const std::string held = GENERATE("", "GET /healthz HTT",
                                    "POST /echo HTTP/1.1\r\nHost: t\r\n"
                                    "Content-Length: 9\r\n\r\nhalf");
  std::vector<std::unique_ptr<RawCaller>> holding;
  for (int i = 0; i < 20; ++i) {
    holding.push_back(std::make_unique<RawCaller>(test.port()));
    REQUIRE(holding.back()->Call(GetRequest("/healthz")).status == 200);
    REQUIRE(holding.back()->Send(held));
  }
  RawCaller busy(test.port());
  REQUIRE(busy.Send(PostRequest("/held", "late")));
  REQUIRE(Eventually([&] { return test.gate.waiting() == 1; }));
  for (int i = 0; i < 100; ++i) {
    RawCaller caller(test.port());
    REQUIRE(caller.Call(GetRequest("/healthz")).status == 200);
  }
  CHECK(test.server.stats().refused_full == 0);
  CHECK(test.server.stats().displaced >= 1);
  // It had asked: it was not closed.
  test.gate.Open();
  CHECK(busy.ReadReply().body == "late");
}

// So many callers, whose requests "0", "1" … a handler has until the gate opens.
std::vector<std::unique_ptr<RawCaller>> AllBusy(TestServer& test, std::size_t count) {
  std::vector<std::unique_ptr<RawCaller>> callers;
  for (std::size_t i = 0; i < count; ++i) {
    callers.push_back(std::make_unique<RawCaller>(test.port()));
    REQUIRE(callers.back()->Send(PostRequest("/held", std::to_string(i))));
  }
  REQUIRE(Eventually([&] { return test.gate.waiting() == count; }));
  return callers;
}

TEST_CASE("connections above the cap are told so, and room that comes free is used",
          "[http][attack]") {
  ServerOptions options;
  options.max_connections = 20;
  TestServer test(options);
  std::vector<std::unique_ptr<RawCaller>> callers = AllBusy(test, 20);
  for (int i = 0; i < 200; ++i) {
    RawCaller extra(test.port());
    REQUIRE(extra.connected());
    const RawReply reply = extra.ReadReply();
    // Beyond some courtesy slots a caller is closed without words.
    CHECK((reply.status == 503 || reply.status == 0));
    if (i == 0) CHECK(reply.status == 503);
  }
  test.gate.Open();
  CHECK(callers.front()->ReadReply().body == "0");
  callers.clear();
  CHECK(Eventually([&] { return test.Healthy(); }));
  CHECK(test.Quiet());
}

TEST_CASE("who was told that there is no room keeps nobody out", "[http][attack]") {
  ServerOptions options;
  options.max_connections = 20;
  TestServer test(options);
  std::vector<std::unique_ptr<RawCaller>> callers = AllBusy(test, 20);
  // Each hears it, also while others before it have not hung up.
  std::vector<std::unique_ptr<RawCaller>> refused;
  for (int i = 0; i < 5; ++i) {
    refused.push_back(std::make_unique<RawCaller>(test.port()));
    CHECK(refused.back()->ReadReply().status == 503);
  }
  CHECK(test.server.stats().displaced == 0);
  test.gate.Open();
  for (std::size_t i = 0; i < 20; ++i) CHECK(callers[i]->ReadReply().body == std::to_string(i));
  RawCaller probe(test.port());
  CHECK(probe.Call(GetRequest("/healthz")).status == 200);
}

TEST_CASE("all unfinished bodies together are bounded", "[http][attack]") {
  ServerOptions options;
  options.max_body_bytes = 4 * kMiB;
  options.max_buffered_bytes = 8 * kMiB;
  TestServer test(options);
  Withstand(test, [&] {
    std::vector<std::unique_ptr<RawCaller>> callers;
    for (int i = 0; i < 8; ++i) {
      callers.push_back(std::make_unique<RawCaller>(test.port()));
      REQUIRE(callers.back()->Send(
          "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 4194304\r\n\r\n"));
      callers.back()->SendRepeated('x', 3 * kMiB);
      CHECK(test.server.stats().buffered_bytes <= 9 * kMiB);
    }
    CHECK(Eventually([&] { return test.server.stats().refused_full > 0; }));
    callers.clear();
  });
}

TEST_CASE("answers that nobody takes are bounded too", "[http][attack]") {
  ServerOptions options;
  options.max_buffered_bytes = 16 * kMiB;  // one address has half of it
  TestServer test(options);
  Withstand(test, [&] {
    std::vector<std::unique_ptr<RawCaller>> callers;
    std::string requests;
    for (int i = 0; i < 8; ++i) requests += GetRequest("/large");
    for (int i = 0; i < 20; ++i) {
      callers.push_back(std::make_unique<RawCaller>(test.port()));
      REQUIRE(callers.back()->Send(requests));
    }
    // One answer of a little over 4 MiB fits; the other callers are closed as soon as theirs do not
    // go out.
    CHECK(Eventually([&] { return test.server.stats().refused_full == 19; }));
    CHECK(Eventually([&] { return test.server.stats().buffered_bytes <= 8 * kMiB; }));
    callers.clear();
  });
}

TEST_CASE("out of file descriptors, callers wait and are served when there are some",
          "[http][attack]") {
  std::atomic<int> told = 0;
  ServerOptions options = SmallServer();
  options.on_event = [&](const std::string& event) {
    if (event.find("out of file descriptors") != std::string::npos) ++told;
  };
  TestServer test(options);
  std::vector<RawCaller> callers(20);
  // A thread that begins without file descriptors is an error to UBSan, which looks with a pipe
  // whether objects can be read.
  REQUIRE(Eventually(OtherThreadsSleep));
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  rlimit none = usual;
  none.rlim_cur = 3;  // every further descriptor is refused, those open stay open
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  int connected = 0;
  for (RawCaller& caller : callers) connected += caller.Connect(test.port()) ? 1 : 0;
  const bool reported = Eventually([&] { return told > 0; });
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
  CHECK(reported);
  CHECK(connected == 20);
  for (RawCaller& caller : callers) CHECK(caller.Call(GetRequest("/healthz")).status == 200);
  CHECK(told == 1);
}

TEST_CASE("garbage of every kind ends in an answer or a closed connection", "[http][attack]") {
  ServerOptions options = SmallServer();
  options.header_timeout = milliseconds(200);
  options.body_timeout = milliseconds(200);
  TestServer test(options);
  std::uint64_t state = 12345;
  const auto next = [&state] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::size_t>(state >> 33);
  };
  const std::string valid = PostRequest("/echo", "{\"a\":1}") + GetRequest("/items/x?y=z");
  Withstand(test, [&] {
    for (int round = 0; round < 200; ++round) {
      std::string bytes = valid;
      for (std::size_t edits = 1 + next() % 4; edits > 0; --edits) {
        bytes[next() % bytes.size()] = static_cast<char>(next() % 256);
        if (next() % 4 == 0) bytes.erase(next() % bytes.size(), next() % 8);
        if (next() % 4 == 0)
          bytes.insert(next() % bytes.size(), 1, static_cast<char>(next() % 256));
      }
      RawCaller caller(test.port());
      REQUIRE(caller.connected());
      caller.Send(bytes);
      caller.FinishWriting();
      CHECK(caller.ClosedByServer());
    }
  });
}

}  // namespace
}  // namespace muster::http::testing
