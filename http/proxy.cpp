#include "http/proxy.hpp"

#include "http/base64.hpp"

namespace muster::http {

std::string ProxyAuthorization(const Proxy& proxy) {
  if (proxy.username.empty() && proxy.password.empty()) return {};
  return "Basic " + EncodeBase64(proxy.username + ":" + proxy.password);
}

}  // namespace muster::http
