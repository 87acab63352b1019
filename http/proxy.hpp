// Proxy: an HTTP proxy on the way to a server; https is spoken through CONNECT. Plain value.
#pragma once

#include <cstdint>
#include <string>

namespace muster::http {

struct Proxy {
  std::string host;
  std::uint16_t port = 0;
  std::string username;  // empty: no authentication
  std::string password;
};

// What it wants to see in Proxy-Authorization; empty: nothing.
std::string ProxyAuthorization(const Proxy& proxy);

}  // namespace muster::http
