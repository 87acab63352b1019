#include "http/client/client_connection.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "http/messages/url.hpp"
#include "http/tls/client_tls.hpp"

namespace muster::http {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Ok;
using cluster::Result;
using cluster::Status;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kRecordBytes = 16 * 1024;  // of TLS, at most
constexpr std::int64_t kLookAgain = 100;         // ms, for a Cancel that cannot wake us

struct AddressesFree {
  void operator()(addrinfo* addresses) const { ::freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, AddressesFree>;

Error Unavailable(const std::string& what, const std::string& place) {
  return {Code::kUnavailable, what, place};
}

std::string ErrnoText(int number) { return std::generic_category().message(number); }

steady_clock::time_point After(milliseconds delay) {
  const steady_clock::time_point now = steady_clock::now();
  const auto most = std::chrono::floor<milliseconds>(steady_clock::time_point::max() - now);
  if (delay >= most) return steady_clock::time_point::max();
  return now + delay;
}

bool Cancelled(const CallLimits& limits) {
  return std::any_of(limits.cancels.begin(), limits.cancels.end(),
                     [](const Cancel* cancel) { return cancel != nullptr && cancel->set(); });
}

// There is no deadline for the resolver; in a cluster the server is an address.
Result<Addresses> Resolve(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  Addresses addresses(found);
  if (failure == 0) return addresses;
  return Unavailable(std::string("cannot be resolved: ") + ::gai_strerror(failure), host);
}

void SetOption(int fd, int level, int name, int value) {
  static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value));
}

// A peer that is gone is noticed after 30 s + 3 × 10 s, also while nobody writes.
void Tune(int fd) {
  SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  SetOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 60'000);
}

// Of an answer to CONNECT; 0 when it is none.
int StatusOf(std::string_view head) {
  if (!head.starts_with("HTTP/1.") || head.size() < 12 || head[8] != ' ') return 0;
  int status = 0;
  for (const char digit : head.substr(9, 3)) {
    if (digit < '0' || digit > '9') return 0;
    status = status * 10 + (digit - '0');
  }
  return status;
}

const char* Describe(Broken broken) {
  switch (broken) {
    case Broken::kTimeout:
      return "no connection in time";
    case Broken::kCancelled:
      return "stopped";
    default:
      return "the connection was broken off";
  }
}

}  // namespace

Cancel::Cancel() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Cancel::~Cancel() {
  if (fd_ >= 0) ::close(fd_);
}

void Cancel::Set() {
  set_ = true;
  if (fd_ >= 0) static_cast<void>(::eventfd_write(fd_, 1));
}

void ClientConnection::SslFree::operator()(SSL* ssl) const { SSL_free(ssl); }

ClientConnection::~ClientConnection() { ::close(fd_); }

Result<std::unique_ptr<ClientConnection>> ClientConnection::Open(const Route& route,
                                                                 const CallLimits& limits) {
  const std::string& host = route.proxy ? route.proxy->host : route.host;
  const std::uint16_t port = route.proxy ? route.proxy->port : route.port;
  const std::string place = HostAndPort(host, port);
  if (Cancelled(limits)) return Unavailable("stopped", place);
  const Result<Addresses> addresses = Resolve(host, port);
  if (!addresses.ok()) return addresses.error();

  Error last = Unavailable("has no address", place);
  int untried = 0;
  for (const addrinfo* at = addresses->get(); at != nullptr; at = at->ai_next) ++untried;
  for (const addrinfo* at = addresses->get(); at != nullptr; at = at->ai_next, --untried) {
    const int fd =
        ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at->ai_protocol);
    if (fd < 0) {
      last = Unavailable("no socket: " + ErrnoText(errno), place);
      continue;
    }
    std::unique_ptr<ClientConnection> made(new ClientConnection(fd));
    Tune(fd);
    CallLimits limited = limits;
    // An address that swallows everything leaves the others their share.
    const auto now = std::chrono::steady_clock::now();
    limited.deadline =
        std::min(now + (limits.deadline - now) / untried, After(route.connect_timeout));
    int failure = ::connect(fd, at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
    if (failure == EINPROGRESS || failure == EINTR) {
      socklen_t size = sizeof failure;
      if (!made->Wait(POLLOUT, limited)) {
        last = Unavailable(std::string("cannot connect: ") + Describe(made->broken_), place);
        continue;
      }
      ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size);
    }
    if (failure != 0) {
      last = Unavailable("cannot connect: " + ErrnoText(failure), place);
      continue;
    }
    // Another address would lead to the same server.
    limited.deadline = std::min(limits.deadline, After(route.connect_timeout));
    if (Status tunnel = made->OpenTunnel(route, limited); !tunnel.ok()) return tunnel.error();
    limited.deadline = std::min(limits.deadline, After(route.connect_timeout));
    if (Status tls = made->Handshake(route, limited); !tls.ok()) return tls.error();
    made->sent_ = 0;
    return made;
  }
  return last;
}

