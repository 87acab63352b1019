#include "http/messages/host_port.hpp"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace muster::http {

using cluster::Code;
using cluster::Error;
using cluster::Result;

Result<HostPort> ParseHostPort(const std::string& text) {
  const Error wrong{Code::kInvalidArgument,
                    "\"" + text + "\" is no address: expected HOST:PORT, :PORT or PORT", ""};
  HostPort parsed;
  std::string port = text;
  if (const std::size_t colon = text.rfind(':'); colon != std::string::npos) {
    parsed.host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (!parsed.host.empty() && parsed.host.front() == '[') {
      if (parsed.host.back() != ']') return wrong;
      parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
    } else if (parsed.host.find(':') != std::string::npos) {
      return wrong;
    }
  } else {
    parsed.host = "127.0.0.1";
  }
  const char* end = port.data() + port.size();
  const auto [stopped, error] = std::from_chars(port.data(), end, parsed.port);
  if (error != std::errc() || stopped != end) return wrong;
  return parsed;
}

}  // namespace muster::http
