#include "http/client/proxy.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <utility>

#include "cluster/base/split.hpp"
#include "http/messages/base64.hpp"
#include "http/messages/url.hpp"

namespace muster::http {

using cluster::Code;
using cluster::Error;
using cluster::Result;

namespace {

struct Variable {
  std::string name;
  std::string value;
};

Variable FirstSet(const EnvGetter& env, const char* upper, const char* lower) {
  for (const char* name : {upper, lower}) {
    const std::optional<std::string> value = env(name);
    if (value && !value->empty()) return {name, *value};
  }
  return {upper, ""};
}

std::string LowerWord(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  std::string lower(text.substr(first, text.find_last_not_of(kBlank) - first + 1));
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

// IPv4 as ::ffff:a.b.c.d.
using Address = std::array<std::uint8_t, 16>;
constexpr std::size_t kFirstOfIpv4 = 12;

std::optional<Address> ParseAddress(const std::string& text) {
  Address bytes = {};
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return bytes;
  bytes[kFirstOfIpv4 - 2] = bytes[kFirstOfIpv4 - 1] = 0xFF;
  if (inet_pton(AF_INET, text.c_str(), bytes.data() + kFirstOfIpv4) == 1) return bytes;
  return std::nullopt;
}

bool IsLoopback(const Address& address) {
  const std::optional<Address> ipv4 = ParseAddress("127.0.0.1");
  const bool same_kind =
      std::equal(address.begin(), address.begin() + kFirstOfIpv4 + 1, ipv4->begin());
  return same_kind || address == ParseAddress("::1");
}

// "10.0.0.0/8"
bool InRange(const Address& address, const std::string& range) {
  const std::size_t slash = range.find('/');
  const std::optional<Address> base = ParseAddress(range.substr(0, slash));
  if (!base) return false;
  const bool ipv4 = range.find(':') == std::string::npos;
  std::size_t bits = 0;
  const char* const end = range.data() + range.size();
  const auto [read, error] = std::from_chars(range.data() + slash + 1, end, bits);
  if (error != std::errc() || read != end || bits > (ipv4 ? 32U : 128U)) return false;
  if (ipv4) bits += 8 * kFirstOfIpv4;
  for (std::size_t bit = 0; bit < bits; ++bit) {
    const auto mask = static_cast<std::uint8_t>(0x80U >> bit % 8);
    if (((address[bit / 8] ^ (*base)[bit / 8]) & mask) != 0) return false;
  }
  return true;
}

// Whether `item` of NO_PROXY is the server, whose address is `address` where its host is one.
bool Names(std::string item, const std::string& host, const std::optional<Address>& address,
           std::uint16_t port) {
  if (item.find('/') != std::string::npos) return address && InRange(*address, item);
  const std::size_t bracket = item.find(']');
  const std::size_t colon = item.rfind(':');
  const bool one_colon = colon != std::string::npos && item.find(':') == colon;
  if (colon != std::string::npos && (bracket == std::string::npos ? one_colon : colon > bracket)) {
    if (item.substr(colon + 1) != std::to_string(port)) return false;
    item.resize(colon);
  }
  if (item.starts_with('[') && item.ends_with(']')) item = item.substr(1, item.size() - 2);
  if (const std::optional<Address> other = ParseAddress(item)) return address == other;
  if (address || item.empty()) return false;
  if (item == host) return true;
  if (item.starts_with("*.")) item.erase(0, 1);
  return host.ends_with(item.starts_with('.') ? item : "." + item);
}

bool IsExempt(const std::string& list, const std::string& host, std::uint16_t port) {
  const std::string lower = LowerWord(host);
  const std::optional<Address> address = ParseAddress(lower);
  if (lower == "localhost" || (address && IsLoopback(*address))) return true;
  const std::vector<std::string_view> items = cluster::Split(list, ',');
  return std::any_of(items.begin(), items.end(), [&](std::string_view item) {
    const std::string one = LowerWord(item);
    return one == "*" || Names(one, lower, address, port);
  });
}

}  // namespace

Result<Proxy> ParseProxy(std::string_view text) {
  const auto refuse = [](const char* message) {
    return Error{Code::kInvalidArgument, message, ""};
  };
  Result<Url> url = ParseUrl(text);
  if (!url.ok()) return url.error();
  if (url->scheme != "http")
    return refuse("only proxies at http:// are supported (https is spoken through them)");
  if (!url->path.empty()) return refuse("a proxy has no path");
  return Proxy{url->host, url->port, url->username, url->password};
}

Result<std::optional<Proxy>> EnvironmentProxy(const std::string& host, std::uint16_t port, bool tls,
                                              const EnvGetter& env) {
  const Variable proxy =
      tls ? FirstSet(env, "HTTPS_PROXY", "https_proxy") : FirstSet(env, "HTTP_PROXY", "http_proxy");
  if (proxy.value.empty()) return std::optional<Proxy>();
  if (IsExempt(FirstSet(env, "NO_PROXY", "no_proxy").value, host, port))
    return std::optional<Proxy>();
  const bool has_scheme = proxy.value.find("://") != std::string::npos;
  Result<Proxy> parsed = ParseProxy(has_scheme ? proxy.value : "http://" + proxy.value);
  if (!parsed.ok()) return parsed.error().At(proxy.name);
  return std::optional(*std::move(parsed));
}

std::string ProxyAuthorization(const Proxy& proxy) {
  if (proxy.username.empty() && proxy.password.empty()) return {};
  return "Basic " + EncodeBase64(proxy.username + ":" + proxy.password);
}

}  // namespace muster::http
