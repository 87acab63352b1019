// The head of an HTTP request (request line and header fields), checked more strictly than the
// libraries do.
//
// Pure functions over bytes, no I/O. HeadScanner finds the end of a head that arrives in pieces and
// stops at the first byte that cannot be part of one; ParseHead then validates the whole. What
// passes has exactly one reading: no bare LF, no folded lines, no NUL, one Host, at most one
// Content-Length of digits only, no Transfer-Encoding, a target that decodes to printable text. One
// scanner per connection, reset between requests; not shared between threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace muster::http {

struct HeadLimits {
  std::size_t max_bytes = 16 * 1024;  // including the empty line
  std::size_t max_lines = 100;        // header fields
  std::uint64_t max_body = 4 * 1024 * 1024;
};

// Why a request is refused, in words for its sender. Over HTTP/1.1 the connection is closed after
// it.
struct Refusal {
  int status = 400;
  std::string message;
};

struct RequestHead {
  std::string method;
  std::string target;  // path and query as sent
  std::string content_type;
  std::uint64_t content_length = 0;
  bool keep_alive = true;
  bool expect_continue = false;                              // the sender waits for "100 Continue"
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case, values trimmed
};

class HeadScanner {
 public:
  explicit HeadScanner(const HeadLimits& limits) : limits_(limits) {}

  enum class State { kIncomplete, kComplete, kRefused };

  // `bytes` starts with the head and only grows between calls.
  State Scan(std::string_view bytes);
  // Bytes of the head including the empty line; after kComplete.
  std::size_t length() const { return scanned_; }
  // After kRefused.
  const Refusal& refusal() const { return refusal_; }
  void Reset();

 private:
  State Refuse(int status, std::string message);

  const HeadLimits limits_;
  std::size_t scanned_ = 0;  // bytes known to be whole lines
  std::size_t lines_ = 0;    // whole lines seen, request line included
  Refusal refusal_;
};

// `head` is what HeadScanner delimited.
std::variant<RequestHead, Refusal> ParseHead(std::string_view head, const HeadLimits& limits);

}  // namespace muster::http
