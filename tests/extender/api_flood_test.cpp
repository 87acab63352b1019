// Floods of the API port: whoever they are, probes, Filter and other callers' pages are served.
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/extender/page_server.hpp"
#include "tests/http/http_test_support.hpp"

namespace muster::extender::testing {
namespace {

using http::testing::RawCaller;
using muster::testing::MakePod;

// Addresses of this machine that have no trust.
constexpr const char* kFlood = "127.0.0.2";
constexpr const char* kAnn = "127.0.0.3";

std::string Ask(const std::string& path, const std::string& token = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: t\r\n" +
         (token.empty() ? "" : "X-Muster-Token: " + token + "\r\n") + "\r\n";
}

// Threads that go on until it goes out of scope; `work` is told when to end.
class Flood {
 public:
  template <typename Work>
  Flood(int threads, const Work& work) {
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this, work, i] { work(i, [this] { return stop_.load(); }); });
  }
  ~Flood() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

 private:
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;
};

int StatusOf(PageServer& page, const char* from, const std::string& request) {
  RawCaller caller;
  if (!caller.Connect(page.server.port(), from)) return -1;
  return caller.Call(request).status;
}

// What everybody else has while it is flooded.
void CheckServed(PageServer& page) {
  page.rights = {"ann list gangs"};
  for (int i = 0; i < 16; ++i) {
    CHECK(StatusOf(page, kFlood, Ask("/healthz")) == 200);
    CHECK(StatusOf(page, kAnn, Ask("/v1/gangs", "ann")) == 200);
  }
}

TEST_CASE("pipelined metrics and pages of strangers keep nobody else out", "[access][flood]") {
  PageServer page;
  for (int i = 0; i < 1'000; ++i)
    page.scheduler.Apply(MakePod("x-" + std::to_string(i)).Gpus(1).Build(), cluster::Time(1));
  const Flood flood(8, [&](int number, const auto& stop) {
    constexpr int kInARow = 50;
    std::string pipelined;
    for (int i = 0; i < kInARow; ++i) pipelined += Ask(number % 2 == 0 ? "/metrics" : "/v1/gangs");
    while (!stop()) {
      std::array<RawCaller, 15> callers;
      for (RawCaller& caller : callers)
        static_cast<void>(caller.Connect(page.server.port(), kFlood) && caller.Send(pipelined));
      for (RawCaller& caller : callers) {
        for (int i = 0; i < kInARow && !stop(); ++i) static_cast<void>(caller.ReadReply());
      }
    }
  });
  CheckServed(page);
}

TEST_CASE("callers with tokens that nobody has keep nobody else out", "[access][flood]") {
  PageServer page;
  std::atomic<int> asked = 0;
  page.api.On(kube::Method::kPost, "/apis/authentication.k8s.io/v1/tokenreviews",
              [&](const kube::ApiRequest& request) {
                if (PageServer::Member(request.body, "token").starts_with("noise")) {
                  ++asked;
                  std::this_thread::sleep_for(std::chrono::milliseconds(20));
                  return kube::Reply(201, R"({"status": {"authenticated": false}})");
                }
                return kube::Reply(201, PageServer::TokenStatus(request));
              });
  const Flood flood(16, [&](int number, const auto& stop) {
    for (int i = 0; !stop(); ++i) {
      const std::string token = "noise-" + std::to_string(number) + "-" + std::to_string(i);
      static_cast<void>(StatusOf(page, kFlood, Ask("/v1/gangs", token)));
    }
  });
  REQUIRE(http::testing::Eventually([&] { return asked > 4; }));
  CheckServed(page);
}

}  // namespace
}  // namespace muster::extender::testing
