// The webhook's port: its certificate comes from a Secret, and reviews are answered over TLS by
// every replica.
#include "extender/live/admission_service.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "http/client/client.hpp"
#include "http/messages/base64.hpp"
#include "http/tls/serving_certificate.hpp"
#include "tests/http/http_test_support.hpp"
#include "tests/http/tls_test_support.hpp"
#include "tests/kube/fake_api.hpp"

namespace muster::extender::testing {
namespace {

using http::testing::Eventually;
using http::testing::TempFolder;
using kube::Method;
using kube::Reply;
using std::chrono::hours;

constexpr const char* kSecretPath = "/api/v1/namespaces/muster-system/secrets/muster-webhook";
constexpr const char* kReview =
    R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1",)"
    R"("resource":{"group":"","version":"v1","resource":"pods"},"namespace":"team",)"
    R"("operation":"CREATE","object":{"spec":{"containers":[{"name":"c"}]}}}})";

http::ServingCertificate Made() {
  const auto now = std::chrono::floor<hours>(std::chrono::system_clock::now());
  auto made = http::MakeServingCertificate({{"127.0.0.1"}, "muster", now, now + hours(24)});
  REQUIRE(made.ok());
  return *std::move(made);
}

// A follower: it may write nothing, and serves all the same.
struct Follower {
  Follower() { service.Start(); }
  void Keep(const http::ServingCertificate& made) {
    std::ofstream(folder.File("ca.pem")) << made.authority;
    api.On(Method::kGet, kSecretPath,
           Reply(200, R"({"metadata":{"resourceVersion":"1"},"data":{"tls.crt":")" +
                          http::EncodeBase64(made.pair.certificate) + R"(","tls.key":")" +
                          http::EncodeBase64(made.pair.key) + R"("}})"));
  }
  cluster::Result<http::Reply> Post(const std::string& path, const std::string& body) const {
    http::ClientOptions options;
    options.port = service.port();
    options.tls = true;
    options.ca_file = folder.File("ca.pem");
    return http::Client(options).Post(path, body);
  }
  std::vector<std::string> Warnings() const {
    const cluster::MutexLock lock(mu);
    return warnings;
  }

  TempFolder folder;
  kube::FakeApi api;
  mutable cluster::Mutex mu;
  std::vector<std::string> warnings MUSTER_GUARDED_BY(mu);
  AdmissionService service{{.api = api,
                            .may_write = [] { return false; },
                            .scheduler_name = [] { return std::string("muster"); },
                            .warn =
                                [this](const std::string& what) {
                                  const cluster::MutexLock lock(mu);
                                  warnings.push_back(what);
                                },
                            .note = [](const std::string&) {}},
                           {.listen = http::HostPort{"127.0.0.1", 0},
                            .secret = {"muster-system", "muster-webhook"},
                            .configuration = "muster-schedule"},
                           "muster-system"};
};

TEST_CASE("a follower answers reviews once the Secret has a certificate", "[admission]") {
  Follower follower;
  REQUIRE(Eventually([&] { return !follower.Warnings().empty(); }));
  CHECK(follower.service.port() == 0);
  follower.Keep(Made());
  REQUIRE(Eventually([&] { return follower.service.port() != 0; }));

  const auto all = follower.Post("/admit/all?timeout=3s", kReview);
  INFO((all.ok() ? "" : all.error().ToString()));
  REQUIRE(all.ok());
  CHECK(all->status == 200);
  CHECK_THAT(all->body, Catch::Contains(R"("uid":"u-1","allowed":true,"patch":")"));
  const auto gpu = follower.Post("/admit/gpu", kReview);
  REQUIRE(gpu.ok());
  CHECK_THAT(gpu->body, Catch::Contains(R"("allowed":true})"));
  const auto none = follower.Post("/admit/all", "{}");
  REQUIRE(none.ok());
  CHECK(none->status == 400);
  CHECK(follower.Post("/admit", kReview)->status == 404);
  const AdmissionCounts counts = follower.service.counts();
  CHECK(counts.changed == 1);
  CHECK(counts.unchanged == 1);
  CHECK(counts.malformed == 1);
  for (const kube::ApiRequest& request : follower.api.requests())
    CHECK(request.method == Method::kGet);
}

}  // namespace
}  // namespace muster::extender::testing
