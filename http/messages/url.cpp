#include "http/messages/url.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace muster::http {
namespace {

using cluster::Code;
using cluster::Error;
using cluster::Ok;
using cluster::Result;
using cluster::Status;

bool IsAlnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

// RFC 3986 §2.3
bool Unreserved(char c) { return IsAlnum(c) || c == '-' || c == '.' || c == '_' || c == '~'; }

template <typename Allowed>
bool All(std::string_view text, Allowed allowed) {
  return std::all_of(text.begin(), text.end(), allowed);
}

bool IsHex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

Error Refuse(std::string message) { return {Code::kInvalidArgument, std::move(message), ""}; }

Status ReadUser(std::string_view text, Url& url) {
  const std::size_t colon = text.find(':');
  const auto username = PercentDecoded(text.substr(0, colon));
  const auto password =
      PercentDecoded(colon == std::string_view::npos ? "" : text.substr(colon + 1));
  if (!username || !password) return Refuse("the user part has a malformed %-escape");
  url.username = *username;
  url.password = *password;
  return Ok{};
}

Status ReadHost(std::string_view text, Url& url) {
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return Refuse("an IPv6 address lacks its ]");
    url.host = text.substr(1, close - 1);
    const std::string_view rest = text.substr(close + 1);
    has_port = rest.starts_with(':');
    if (!rest.empty() && !has_port) return Refuse("expected :port after the IPv6 address");
    if (has_port) port = rest.substr(1);
    const auto allowed = [](char c) { return IsHex(c) || c == ':' || c == '.'; };
    if (!All(url.host, allowed) || url.host.find(':') == std::string::npos)
      return Refuse("expected an IPv6 address between [ and ]");
  } else {
    const std::size_t colon = text.find(':');
    has_port = colon != std::string_view::npos;
    url.host = text.substr(0, colon);
    if (has_port) port = text.substr(colon + 1);
    if (!All(url.host, [](char c) { return IsAlnum(c) || c == '.' || c == '-' || c == '_'; }))
      return Refuse("the host has a character that no host name has");
  }
  if (url.host.empty()) return Refuse("the host is missing");
  if (!has_port) return Ok{};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  if (error != std::errc() || end != port.data() + port.size() || url.port == 0)
    return Refuse("expected a port from 1 to 65535");
  return Ok{};
}

}  // namespace

Result<Url> ParseUrl(std::string_view text) {
  const std::size_t scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos) return Refuse("expected a scheme such as https://");
  Url url;
  url.scheme = text.substr(0, scheme_end);
  std::transform(url.scheme.begin(), url.scheme.end(), url.scheme.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (url.scheme == "http") url.port = 80;
  if (url.scheme == "https") url.port = 443;

  std::string_view rest = text.substr(scheme_end + 3);
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  std::string_view path = rest.substr(slash);
  std::string_view authority = rest.substr(0, slash);
  if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
    if (Status read = ReadUser(authority.substr(0, at), url); !read.ok()) return read.error();
    authority.remove_prefix(at + 1);
  }
  if (Status read = ReadHost(authority, url); !read.ok()) return read.error();
  while (path.ends_with('/')) path.remove_suffix(1);
  const auto allowed = [](char c) {
    return IsAlnum(c) || std::string_view("/-._~%!$&'()*+,;=:@").find(c) != std::string_view::npos;
  };
  if (!All(path, allowed)) return Refuse("the path has a character that a URL must escape");
  url.path = path;
  return url;
}

std::string HostAndPort(const std::string& host, std::uint16_t port) {
  const bool ipv6 = host.find(':') != std::string::npos;
  return (ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string PercentEncoded(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (Unreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += kHex[byte >> 4U];
    out += kHex[byte & 15U];
  }
  return out;
}

std::optional<std::string> PercentDecoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size() || !IsHex(text[i + 1]) || !IsHex(text[i + 2])) return std::nullopt;
    unsigned value = 0;
    std::from_chars(text.data() + i + 1, text.data() + i + 3, value, 16);
    decoded += static_cast<char>(value);
    i += 2;
  }
  return decoded;
}

bool IsUnreserved(std::string_view text) { return All(text, Unreserved); }

}  // namespace muster::http
