#include "http/exchange.hpp"

#include <httplib.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>

#include "http/retry_after.hpp"

namespace muster::http {
namespace {

using cluster::Code;
using cluster::Error;

constexpr std::size_t kMaxHeadBytes = 64 * 1024;
// The library matches it with a regular expression, which recurses.
constexpr std::size_t kMaxStatusLineBytes = 2 * 1024;

// The connection as the library reads and writes it: what is written leaves in one piece before the
// first read, what is read comes through a buffer.
class WireStream final : public httplib::Stream {
 public:
  WireStream(ClientConnection& connection, const CallLimits& limits)
      : connection_(connection), limits_(limits) {}

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }

  ssize_t read(char* data, size_t size) override {
    if (!Flush()) return -1;
    if (begin_ == end_) {
      const std::ptrdiff_t got = connection_.Read(buffer_.data(), buffer_.size(), limits_);
      ended_ = got == 0;
      if (got <= 0) return got;
      received_ += static_cast<std::uint64_t>(got);
      begin_ = 0;
      end_ = static_cast<std::size_t>(got);
    }
    const std::size_t count = std::min(size, end_ - begin_);
    std::memcpy(data, buffer_.data() + begin_, count);
    begin_ += count;
    return WithinLimits(data, count) ? static_cast<ssize_t>(count) : -1;
  }

  ssize_t write(const char* data, size_t size) override {
    pending_.append(data, size);
    if (pending_.size() >= buffer_.size() && !Flush()) return -1;
    return static_cast<ssize_t>(size);
  }

  void get_remote_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  void get_local_ip_and_port(std::string& /*ip*/, int& /*port*/) const override {}
  socket_t socket() const override { return INVALID_SOCKET; }

  void HeadIsOver() { in_head_ = false; }
  std::uint64_t received() const { return received_; }
  bool ended() const { return ended_; }
  // Bytes came that belong to no answer.
  bool has_more() const { return begin_ != end_; }
  // As a chunked body ends, and no line of one that breaks off does.
  bool at_last_chunk() const { return std::string_view(tail_.data(), tail_.size()) == "\r\n\r\n"; }

 private:
  bool Flush() {
    for (std::size_t done = 0; done < pending_.size();) {
      const std::ptrdiff_t sent =
          connection_.Write(pending_.data() + done, pending_.size() - done, limits_);
      if (sent < 0) return false;
      done += static_cast<std::size_t>(sent);
    }
    pending_.clear();
    return true;
  }

  bool WithinLimits(const char* data, std::size_t count) {
    const std::size_t fresh = std::min(count, tail_.size());
    std::shift_left(tail_.begin(), tail_.end(), static_cast<std::ptrdiff_t>(fresh));
    std::copy(data + count - fresh, data + count, tail_.end() - static_cast<std::ptrdiff_t>(fresh));
    if (!in_head_) return true;
    head_bytes_ += count;
    in_status_line_ = in_status_line_ && std::memchr(data, '\n', count) == nullptr;
    return head_bytes_ <= (in_status_line_ ? kMaxStatusLineBytes : kMaxHeadBytes);
  }

  ClientConnection& connection_;
  const CallLimits& limits_;
  std::string pending_;  // to be written
  std::array<char, 16 * 1024> buffer_{};
  std::size_t begin_ = 0;  // what was read and not taken yet
  std::size_t end_ = 0;
  bool in_head_ = true;
  bool in_status_line_ = true;
  std::size_t head_bytes_ = 0;
  std::array<char, 4> tail_{};  // the last bytes that were taken
  std::uint64_t received_ = 0;
  bool ended_ = false;
};

// Opens the library's half that knows HTTP; its sockets stay unused.
class Codec final : public httplib::ClientImpl {
 public:
  Codec() : httplib::ClientImpl("", 0) {
    set_keep_alive(true);
    set_follow_location(false);
    set_url_encode(false);
  }

  bool Run(httplib::Stream& stream, httplib::Request& request, httplib::Response& response,
           httplib::Error& error) {
    return process_request(stream, request, response, false, error);
  }
};

bool HasLineEnd(const std::string& text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos;
}

bool IsMalformed(const ClientRequest& request) {
  const auto breaks = [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; };
  return request.target.empty() ||
         std::any_of(request.target.begin(), request.target.end(), breaks) ||
         std::any_of(request.headers.begin(), request.headers.end(), [](const auto& header) {
           return HasLineEnd(header.first) || HasLineEnd(header.second);
         });
}

// Where the body goes, and why it stopped going there.
struct BodySink {
  const ClientRequest& request;
  Exchanged& outcome;
  bool too_large = false;
  bool enough = false;  // `take` said so

