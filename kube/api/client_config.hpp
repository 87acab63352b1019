// ClientConfig: how to reach an API server and as whom. Plain values; files are named here and read
// by the client (credentials.hpp), again and again, so that what is rotated is seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/base/result.hpp"
#include "http/client/proxy.hpp"

namespace muster::kube {

// PEM text, or the file to read it from. The text wins.
struct PemSource {
  std::string data;
  std::string file;

  bool empty() const { return data.empty() && file.empty(); }
};

struct ClientConfig {
  std::string host = "127.0.0.1";  // name or address; IPv6 without brackets
  std::uint16_t port = 443;
  bool tls = true;
  std::string path_prefix;  // empty, or such as "/k8s/clusters/c-1": before every path

  PemSource ca;  // who may have signed the server's certificate; empty: whom the system trusts
  bool insecure_skip_tls_verify = false;
  std::string tls_server_name;   // the name to expect in the certificate; empty: host
  PemSource client_certificate;  // with its chain
  PemSource client_key;

  // Neither is ever logged. With a file, `token` is used until the file can be read.
  std::string token;
  std::string token_file;

  std::optional<http::Proxy> proxy;
  bool disable_compression = false;
  std::string default_namespace = "default";
  std::string user_agent = "muster";
};

inline constexpr const char* kServiceAccountFolder =
    "/var/run/secrets/kubernetes.io/serviceaccount";

// What a pod is given: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT, and in `folder` token,
// ca.crt and namespace. Reads `namespace`, and whether there is a token.
//   kNotFound   this is no pod, or it has no service account; the message says what is missing
using http::EnvGetter;
cluster::Result<ClientConfig> InClusterConfig(const std::string& folder, const EnvGetter& env);

// Without proxy-url the environment's proxy counts, in a pod as well, as for every client-go
// program: http::EnvironmentProxy has its rules.
cluster::Result<ClientConfig> WithEnvironmentProxy(ClientConfig config, const EnvGetter& env);

}  // namespace muster::kube