Status ClientConnection::OpenTunnel(const Route& route, const CallLimits& limits) {
  if (!route.proxy || route.tls == nullptr) return Ok{};
  const std::string target = HostAndPort(route.host, route.port);
  const std::string place = "proxy " + HostAndPort(route.proxy->host, route.proxy->port);
  std::string request = "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n";
  if (const std::string credentials = ProxyAuthorization(*route.proxy); !credentials.empty())
    request += "Proxy-Authorization: " + credentials + "\r\n";
  request += "\r\n";
  for (std::size_t done = 0; done < request.size();) {
    const std::ptrdiff_t sent = SendSome(request.data() + done, request.size() - done, limits);
    if (sent < 0) return Unavailable(Describe(broken_), place);
    done += static_cast<std::size_t>(sent);
  }
  // Byte by byte: what follows the head is TLS's.
  constexpr std::size_t kMaxHead = 16 * 1024;
  std::string head;
  while (!head.ends_with("\r\n\r\n")) {
    char byte = 0;
    if (head.size() >= kMaxHead || ReceiveSome(&byte, 1, limits) <= 0)
      return Unavailable(Describe(broken_), place);
    head += byte;
  }
  const int status = StatusOf(head);
  if (status >= 200 && status < 300) return Ok{};
  return Unavailable("refuses to connect to " + target + ": HTTP " + std::to_string(status), place);
}

Status ClientConnection::Handshake(const Route& route, const CallLimits& limits) {
  if (route.tls == nullptr) return Ok{};
  const std::string place = HostAndPort(route.host, route.port);
  ssl_.reset(SSL_new(route.tls.get()));
  BIO* in = BIO_new(BIO_s_mem());
  BIO* out = BIO_new(BIO_s_mem());
  MUSTER_CHECK(ssl_ != nullptr && in != nullptr && out != nullptr);
  SSL_set_bio(ssl_.get(), in, out);
  if (!route.sni.empty()) {
    std::string name = route.sni;  // SSL_set_tlsext_host_name, without its cast
    SSL_ctrl(ssl_.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, name.data());
  }
  for (;;) {
    ERR_clear_error();
    const int result = SSL_connect(ssl_.get());
    if (result == 1) break;
    if (WaitForTls(result, limits)) continue;
    if (broken_ == Broken::kTimeout || broken_ == Broken::kCancelled)
      return Unavailable(Describe(broken_), place);
    return Error{Code::kIo, "TLS failed: " + TlsFailure(ssl_.get()), place};
  }
  if (!FlushTls(limits)) return Unavailable(Describe(broken_), place);
  return Ok{};
}

bool ClientConnection::FlushTls(const CallLimits& limits) {
  BIO* out = SSL_get_wbio(ssl_.get());
  std::array<char, kRecordBytes> bytes{};
  for (;;) {
    const int size = BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
    if (size <= 0) return true;
    const auto total = static_cast<std::size_t>(size);
    for (std::size_t done = 0; done < total;) {
      const std::ptrdiff_t sent = SendSome(bytes.data() + done, total - done, limits);
      if (sent < 0) return false;
      done += static_cast<std::size_t>(sent);
    }
  }
}

bool ClientConnection::WaitForTls(int result, const CallLimits& limits) {
  const int wanted = SSL_get_error(ssl_.get(), result);
  // Also after a failure: an alert notifies the other side.
  const bool flushed = FlushTls(limits);
  if (wanted != SSL_ERROR_WANT_READ && wanted != SSL_ERROR_WANT_WRITE) {
    if (broken_ == Broken::kNone) broken_ = Broken::kTls;
    return false;
  }
  if (!flushed) return false;
  if (wanted == SSL_ERROR_WANT_WRITE) return true;
  std::array<char, kRecordBytes> bytes{};
  const std::ptrdiff_t got = ReceiveSome(bytes.data(), bytes.size(), limits);
  // An end without close_notify may be an attacker's.
  if (got == 0) broken_ = Broken::kClosed;
  if (got <= 0) return false;
  return BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(got)) == got;
}

