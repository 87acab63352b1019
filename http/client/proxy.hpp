// Proxy: an HTTP proxy on the way to a server; https is spoken through CONNECT. Plain value.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cluster/base/result.hpp"

namespace muster::http {

struct Proxy {
  std::string host;
  std::uint16_t port = 0;
  std::string username;  // empty: no authentication
  std::string password;
};

// http://[user[:password]@]host[:port]. Errors never quote the text: it may hold a password.
cluster::Result<Proxy> ParseProxy(std::string_view text);

// A variable of the environment; nothing: it is not set.
using EnvGetter = std::function<std::optional<std::string>(const std::string& name)>;

// The proxy on the way to host:port that the environment names, as Go's ProxyFromEnvironment finds
// it, with which kubectl and every client-go program connect: HTTPS_PROXY, to a server without TLS
// HTTP_PROXY; http:// may be left out there. None to localhost and loopback addresses, and to what
// NO_PROXY lists, with commas in between: "*"; a name, with all below it; ".name" or "*.name", only
// those below; an address; a range of them (10.0.0.0/8). All but ranges may have a port. Each
// variable also in lower case, which counts where the other is empty.
// An error names the variable: a proxy that is to be used and that Muster cannot use.
cluster::Result<std::optional<Proxy>> EnvironmentProxy(const std::string& host, std::uint16_t port,
                                                       bool tls, const EnvGetter& env);

// What it wants to see in Proxy-Authorization; empty: nothing.
std::string ProxyAuthorization(const Proxy& proxy);

}  // namespace muster::http
