#include "extender/server_options.hpp"

#include <algorithm>
#include <chrono>

#include "http/messages/host_port.hpp"

namespace muster::extender {
namespace {

using cluster::Result;

// Manifests of a large cluster in one request.
constexpr std::size_t kMaxManifestBytes = std::size_t{32} << 20U;
// Without TLS they cost next to nothing; with it the memory for connections is the limit.
constexpr std::size_t kApiConnections = 2'048;
// The Bind calls of a gang are held at the same time. Measured with Go 1.26 and 1,024 held calls:
// at 1,024 streams one connection and 33 ms until all are open, at 250 streams 995 and 4.9 s.
constexpr std::size_t kHeldCalls = 1'024;

std::chrono::milliseconds Millis(cluster::Duration duration) {
  return std::chrono::milliseconds(duration.value());
}

}  // namespace

Result<http::ServerOptions> ExtenderServerOptions(const config::ExtenderSettings& settings) {
  const Result<http::HostPort> address = http::ParseHostPort(settings.address);
  if (!address.ok()) return address.error().At("extender.address");
  http::ServerOptions options;
  options.host = address->host;
  options.port = address->port;
  options.max_header_bytes = static_cast<std::size_t>(settings.max_header_bytes);
  options.max_body_bytes = static_cast<std::size_t>(settings.max_body_bytes);
  options.max_streams = kHeldCalls;
  // One address has half of it, which must do for the largest body.
  options.max_buffered_bytes =
      std::max(static_cast<std::size_t>(settings.max_buffered_bytes),
               2 * (options.max_body_bytes + 2 * options.max_header_bytes));
  options.max_connections = static_cast<std::size_t>(settings.max_connections);
  options.header_timeout = Millis(settings.header_timeout);
  options.body_timeout = Millis(settings.body_timeout);
  options.write_timeout = Millis(settings.write_timeout);
  options.idle_timeout = Millis(settings.idle_timeout);
  if (!settings.tls.cert_file.empty()) {
    http::TlsOptions tls;
    tls.cert_file = settings.tls.cert_file;
    tls.key_file = settings.tls.key_file;
    tls.client_ca_file = settings.tls.client_ca_file;
    tls.allowed_clients = settings.tls.allowed_client_names;
    options.tls = tls;
  }
  return options;
}

Result<http::ServerOptions> ApiServerOptions(const config::MetricsSettings& settings) {
  const Result<http::HostPort> address = http::ParseHostPort(settings.address);
  if (!address.ok()) return address.error().At("metrics.address");
  http::ServerOptions options;
  options.host = address->host;
  options.port = address->port;
  options.max_body_bytes = kMaxManifestBytes;
  options.max_connections = kApiConnections;
  if (!settings.tls.cert_file.empty()) {
    http::TlsOptions tls;
    tls.cert_file = settings.tls.cert_file;
    tls.key_file = settings.tls.key_file;
    tls.client_ca_file = settings.tls.client_ca_file;
    tls.require_client_cert = false;
    options.tls = tls;
  }
  return options;
}

}  // namespace muster::extender
