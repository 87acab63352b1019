// Url: where an API server or a proxy listens, taken apart; text as a part of a URL. Pure
// functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/base/result.hpp"

namespace muster::http {

struct Url {
  std::string scheme;  // in lower case
  std::string host;    // an IPv6 address without its brackets
  std::uint16_t port = 0;
  std::string path;      // empty, or begins with '/' and does not end with one
  std::string username;  // percent-decoded
  std::string password;
};

// scheme://[user[:password]@]host[:port][/path]; a missing port is that of http or https, or 0.
// Refused: query, fragment, hosts and paths with characters that would have to be escaped. Errors
// never quote the text: it may hold a password.
cluster::Result<Url> ParseUrl(std::string_view text);

// host:port as it stands in a URL; an IPv6 address gets its brackets.
std::string HostAndPort(const std::string& host, std::uint16_t port);

// `text` as the value of a query parameter: all but the unreserved characters of RFC 3986 §2.3 is
// percent-encoded.
std::string PercentEncoded(std::string_view text);
// %XX becomes its byte; nothing where a % begins no such escape.
std::optional<std::string> PercentDecoded(std::string_view text);
// Only unreserved characters: it stands in a URL as it is.
bool IsUnreserved(std::string_view text);

}  // namespace muster::http
