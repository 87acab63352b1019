#include "tls_test_support.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>

namespace muster::http::testing {

struct FreeOwned {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
  void operator()(std::FILE* file) const { std::fclose(file); }
};
template <typename T>
using Owned = std::unique_ptr<T, FreeOwned>;

namespace {

Owned<EVP_PKEY> MakeKey() {
  Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  REQUIRE(key != nullptr);
  return key;
}

Owned<std::FILE> OpenForWriting(const std::string& name) {
  Owned<std::FILE> file(std::fopen(name.c_str(), "w"));
  REQUIRE(file != nullptr);
  return file;
}

void AddExtension(X509* certificate, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  REQUIRE(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Owned<X509> MakeCertificate(const std::string& name, EVP_PKEY* key, long serial) {
  Owned<X509> certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 24 * 3600);
  X509_set_pubkey(certificate.get(), key);
  if (!name.empty()) {
    X509_NAME* subject = X509_get_subject_name(certificate.get());
    const std::vector<unsigned char> bytes(name.begin(), name.end());
    X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8, bytes.data(),
                               static_cast<int>(bytes.size()), -1, 0);
  }
  return certificate;
}

int ConnectLoopback(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  timeval patience{};
  patience.tv_sec = 30;
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  void* raw = &address;
  REQUIRE(::connect(fd, static_cast<sockaddr*>(raw), sizeof address) == 0);
  return fd;
}

std::string ServerName(SSL* ssl) {
  const Owned<X509> certificate(SSL_get1_peer_certificate(ssl));
  if (certificate == nullptr) return {};
  std::array<char, 256> name{};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate.get()), NID_commonName, name.data(),
                            static_cast<int>(name.size()));
  return name.data();
}

TlsCall CallOnce(SSL_CTX* context, std::uint16_t port, const std::string& path,
                 Owned<SSL_SESSION>& session) {
  TlsCall call;
  const int fd = ConnectLoopback(port);
  const Owned<SSL> ssl(SSL_new(context));
  SSL_set_fd(ssl.get(), fd);
  if (session != nullptr) SSL_set_session(ssl.get(), session.get());
  call.handshake = SSL_connect(ssl.get()) == 1;
  if (call.handshake) {
    call.server_name = ServerName(ssl.get());
    call.version = SSL_get_version(ssl.get());
    call.resumed = SSL_session_reused(ssl.get()) == 1;
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n";
    SSL_write(ssl.get(), request.data(), static_cast<int>(request.size()));
    std::array<char, 4096> buffer{};
    int got = 0;
    while ((got = SSL_read(ssl.get(), buffer.data(), static_cast<int>(buffer.size()))) > 0) {
      call.reply.append(buffer.data(), static_cast<std::size_t>(got));
    }
    SSL_shutdown(ssl.get());
    session.reset(SSL_get1_session(ssl.get()));
  }
  ::close(fd);
  return call;
}

class OpenedSocket final : public TlsSocket {
 public:
  OpenedSocket(Owned<SSL_CTX> context, std::uint16_t port, const std::string& protocol)
      : context_(std::move(context)), fd_(ConnectLoopback(port)), ssl_(SSL_new(context_.get())) {
    const std::string offer = static_cast<char>(protocol.size()) + protocol;
    const std::vector<unsigned char> bytes(offer.begin(), offer.end());
    SSL_set_alpn_protos(ssl_.get(), bytes.data(), static_cast<unsigned>(bytes.size()));
    SSL_set_fd(ssl_.get(), fd_);
    REQUIRE(SSL_connect(ssl_.get()) == 1);
  }
  ~OpenedSocket() override {
    ssl_.reset();
    ::close(fd_);
  }
  OpenedSocket(const OpenedSocket&) = delete;
  OpenedSocket& operator=(const OpenedSocket&) = delete;

  std::string protocol() const override {
    const unsigned char* name = nullptr;
    unsigned int size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &name, &size);
    return {name, name + size};
  }
  bool Send(std::string_view bytes) override {
    return bytes.empty() || SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  std::string Receive() override {
    std::array<char, 16 * 1024> buffer{};
    const int got = SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()));
    ended_ |= got <= 0 && SSL_get_error(ssl_.get(), got) != SSL_ERROR_WANT_READ;
    return {buffer.data(), static_cast<std::size_t>(std::max(got, 0))};
  }
  bool ended() const override { return ended_; }

 private:
  const Owned<SSL_CTX> context_;
  const int fd_;
  Owned<SSL> ssl_;
  bool ended_ = false;
};