  bool Take(std::string_view piece) {
    if (request.take && outcome.status == 200) {
      enough = !request.take(piece);
      return !enough;
    }
    too_large = piece.size() > request.max_body - outcome.body.size();
    if (!too_large) outcome.body += piece;
    return !too_large;
  }
};

void ReadTimes(const httplib::Response& response, Exchanged& outcome) {
  outcome.date = ParseHttpDate(response.get_header_value("Date"));
  if (outcome.status != 429 && outcome.status != 503) return;
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  outcome.retry_after = ParseRetryAfter(response.get_header_value("Retry-After"),
                                        response.get_header_value("Date"), now);
}

bool IsChunked(const httplib::Response& response) {
  return response.get_header_value("Transfer-Encoding").find("chunked") != std::string::npos;
}

Error WhyItFailed(const ClientConnection& connection, const WireStream& stream) {
  switch (connection.broken()) {
    case Broken::kTimeout:
      return {Code::kUnavailable, "no complete answer in time", ""};
    case Broken::kCancelled:
      return {Code::kUnavailable, "stopped", ""};
    case Broken::kClosed:
      return {Code::kUnavailable, "the connection was broken off", ""};
    case Broken::kTls:
      return {Code::kIo, "TLS failed: the server refused the connection", ""};
    case Broken::kNone:
      break;
  }
  if (stream.ended()) return {Code::kUnavailable, "the server closed the connection", ""};
  return {Code::kIo, "the answer is no HTTP", ""};
}

// What process_request found, judged.
void Judge(bool ok, const httplib::Response& response, const ClientConnection& connection,
           const WireStream& stream, const BodySink& sink, Exchanged& outcome) {
  if (sink.too_large) {
    outcome.error = Error{
        Code::kExhausted,
        "the answer is larger than " + std::to_string(sink.request.max_body >> 20) + " MiB", ""};
    return;
  }
  if (sink.enough) return;
  // The library takes a chunked body that ends in the middle for a whole one.
  const bool complete =
      ok && (!IsChunked(response) || stream.at_last_chunk() || response.status == 204);
  if (ok && !complete) {
    outcome.error = Error{Code::kUnavailable, "the answer was broken off", ""};
    return;
  }
  if (!ok) {
    outcome.error = WhyItFailed(connection, stream);
    return;
  }
  const bool framed =
      IsChunked(response) || response.has_header("Content-Length") || response.status == 204;
  outcome.reusable = framed && response.version == "HTTP/1.1" &&
                     response.get_header_value("Connection") != "close" && !stream.has_more();
}

Exchanged Run(ClientConnection& connection, const ClientRequest& request,
              const CallLimits& limits) {
  Exchanged outcome;
  if (IsMalformed(request)) {
    outcome.nothing_sent = true;
    outcome.error =
        Error{Code::kInvalidArgument, "the request has a line end or a space too many", "HTTP"};
    return outcome;
  }
  const std::uint64_t sent_before = connection.sent();
  WireStream stream(connection, limits);
  BodySink sink{request, outcome};
  httplib::Request wire;
  wire.method = request.method;
  wire.path = request.target;
  wire.headers.insert(request.headers.begin(), request.headers.end());
  wire.body = request.body;
  wire.response_handler = [&](const httplib::Response& response) {
    stream.HeadIsOver();
    outcome.status = response.status;
    if (request.take && response.status == 200) return true;
    sink.too_large = response.has_header("Content-Length") &&
                     response.get_header_value<std::uint64_t>("Content-Length") > request.max_body;
    return !sink.too_large;
  };
  wire.content_receiver = [&](const char* data, size_t size, std::uint64_t, std::uint64_t) {
    return sink.Take({data, size});
  };
  httplib::Response response;
  httplib::Error error = httplib::Error::Success;
  Codec codec;
  const bool ok = codec.Run(stream, wire, response, error);
  outcome.status = response.status;
  Judge(ok, response, connection, stream, sink, outcome);
  outcome.nothing_sent = connection.sent() == sent_before;
  outcome.closed_unanswered = outcome.error && stream.received() == 0 &&
                              (connection.broken() == Broken::kClosed ||
                               (connection.broken() == Broken::kNone && stream.ended()));
  outcome.silent =
      outcome.error && stream.received() == 0 && connection.broken() == Broken::kTimeout;
  ReadTimes(response, outcome);
  return outcome;
}

}  // namespace

Exchanged Exchange(ClientConnection& connection, const ClientRequest& request,
                   const CallLimits& limits) {
  try {
    return Run(connection, request, limits);
  } catch (const std::exception& thrown) {
    Exchanged outcome;
    outcome.error =
        Error{Code::kIo, std::string("the answer cannot be read: ") + thrown.what(), ""};
    return outcome;
  }
}

}  // namespace muster::http
