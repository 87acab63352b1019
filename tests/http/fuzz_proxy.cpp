// libFuzzer: whatever NO_PROXY lists, a server is exempt from a proxy or not; whatever a proxy's
// variable holds, it is a proxy or an error that says nothing of it.
#include <cstddef>
#include <cstdint>
#include <string>

#include "cluster/base/check.hpp"
#include "http/client/proxy.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const char* host : {"api.corp", "10.96.0.1", "fd00::1", "127.0.0.1"}) {
    for (const char* given : {"HTTPS_PROXY", "NO_PROXY"}) {
      const auto proxy = muster::http::EnvironmentProxy(
          host, 443, true, [&](const std::string& name) -> std::optional<std::string> {
            if (name == given) return text;
            return name == "HTTPS_PROXY" ? std::optional<std::string>("http://one") : std::nullopt;
          });
      if (!proxy.ok()) MUSTER_CHECK(proxy.error().place == "HTTPS_PROXY");
      if (proxy.ok() && *proxy) MUSTER_CHECK(!(**proxy).host.empty());
    }
  }
  return 0;
}
