#include "kube/api/client_config.hpp"

#include <charconv>
#include <cstddef>
#include <fstream>
#include <utility>

namespace muster::kube {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Result;

Result<std::string> ReadSmallFile(const std::string& path) {
  constexpr std::size_t kMost = 64 * 1024;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMost, '\0');
  if (!file.is_open() || !file.read(text.data(), static_cast<std::streamsize>(kMost)).eof())
    return Error{Code::kNotFound, "cannot be read", path};
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

std::string Trimmed(const std::string& text) {
  constexpr const char* kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

}  // namespace

Result<ClientConfig> WithEnvironmentProxy(ClientConfig config, const EnvGetter& env) {
  if (config.proxy) return config;
  Result<std::optional<http::Proxy>> proxy =
      http::EnvironmentProxy(config.host, config.port, config.tls, env);
  if (!proxy.ok()) return proxy.error();
  config.proxy = *std::move(proxy);
  return config;
}

Result<ClientConfig> InClusterConfig(const std::string& folder, const EnvGetter& env) {
  const std::string host = env("KUBERNETES_SERVICE_HOST").value_or("");
  const std::string port = env("KUBERNETES_SERVICE_PORT").value_or("");
  if (host.empty() || port.empty()) {
    return Error{Code::kNotFound, "is not set: this is no pod; name a kubeconfig instead",
                 host.empty() ? "KUBERNETES_SERVICE_HOST" : "KUBERNETES_SERVICE_PORT"};
  }
  ClientConfig config;
  config.host = host;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), config.port);
  if (error != std::errc() || end != port.data() + port.size() || config.port == 0)
    return Error{Code::kInvalidArgument, "expected a port", "KUBERNETES_SERVICE_PORT"};
  config.token_file = folder + "/token";
  config.ca.file = folder + "/ca.crt";
  Result<std::string> token = ReadSmallFile(config.token_file);
  if (!token.ok()) {
    return Error{Code::kNotFound,
                 "cannot be read; does the pod have automountServiceAccountToken: false?",
                 config.token_file};
  }
  const Result<std::string> space = ReadSmallFile(folder + "/namespace");
  if (space.ok() && !Trimmed(*space).empty()) config.default_namespace = Trimmed(*space);
  return config;
}

}  // namespace muster::kube
