// Any bytes: a kubeconfig is read or refused; what is read can be connected to, and what is refused
// is refused on one line.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cluster/base/check.hpp"
#include "kube/api/client_config.hpp"
#include "kube/api/kubeconfig.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace kube = muster::kube;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const char* context : {"", "a"}) {
    const auto config = kube::ParseKubeconfig({std::string(text), "/folder/config"}, context);
    if (!config.ok()) {
      MUSTER_CHECK(!config.error().message.empty());
      continue;
    }
    MUSTER_CHECK(!config->host.empty() && config->port != 0);
    MUSTER_CHECK(config->host.find_first_of("\r\n /@") == std::string::npos);
    MUSTER_CHECK(config->path_prefix.find_first_of("\r\n ?#") == std::string::npos);
    MUSTER_CHECK(config->path_prefix.empty() || config->path_prefix.front() == '/');
    MUSTER_CHECK(config->tls || (config->token.empty() && config->client_key.empty()));
    MUSTER_CHECK(config->token.find_first_of("\r\n") == std::string::npos);
    MUSTER_CHECK(!config->proxy || (!config->proxy->host.empty() && config->proxy->port != 0));
  }
  return 0;
}
