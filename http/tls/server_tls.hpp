// ServerTls: the certificates of a server, replaceable while it runs.
//
// Owner: the server. current() and Reload… from any thread. A handshake takes the context that is
// current when it begins; connections made before a reload keep theirs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "cluster/base/result.hpp"
#include "http/tls/tls_options.hpp"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX and SSL
struct ssl_st;

namespace muster::http {

class ServerTls {
 public:
  static cluster::Result<std::unique_ptr<ServerTls>> Create(const TlsOptions& options);

  std::shared_ptr<ssl_ctx_st> current() const;

  // Loads the files now; on failure the old certificates stay and the error says which file is
  // wrong.
  cluster::Status Reload();
  // The same when one of the files has changed since the last attempt; nothing when none has.
  std::optional<cluster::Status> ReloadIfChanged();

  // The name under which a client with these certificate names is known, or nothing when it is not
  // on the list.
  std::optional<std::string> KnownAs(const std::vector<std::string>& names) const;

 private:
  // Of each file: modification time in ns, size, inode.
  struct Stamp {
    std::array<std::array<std::int64_t, 3>, 3> files{};
    std::int64_t held = 0;  // version of the certificate in memory
    bool operator==(const Stamp&) const = default;
  };

  explicit ServerTls(const TlsOptions& options) : options_(options) {}
  Stamp ReadStamp() const;

  const TlsOptions options_;
  mutable cluster::Mutex mu_;
  std::shared_ptr<ssl_ctx_st> current_ MUSTER_GUARDED_BY(mu_);
  Stamp stamp_ MUSTER_GUARDED_BY(mu_);  // of the files at the last attempt
};

// Common name first, then DNS names; empty without a certificate. Names with NUL or control
// characters are left out.
std::vector<std::string> PeerCertificateNames(ssl_st* ssl);
// The subject's O, each; as above.
std::vector<std::string> PeerCertificateOrganisations(ssl_st* ssl);

}  // namespace muster::http
