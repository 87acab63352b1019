// What queues have used, over a restart of a whole service on an API server that the test plays.
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <string>

#include "cluster/base/mutex.hpp"
#include "kube/json/json.hpp"
#include "kube/json/json_view.hpp"
#include "kube/json/json_writer.hpp"
#include "kube/lead/usage_text.hpp"
#include "service_test_support.hpp"
#include "tests/kube/api_server_support.hpp"

namespace muster::extender::testing {
namespace {

using cluster::MutexLock;

constexpr const char* kMaps = "/api/v1/namespaces/muster-system/configmaps";
constexpr const char* kMap = "/api/v1/namespaces/muster-system/configmaps/muster-usage";

// A node, and a pod of queue research that has all of its 8 GPUs. No watch works, no other write.
class PlayedApi {
 public:
  PlayedApi() {
    auto& routes = server_.routes();
    routes.Get("/version", [](const httplib::Request&, httplib::Response& response) {
      response.set_content(R"({"major":"1","minor":"37"})", "application/json");
    });
    routes.Get(kMap, [this](const httplib::Request&, httplib::Response& response) {
      const MutexLock lock(mu_);
      response.status = map_.empty() ? 404 : 200;
      response.set_content(map_.empty() ? "{}" : map_, "application/json");
    });
    routes.Post(kMaps, [this](const auto& request, auto& response) { Take(request, response); });
    routes.Put(kMap, [this](const auto& request, auto& response) { Take(request, response); });
    routes.Get(".*", [](const httplib::Request& request, httplib::Response& response) {
      if (request.has_param("watch")) {
        response.status = 503;
        return;
      }
      response.set_content(R"({"kind":"List","metadata":{"resourceVersion":"10"},"groups":[],)"
                           R"("items":[)" +
                               ItemOf(request.path) + "]}",
                           "application/json");
    });
    server_.Start();
  }
  std::uint16_t port() const { return server_.port(); }
  int writes() const {
    const MutexLock lock(mu_);
    return writes_;
  }
  // The text that is kept; empty: none is.
  std::string Kept() const {
    const MutexLock lock(mu_);
    if (map_.empty()) return {};
    const auto json = kube::Json::Parse(map_, map_.size(), "map");
    kube::JsonProblems problems;
    const kube::JsonView object(json->root(), "map", problems);
    const kube::JsonView data = object.Get("data");
    return std::string(data.Get("usage.json").Text());
  }
  void Keep(const std::string& text) {
    std::string map;
    kube::JsonWriter json(map);
    json.BeginObject().Key("metadata").BeginObject().Key("resourceVersion").Text("1").EndObject();
    json.Key("data").BeginObject().TextKey("usage.json").Text(text).EndObject().EndObject();
    const MutexLock lock(mu_);
    map_ = map;
  }

 private:
  static std::string ItemOf(const std::string& path) {
    if (path == "/api/v1/nodes") {
      return R"({"metadata":{"name":"n","uid":"n-uid","resourceVersion":"3"},"status":{)"
             R"("allocatable":{"cpu":"64","memory":"1Ti","pods":"110","nvidia.com/gpu":"8"},)"
             R"("conditions":[{"type":"Ready","status":"True"}]}})";
    }
    if (path != "/api/v1/pods") return "";
    return R"({"metadata":{"name":"p","namespace":"team","uid":"p-uid","resourceVersion":"4",)"
           R"("annotations":{"muster.dev/queue":"research"}},"spec":{"schedulerName":"muster",)"
           R"("nodeName":"n","containers":[{"name":"main","resources":{"limits":{)"
           R"("nvidia.com/gpu":"8"}}}]},"status":{"phase":"Running"}})";
  }
  void Take(const httplib::Request& request, httplib::Response& response) {
    const MutexLock lock(mu_);
    ++writes_;
    map_ = request.body;
    const std::string metadata = R"("metadata":{)";
    map_.insert(
        map_.find(metadata) + metadata.size(),
        map_.find("resourceVersion") == std::string::npos ? R"("resourceVersion":"1",)" : "");
    response.status = request.method == "POST" ? 201 : 200;
    response.set_content(R"({"metadata":{"resourceVersion":"1"}})", "application/json");
  }

  mutable cluster::Mutex mu_;
  std::string map_ MUSTER_GUARDED_BY(mu_);
  int writes_ MUSTER_GUARDED_BY(mu_) = 0;
  kube::testing::TestServer server_;
};

struct World {
  World() {
    options = OnCluster(folder, api.port());
    options.access.usage = {"muster-system", "muster-usage"};
    options.policy_file = folder.File("policy.yaml");
    std::ofstream(options.policy_file) << "apiVersion: muster.dev/v1alpha1\nkind: Policy\nqueues:\n"
                                          "- {name: root, usageHalfLife: 1h}\n- {name: research}\n";
  }
  // The GPUs that research used on average, as a service says that leads; it ends then.
  double AverageOf(LogLines& lines) {
    TestService test(options);
    double average = -1;
    const std::string key = R"("averageUsed":)";
    CHECK(Eventually([&] {
      const std::string page = test.Get("/v1/queues").body;
      const size_t research = page.find(R"("research")");
      const size_t at = research == std::string::npos ? research : page.find(key, research);
      if (at == std::string::npos) return false;
      average = std::stod(page.substr(at + key.size()));
      return true;
    }));
    test.service.Shutdown();
    lines.Add(test.lines.Text());
    return average;
  }

  PlayedApi api;
  const TempFolder folder;
  ServiceOptions options;
};

// As of this moment research used nothing, and 100 GPUs on average.
queues::UsageRecord Past(cluster::Duration ahead = {}) {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  const cluster::Time now(std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
  queues::UsageRecord record;
  record.resources = {{queues::Resource::Kind::kGpu}};
  record.queues["research"] = {cluster::Seconds(3600), now + ahead, {0}, {}};
  record.queues["research"].mean = {queues::Uint128{100'000} << queues::kMeanDigits};
  return record;
}

}  // namespace

TEST_CASE("what a queue has used is kept when the service ends, and known to the next one",
          "[service][usage]") {
  World world;
  LogLines lines;
  CHECK(world.AverageOf(lines) == 8);
  CHECK(world.api.writes() == 1);
  const auto kept = kube::DecodeUsage(world.api.Kept());
  REQUIRE(kept.ok());
  CHECK(kept->queues.at("research").used.front() == 8'000);
  world.api.Keep(kube::EncodeUsage(Past()).json);
  const double average = world.AverageOf(lines);
  CHECK(average > 95);
  CHECK(average < 100);
  CHECK(world.api.writes() == 2);
  CHECK(world.AverageOf(lines) > 95);
  CHECK_FALSE(lines.Has("usage of queues"));
}

TEST_CASE("usage that is not plausible is reported once and left alone, and scheduling goes on",
          "[service][usage]") {
  World world;
  LogLines lines;
  const std::string text = kube::EncodeUsage(Past(cluster::Seconds(600))).json;
  world.api.Keep(text);
  CHECK(world.AverageOf(lines) == 8);
  CHECK(world.api.Kept() == text);
  CHECK(world.api.writes() == 0);
  CHECK(lines.Count("usage of queues is not kept: ConfigMap muster-system/muster-usage") == 1);
}

}  // namespace muster::extender::testing
