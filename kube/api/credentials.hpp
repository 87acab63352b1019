// Who we are, from files that are replaced under us: TokenSource holds the bearer token, TlsSource
// the certificates. Any thread. What was read last stays in use while a file cannot be read.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cluster/base/mutex.hpp"
#include "cluster/base/result.hpp"
#include "http/tls/client_tls.hpp"
#include "kube/api/client_config.hpp"

namespace muster::kube {

using SteadyClock = std::function<std::chrono::steady_clock::time_point()>;

class TokenSource {
 public:
  // A token in a file lives for an hour and is renewed after 48 minutes.
  static constexpr std::chrono::seconds kRereadAfter{60};

  TokenSource(const ClientConfig& config, SteadyClock clock);

  // Empty: none is to be sent. Reads the file when what it said is older than kRereadAfter.
  //   kIo   the file cannot be read, and never could
  cluster::Result<std::string> Get();
  // After a 401 for `refused`: reads now. True when there is another token by now.
  bool Renew(const std::string& refused);

 private:
  // True when the token is another one now.
  cluster::Result<bool> Read();

  const std::string file_;
  const SteadyClock clock_;
  cluster::Mutex mu_;
  std::string token_ MUSTER_GUARDED_BY(mu_);
  // When the file was last looked at; nothing: never.
  std::optional<std::chrono::steady_clock::time_point> read_at_ MUSTER_GUARDED_BY(mu_);
};

class TlsSource {
 public:
  struct Current {
    std::shared_ptr<ssl_ctx_st> context;
    std::uint64_t generation = 0;  // grows with every change of what was read
  };

  explicit TlsSource(const ClientConfig& config);

  // Reads the files when one of them has been changed since they were read.
  //   kIo, kInvalidArgument   a file cannot be read or holds no such PEM, and nothing was ever read
  cluster::Result<Current> Get();
  // After a handshake with `generation` failed: reads now. True when something else is in use now.
  bool Renew(std::uint64_t generation);

 private:
  cluster::Result<http::TlsMaterial> ReadMaterial() const;
  cluster::Status Load();
  // Of the files: modification times, sizes, inodes. Empty when there are none.
  std::string Stamp() const;

  const PemSource ca_;
  const PemSource certificate_;
  const PemSource key_;
  const bool insecure_;
  const std::string server_name_;
  cluster::Mutex mu_;
  Current current_ MUSTER_GUARDED_BY(mu_);
  http::TlsMaterial material_ MUSTER_GUARDED_BY(mu_);  // what current_ was made of
  std::string stamp_ MUSTER_GUARDED_BY(mu_);           // of the files at the last attempt
};

}  // namespace muster::kube
