#include "service_test_support.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <utility>

namespace muster::extender::testing {
namespace {

ServiceOptions OnFreePorts(ServiceOptions options) {
  options.listen = http::HostPort{"127.0.0.1", 0};
  options.api = http::HostPort{"127.0.0.1", 0};
  return options;
}

}  // namespace

void LogLines::Add(std::string_view line) {
  const cluster::MutexLock lock(mu_);
  text_ += line;
}

std::string LogLines::Text() const {
  const cluster::MutexLock lock(mu_);
  return text_;
}

TestService::TestService(ServiceOptions options)
    : log({.level = LogLevel::kDebug, .sink = [this](std::string_view line) { lines.Add(line); }}),
      service(OnFreePorts(std::move(options)), log) {
  const cluster::Status started = service.Start();
  if (!started.ok()) FAIL(started.error().ToString());
  http::ClientOptions client;
  client.port = service.api_port();
  client_ = std::make_unique<http::Client>(client);
}

http::Reply TestService::Get(const std::string& path) {
  const cluster::Result<http::Reply> reply = client_->Get(path);
  if (!reply.ok()) FAIL(path << ": " << reply.error().ToString());
  return *reply;
}

http::Reply TestService::Post(const std::string& path, const std::string& body,
                              const std::string& content_type) {
  const cluster::Result<http::Reply> reply = client_->Post(path, body, content_type);
  if (!reply.ok()) FAIL(path << ": " << reply.error().ToString());
  return *reply;
}

http::Reply TestService::Delete(const std::string& path) {
  const cluster::Result<http::Reply> reply = client_->Delete(path);
  if (!reply.ok()) FAIL(path << ": " << reply.error().ToString());
  return *reply;
}

void TestService::Submit(const std::string& yaml) {
  const http::Reply reply = Post("/v1/manifests", yaml);
  if (reply.status != 200) FAIL(reply.body);
}

std::string TestService::StateOf(const std::string& name, const std::string& ns) {
  const http::Reply reply = Get("/v1/gangs/" + ns + "/" + name);
  return reply.status == 200 ? JsonText(reply.body, "state") : "";
}

bool TestService::Reaches(const std::string& name, const std::string& state) {
  return Eventually([&] { return StateOf(name) == state; });
}

ServiceOptions OnCluster(const TempFolder& folder, std::uint16_t port) {
  ServiceOptions options;
  options.access.kubeconfig = folder.File("kubeconfig");
  std::ofstream(options.access.kubeconfig) << R"(
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: here, cluster: {server: "http://127.0.0.1:)"
                                           << port << R"("}}]
users: [{name: user, user: {token: secret}}]
contexts: [{name: here, context: {cluster: here, user: user}}]
)";
  return options;
}

std::string GangYaml(const std::string& name, int pods, int gpus, const std::string& runs_for) {
  std::string yaml =
      "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: " + name +
      "}\nspec: {minMember: " + std::to_string(pods) + "}\n";
  const std::string annotations =
      runs_for.empty() ? "" : ", annotations: {sim.muster.dev/runs-for: " + runs_for + "}";
  for (int i = 0; i < pods; ++i) {
    yaml += "---\napiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "-" + std::to_string(i) +
            ", labels: {scheduling.x-k8s.io/pod-group: " + name + "}" + annotations +
            "}\nspec:\n  schedulerName: muster\n  containers:\n  - name: main\n    image: i\n    "
            "resources: "
            "{limits: {nvidia.com/gpu: " +
            std::to_string(gpus) + "}}\n";
  }
  return yaml;
}

std::string NodesYaml(const std::string& prefix, int count, int gpus) {
  return "apiVersion: sim.muster.dev/v1alpha1\nkind: NodePool\nmetadata: {name: " + prefix +
         "}\nspec:\n  count: " + std::to_string(count) +
         "\n  template:\n    status: {allocatable: {cpu: 96, memory: 1Ti, pods: 110, "
         "nvidia.com/gpu: " +
         std::to_string(gpus) + "}}\n";
}

std::string JsonText(const std::string& json, const std::string& key) {
  const std::string marker = "\"" + key + "\": \"";
  const std::size_t at = json.find(marker);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + marker.size();
  return json.substr(begin, json.find('"', begin) - begin);
}

}  // namespace muster::extender::testing
