#include "http/messages/head.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <system_error>

#include "http/messages/message.hpp"

namespace muster::http {
namespace {

constexpr std::size_t kMaxMethod = 32;
constexpr std::size_t kMaxTarget = 8000;  // bytes, as RFC 9112 section 3 recommends
constexpr std::array<std::string_view, 7> kMethods = {"GET",   "HEAD",   "POST",   "PUT",
                                                      "PATCH", "DELETE", "OPTIONS"};

bool IsTokenChar(char c) {
  constexpr std::string_view kPunctuation = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kPunctuation.find(c) != std::string_view::npos;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenChar);
}

// Printable ASCII, tab, and bytes above 0x7f (old charsets, which handlers treat as opaque).
bool IsFieldText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

std::string_view Trim(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Origin form ("/path?query"), and every %XX complete and not a control character: "%0d%0a" and
// "%00" have no use but to be smuggled into something else.
bool IsTarget(std::string_view target) {
  if (target.empty() || target.front() != '/') return false;
  for (std::size_t i = 0; i < target.size(); ++i) {
    const auto byte = static_cast<unsigned char>(target[i]);
    if (byte <= 0x20 || byte >= 0x7f) return false;
    if (byte != '%') continue;
    if (i + 2 >= target.size()) return false;
    const int high = HexDigit(target[i + 1]);
    const int low = HexDigit(target[i + 2]);
    if (high < 0 || low < 0) return false;
    const int decoded = high * 16 + low;
    if (decoded < 0x20 || decoded == 0x7f) return false;
    i += 2;
  }
  return true;
}

// What header fields say so far; a second sighting of a field that may occur once is a refusal.
struct Seen {
  bool host = false;
  bool content_length = false;
  bool transfer_encoding = false;
  std::string transfer_encoding_value;
  bool connection_close = false;
  bool connection_keep_alive = false;
};

std::optional<Refusal> ParseRequestLine(std::string_view line, RequestHead& head, bool& http10) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || last == first) {
    return Refusal{400, "malformed request line: expected METHOD TARGET HTTP/1.1"};
  }
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!IsToken(method) || method.size() > kMaxMethod) {
    return Refusal{400, "malformed request line: the method is not a token"};
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    if (version.substr(0, 5) == "HTTP/")
      return Refusal{505, "only HTTP/1.1 and HTTP/1.0 are spoken"};
    return Refusal{400, "malformed request line: expected HTTP/1.1 at its end"};
  }
  if (std::find(kMethods.begin(), kMethods.end(), method) == kMethods.end()) {
    return Refusal{501, "unknown method"};
  }
  if (target.size() > kMaxTarget) return Refusal{414, "the request target is too long"};
  if (!IsTarget(target)) {
    return Refusal{400, "malformed request target: expected a path of printable characters"};
  }
  head.method = method;
  head.target = target;
  http10 = version == "HTTP/1.0";
  return std::nullopt;
}

std::optional<Refusal> TakeContentLength(std::string_view value, RequestHead& head, Seen& seen) {
  if (seen.content_length) return Refusal{400, "more than one Content-Length"};
  seen.content_length = true;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (value.empty() || !std::all_of(value.begin(), value.end(), is_digit)) {
    return Refusal{400, "malformed Content-Length: expected digits"};
  }
  const auto [end, error] =
      std::from_chars(value.data(), value.data() + value.size(), head.content_length);
  if (error == std::errc::result_out_of_range) return Refusal{413, "the body is too large"};
  if (error != std::errc() || end != value.data() + value.size()) {
    return Refusal{400, "malformed Content-Length: expected digits"};
  }
  return std::nullopt;
}

void TakeConnection(std::string_view value, Seen& seen) {
  while (!value.empty()) {
    const std::size_t comma = std::min(value.find(','), value.size());
    const std::string option = LowerCase(Trim(value.substr(0, comma)));
    if (option == "close") seen.connection_close = true;
    if (option == "keep-alive") seen.connection_keep_alive = true;
    value.remove_prefix(std::min(comma + 1, value.size()));
  }
}

std::optional<Refusal> TakeField(const std::string& name, std::string_view value, RequestHead& head,
                                 Seen& seen) {
  if (name == "content-length") return TakeContentLength(value, head, seen);
  if (name == "transfer-encoding") {
    seen.transfer_encoding = true;
    seen.transfer_encoding_value = LowerCase(value);
  } else if (name == "host") {
    if (seen.host) return Refusal{400, "more than one Host"};
    seen.host = true;
  } else if (name == "content-type") {
    if (!head.content_type.empty()) return Refusal{400, "more than one Content-Type"};
    head.content_type = value;
  } else if (name == "content-encoding") {
    const std::string coding = LowerCase(value);
    if (!coding.empty() && coding != "identity") {
      return Refusal{415, "compressed bodies are not accepted"};
    }
  } else if (name == "expect") {
    if (LowerCase(value) != "100-continue")
      return Refusal{417, "only Expect: 100-continue is known"};
    head.expect_continue = true;
  } else if (name == "connection") {
    TakeConnection(value, seen);
  }
  return std::nullopt;
}

