// Certificates made at run time and a TLS caller with a choice of version, for the tests of the
// HTTP server.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/server/server.hpp"

namespace muster::http::testing {

// A folder of its own that goes away with the object.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string File(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

struct CertSpec {
  std::string common_name;
  std::vector<std::string> dns_names;
  bool for_loopback = false;  // also valid for IP 127.0.0.1
  std::vector<std::string> organisations = {};
};

// Signs leaf certificates; holds key and certificate of one made-up authority.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name);
  ~TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  void WriteCertificate(const std::string& file) const;
  // A new key and a certificate for it, both as PEM.
  void Issue(const CertSpec& spec, const std::string& cert_file, const std::string& key_file);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct TlsCall {
  bool handshake = false;   // our side thinks that it succeeded
  std::string reply;        // everything received after the request
  std::string server_name;  // common name in the server's certificate
  std::string version;      // e.g. "TLSv1.3"
  bool resumed = false;
};

// A blocking TLS connection; one thread at a time. Reads give up after half a minute.
class TlsSocket {
 public:
  virtual ~TlsSocket() = default;
  virtual std::string protocol() const = 0;  // agreed on by ALPN
  virtual bool Send(std::string_view bytes) = 0;
  // What comes next; empty at the end, and when nothing came in time.
  virtual std::string Receive() = 0;
  // The server has closed.
  virtual bool ended() const = 0;
};

struct TlsCaller {
  std::uint16_t port = 0;
  std::string cert_file;  // empty: none
  std::string key_file;
  int max_version = 0;  // OpenSSL's number, 0 = newest

  // One connection, GET `path` with `Connection: close`; verifies nothing. Offers `calls` times the
  // session of the call before and returns the last.
  TlsCall Get(const std::string& path, int calls = 1) const;
  // A connection that offers this protocol by ALPN.
  std::unique_ptr<TlsSocket> Open(const std::string& protocol) const;
};

// One authority, a server's certificate, and clients' on request.
struct TlsWorld {
  TlsWorld();

  ServerOptions Plain() const;
  ServerOptions Mutual() const;
  // A client's certificate and key, by file name.
  void IssueClient(TestAuthority& by, const CertSpec& spec, const std::string& name);
  TlsCaller Caller(std::uint16_t port, const std::string& name = "") const;

  TempFolder folder;
  TestAuthority authority{"test authority"};
};

}  // namespace muster::http::testing
