// An HTTP/2 caller who is in no hurry: nghttp2's client on one TLS connection.
//
// One thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tls_test_support.hpp"

struct nghttp2_session;

namespace muster::http::testing {

struct Http2Reply {
  int status = 0;          // 0: none came
  bool continued = false;  // "100 Continue" came before it
  std::map<std::string, std::string> headers;
  std::string body;
  bool closed = false;
  std::uint32_t code = 0;  // of the stream's end; 0 = NO_ERROR
};

struct Http2Call {
  std::string method = "GET";
  std::string path = "/";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  bool whole = true;  // false: the request stays open behind `body`
};

class Http2Caller {
 public:
  using Stream = std::int32_t;

  // `window`: bytes of answers that it takes unasked, of each stream.
  explicit Http2Caller(const TlsCaller& to, std::uint32_t window = 8 * 1024 * 1024);
  ~Http2Caller();
  Http2Caller(const Http2Caller&) = delete;
  Http2Caller& operator=(const Http2Caller&) = delete;

  std::string protocol() const { return socket_->protocol(); }
  Stream Begin(const Http2Call& call);
  // Further bytes of an open request, its last ones when `last`.
  void Continue(Stream stream, const std::string& bytes, bool last);
  void Reset(Stream stream);
  // Reads until the stream is closed, or the connection.
  Http2Reply Wait(Stream stream);
  Http2Reply Do(const Http2Call& call) { return Wait(Begin(call)); }
  // Bytes past the library.
  void SendRaw(std::string_view bytes) { socket_->Send(bytes); }

  bool told_to_go() const { return told_to_go_; }
  // Reads on; true when the server closes the connection.
  bool ClosedByServer();
  // Reads on; true when the server says GOAWAY before it closes.
  bool GotGoaway();

 private:
  struct Callbacks;
  struct Upload {
    std::string bytes;
    std::size_t sent = 0;
    bool last = false;
  };

  void Flush();
  bool Fill();

  const std::unique_ptr<TlsSocket> socket_;
  nghttp2_session* session_ = nullptr;
  std::map<Stream, Http2Reply> replies_;
  std::map<Stream, Upload> uploads_;
  bool told_to_go_ = false;
};

}  // namespace muster::http::testing
