#include "http/connections/channel.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string_view>
#include <utility>

#include "http/tls/server_tls.hpp"

namespace muster::http {
namespace {

IoResult FromErrno(IoState when_blocked) {
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {when_blocked, 0};
  return {IoState::kFailed, 0};
}

class PlainChannel final : public Channel {
 public:
  explicit PlainChannel(int fd) : fd_(fd) {}
  ~PlainChannel() override { ::close(fd_); }
  PlainChannel(const PlainChannel&) = delete;
  PlainChannel& operator=(const PlainChannel&) = delete;

  IoResult Handshake() override { return {IoState::kDone, 0}; }

  IoResult Read(char* data, std::size_t size) override {
    ssize_t got = 0;
    do {
      got = ::recv(fd_, data, size, MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return FromErrno(IoState::kWantRead);
    if (got == 0) return {IoState::kEnd, 0};
    return {IoState::kDone, static_cast<std::size_t>(got)};
  }

  IoResult Write(const char* data, std::size_t size) override {
    ssize_t sent = 0;
    do {
      sent = ::send(fd_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent < 0) return FromErrno(IoState::kWantWrite);
    return {IoState::kDone, static_cast<std::size_t>(sent)};
  }

  void FinishWriting() override { ::shutdown(fd_, SHUT_WR); }
  std::vector<std::string> PeerNames() const override { return {}; }
  std::string Protocol() const override { return ""; }
  int fd() const override { return fd_; }

 private:
  const int fd_;
};

struct SslFree {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

// OpenSSL takes, and fills, as much memory as a ClientHello says that it is long, up to 175 KB for
// nine bytes of a caller. This looks at what is read before OpenSSL does, until it knows that
// length (RFC 8446, 4 and 5.1: records of 5 bytes and their payload; a message of 4 bytes and its
// body).
class HelloGuard {
 public:
  explicit HelloGuard(BIO* reads) {
    BIO_set_callback_arg(reads, static_cast<char*>(static_cast<void*>(this)));
    BIO_set_callback_ex(reads, &OnRead);
  }

 private:
  static constexpr std::size_t kMost = 16 * 1024;
  static constexpr std::size_t kRecordHead = 5;
  static constexpr std::size_t kMessageHead = 4;
  static constexpr unsigned char kHandshake = 22;

  static long OnRead(BIO* reads, int what, const char* data, std::size_t /*size*/, int /*argi*/,
                     long /*argl*/, int result, std::size_t* got) {
    if (what != (BIO_CB_READ | BIO_CB_RETURN) || result <= 0 || got == nullptr) return result;
    void* self = BIO_get_callback_arg(reads);
    for (std::size_t i = 0; i < *got; ++i) {
      if (!static_cast<HelloGuard*>(self)->Take(static_cast<unsigned char>(data[i]))) return 0;
    }
    return result;
  }

  // False: it is too long.
  bool Take(unsigned char byte) {
    if (known_) return true;
    if (left_ == 0) {
      if (head_ == 0) known_ = byte != kHandshake;  // OpenSSL knows what to say to that
      if (head_ >= 3) record_ = record_ << 8U | byte;
      if (++head_ < kRecordHead) return true;
      left_ = std::exchange(record_, 0);
      head_ = 0;
      return true;
    }
    --left_;
    if (message_ > 0) length_ = length_ << 8U | byte;
    known_ = ++message_ == kMessageHead;
    return length_ <= kMost;
  }

  bool known_ = false;
  std::size_t head_ = 0;     // bytes of the record's head
  std::size_t record_ = 0;   // its length, so far
  std::size_t left_ = 0;     // of its payload
  std::size_t message_ = 0;  // bytes of the message's head
  std::size_t length_ = 0;   // of the message, so far
};

// SIGPIPE: OpenSSL writes without MSG_NOSIGNAL, so the server ignores that signal process-wide
// (Server::Start).
class TlsChannel final : public Channel {
 public:
  TlsChannel(int fd, SSL* ssl) : fd_(fd), ssl_(ssl), guard_(SSL_get_rbio(ssl)) {}
  ~TlsChannel() override {
    ssl_.reset();
    ::close(fd_);
  }
  TlsChannel(const TlsChannel&) = delete;
  TlsChannel& operator=(const TlsChannel&) = delete;

  IoResult Handshake() override {
    ERR_clear_error();
    const int result = SSL_accept(ssl_.get());
    if (result == 1) {
      BIO_set_callback_ex(SSL_get_rbio(ssl_.get()), nullptr);
      return {IoState::kDone, 0};
    }
    const IoResult failure = Failure(result);
    if (failure.state == IoState::kFailed) AnswerPlainHttp();
    return failure;
  }

  IoResult Read(char* data, std::size_t size) override {
    ERR_clear_error();
    const int got =
        SSL_read(ssl_.get(), data, static_cast<int>(std::min<std::size_t>(size, INT_MAX)));
    if (got > 0) return {IoState::kDone, static_cast<std::size_t>(got)};
    return Failure(got);
  }

  IoResult Write(const char* data, std::size_t size) override {
    ERR_clear_error();
    const int sent =
        SSL_write(ssl_.get(), data, static_cast<int>(std::min<std::size_t>(size, INT_MAX)));
    if (sent > 0) return {IoState::kDone, static_cast<std::size_t>(sent)};
    return Failure(sent);
  }

  void FinishWriting() override {
    ERR_clear_error();
    if (!broken_) SSL_shutdown(ssl_.get());
    ::shutdown(fd_, SHUT_WR);
  }

  std::vector<std::string> PeerNames() const override { return PeerCertificateNames(ssl_.get()); }
  std::vector<std::string> PeerOrganisations() const override {
    return PeerCertificateOrganisations(ssl_.get());
  }
  std::string Protocol() const override {
    const unsigned char* name = nullptr;
    unsigned int size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
  }
  int fd() const override { return fd_; }

 private:
  IoResult Failure(int result) {
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return {IoState::kWantRead, 0};
      case SSL_ERROR_WANT_WRITE:
        return {IoState::kWantWrite, 0};
      case SSL_ERROR_ZERO_RETURN:
        return {IoState::kEnd, 0};
      default:
        broken_ = true;
        return {IoState::kFailed, 0};
    }
  }

  // Somebody who forgot the "s" of https gets an answer that says so.
  void AnswerPlainHttp() const {
    const unsigned long error = ERR_peek_error();
    if (ERR_GET_LIB(error) != ERR_LIB_SSL || ERR_GET_REASON(error) != SSL_R_HTTP_REQUEST) return;
    constexpr std::string_view kAnswer =
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n"
        "Content-Length: 40\r\n\r\nthis port speaks TLS: use https instead\n";
    if (::send(fd_, kAnswer.data(), kAnswer.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
      ::shutdown(fd_, SHUT_WR);
    }
  }

  const int fd_;
  std::unique_ptr<SSL, SslFree> ssl_;
  HelloGuard guard_;     // until the handshake is complete
  bool broken_ = false;  // after a fatal error OpenSSL forbids SSL_shutdown
};

}  // namespace

std::unique_ptr<Channel> MakePlainChannel(int fd) { return std::make_unique<PlainChannel>(fd); }

std::unique_ptr<Channel> MakeTlsChannel(int fd, const ServerTls& context) {
  const std::shared_ptr<SSL_CTX> current = context.current();
  std::unique_ptr<SSL, SslFree> ssl(SSL_new(current.get()));
  if (ssl == nullptr || SSL_set_fd(ssl.get(), fd) != 1) {
    ::close(fd);
    return nullptr;
  }
  SSL_set_accept_state(ssl.get());
  return std::make_unique<TlsChannel>(fd, ssl.release());
}

}  // namespace muster::http
