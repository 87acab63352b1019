#include "bench/flood_process.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

#include "http/server/listener.hpp"

namespace muster::bench {
namespace {

constexpr std::size_t kManyFiles = 20'000;

class PlainFloodSocket final : public FloodSocket {
 public:
  explicit PlainFloodSocket(int fd) : fd_(fd) {}
  ~PlainFloodSocket() override { ::close(fd_); }
  PlainFloodSocket(const PlainFloodSocket&) = delete;
  PlainFloodSocket& operator=(const PlainFloodSocket&) = delete;

  bool Send(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

 private:
  const int fd_;
};

struct FreeTls {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

class TlsFloodSocket final : public FloodSocket {
 public:
  TlsFloodSocket(int fd, const std::string& protocol)
      : fd_(fd), context_(SSL_CTX_new(TLS_client_method())), ssl_(SSL_new(context_.get())) {
    const std::string offer = static_cast<char>(protocol.size()) + protocol;
    const std::vector<unsigned char> bytes(offer.begin(), offer.end());
    SSL_set_alpn_protos(ssl_.get(), bytes.data(), static_cast<unsigned>(bytes.size()));
    SSL_set_fd(ssl_.get(), fd_);
  }
  ~TlsFloodSocket() override {
    ssl_.reset();
    ::close(fd_);
  }
  TlsFloodSocket(const TlsFloodSocket&) = delete;
  TlsFloodSocket& operator=(const TlsFloodSocket&) = delete;

  bool Handshake() const { return SSL_connect(ssl_.get()) == 1; }
  bool Send(std::string_view bytes) override {
    return bytes.empty() || SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
  }

 private:
  const int fd_;
  const std::unique_ptr<SSL_CTX, FreeTls> context_;
  std::unique_ptr<SSL, FreeTls> ssl_;
};

// A whole number of HPACK with that many bits in its first byte (RFC 7541, 5.1).
std::string Number(unsigned char first, unsigned bits, std::size_t number) {
  const std::size_t most = (std::size_t{1} << bits) - 1;
  if (number < most) return {static_cast<char>(first | number)};
  std::string bytes{static_cast<char>(first | most)};
  for (number -= most; number >= 128; number /= 128) bytes += static_cast<char>(number % 128 + 128);
  return bytes + static_cast<char>(number);
}

std::string Text(std::string_view text) { return Number(0, 7, text.size()).append(text); }

std::string Frame(unsigned char type, unsigned char flags, std::uint32_t stream,
                  std::string_view payload) {
  const auto size = static_cast<std::uint32_t>(payload.size());
  std::string bytes;
  for (const unsigned shift : {16U, 8U, 0U}) bytes += static_cast<char>(size >> shift & 0xffU);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    bytes += static_cast<char>(stream >> shift & 0xffU);
  return bytes.append(payload);
}

}  // namespace

int ConnectFrom(std::uint16_t port, const std::string& from, int patience_s) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  timeval patience{};
  patience.tv_sec = patience_s;
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ::inet_pton(AF_INET, from.c_str(), &address.sin_addr);
  void* raw = &address;
  bool connected = ::bind(fd, static_cast<sockaddr*>(raw), sizeof address) == 0;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connected = connected && ::connect(fd, static_cast<sockaddr*>(raw), sizeof address) == 0;
  if (connected) return fd;
  ::close(fd);
  return -1;
}

std::unique_ptr<FloodSocket> PlainFlood(std::uint16_t port, const std::string& from) {
  const int fd = ConnectFrom(port, from);
  return fd < 0 ? nullptr : std::make_unique<PlainFloodSocket>(fd);
}

std::unique_ptr<FloodSocket> TlsFlood(std::uint16_t port, const std::string& from,
                                      const std::string& protocol) {
  const int fd = ConnectFrom(port, from);
  if (fd < 0) return nullptr;
  auto made = std::make_unique<TlsFloodSocket>(fd, protocol);
  if (!made->Handshake()) return nullptr;
  return made;
}

std::string FloodAddress(int number) { return "127.0.0." + std::to_string(2 + number); }

std::string Http2Opening(std::uint32_t window) {
  std::string setting("\x00\x04", 2);  // SETTINGS_INITIAL_WINDOW_SIZE
  for (const unsigned shift : {24U, 16U, 8U, 0U})
    setting += static_cast<char>(window >> shift & 0xffU);
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(4, 0, 0, setting);
}

std::string HeadFrame(const Http2Head& head) {
  constexpr unsigned char kEndStream = 1;
  constexpr unsigned char kEndHeaders = 4;
  std::string block = "\x87";  // :scheme https
  block.append(head.method_and_path).append(std::string("\x01\x01t", 3)).append(head.fields);
  return Frame(1, head.body_follows ? kEndHeaders : kEndHeaders | kEndStream, head.stream, block);
}

std::string NewField(unsigned number, std::string_view name, std::string_view value) {
  return Number(0x40, 6, number) + (number == 0 ? Text(name) : std::string()) + Text(value);
}

FloodProcess::FloodProcess(const std::function<FloodSockets(std::uint16_t port)>& flood) {
  std::array<int, 2> there{};
  std::array<int, 2> back{};
  if (::pipe(there.data()) != 0 || ::pipe(back.data()) != 0) return;
  child_ = ::fork();
  if (child_ != 0) {
    ::close(there[0]);
    ::close(back[1]);
    to_child_ = there[1];
    from_child_ = back[0];
    return;
  }
  // Ends with its parent, whatever becomes of that.
  ::close(there[1]);
  std::signal(SIGPIPE, SIG_IGN);
  http::RaiseFileLimit(kManyFiles);
  std::uint16_t port = 0;
  if (::read(there[0], &port, sizeof port) == sizeof port) {
    const FloodSockets held = flood(port);
    char done = 1;
    if (::write(back[1], &done, 1) != 1 || ::read(there[0], &done, 1) < 0) ::_exit(1);
  }
  ::_exit(0);
}

bool FloodProcess::Begin(std::uint16_t port) {
  char done = 0;
  return ::write(to_child_, &port, sizeof port) == sizeof port &&
         ::read(from_child_, &done, 1) == 1;
}

void FloodProcess::End() {
  if (child_ <= 0) return;
  ::close(to_child_);
  ::close(from_child_);
  ::kill(child_, SIGKILL);
  ::waitpid(child_, nullptr, 0);
  child_ = -1;
}

}  // namespace muster::bench
