// What a policy file says about the two servers of `muster serve`. Plain values; extender/ turns
// them into the options of its HTTP servers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/base/units.hpp"

namespace muster::config {

// Certificates of the extender's server. All empty: plain HTTP.
struct TlsSettings {
  std::string cert_file;       // PEM, leaf first; with it the server speaks TLS 1.2 or newer
  std::string key_file;        // PEM
  std::string client_ca_file;  // PEM; with it kube-scheduler must show a certificate (mTLS)
  // CN or DNS names that may call; empty: every certificate that the client CA signed.
  std::vector<std::string> allowed_client_names;
  auto operator<=>(const TlsSettings&) const = default;
};

// The server that kube-scheduler calls.
struct ExtenderSettings {
  std::string address = "127.0.0.1:8888";  // "host:port", "[v6]:port" or ":port" for all addresses
  // As in kube-scheduler's configuration of this extender. A Bind call is held for 0.8 of it.
  cluster::Duration http_timeout = cluster::Seconds(60);
  int64_t max_header_bytes = int64_t{16} << 10U;
  int64_t max_body_bytes = int64_t{32} << 20U;
  int64_t max_buffered_bytes = int64_t{128} << 20U;  // what calls keep, of all connections
  int64_t max_connections = 4096;
  cluster::Duration header_timeout = cluster::Seconds(2);
  cluster::Duration body_timeout = cluster::Seconds(10);
  cluster::Duration write_timeout = cluster::Seconds(10);
  cluster::Duration idle_timeout = cluster::Seconds(120);  // between calls of one connection
  TlsSettings tls;
  auto operator<=>(const ExtenderSettings&) const = default;
};

inline constexpr std::string_view kPublicPages[] = {"gangs", "nodes", "queues", "topology",
                                                    "policy"};

// The server of /healthz, /readyz, /metrics and /v1. Of `tls` a client certificate is asked for and
// not required, and there are no allowed_client_names: probes and readers have none.
struct MetricsSettings {
  std::string address = "127.0.0.1:8889";
  TlsSettings tls = {};
  // Words of kPublicPages: pages of /v1 that whoever reaches the port may read.
  std::vector<std::string> public_pages = {};
  auto operator<=>(const MetricsSettings&) const = default;
};

// Who may give orders by a client certificate of metrics.tls.clientCaFile: any of these names, or
// any member of these organisations.
struct OperatorSettings {
  std::vector<std::string> client_names;          // CN or DNS names
  std::vector<std::string> client_organisations;  // O
  auto operator<=>(const OperatorSettings&) const = default;
};

}  // namespace muster::config