std::ptrdiff_t ClientConnection::Read(char* data, std::size_t size, const CallLimits& limits) {
  if (broken_ != Broken::kNone) return -1;
  if (ssl_ == nullptr) return ReceiveSome(data, size, limits);
  const int most = static_cast<int>(std::min<std::size_t>(size, INT_MAX));
  for (;;) {
    ERR_clear_error();
    const int got = SSL_read(ssl_.get(), data, most);
    if (got > 0) return got;
    if (SSL_get_error(ssl_.get(), got) == SSL_ERROR_ZERO_RETURN) return 0;
    if (!WaitForTls(got, limits)) return -1;
  }
}

std::ptrdiff_t ClientConnection::Write(const char* data, std::size_t size,
                                       const CallLimits& limits) {
  if (broken_ != Broken::kNone) return -1;
  if (ssl_ == nullptr) return SendSome(data, size, limits);
  const int most = static_cast<int>(std::min<std::size_t>(size, INT_MAX));
  for (;;) {
    ERR_clear_error();
    const int sent = SSL_write(ssl_.get(), data, most);
    if (sent > 0) return FlushTls(limits) ? sent : -1;
    if (!WaitForTls(sent, limits)) return -1;
  }
}

bool ClientConnection::stale() const {
  if (ssl_ != nullptr && (SSL_pending(ssl_.get()) > 0 || BIO_pending(SSL_get_rbio(ssl_.get())) > 0))
    return true;
  pollfd waited{fd_, POLLIN, 0};
  return broken_ != Broken::kNone || ::poll(&waited, 1, 0) != 0;
}

std::ptrdiff_t ClientConnection::ReceiveSome(char* data, std::size_t size,
                                             const CallLimits& limits) {
  for (;;) {
    if (!MayGoOn(limits)) return -1;
    const ssize_t got = ::recv(fd_, data, size, MSG_DONTWAIT);
    if (got >= 0) {
      if (limits.gather.count() > 0) received_at_ = steady_clock::now();
      return got;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
      broken_ = Broken::kClosed;
      return -1;
    }
    if (!Gather(limits) && !Wait(POLLIN, limits)) return -1;
  }
}

std::ptrdiff_t ClientConnection::SendSome(const char* data, std::size_t size,
                                          const CallLimits& limits) {
  for (;;) {
    if (!MayGoOn(limits)) return -1;
    const ssize_t sent = ::send(fd_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) {
      sent_ += static_cast<std::uint64_t>(sent);
      return sent;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
      broken_ = Broken::kClosed;
      return -1;
    }
    if (!Wait(POLLOUT, limits)) return -1;
  }
}

bool ClientConnection::Gather(const CallLimits& limits) {
  if (limits.gather.count() <= 0) return false;
  const steady_clock::time_point until = received_at_ + limits.gather;
  if (steady_clock::now() >= until) return false;
  std::this_thread::sleep_until(until);
  return true;
}

bool ClientConnection::MayGoOn(const CallLimits& limits) {
  if (Cancelled(limits))
    broken_ = Broken::kCancelled;
  else if (steady_clock::now() >= limits.deadline)
    broken_ = Broken::kTimeout;
  return broken_ == Broken::kNone;
}

bool ClientConnection::Wait(short events, const CallLimits& limits) {
  const steady_clock::time_point until = std::min(limits.deadline, After(limits.silence));
  std::array<pollfd, 3> waited{};
  waited[0] = {fd_, events, 0};
  nfds_t count = 1;
  std::int64_t most = INT_MAX;  // ms of one poll
  for (const Cancel* cancel : limits.cancels) {
    if (cancel == nullptr) continue;
    if (cancel->fd() < 0) most = kLookAgain;
    waited.at(count++) = {cancel->fd(), POLLIN, 0};  // poll passes over negative ones
  }
  for (;;) {
    if (!MayGoOn(limits)) return false;
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
    if (left <= 0) {
      broken_ = Broken::kTimeout;
      return false;
    }
    const int timeout = static_cast<int>(std::min<std::int64_t>(left, most));
    const int ready = ::poll(waited.data(), count, timeout);
    if (ready < 0 && errno != EINTR) {
      broken_ = Broken::kClosed;
      return false;
    }
    if (ready > 0 && waited[0].revents != 0) return true;
  }
}

}  // namespace muster::http
