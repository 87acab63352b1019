// HostPort: an address to listen on or to call, as flags and policies write it.
#pragma once

#include <cstdint>
#include <string>

#include "cluster/base/result.hpp"

namespace muster::http {

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};

// "host:port", "[v6]:port", ":port" (all addresses) or "port" (loopback).
cluster::Result<HostPort> ParseHostPort(const std::string& text);

}  // namespace muster::http
