// HeldCertificate: a server's certificate in memory, for one that does not come from files.
//
// Shared by who knows it and the server, which takes a new one up as it does a changed file
// (TlsOptions::reload_interval). Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "cluster/base/mutex.hpp"

namespace muster::http {

// PEM texts.
struct CertificatePair {
  std::string certificate;  // leaf first, then intermediates
  std::string key;
  bool operator==(const CertificatePair&) const = default;
};

class HeldCertificate {
 public:
  explicit HeldCertificate(CertificatePair pair) : pair_(std::move(pair)) {}

  void Set(CertificatePair pair) {
    const cluster::MutexLock lock(mu_);
    if (pair == pair_) return;
    pair_ = std::move(pair);
    ++version_;
  }
  CertificatePair pair() const {
    const cluster::MutexLock lock(mu_);
    return pair_;
  }
  // Another one for each pair, from 1 on.
  std::int64_t version() const {
    const cluster::MutexLock lock(mu_);
    return version_;
  }

 private:
  mutable cluster::Mutex mu_;
  CertificatePair pair_ MUSTER_GUARDED_BY(mu_);
  std::int64_t version_ MUSTER_GUARDED_BY(mu_) = 1;
};

}  // namespace muster::http
