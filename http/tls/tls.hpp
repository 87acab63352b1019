// What the TLS contexts of both sides have in common: versions, options, and certificates put into
// them from PEM text in memory. Pure of state; any thread.
#pragma once

#include <memory>
#include <string>

struct ssl_ctx_st;  // OpenSSL's SSL_CTX

namespace muster::http {

enum class TlsSide { kServer, kClient };

// TLS 1.2 or newer; no renegotiation, no compression, no sessions that are resumed. Null when
// OpenSSL cannot make one.
std::shared_ptr<ssl_ctx_st> MakeTlsContext(TlsSide side);

// Adds the authorities in `pem` to those who may sign the other side's certificate; a server also
// names them to its callers. False when there is none or one is malformed.
bool TrustAuthorities(ssl_ctx_st* context, TlsSide side, const std::string& pem);

// What is wrong with what we present.
enum class PresentFault {
  kNone,
  kCertificate,  // no certificate in the PEM text, or one is malformed
  kKey,          // no private key, or one that is encrypted
  kOtherKey,     // the key of another certificate
};
// `certificate` holds the leaf first, then intermediates.
PresentFault PresentCertificate(ssl_ctx_st* context, const std::string& certificate,
                                const std::string& key);

// What OpenSSL said last, as " (bad end line)", or nothing. Empties its queue of this thread.
std::string TlsDetail();

}  // namespace muster::http