std::optional<Refusal> ParseField(std::string_view line, RequestHead& head, Seen& seen) {
  if (line.front() == ' ' || line.front() == '\t') {
    return Refusal{400, "folded header lines are not accepted"};
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) {
    return Refusal{400, "malformed header line: expected Name: value"};
  }
  const std::string_view value = Trim(line.substr(colon + 1));
  if (!IsFieldText(value)) return Refusal{400, "a header value contains control characters"};
  std::string name = LowerCase(line.substr(0, colon));
  if (std::optional<Refusal> refusal = TakeField(name, value, head, seen)) return refusal;
  head.headers.emplace_back(std::move(name), value);
  return std::nullopt;
}

// What only the whole head can show: how the body is framed and whether the connection stays.
std::optional<Refusal> CheckWhole(RequestHead& head, const Seen& seen, bool http10,
                                  const HeadLimits& limits) {
  if (!http10 && !seen.host) return Refusal{400, "HTTP/1.1 needs a Host"};
  if (seen.transfer_encoding) {
    if (seen.content_length) return Refusal{400, "Content-Length together with Transfer-Encoding"};
    if (seen.transfer_encoding_value == "chunked") {
      return Refusal{411, "chunked bodies are not accepted: send Content-Length"};
    }
    return Refusal{501, "unknown Transfer-Encoding: send Content-Length"};
  }
  const bool needs_body = head.method == "POST" || head.method == "PUT" || head.method == "PATCH";
  if (needs_body && !seen.content_length) return Refusal{411, "Content-Length is missing"};
  if (head.content_length > limits.max_body) {
    return Refusal{413, "the body is too large: at most " + std::to_string(limits.max_body) +
                            " bytes are accepted"};
  }
  head.keep_alive = !seen.connection_close && (!http10 || seen.connection_keep_alive);
  return std::nullopt;
}

}  // namespace

void HeadScanner::Reset() {
  scanned_ = 0;
  lines_ = 0;
  refusal_ = {};
}

HeadScanner::State HeadScanner::Refuse(int status, std::string message) {
  refusal_ = {status, std::move(message)};
  return State::kRefused;
}

HeadScanner::State HeadScanner::Scan(std::string_view bytes) {
  if (scanned_ == 0 && !bytes.empty() && !IsTokenChar(bytes.front())) {
    const bool tls_hello = bytes.front() == '\x16';
    return Refuse(400, tls_hello ? "this port speaks plain HTTP, not TLS" : "this is not HTTP");
  }
  while (true) {
    const std::string_view rest = bytes.substr(scanned_);
    const std::size_t newline = rest.find('\n');
    if (newline == std::string_view::npos) break;
    if (newline == 0 || rest[newline - 1] != '\r') {
      return Refuse(400, "lines must end in CR LF");
    }
    scanned_ += newline + 1;
    ++lines_;
    if (scanned_ > limits_.max_bytes) break;
    if (newline == 1) return State::kComplete;
    if (lines_ > limits_.max_lines + 1) return Refuse(431, "too many header lines");
  }
  if (bytes.size() > limits_.max_bytes) {
    if (lines_ == 0) return Refuse(414, "the request line is too long");
    return Refuse(431, "the header is too large");
  }
  return State::kIncomplete;
}

std::variant<RequestHead, Refusal> ParseHead(std::string_view head, const HeadLimits& limits) {
  RequestHead parsed;
  Seen seen;
  bool http10 = false;
  bool first = true;
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    if (end == std::string_view::npos) return Refusal{400, "lines must end in CR LF"};
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (line.empty()) break;
    std::optional<Refusal> refusal =
        first ? ParseRequestLine(line, parsed, http10) : ParseField(line, parsed, seen);
    if (refusal) return *std::move(refusal);
    first = false;
  }
  if (first) return Refusal{400, "malformed request line: expected METHOD TARGET HTTP/1.1"};
  if (std::optional<Refusal> refusal = CheckWhole(parsed, seen, http10, limits)) {
    return *std::move(refusal);
  }
  return parsed;
}

}  // namespace muster::http
