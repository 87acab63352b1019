// ClientConnection: a byte stream to a server, over TCP or TLS, straight or through a proxy.
//
// cpp-httplib's own sockets are not used: they know no deadline for a whole call, cannot be
// cancelled while they connect, do not say whether anything was sent, trust common names, and find
// no way to a server whose certificate has another name than its address.
//
// One thread at a time. CallLimits says when a wait ends; Cancel may be set from any thread,
// also before the connection exists.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cluster/base/result.hpp"
#include "http/client/proxy.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace muster::http {

// Once set, set for good; threads that wait on it are woken.
class Cancel {
 public:
  Cancel();
  ~Cancel();
  Cancel(const Cancel&) = delete;
  Cancel& operator=(const Cancel&) = delete;

  void Set();
  bool set() const { return set_; }
  int fd() const { return fd_; }

 private:
  const int fd_;  // an eventfd: readable when set; negative when there was none left
  std::atomic<bool> set_ = false;
};

// How long to wait for the other side.
struct CallLimits {
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::chrono::milliseconds silence = std::chrono::milliseconds::max();  // of each wait
  std::array<const Cancel*, 2> cancels{};                                // null: none
  // Reading that finds nothing looks again no sooner than this after it last found something, so
  // that a stream of small pieces costs one wake-up for all that come meanwhile. 0: at once.
  std::chrono::milliseconds gather{0};
};

struct Route {
  std::string host;
  std::uint16_t port = 0;
  std::shared_ptr<ssl_ctx_st> tls;  // null: plain
  std::string sni;                  // empty: none is sent
  std::optional<Proxy> proxy;
  std::chrono::milliseconds connect_timeout{5'000};  // of TCP, proxy and TLS each
};

// Why reading or writing failed; kNone while it has not.
enum class Broken { kNone, kClosed, kTimeout, kCancelled, kTls };

class ClientConnection {
 public:
  //   kUnavailable  no connection: refused, timeout, proxy's refusal, cancelled
  //   kIo           TLS refused; nothing was sent
  static cluster::Result<std::unique_ptr<ClientConnection>> Open(const Route& route,
                                                                 const CallLimits& limits);
  ~ClientConnection();
  ClientConnection(const ClientConnection&) = delete;
  ClientConnection& operator=(const ClientConnection&) = delete;

  // As read(2) and write(2): 0 is the orderly end, -1 a failure that broken() names.
  std::ptrdiff_t Read(char* data, std::size_t size, const CallLimits& limits);
  std::ptrdiff_t Write(const char* data, std::size_t size, const CallLimits& limits);

  Broken broken() const { return broken_; }
  // Bytes that were given to the network so far.
  std::uint64_t sent() const { return sent_; }
  // The other side has closed it, or sent what nobody asked for.
  bool stale() const;

 private:
  struct SslFree {
    void operator()(ssl_st* ssl) const;
  };

  explicit ClientConnection(int fd) : fd_(fd) {}
  cluster::Status OpenTunnel(const Route& route, const CallLimits& limits);
  cluster::Status Handshake(const Route& route, const CallLimits& limits);
  // Waits for what OpenSSL wants after `result`; false when it is over.
  bool WaitForTls(int result, const CallLimits& limits);
  bool FlushTls(const CallLimits& limits);
  std::ptrdiff_t ReceiveSome(char* data, std::size_t size, const CallLimits& limits);
  std::ptrdiff_t SendSome(const char* data, std::size_t size, const CallLimits& limits);
  bool MayGoOn(const CallLimits& limits);
  bool Wait(short events, const CallLimits& limits);
  // True when it has waited, and the socket is to be asked again.
  bool Gather(const CallLimits& limits);

  const int fd_;
  std::unique_ptr<ssl_st, SslFree> ssl_;  // null: plain
  Broken broken_ = Broken::kNone;
  std::uint64_t sent_ = 0;
  std::chrono::steady_clock::time_point received_at_{};
};

}  // namespace muster::http
