// Serving certificates that a process makes for itself: an authority of its own for each, which
// signs this one and no other, so that nobody keeps an authority's key. Callers trust the
// authority.
//
//   auto made = MakeServingCertificate({{"muster-webhook.muster-system.svc"}, "muster", from, to});
//
// Keys are ECDSA on P-256. Times are the caller's: nothing here reads a clock. Any thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cluster/base/result.hpp"
#include "http/tls/held_certificate.hpp"

namespace muster::http {

struct CertificateOrder {
  std::vector<std::string> hosts;  // DNS names and IP addresses of the server, at least one
  std::string authority;           // common name of the authority
  std::chrono::sys_seconds not_before;
  std::chrono::sys_seconds not_after;
};

struct ServingCertificate {
  std::string authority;  // PEM; valid as long as the certificate
  CertificatePair pair;
};

//   kInvalidArgument  no host, one that is no name, or times that do not follow each other
//   kInternal         OpenSSL refuses
cluster::Result<ServingCertificate> MakeServingCertificate(const CertificateOrder& order);

struct CertificateTerm {
  std::chrono::sys_seconds not_before;
  std::chrono::sys_seconds not_after;
  std::vector<std::string> hosts;  // subjectAltName: DNS names, and IP addresses as text; sorted
};

// Of the first certificate in a PEM text.
//   kInvalidArgument  there is none, or it is malformed
cluster::Result<CertificateTerm> ReadCertificateTerm(const std::string& pem);

// A DNS name in lower case, an IP address as CertificateTerm::hosts has it.
std::string CanonicalHost(const std::string& host);

// Whether a server could present it: well-formed, and the key is the certificate's.
bool Usable(const CertificatePair& pair);

// The certificates of a PEM text, one each, as they stand there. What is no certificate is left
// out; whether one is well-formed is not looked at.
std::vector<std::string> SplitCertificates(const std::string& pem);

}  // namespace muster::http
