#include "http/message_text.hpp"

#include <httplib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

namespace muster::http {
namespace {

// Serves a head to the library and collects what it writes.
class TextStream final : public httplib::Stream {
 public:
  TextStream(std::string_view head, std::string& text) : head_(head), text_(text) {}

  bool is_readable() const override { return !head_.empty(); }
  bool is_writable() const override { return true; }
  ssize_t read(char* data, std::size_t size) override {
    const std::size_t count = head_.copy(data, size);
    head_.remove_prefix(count);
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char* data, std::size_t size) override {
    text_.append(data, size);
    return static_cast<ssize_t>(size);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  // The library compares this with FD_SETSIZE and answers 500 above it; there is no socket here.
  socket_t socket() const override { return INVALID_SOCKET; }

 private:
  std::string_view head_;
  std::string& text_;
};

bool IsHeaderText(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

// Its constructor costs about as much as one system call; nothing is shared between answers.
class Writer final : public httplib::Server {
 public:
  Writer(Response answer, const AnswerForm& form) : answer_(std::move(answer)), close_(form.close) {
    using std::chrono::duration_cast;
    set_keep_alive_timeout(duration_cast<std::chrono::seconds>(form.idle).count());
    set_keep_alive_max_count(std::numeric_limits<std::uint32_t>::max());
    // Before the library would read a body or match regular expressions.
    set_pre_routing_handler([this](const httplib::Request&, httplib::Response& made) {
      Fill(made);
      return HandlerResponse::Handled;
    });
  }

  std::string Write(const char* request_line) {
    std::string text;
    TextStream stream(request_line, text);
    bool closed = false;
    process_request(stream, close_, closed, nullptr);
    return text;
  }

 private:
  void Fill(httplib::Response& response) {
    response.status = answer_.status;
    for (const auto& [name, value] : answer_.headers) {
      if (IsHeaderText(name) && IsHeaderText(value)) response.set_header(name, value);
    }
    response.set_header("Content-Type",
                        IsHeaderText(answer_.content_type) ? answer_.content_type : "text/plain");
    response.body = std::move(answer_.body);
  }

  Response answer_;
  const bool close_;
};

}  // namespace

Request ToRequest(IncomingRequest incoming) {
  Request request;
  RequestHead& head = incoming.head;
  const std::size_t question = head.target.find('?');
  request.path = httplib::detail::decode_url(head.target.substr(0, question), false);
  if (question != std::string::npos) {
    httplib::Params params;
    httplib::detail::parse_query_text(head.target.substr(question + 1), params);
    for (const auto& [key, value] : params) request.query.try_emplace(key, value);
  }
  request.method = std::move(head.method);
  request.body = std::move(incoming.body);
  request.content_type = std::move(head.content_type);
  request.peer = std::move(incoming.caller.peer);
  request.client_name = std::move(incoming.caller.client_name);
  request.client_organisations = std::move(incoming.caller.client_organisations);
  request.tls = incoming.caller.tls;
  request.headers = std::move(head.headers);
  return request;
}

std::string FormatAnswer(Response response, const AnswerForm& form) {
  return Writer(std::move(response), form)
      .Write(form.to_head ? "HEAD / HTTP/1.1\r\n\r\n" : "GET / HTTP/1.1\r\n\r\n");
}

std::string FormatRefusal(const Refusal& refusal) {
  Response response = ErrorResponse(refusal.status, refusal.message);
  if (refusal.status == 503) response.headers["Retry-After"] = "1";
  return FormatAnswer(std::move(response), {.close = true});
}

}  // namespace muster::http
