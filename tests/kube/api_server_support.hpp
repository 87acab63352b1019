// API servers to be called: one that speaks HTTP or HTTPS, one that says what a test writes.
#pragma once

#include <httplib.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "kube/api/api_client.hpp"
#include "tests/http/tls_test_support.hpp"

namespace muster::kube::testing {

using http::testing::CertSpec;
using http::testing::TempFolder;
using http::testing::TestAuthority;

// True as soon as `condition` holds, false when it did not for half a minute.
bool Eventually(const std::function<bool()>& condition);

void WriteFile(const std::string& path, const std::string& text);
std::string ReadFile(const std::string& path);

// Serves from its construction until its destruction; routes are set before Start.
class TestServer {
 public:
  TestServer();
  // By TLS; with a `client_ca` only to clients that have a certificate of it.
  TestServer(const std::string& cert_file, const std::string& key_file,
             const std::string& client_ca = {});
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  httplib::Server& routes() { return *server_; }
  void Start();
  std::uint16_t port() const { return port_; }
  // Where to reach it, by an address.
  ClientConfig Config() const;

 private:
  template <typename Base, typename... Args>
  void Make(Args... args);

  std::unique_ptr<httplib::Server> server_;
  // The library lets five connections wait to be accepted; the sixth tries again after seconds.
  std::function<void()> widen_;
  const bool tls_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

// One connection of a RawServer, from the server's end.
class RawConnection {
 public:
  explicit RawConnection(int fd) : fd_(fd) {}
  // Up to the empty line; empty when the client has closed.
  std::string ReadHead() const;
  int ReadByte() const;  // -1: the client has closed
  void Send(std::string_view bytes) const;
  // Returns when the client has closed.
  void WaitForClose() const;

 private:
  int fd_;
};

// Handles one connection after the other, each with the next script; then refuses. A connection
// ends with its script.
class RawServer {
 public:
  using Script = std::function<void(const RawConnection&)>;
  explicit RawServer(std::vector<Script> scripts);
  ~RawServer();
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  std::uint16_t port() const { return port_; }
  ClientConfig Config() const;
  int connections() const { return connections_; }
  int closed() const { return closed_; }

 private:
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_ = 0;
  std::atomic<int> closed_ = 0;
  std::thread thread_;
};

// Of a whole answer.
std::string Answer(const std::string& body, const std::string& more_headers = {});

// Fails the test when there is no client.
std::unique_ptr<ApiClient> MakeClient(const ClientConfig& config, ApiClientOptions options = {});

}  // namespace muster::kube::testing
