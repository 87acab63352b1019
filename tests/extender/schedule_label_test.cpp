// A namespace's label muster.dev/schedule, seen by a whole service on an API server that the test
// plays: missed pods are reported, and the webhook is in place for later ones.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "kube/json/timestamp.hpp"
#include "service_test_support.hpp"
#include "tests/kube/api_server_support.hpp"

namespace muster::extender::testing {
namespace {

using cluster::MutexLock;

constexpr const char* kSecret = "/api/v1/namespaces/muster-system/secrets/muster-webhook";
constexpr const char* kHooks =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/muster-schedule";

// Namespace "team" has the label, and two new GPU pods that are not Muster's: "missed" is the
// default scheduler's, "third" names another one. No watch works.
class LabelledApi {
 public:
  LabelledApi() {
    auto& routes = server_.routes();
    routes.Get("/version", [](const httplib::Request&, httplib::Response& response) {
      response.set_content(R"({"major":"1","minor":"35"})", "application/json");
    });
    routes.Get(kSecret, [this](const httplib::Request&, httplib::Response& response) {
      const MutexLock lock(mu_);
      response.set_content(R"({"metadata":{"resourceVersion":"1"})" + data_ + "}",
                           "application/json");
    });
    routes.Get(kHooks, [this](const httplib::Request&, httplib::Response& response) {
      const MutexLock lock(mu_);
      response.set_content(R"({"metadata":{"resourceVersion":"1"},"webhooks":[{"name":"gpu.x",)"
                           R"("clientConfig":{)" +
                               bundle_ + R"("url":"https://127.0.0.1:8890/admit/gpu"}}]})",
                           "application/json");
    });
    routes.Patch(".*", [this](const httplib::Request& request, httplib::Response& response) {
      const MutexLock lock(mu_);
      writes_.push_back(request.path + " " + request.body);
      const size_t data = request.body.find(",\"data\"");
      if (request.path == kSecret)
        data_ = request.body.substr(data, request.body.size() - 1 - data);
      const size_t bundle = request.body.find("\"caBundle\"");
      if (request.path == kHooks)
        bundle_ = request.body.substr(bundle, request.body.find('}', bundle) - bundle) + ",";
      response.set_content("{}", "application/json");
    });
    routes.Post(".*/events", [this](const httplib::Request& request, httplib::Response& response) {
      const MutexLock lock(mu_);
      writes_.push_back(request.path + " " + request.body);
      response.status = 201;
      response.set_content("{}", "application/json");
    });
    routes.Get(".*", [this](const httplib::Request& request, httplib::Response& response) {
      if (request.has_param("watch")) {
        response.status = 503;
        return;
      }
      response.set_content(R"({"kind":"List","metadata":{"resourceVersion":"10"},"groups":[],)"
                           R"("items":[)" +
                               ItemsOf(request.path) + "]}",
                           "application/json");
    });
    server_.Start();
  }
  std::uint16_t port() const { return server_.port(); }
  // How many writes say both.
  int Writes(const std::string& part, const std::string& other = "") const {
    const MutexLock lock(mu_);
    int count = 0;
    for (const std::string& write : writes_) {
      if (write.find(part) != std::string::npos && write.find(other) != std::string::npos) ++count;
    }
    return count;
  }

 private:
  std::string PodOf(const std::string& name, const std::string& scheduler) const {
    return R"({"metadata":{"name":")" + name + R"(","namespace":"team","uid":"uid-)" + name +
           R"(","resourceVersion":"4","creationTimestamp":")" + created_ +
           R"("},"spec":{"schedulerName":")" + scheduler +
           R"(","containers":[{"name":"main","resources":{"limits":{"nvidia.com/gpu":"1"}}}]},)"
           R"("status":{"phase":"Pending"}})";
  }
  std::string ItemsOf(const std::string& path) const {
    if (path == "/api/v1/namespaces") {
      return R"({"metadata":{"name":"team","uid":"n","resourceVersion":"3","labels":{)"
             R"("muster.dev/schedule":"gpu"}}})";
    }
    if (path != "/api/v1/pods") return "";
    return PodOf("missed", "default-scheduler") + "," + PodOf("third", "volcano");
  }
  static std::string Now() {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return kube::FormatMicroTime(
        cluster::Time(std::chrono::duration_cast<std::chrono::milliseconds>(since).count()));
  }

  const std::string created_ = Now();
  mutable cluster::Mutex mu_;
  std::string data_ MUSTER_GUARDED_BY(mu_);    // of the Secret
  std::string bundle_ MUSTER_GUARDED_BY(mu_);  // of the webhook, with its key
  std::vector<std::string> writes_ MUSTER_GUARDED_BY(mu_);
  kube::testing::TestServer server_;
};

TEST_CASE("a service tells of pods that nobody took, and opens its webhook",
          "[service][schedule]") {
  LabelledApi api;
  const TempFolder folder;
  ServiceOptions options = OnCluster(folder, api.port());
  options.access.admission = {.listen = http::HostPort{"127.0.0.1", 0},
                              .secret = {"muster-system", "muster-webhook"},
                              .configuration = "muster-schedule"};
  TestService test(options);
  CHECK(Eventually([&] { return api.Writes("/namespaces/team/events") > 0; }));
  CHECK(api.Writes("NotScheduledByMuster", R"("kind":"Pod","namespace":"team","name":"missed")") ==
        1);
  CHECK(api.Writes("NotScheduledByMuster") == 1);
  CHECK_THAT(test.Get("/metrics").body, Catch::Contains("muster_missed_pods_total 1\n"));
  CHECK(test.lines.Has("pod team/missed is not Muster's"));

  CHECK(Eventually([&] { return test.lines.Has("the webhook serves port"); }));
  CHECK(api.Writes(kSecret, "tls.crt") == 1);
  CHECK(api.Writes(kHooks, R"("name":"gpu.x","clientConfig":{"caBundle":")") == 1);
  test.service.Shutdown();
}

}  // namespace
}  // namespace muster::extender::testing
