#include "http/tls/server_tls.hpp"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "http/tls/credential_file.hpp"
#include "http/tls/tls.hpp"

namespace muster::http {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Ok;
using cluster::Result;
using cluster::Status;

struct CertFree {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
struct NamesFree {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

Error FileError(const std::string& file, const std::string& what) {
  return Error{Code::kInvalidArgument, what + TlsDetail(), file};
}

// HTTP/2 where the client knows it, else HTTP/1.1; a client that names neither gets HTTP/1.1.
int ChooseProtocol(SSL* /*ssl*/, const unsigned char** chosen, unsigned char* chosen_size,
                   const unsigned char* offered, unsigned int offered_size, void* /*unused*/) {
  static constexpr std::array<unsigned char, 12> kOurs = {2,   'h', '2', 8,   'h', 't',
                                                          't', 'p', '/', '1', '.', '1'};
  unsigned char* at = nullptr;
  const int result =
      SSL_select_next_proto(&at, chosen_size, kOurs.data(), kOurs.size(), offered, offered_size);
  *chosen = at;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

// What a server has beyond tls.hpp.
Status Harden(SSL_CTX* context) {
  // Forward-secret AEAD suites for TLS 1.2; those of TLS 1.3 all are.
  constexpr long kMostClientChain = 32 * 1024;  // bytes, kept for a caller whom nobody knows yet
  constexpr const char* kTls12Ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_max_cert_list(context, kMostClientChain);
  SSL_CTX_set_alpn_select_cb(context, &ChooseProtocol, nullptr);
  if (SSL_CTX_set_num_tickets(context, 0) != 1 ||
      SSL_CTX_set_cipher_list(context, kTls12Ciphers) != 1) {
    return FileError("", "OpenSSL refuses TLS 1.2 with ECDHE and AEAD ciphers");
  }
  return Ok{};
}

Status PresentHeld(SSL_CTX* context, const HeldCertificate& held) {
  const CertificatePair pair = held.pair();
  if (PresentCertificate(context, pair.certificate, pair.key) == PresentFault::kNone) return Ok{};
  return FileError("", "expected a PEM certificate chain and its private key");
}

Status Present(SSL_CTX* context, const TlsOptions& options) {
  if (options.held) return PresentHeld(context, *options.held);
  const Result<std::string> certificate = ReadCredentialFile(options.cert_file);
  if (!certificate.ok()) return certificate.error();
  const Result<std::string> key = ReadCredentialFile(options.key_file);
  if (!key.ok()) return key.error();
  switch (PresentCertificate(context, *certificate, *key)) {
    case PresentFault::kCertificate:
      return FileError(options.cert_file, "expected a PEM certificate chain");
    case PresentFault::kKey:
    case PresentFault::kOtherKey:
      return FileError(options.key_file, "expected the PEM private key of " + options.cert_file);
    case PresentFault::kNone:
      break;
  }
  return Ok{};
}

Status TrustClients(SSL_CTX* context, const TlsOptions& options) {
  const std::string& file = options.client_ca_file;
  if (file.empty()) return Ok{};
  const Result<std::string> authorities = ReadCredentialFile(file);
  if (!authorities.ok()) return authorities.error();
  if (!TrustAuthorities(context, TlsSide::kServer, *authorities)) {
    return FileError(file, "expected a PEM bundle of CA certificates for clients");
  }
  const int require = options.require_client_cert ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | require, nullptr);
  return Ok{};
}

Result<std::shared_ptr<SSL_CTX>> Load(const TlsOptions& options) {
  std::shared_ptr<SSL_CTX> context = MakeTlsContext(TlsSide::kServer);
  if (context == nullptr) return FileError("", "OpenSSL cannot make a TLS context");
  if (Status hardened = Harden(context.get()); !hardened.ok()) return hardened.error();
  if (Status presented = Present(context.get(), options); !presented.ok()) return presented.error();
  if (Status trusted = TrustClients(context.get(), options); !trusted.ok()) return trusted.error();
  return context;
}

void AddName(const ASN1_STRING* text, std::vector<std::string>& names) {
  unsigned char* utf8 = nullptr;
  const int length = ASN1_STRING_to_UTF8(&utf8, text);
  if (length < 0) return;
  std::string name;
  name.reserve(static_cast<std::size_t>(length));
  for (int i = 0; i < length; ++i) name += static_cast<char>(utf8[i]);
  OPENSSL_free(utf8);
  const bool printable = std::none_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (!name.empty() && printable) names.push_back(std::move(name));
}

}  // namespace

Result<std::unique_ptr<ServerTls>> ServerTls::Create(const TlsOptions& options) {
  if (!options.allowed_clients.empty() &&
      (options.client_ca_file.empty() || !options.require_client_cert)) {
    return Error{Code::kInvalidArgument,
                 "a list of allowed clients needs a client CA and required client certificates",
                 "tls"};
  }
  std::unique_ptr<ServerTls> context(new ServerTls(options));
  if (Status loaded = context->Reload(); !loaded.ok()) return loaded.error();
  return context;
}

std::shared_ptr<ssl_ctx_st> ServerTls::current() const {
  const cluster::MutexLock lock(mu_);
  return current_;
}

Status ServerTls::Reload() {
  // The stamp is older than what is read, so a file that changes in between is read again next
  // time.
  const Stamp stamp = ReadStamp();
  Result<std::shared_ptr<SSL_CTX>> loaded = Load(options_);
  const cluster::MutexLock lock(mu_);
  stamp_ = stamp;
  if (!loaded.ok()) return loaded.error();
  current_ = *std::move(loaded);
  return Ok{};
}

std::optional<Status> ServerTls::ReloadIfChanged() {
  {
    const Stamp stamp = ReadStamp();
    const cluster::MutexLock lock(mu_);
    if (stamp == stamp_) return std::nullopt;
  }
  return Reload();
}

ServerTls::Stamp ServerTls::ReadStamp() const {
  const std::array<const std::string*, 3> files = {&options_.cert_file, &options_.key_file,
                                                   &options_.client_ca_file};
  Stamp stamp;
  if (options_.held) stamp.held = options_.held->version();
  for (std::size_t i = 0; i < files.size(); ++i) {
    struct stat info {};
    if (files[i]->empty() || ::stat(files[i]->c_str(), &info) != 0) continue;
    stamp.files[i] = {info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec, info.st_size,
                      static_cast<std::int64_t>(info.st_ino)};
  }
  return stamp;
}

std::optional<std::string> ServerTls::KnownAs(const std::vector<std::string>& names) const {
  if (options_.allowed_clients.empty()) return names.empty() ? std::string() : names.front();
  for (const std::string& name : names) {
    const auto& allowed = options_.allowed_clients;
    if (std::find(allowed.begin(), allowed.end(), name) != allowed.end()) return name;
  }
  return std::nullopt;
}

std::vector<std::string> PeerCertificateNames(SSL* ssl) {
  std::vector<std::string> names;
  const std::unique_ptr<X509, CertFree> certificate(SSL_get1_peer_certificate(ssl));
  if (certificate == nullptr) return names;
  const X509_NAME* subject = X509_get_subject_name(certificate.get());
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at >= 0) AddName(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)), names);
  const std::unique_ptr<GENERAL_NAMES, NamesFree> alternatives(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  if (alternatives == nullptr) return names;
  for (int i = 0; i < sk_GENERAL_NAME_num(alternatives.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(alternatives.get(), i);
    if (name->type == GEN_DNS) AddName(name->d.dNSName, names);
  }
  return names;
}

std::vector<std::string> PeerCertificateOrganisations(SSL* ssl) {
  std::vector<std::string> names;
  const std::unique_ptr<X509, CertFree> certificate(SSL_get1_peer_certificate(ssl));
  if (certificate == nullptr) return names;
  const X509_NAME* subject = X509_get_subject_name(certificate.get());
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_organizationName, at)) >= 0;)
    AddName(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)), names);
  return names;
}

}  // namespace muster::http
