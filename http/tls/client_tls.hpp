// TLS towards a server: OpenSSL contexts made from PEM text in memory. Pure of state; any thread.
#pragma once

#include <memory>
#include <string>

#include "cluster/base/result.hpp"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX
struct ssl_st;      // OpenSSL's SSL

namespace muster::http {

struct TlsMaterial {
  std::string ca;  // PEM; empty: whom the system trusts
  std::string certificate;
  std::string key;
  bool insecure = false;
  std::string server_name;  // that the certificate must be valid for: a DNS name or an IP address

  bool operator==(const TlsMaterial&) const = default;
};

// As tls.hpp says. The server's name is looked for among the alternative names only, as Go does:
// a common name proves nothing. A handshake with a server that is not trusted fails on our side.
//   kInvalidArgument  what the PEM text lacks; the message begins with the field of a kubeconfig
cluster::Result<std::shared_ptr<ssl_ctx_st>> MakeClientTls(const TlsMaterial& material);

// True for what inet_pton reads: such a name is not sent as SNI.
bool IsIpAddress(const std::string& host);

// Why `ssl` failed last, for people. Empties OpenSSL's queue of this thread.
std::string TlsFailure(ssl_st* ssl);

}  // namespace muster::http
