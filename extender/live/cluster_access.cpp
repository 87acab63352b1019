#include "extender/live/cluster_access.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <random>
#include <vector>

#include "config/file.hpp"
#include "config/yaml/yaml_json.hpp"
#include "config/yaml/yaml_parser.hpp"
#include "kube/api/api_client.hpp"
#include "kube/api/kubeconfig.hpp"

namespace muster::extender {

using cluster::Code;
using cluster::Error;
using cluster::ObjectKey;
using cluster::Result;

namespace {

constexpr std::size_t kMaxKubeconfigBytes = std::size_t{4} << 20U;

std::optional<std::string> Environment(const std::string& name) {
  // Nothing sets variables once main has begun.
  const char* value = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

}  // namespace

Result<std::string> ReadKubeconfig(const std::string& file) {
  const Result<std::string> text = config::ReadFile(file, kMaxKubeconfigBytes);
  if (!text.ok()) return text.error();
  config::YamlRules rules;
  rules.max_bytes = kMaxKubeconfigBytes;
  const Result<std::vector<config::YamlNode>> documents = config::ParseYaml(*text, file, rules);
  if (!documents.ok()) return documents.error();
  if (documents->size() != 1) {
    return Error{Code::kInvalidArgument, "expected one YAML document, a kubeconfig", file};
  }
  return config::ToJson(documents->front(), file);
}

namespace {

Result<kube::ClientConfig> ReadOwnConfig(const ClusterAccess& access) {
  if (access.in_cluster) return kube::InClusterConfig(kube::kServiceAccountFolder, Environment);
  const Result<std::string> json = ReadKubeconfig(access.kubeconfig);
  if (!json.ok()) return json.error();
  return kube::ParseKubeconfig({*json, access.kubeconfig}, access.context);
}

}  // namespace

Result<kube::ClientConfig> ReadClientConfig(const ClusterAccess& access) {
  Result<kube::ClientConfig> config = ReadOwnConfig(access);
  return config.ok() ? kube::WithEnvironmentProxy(*std::move(config), Environment) : config;
}

cluster::Duration RunsAhead(const kube::ClientConfig& server,
                            const std::function<cluster::Time()>& now) {
  const auto client = kube::ApiClient::Create(server, kube::ApiClientOptions{});
  if (!client.ok()) return {};
  const cluster::Time asked = now();
  const auto reply = (*client)->Call({.lane = kube::Lane::kLease,
                                      .path = "/version",
                                      .timeout = std::chrono::milliseconds(3'000)});
  if (!reply.ok() || !reply->date) return {};
  // The server said it later than that, and left its milliseconds out.
  const auto said = std::chrono::milliseconds(reply->date->time_since_epoch()).count() + 999;
  return std::max(cluster::Duration(0), asked - cluster::Time(said));
}

Result<ObjectKey> ParseObjectKey(const std::string& text) {
  const std::size_t slash = text.find('/');
  ObjectKey key{text.substr(0, slash), slash == std::string::npos ? "" : text.substr(slash + 1)};
  if (key.ns.empty() || key.name.empty() || key.name.find('/') != std::string::npos) {
    return Error{Code::kInvalidArgument, "expected NAMESPACE/NAME, got \"" + text + "\"", ""};
  }
  return key;
}

ObjectKey OwnPod() {
  ObjectKey pod{Environment("POD_NAMESPACE").value_or(""), Environment("POD_NAME").value_or("")};
  if (pod.ns.empty() || pod.name.empty()) return {};
  return pod;
}

std::string OwnIdentity() {
  std::string name = OwnPod().name;
  if (name.empty()) {
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) == 0) name = host.data();
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  std::random_device random;
  name += '_';
  for (int i = 0; i < 16; ++i) name += kHex[random() % kHex.size()];
  return name;
}

}  // namespace muster::extender
