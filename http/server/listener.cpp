#include "http/server/listener.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace muster::http {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Result;

constexpr int kBacklog = 4096;  // the kernel takes the smaller of this and net.core.somaxconn

struct AddressFree {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using AddressList = std::unique_ptr<addrinfo, AddressFree>;

std::string ErrnoText() { return std::system_category().message(errno); }

Result<AddressList> ResolveLocal(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                    std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) {
    return Error{Code::kInvalidArgument,
                 std::string("expected an IP address or a host name of this machine: ") +
                     ::gai_strerror(failure),
                 host};
  }
  return AddressList(found);
}

// The listening socket, or -1 with errno set.
int OpenListening(const addrinfo& address) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1;
  const int off = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.ai_family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (::bind(fd, address.ai_addr, address.ai_addrlen) == 0 && ::listen(fd, kBacklog) == 0)
    return fd;
  const int saved = errno;
  ::close(fd);
  errno = saved;
  return -1;
}

// The socket calls take sockaddr*, and sockaddr_storage is made to be read as the family says:
// copying out of it is how that is done without breaking aliasing rules.
template <typename Address>
Address As(const sockaddr_storage& storage) {
  Address address{};
  std::memcpy(&address, &storage, sizeof address);
  return address;
}

std::uint16_t PortOf(const sockaddr_storage& storage) {
  return storage.ss_family == AF_INET6 ? ntohs(As<sockaddr_in6>(storage).sin6_port)
                                       : ntohs(As<sockaddr_in>(storage).sin_port);
}

std::string AddressOf(const sockaddr_storage& storage) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (storage.ss_family == AF_INET6) {
    const auto v6 = As<sockaddr_in6>(storage);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  } else {
    const auto v4 = As<sockaddr_in>(storage);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  }
  const std::string address = text.data();
  constexpr const char* kMapped = "::ffff:";
  return address.rfind(kMapped, 0) == 0 ? address.substr(std::strlen(kMapped)) : address;
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::Listen(const std::string& host, std::uint16_t port) {
  const std::string place = (host.empty() ? "*" : host) + ":" + std::to_string(port);
  // "all addresses": one IPv6 socket serves both families; where IPv6 is switched off the next
  // entry is IPv4.
  Result<AddressList> resolved = ResolveLocal(host.empty() ? "::" : host, port);
  if (!resolved.ok() && host.empty()) resolved = ResolveLocal("0.0.0.0", port);
  if (!resolved.ok()) return resolved.error();
  int fd = -1;
  for (const addrinfo* address = resolved->get(); address != nullptr && fd < 0;
       address = address->ai_next) {
    fd = OpenListening(*address);
  }
  if (fd < 0 && host.empty()) return Listen("0.0.0.0", port);
  if (fd < 0) return Error{Code::kIo, "cannot listen: " + ErrnoText(), place};
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  void* raw = &bound;
  ::getsockname(fd, static_cast<sockaddr*>(raw), &size);
  return std::unique_ptr<Listener>(new Listener(fd, PortOf(bound)));
}

Result<std::unique_ptr<Listener>> Listener::Share() const {
  const int fd = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) return Error{Code::kIo, "cannot listen: " + ErrnoText(), std::to_string(port_)};
  return std::unique_ptr<Listener>(new Listener(fd, port_));
}

Listener::~Listener() { ::close(fd_); }

Listener::Accepted Listener::Accept() {
  while (true) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    void* raw = &peer;
    const int fd = ::accept4(fd_, static_cast<sockaddr*>(raw), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return {Outcome::kAccepted, fd, AddressOf(peer)};
    }
    switch (errno) {
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM:
        return {Outcome::kExhausted, -1, {}};
      case EAGAIN:
      case EBADF:
      case EINVAL:
        return {Outcome::kNone, -1, {}};
      default:  // that caller is gone already; the next may be there
        continue;
    }
  }
}

std::size_t RaiseFileLimit(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
  }
  return limit.rlim_cur;
}

}  // namespace muster::http
