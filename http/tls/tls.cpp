#include "http/tls/tls.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <climits>

namespace muster::http {
namespace {

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

// OpenSSL's own would ask at the terminal.
int NoPassword(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) { return -1; }

// Calls take(certificate, index) for each certificate of `pem`; how many there were, or -1 when one
// is malformed or was not taken.
template <typename Take>
int ReadCertificates(const std::string& pem, Take take) {
  const Owned<BIO> reader = Reader(pem);
  if (reader == nullptr) return -1;
  ERR_clear_error();
  for (int count = 0;; ++count) {
    const Owned<X509> certificate(PEM_read_bio_X509(reader.get(), nullptr, NoPassword, nullptr));
    if (certificate == nullptr) {
      const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
      if (at_end && count > 0) ERR_clear_error();
      return at_end ? count : -1;
    }
    if (!take(certificate.get(), count)) return -1;
  }
}

}  // namespace

std::shared_ptr<SSL_CTX> MakeTlsContext(TlsSide side) {
  ERR_clear_error();
  const SSL_METHOD* method = side == TlsSide::kServer ? TLS_server_method() : TLS_client_method();
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(method), [](SSL_CTX* made) { SSL_CTX_free(made); });
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1)
    return nullptr;
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  return context;
}

bool TrustAuthorities(SSL_CTX* context, TlsSide side, const std::string& pem) {
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  return ReadCertificates(pem, [&](X509* certificate, int /*index*/) {
           if (X509_STORE_add_cert(store, certificate) != 1) return false;
           return side == TlsSide::kClient || SSL_CTX_add_client_CA(context, certificate) == 1;
         }) > 0;
}

PresentFault PresentCertificate(SSL_CTX* context, const std::string& certificate,
                                const std::string& key) {
  const int count = ReadCertificates(certificate, [&](X509* one, int index) {
    return (index == 0 ? SSL_CTX_use_certificate(context, one)
                       : SSL_CTX_add1_chain_cert(context, one)) == 1;
  });
  if (count <= 0) return PresentFault::kCertificate;
  const Owned<BIO> reader = Reader(key);
  const Owned<EVP_PKEY> read(
      reader == nullptr ? nullptr
                        : PEM_read_bio_PrivateKey(reader.get(), nullptr, NoPassword, nullptr));
  if (read == nullptr) return PresentFault::kKey;
  const bool fits =
      SSL_CTX_use_PrivateKey(context, read.get()) == 1 && SSL_CTX_check_private_key(context) == 1;
  return fits ? PresentFault::kNone : PresentFault::kOtherKey;
}

std::string TlsDetail() {
  std::string detail;
  if (const unsigned long code = ERR_peek_last_error(); code != 0) {
    if (const char* reason = ERR_reason_error_string(code))
      detail = std::string(" (") + reason + ")";
  }
  ERR_clear_error();
  return detail;
}

}  // namespace muster::http
