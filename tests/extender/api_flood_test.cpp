// Floods of the API port: whoever asks for what takes long keeps nobody else's probes and pages.
#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <vector>

#include "tests/extender/page_server.hpp"
#include "tests/http/http_test_support.hpp"

namespace muster::extender::testing {
namespace {

using http::testing::RawCaller;

// Addresses of this machine that have no trust.
constexpr const char* kFlood = "127.0.0.2";
constexpr const char* kAnn = "127.0.0.3";

std::string Ask(const std::string& path, const std::string& token = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: t\r\n" +
         (token.empty() ? "" : "X-Muster-Token: " + token + "\r\n") + "\r\n";
}

// Callers of one address that each ask for that, several times in a row, and wait.
struct Flood {
  Flood(const PageServer& page, const std::function<std::string(int)>& request) {
    constexpr int kCallers = 40;
    for (int i = 0; i < kCallers; ++i) {
      callers.push_back(std::make_unique<RawCaller>());
      REQUIRE(callers.back()->Connect(page.server.port(), kFlood));
      REQUIRE(callers.back()->Send(request(i) + request(i) + request(i)));
    }
  }
  std::vector<std::unique_ptr<RawCaller>> callers;
};

int StatusOf(const PageServer& page, const char* from, const std::string& request) {
  RawCaller caller;
  if (!caller.Connect(page.server.port(), from)) return -1;
  return caller.Call(request).status;
}

// Of everybody else, while nothing of the flood is answered.
void CheckServed(PageServer& page) {
  page.rights = {"ann list gangs"};
  for (int i = 0; i < 16; ++i) {
    CHECK(StatusOf(page, kFlood, Ask("/healthz")) == 200);
    CHECK(StatusOf(page, kAnn, Ask("/v1/gangs", "ann")) == 200);
  }
}

TEST_CASE("callers of pages that take long keep nobody else out", "[access][flood]") {
  std::latch go_on(1);
  std::atomic<int> asked = 0;
  PageServer page;
  page.metrics = [&] {
    ++asked;
    go_on.wait();
    return std::string();
  };
  {
    const Flood flood(page, [](int) { return Ask("/metrics"); });
    CHECK(http::testing::Eventually([&] { return asked > 0; }));
    CheckServed(page);
    CHECK(asked == 1);
  }
  go_on.count_down();
}

TEST_CASE("callers with tokens that nobody has keep nobody else out", "[access][flood]") {
  std::latch go_on(1);
  std::atomic<int> asked = 0;
  PageServer page;
  page.api.On(kube::Method::kPost, "/apis/authentication.k8s.io/v1/tokenreviews",
              [&](const kube::ApiRequest& request) {
                if (PageServer::Member(request.body, "token").starts_with("noise")) {
                  ++asked;
                  go_on.wait();
                  return kube::Reply(201, R"({"status": {"authenticated": false}})");
                }
                return kube::Reply(201, PageServer::TokenStatus(request));
              });
  {
    const Flood flood(page, [](int i) { return Ask("/v1/gangs", "noise-" + std::to_string(i)); });
    CHECK(http::testing::Eventually([&] { return asked > 0; }));
    CheckServed(page);
    CHECK(asked == 1);
  }
  go_on.count_down();
}

}  // namespace
}  // namespace muster::extender::testing
