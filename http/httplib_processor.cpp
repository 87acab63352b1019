#include "http/httplib_processor.hpp"

#include <httplib.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <string_view>
#include <utility>

namespace muster::http {
namespace {

// Serves the canonical head to the library and collects what it writes.
class MemoryStream final : public httplib::Stream {
 public:
  MemoryStream(std::string_view input, const std::string& peer, std::string& output)
      : input_(input), peer_(peer), output_(output) {}

  bool is_readable() const override { return !input_.empty(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* data, std::size_t size) override {
    const std::size_t count = std::min(size, input_.size());
    std::memcpy(data, input_.data(), count);
    input_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* data, std::size_t size) override {
    output_.append(data, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip = peer_;
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  // The library compares this with FD_SETSIZE and answers 500 above it; there is no socket here.
  socket_t socket() const override { return INVALID_SOCKET; }

 private:
  std::string_view input_;
  const std::string& peer_;
  std::string& output_;
};

bool IsHeaderText(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

const char* ReasonPhrase(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Payload Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Error";
  }
}

}  // namespace

class HttplibProcessor::Impl final : public httplib::Server {
 public:
  Impl(const Router& router, ServerShared& shared) : router_(router), shared_(shared) {
    using std::chrono::duration_cast;
    set_keep_alive_timeout(
        duration_cast<std::chrono::seconds>(shared.options.idle_timeout).count());
    set_keep_alive_max_count(std::numeric_limits<std::uint32_t>::max());
    set_pre_routing_handler([this](const httplib::Request& parsed, httplib::Response& response) {
      Handle(parsed, response);
      return HandlerResponse::Handled;
    });
  }

  Answer Process(IncomingRequest incoming) {
    current_ = std::move(incoming);
    close_ = !current_.head.keep_alive || shared_.draining;
    std::string head = current_.head.method + " " + current_.head.target + " HTTP/1.1\r\n\r\n";
    Answer answer;
    answer.stream = current_.stream;
    http2_ = ErrorResponse(400, "malformed request");
    MemoryStream stream(head, current_.peer, answer.bytes);
    bool closed = false;
    process_request(stream, close_, closed, nullptr);
    if (answer.stream != 0) {
      answer.response = std::move(http2_);
      answer.bytes.clear();
    } else {
      answer.response.close = close_ || closed || answer.bytes.empty();
    }
    current_ = {};
    return answer;
  }

 private:
  void Handle(const httplib::Request& parsed, httplib::Response& response) {
    Request request;
    request.method = parsed.method;
    request.path = parsed.path;
    for (const auto& [key, value] : parsed.params) request.query.try_emplace(key, value);
    request.body = std::move(current_.body);
    request.content_type = std::move(current_.head.content_type);
    request.peer = current_.peer;
    request.client_name = std::move(current_.client_name);
    request.headers = std::move(current_.head.headers);

    Response made = Run(request);
    if (current_.stream != 0) {
      http2_ = std::move(made);
      return;
    }
    // The library says `Connection: close` by itself only when that was known before the handler
    // ran.
    if (!close_ && (made.close || shared_.draining)) {
      close_ = true;
      response.set_header("Connection", "close");
    }
    response.status = made.status;
    for (const auto& [name, value] : made.headers) {
      if (IsHeaderText(name) && IsHeaderText(value)) response.set_header(name, value);
    }
    response.set_header("Content-Type",
                        IsHeaderText(made.content_type) ? made.content_type : "text/plain");
    response.body = std::move(made.body);
  }

  Response Run(const Request& request) {
    try {
      return router_.Route(request);
    } catch (...) {
      ++shared_.handler_exceptions;
      return ErrorResponse(500, "internal error");
    }
  }

  const Router& router_;
  ServerShared& shared_;
  IncomingRequest current_;  // while process_request runs
  bool close_ = false;       // the answer in progress is the connection's last
  Response http2_;           // the answer in progress, of an HTTP/2 stream
};

HttplibProcessor::HttplibProcessor(const Router& router, ServerShared& shared)
    : impl_(std::make_unique<Impl>(router, shared)) {}

HttplibProcessor::~HttplibProcessor() = default;

Answer HttplibProcessor::Process(IncomingRequest request) {
  return impl_->Process(std::move(request));
}

std::string FormatRefusal(const Refusal& refusal) {
  const Response response = ErrorResponse(refusal.status, refusal.message);
  std::string bytes = "HTTP/1.1 " + std::to_string(refusal.status) + " " +
                      ReasonPhrase(refusal.status) +
                      "\r\nContent-Type: application/json\r\nContent-Length: " +
                      std::to_string(response.body.size()) + "\r\nConnection: close\r\n";
  if (refusal.status == 503) bytes += "Retry-After: 1\r\n";
  return bytes + "\r\n" + response.body;
}

}  // namespace muster::http
