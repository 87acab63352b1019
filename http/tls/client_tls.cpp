#include "http/tls/client_tls.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>

#include "http/tls/tls.hpp"

namespace muster::http {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Ok;
using cluster::Result;
using cluster::Status;

Error Refuse(const char* field, const char* what) {
  return {Code::kInvalidArgument, std::string(field) + ": " + what + TlsDetail(), ""};
}

Status Trust(SSL_CTX* context, const TlsMaterial& material) {
  if (material.insecure) {
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, nullptr);
    return Ok{};
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  X509_VERIFY_PARAM* wanted = SSL_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_hostflags(
      wanted, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const std::string& name = material.server_name;
  const int named = IsIpAddress(name)
                        ? X509_VERIFY_PARAM_set1_ip_asc(wanted, name.c_str())
                        : X509_VERIFY_PARAM_set1_host(wanted, name.data(), name.size());
  if (name.empty() || named != 1)
    return Refuse("tls-server-name", "expected a DNS name or an IP address");
  if (material.ca.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) == 1) return Ok{};
    return Refuse("certificate-authority", "none is given, and the system has none");
  }
  if (TrustAuthorities(context, TlsSide::kClient, material.ca)) return Ok{};
  return Refuse("certificate-authority", "expected certificates as PEM");
}

Status Present(SSL_CTX* context, const TlsMaterial& material) {
  if (material.certificate.empty() && material.key.empty()) return Ok{};
  switch (PresentCertificate(context, material.certificate, material.key)) {
    case PresentFault::kCertificate:
      return Refuse("client-certificate", "expected a certificate as PEM");
    case PresentFault::kKey:
      return Refuse("client-key", "expected a private key as PEM, not encrypted");
    case PresentFault::kOtherKey:
      return Refuse("client-key", "is not the key of client-certificate");
    case PresentFault::kNone:
      break;
  }
  return Ok{};
}

}  // namespace

Result<std::shared_ptr<SSL_CTX>> MakeClientTls(const TlsMaterial& material) {
  std::shared_ptr<SSL_CTX> context = MakeTlsContext(TlsSide::kClient);
  // Length, then name.
  constexpr std::array<unsigned char, 9> kHttp11 = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  if (context == nullptr ||
      SSL_CTX_set_alpn_protos(context.get(), kHttp11.data(), kHttp11.size()) != 0) {
    return Refuse("TLS", "OpenSSL cannot make a context");
  }
  if (Status trusted = Trust(context.get(), material); !trusted.ok()) return trusted.error();
  if (Status presented = Present(context.get(), material); !presented.ok())
    return presented.error();
  return context;
}

bool IsIpAddress(const std::string& host) {
  in_addr ipv4{};
  in6_addr ipv6{};
  return ::inet_pton(AF_INET, host.c_str(), &ipv4) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &ipv6) == 1;
}

std::string TlsFailure(SSL* ssl) {
  std::string text;
  if (const unsigned long code = ERR_peek_last_error(); code != 0) {
    if (const char* reason = ERR_reason_error_string(code)) text = reason;
  }
  ERR_clear_error();
  if (const long verdict = SSL_get_verify_result(ssl); verdict != X509_V_OK)
    text += (text.empty() ? "" : ": ") + std::string(X509_verify_cert_error_string(verdict));
  return text.empty() ? "the connection was broken off" : text;
}

}  // namespace muster::http
