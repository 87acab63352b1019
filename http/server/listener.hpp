// Listener: a listening TCP socket.
//
// Made by Listen, owned by the server, used by one thread at a time. Non-blocking; accepted sockets
// are non-blocking, close-on-exec and have TCP_NODELAY.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cluster/base/result.hpp"

namespace muster::http {

class Listener {
 public:
  enum class Outcome {
    kAccepted,
    kNone,       // nobody is waiting
    kExhausted,  // out of descriptors or memory; those who wait stay in the backlog
  };
  struct Accepted {
    Outcome outcome = Outcome::kNone;
    int fd = -1;
    std::string peer;  // IP address
  };

  // `host` is an address or a name; empty means all addresses of both families.
  static cluster::Result<std::unique_ptr<Listener>> Listen(const std::string& host,
                                                           std::uint16_t port);
  // Another handle on the same socket: callers come to whichever accepts first.
  cluster::Result<std::unique_ptr<Listener>> Share() const;
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  Accepted Accept();
  std::uint16_t port() const { return port_; }
  int fd() const { return fd_; }

 private:
  Listener(int fd, std::uint16_t port) : fd_(fd), port_(port) {}

  const int fd_;
  const std::uint16_t port_;
};

// Raises this process's soft limit of open files to `wanted` or to what the system allows; returns
// the limit now.
std::size_t RaiseFileLimit(std::size_t wanted);

}  // namespace muster::http
