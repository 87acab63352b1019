#include "http/client_tls.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <climits>
#include <cstddef>

namespace muster::http {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Ok;
using cluster::Result;
using cluster::Status;

struct Free {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

Owned<BIO> Reader(const std::string& text) {
  if (text.size() > INT_MAX) return nullptr;
  return Owned<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Error Refuse(const char* field, const char* what) {
  std::string detail;
  if (const unsigned long code = ERR_peek_last_error(); code != 0) {
    if (const char* reason = ERR_reason_error_string(code))
      detail = std::string(" (") + reason + ")";
  }
  ERR_clear_error();
  return {Code::kInvalidArgument, std::string(field) + ": " + what + detail, ""};
}

// OpenSSL's own would ask at the terminal.
int NoPassword(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) { return -1; }

// Calls take(certificate) for each certificate of `pem`; how many there were, or -1 when one is
// malformed or was not taken.
template <typename Take>
int ReadCertificates(const std::string& pem, Take take) {
  const Owned<BIO> reader = Reader(pem);
  if (reader == nullptr) return -1;
  ERR_clear_error();
  for (int count = 0;; ++count) {
    const Owned<X509> certificate(PEM_read_bio_X509(reader.get(), nullptr, NoPassword, nullptr));
    if (certificate == nullptr) {
      const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
      if (at_end) ERR_clear_error();
      return at_end ? count : -1;
    }
    if (!take(certificate.get(), count)) return -1;
  }
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
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  const int count = ReadCertificates(material.ca, [&](X509* certificate, int /*index*/) {
    return X509_STORE_add_cert(store, certificate) == 1;
  });
  if (count <= 0) return Refuse("certificate-authority", "expected certificates as PEM");
  return Ok{};
}

Status Present(SSL_CTX* context, const TlsMaterial& material) {
  if (material.certificate.empty() && material.key.empty()) return Ok{};
  const int count = ReadCertificates(material.certificate, [&](X509* certificate, int index) {
    return (index == 0 ? SSL_CTX_use_certificate(context, certificate)
                       : SSL_CTX_add1_chain_cert(context, certificate)) == 1;
  });
  if (count <= 0) return Refuse("client-certificate", "expected a certificate as PEM");
  const Owned<BIO> reader = Reader(material.key);
  const Owned<EVP_PKEY> key(
      reader == nullptr ? nullptr
                        : PEM_read_bio_PrivateKey(reader.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr) return Refuse("client-key", "expected a private key as PEM, not encrypted");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    return Refuse("client-key", "is not the key of client-certificate");
  return Ok{};
}

}  // namespace

Result<std::shared_ptr<SSL_CTX>> MakeTlsContext(const TlsMaterial& material) {
  ERR_clear_error();
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()),
                                   [](SSL_CTX* made) { SSL_CTX_free(made); });
  // Length, then name.
  constexpr std::array<unsigned char, 9> kHttp11 = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1 ||
      SSL_CTX_set_alpn_protos(context.get(), kHttp11.data(), kHttp11.size()) != 0) {
    return Refuse("TLS", "OpenSSL cannot make a context");
  }
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
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
