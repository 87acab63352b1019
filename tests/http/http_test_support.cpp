#include "http_test_support.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace muster::http::testing {
namespace {

timeval ToTimeval(std::chrono::seconds duration) {
  timeval value{};
  value.tv_sec = duration.count();
  return value;
}

int OpenSocket(int family) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience = ToTimeval(kPatience);
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

int ConnectTo(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return -1;
  const int fd = OpenSocket(found->ai_family);
  const int result = ::connect(fd, found->ai_addr, found->ai_addrlen);
  ::freeaddrinfo(found);
  if (result == 0) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

bool Eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

std::size_t OpenFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

std::size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

bool Sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#elif defined(__has_feature)
  return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
  return false;
#endif
}

RawCaller::RawCaller(std::uint16_t port, const std::string& host) : fd_(ConnectTo(host, port)) {}

RawCaller::RawCaller() : fd_(OpenSocket(AF_INET)) {}

bool RawCaller::Connect(std::uint16_t port, const char* from) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  if (from != nullptr) {
    void* own = &address;
    if (::inet_pton(AF_INET, from, &address.sin_addr) != 1 ||
        ::bind(fd_, static_cast<sockaddr*>(own), sizeof address) != 0)
      return false;
  }
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  void* raw = &address;
  return ::connect(fd_, static_cast<sockaddr*>(raw), sizeof address) == 0;
}

RawCaller::~RawCaller() {
  if (fd_ >= 0) ::close(fd_);
}

bool RawCaller::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool RawCaller::SendRepeated(char fill, std::size_t count) {
  const std::string block(64 * 1024, fill);
  while (count > 0) {
    const std::size_t now = std::min(count, block.size());
    if (!Send(std::string_view(block).substr(0, now))) return false;
    count -= now;
  }
  return true;
}

bool RawCaller::Fill() {
  std::vector<char> buffer(64 * 1024);
  ssize_t got = 0;
  do {
    got = ::recv(fd_, buffer.data(), buffer.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) return false;
  received_.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

RawReply RawCaller::ReadReply(bool to_head_request) {
  RawReply reply;
  std::size_t end = std::string::npos;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
    if (!Fill()) return reply;
  }
  reply.head = received_.substr(0, end + 2);
  received_.erase(0, end + 4);
  constexpr std::string_view kLength = "Content-Length: ";
  const std::size_t at = reply.head.find(kLength);
  std::size_t length = 0;
  if (at != std::string::npos && !to_head_request) {
    length = std::strtoul(reply.head.c_str() + at + kLength.size(), nullptr, 10);
  }
  while (received_.size() < length) {
    if (!Fill()) return reply;
  }
  reply.body = received_.substr(0, length);
  received_.erase(0, length);
  reply.status = std::atoi(reply.head.c_str() + std::string_view("HTTP/1.1 ").size());
  return reply;
}

RawReply RawCaller::Call(std::string_view bytes) {
  Send(bytes);
  return ReadReply();
}

bool RawCaller::ClosedByServer() {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  errno = 0;
  while (Fill()) {
    if (std::chrono::steady_clock::now() > end) return false;
  }
  return errno != EAGAIN && errno != EWOULDBLOCK;
}

void RawCaller::FinishWriting() { ::shutdown(fd_, SHUT_WR); }

std::string GetRequest(const std::string& path) {
  return "GET " + path + " HTTP/1.1\r\nHost: t\r\n\r\n";
}

std::string PostRequest(const std::string& path, const std::string& body) {
  return "POST " + path +
         " HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

void Gate::Hold(std::function<void()> pass) {
  {
    const cluster::MutexLock lock(mu_);
    if (!open_) {
      held_.push_back(std::move(pass));
      return;
    }
  }
  pass();
}

void Gate::Open() {
  std::vector<std::function<void()>> held;
  {
    const cluster::MutexLock lock(mu_);
    open_ = true;
    held.swap(held_);
  }
  for (const std::function<void()>& pass : held) pass();
}

std::size_t Gate::waiting() const {
  const cluster::MutexLock lock(mu_);
  return held_.size();
}

TestServer::TestServer(ServerOptions options) : server(std::move(options)) {
  server.Handle("GET", "/healthz", [](const Request&) {
    Response response;
    response.body = "ok";
    response.content_type = "text/plain";
    return response;
  });
  server.Handle("POST", "/echo", [](const Request& request) {
    Response response;
    response.body = request.body;
    return response;
  });
  server.HandleLater("POST", "/held", [this](const Request& request, const Done& done) {
    gate.Hold([done, body = request.body] { done({.body = body}); });
  });
  server.HandleLater("POST", "/forgotten", [](const Request&, const Done&) {});
  server.Handle("GET", "/throw", [](const Request&) -> Response {
    throw std::runtime_error("secret of the handler");
  });
  server.Handle("GET", "/items/*", [](const Request& request) {
    Response response;
    response.body = request.path;
    for (const auto& [key, value] : request.query) response.body += "|" + key + "=" + value;
    return response;
  });
  server.Handle("GET", "/large", [](const Request&) {
    Response response;
    response.body.assign(4 * 1024 * 1024, 'z');
    return response;
  });
  server.Handle("GET", "/last", [](const Request&) {
    Response response;
    response.body = "bye";
    response.close = true;
    return response;
  });
  server.Handle("GET", "/who", [](const Request& request) {
    Response response;
    response.body = request.client_name + "@" + request.peer;
    for (const std::string& one : request.client_organisations) response.body += " of " + one;
    return response;
  });
  const cluster::Status started = server.Start();
  INFO((started.ok() ? "" : started.error().ToString()));
  REQUIRE(started.ok());
}

TestServer::~TestServer() {
  gate.Open();
  server.Stop();
}

bool TestServer::Healthy() const {
  RawCaller caller(port());
  return caller.connected() && caller.Call(GetRequest("/healthz")).status == 200;
}

bool TestServer::Quiet() {
  return Eventually([this] {
    const ServerStats stats = server.stats();
    return stats.connections == 0 && stats.buffered_bytes == 0 && stats.open_calls == 0;
  });
}

}  // namespace muster::http::testing
