// Client: cpp-httplib's client as our own tools use it: the CLI, the embedded kube-scheduler,
// benches and tests.
//
// One kept-alive connection with TCP_NODELAY, reopened when the server closed it; one request at a
// time, so one thread at a time. ClientPool lends clients to concurrent callers and may be
// shared.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "cluster/base/result.hpp"

namespace muster::http {

struct ClientOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds timeout{30'000};  // of every read and write of a call

  bool tls = false;
  std::string ca_file = {};       // PEM; the server must be signed by it. Empty = the system's CAs
  std::string cert_file = {};     // PEM, our own certificate for mTLS; empty = none
  std::string key_file = {};      // PEM
  std::string bearer_token = {};  // sent with every call; empty: none
};

struct Reply {
  int status = 0;
  std::string body;
  std::string content_type;
  std::map<std::string, std::string>
      headers;  // names in lower case; of a repeated one the last value
};

class Client {
 public:
  explicit Client(ClientOptions options);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Any HTTP status is a reply; an error is kUnavailable (no connection, timeout) or kIo (broken
  // off, TLS refused).
  cluster::Result<Reply> Get(const std::string& path);
  cluster::Result<Reply> Post(const std::string& path, const std::string& body,
                              const std::string& content_type = "application/json");
  cluster::Result<Reply> Delete(const std::string& path);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// Idle clients are kept (at most `max_idle`) and lent again, most recently used first.
class ClientPool {
 public:
  explicit ClientPool(ClientOptions options, std::size_t max_idle = 64);
  ~ClientPool();
  ClientPool(const ClientPool&) = delete;
  ClientPool& operator=(const ClientPool&) = delete;

  cluster::Result<Reply> Get(const std::string& path);
  cluster::Result<Reply> Post(const std::string& path, const std::string& body,
                              const std::string& content_type = "application/json");

 private:
  std::unique_ptr<Client> Borrow();
  void GiveBack(std::unique_ptr<Client> client);

  const ClientOptions options_;
  const std::size_t max_idle_;
  cluster::Mutex mu_;
  std::vector<std::unique_ptr<Client>> idle_ MUSTER_GUARDED_BY(mu_);
};

}  // namespace muster::http