Owned<SSL_CTX> ContextOf(const TlsCaller& caller) {
  Owned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  // Level 0 lets this caller offer the old versions at all.
  SSL_CTX_set_security_level(context.get(), 0);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_VERSION);
  if (caller.max_version != 0) SSL_CTX_set_max_proto_version(context.get(), caller.max_version);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_CLIENT);
  if (!caller.cert_file.empty()) {
    REQUIRE(SSL_CTX_use_certificate_file(context.get(), caller.cert_file.c_str(),
                                         SSL_FILETYPE_PEM) == 1);
    REQUIRE(SSL_CTX_use_PrivateKey_file(context.get(), caller.key_file.c_str(), SSL_FILETYPE_PEM) ==
            1);
  }
  return context;
}

}  // namespace

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "muster-tls-XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

struct TestAuthority::Impl {
  Owned<EVP_PKEY> key;
  Owned<X509> certificate;
  long serial = 1;
};

TestAuthority::TestAuthority(const std::string& name) : impl_(std::make_unique<Impl>()) {
  impl_->key = MakeKey();
  impl_->certificate = MakeCertificate(name, impl_->key.get(), impl_->serial++);
  X509* certificate = impl_->certificate.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
  REQUIRE(X509_sign(certificate, impl_->key.get(), EVP_sha256()) > 0);
}

TestAuthority::~TestAuthority() = default;

void TestAuthority::WriteCertificate(const std::string& file) const {
  const Owned<std::FILE> out = OpenForWriting(file);
  REQUIRE(PEM_write_X509(out.get(), impl_->certificate.get()) == 1);
}

void TestAuthority::Issue(const CertSpec& spec, const std::string& cert_file,
                          const std::string& key_file) {
  const Owned<EVP_PKEY> key = MakeKey();
  const Owned<X509> certificate = MakeCertificate(spec.common_name, key.get(), impl_->serial++);
  for (const std::string& name : spec.organisations) {
    X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate.get()), NID_organizationName,
                               MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(name.data()),
                               static_cast<int>(name.size()), -1, 0);
  }
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(impl_->certificate.get()));
  std::string names;
  for (const std::string& name : spec.dns_names) names += (names.empty() ? "DNS:" : ",DNS:") + name;
  if (spec.for_loopback) names += names.empty() ? "IP:127.0.0.1" : ",IP:127.0.0.1";
  if (!names.empty()) AddExtension(certificate.get(), NID_subject_alt_name, names);
  REQUIRE(X509_sign(certificate.get(), impl_->key.get(), EVP_sha256()) > 0);
  const Owned<std::FILE> cert_out = OpenForWriting(cert_file);
  REQUIRE(PEM_write_X509(cert_out.get(), certificate.get()) == 1);
  const Owned<std::FILE> key_out = OpenForWriting(key_file);
  REQUIRE(PEM_write_PrivateKey(key_out.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) ==
          1);
}

TlsCall TlsCaller::Get(const std::string& path, int calls) const {
  const Owned<SSL_CTX> context = ContextOf(*this);
  Owned<SSL_SESSION> session;
  TlsCall last;
  for (int i = 0; i < calls; ++i) last = CallOnce(context.get(), port, path, session);
  return last;
}

std::unique_ptr<TlsSocket> TlsCaller::Open(const std::string& protocol) const {
  return std::make_unique<OpenedSocket>(ContextOf(*this), port, protocol);
}

TlsWorld::TlsWorld() {
  authority.WriteCertificate(folder.File("ca.pem"));
  authority.Issue({"muster", {"muster.kube-system.svc"}, true}, folder.File("cert.pem"),
                  folder.File("key.pem"));
}

ServerOptions TlsWorld::Plain() const {
  ServerOptions options;
  options.tls.emplace();
  options.tls->cert_file = folder.File("cert.pem");
  options.tls->key_file = folder.File("key.pem");
  options.tls->reload_interval = std::chrono::milliseconds(50);
  return options;
}

ServerOptions TlsWorld::Mutual() const {
  ServerOptions options = Plain();
  options.tls->client_ca_file = folder.File("ca.pem");
  return options;
}

void TlsWorld::IssueClient(TestAuthority& by, const CertSpec& spec, const std::string& name) {
  by.Issue(spec, folder.File(name + ".pem"), folder.File(name + "-key.pem"));
}

TlsCaller TlsWorld::Caller(std::uint16_t port, const std::string& name) const {
  TlsCaller caller;
  caller.port = port;
  if (!name.empty()) {
    caller.cert_file = folder.File(name + ".pem");
    caller.key_file = folder.File(name + "-key.pem");
  }
  return caller;
}

}  // namespace muster::http::testing
