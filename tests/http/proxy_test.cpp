// The proxy that the environment names.
#include "http/client/proxy.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <string>

namespace muster::http {
namespace {

using Environment = std::map<std::string, std::string>;

EnvGetter In(const Environment& variables) {
  return [variables](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

// The proxy on the way to https://host:port as host:port, "none", or the error.
std::string Way(const Environment& variables, const std::string& host = "api.corp",
                std::uint16_t port = 6443, bool tls = true) {
  const auto proxy = EnvironmentProxy(host, port, tls, In(variables));
  if (!proxy.ok()) return proxy.error().ToString();
  return *proxy ? (**proxy).host + ":" + std::to_string((**proxy).port) : "none";
}

TEST_CASE("the environment's proxy is taken", "[http][proxy]") {
  CHECK(Way({}) == "none");
  CHECK(Way({{"HTTPS_PROXY", ""}}) == "none");
  CHECK(Way({{"HTTPS_PROXY", "http://one:3128"}}) == "one:3128");
  CHECK(Way({{"https_proxy", "http://one:3128/"}}) == "one:3128");
  CHECK(Way({{"HTTPS_PROXY", "one:3128"}}) == "one:3128");
  CHECK(Way({{"HTTPS_PROXY", "one"}}) == "one:80");
  CHECK(Way({{"HTTPS_PROXY", "http://one"}, {"https_proxy", "http://two"}}) == "one:80");
  CHECK(Way({{"HTTPS_PROXY", ""}, {"https_proxy", "http://two"}}) == "two:80");
  // Each kind of server has its own.
  CHECK(Way({{"HTTP_PROXY", "http://one"}}) == "none");
  CHECK(Way({{"HTTP_PROXY", "http://one"}}, "api.corp", 80, false) == "one:80");
  CHECK(Way({{"HTTPS_PROXY", "http://one"}}, "api.corp", 80, false) == "none");
  const auto known = EnvironmentProxy("api", 443, true, In({{"https_proxy", "ann:p%40s@one:1"}}));
  REQUIRE((known.ok() && *known));
  CHECK((**known).username == "ann");
  CHECK((**known).password == "p@s");
}

TEST_CASE("NO_PROXY exempts servers from the proxy", "[http][proxy]") {
  const auto way = [](const std::string& list, const std::string& host = "api.corp") {
    return Way({{"HTTPS_PROXY", "http://one"}, {"NO_PROXY", list}}, host);
  };
  for (const char* list : {"*", "corp", ".corp", "*.corp", "API.corp", "x, api.corp ",
                           "api.corp:6443", ".corp:6443", "a,,*,b"}) {
    CAPTURE(list);
    CHECK(way(list) == "none");
  }
  for (const char* list : {"", "orp", "pi.corp", ".api.corp", "*.api.corp", "api.corp:443",
                           "10.0.0.0/8", "api", ":6443", "corp/8"}) {
    CAPTURE(list);
    CHECK(way(list) == "one:80");
  }
  for (const char* list :
       {"10.96.0.1", "10.0.0.0/8", "10.96.0.0/15", "10.96.0.1:6443", "0.0.0.0/0", "10.96.0.1/32"}) {
    CAPTURE(list);
    CHECK(way(list, "10.96.0.1") == "none");
  }
  for (const char* list : {"10.96.0.2", "10.98.0.0/15", "10.96.0.1:443", "10.0.0.0/33", "10.0.0.0/",
                           "96.0.1", ".0.1", "fd00::/8"}) {
    CAPTURE(list);
    CHECK(way(list, "10.96.0.1") == "one:80");
  }
  for (const char* list : {"fd00::1", "[fd00::1]", "[fd00::1]:6443", "fd00::/16", "FD00:0::1"}) {
    CAPTURE(list);
    CHECK(way(list, "fd00::1") == "none");
  }
  CHECK(way("[fd00::1]:443", "fd00::1") == "one:80");
  CHECK(way("10.0.0.0/8", "fd00::1") == "one:80");
  CHECK(Way({{"https_proxy", "http://one"}, {"no_proxy", "corp"}}) == "none");
}

TEST_CASE("no proxy leads to this machine", "[http][proxy]") {
  for (const char* host : {"localhost", "LOCALHOST", "127.0.0.1", "127.8.9.1", "::1"}) {
    CAPTURE(host);
    CHECK(Way({{"HTTPS_PROXY", "http://one"}}, host) == "none");
  }
  CHECK(Way({{"HTTPS_PROXY", "http://one"}}, "128.0.0.1") == "one:80");
}

TEST_CASE("a proxy that cannot be used is named by its variable", "[http][proxy]") {
  const std::string only_http =
      "only proxies at http:// are supported (https is spoken through them)";
  CHECK(Way({{"HTTPS_PROXY", "socks5://one:1080"}}) == "HTTPS_PROXY: " + only_http);
  CHECK(Way({{"https_proxy", "https://one"}}) == "https_proxy: " + only_http);
  CHECK(Way({{"HTTPS_PROXY", "http://one/path"}}) == "HTTPS_PROXY: a proxy has no path");
  const std::string bad = Way({{"HTTPS_PROXY", "http://ann:secret%zz@one"}});
  CHECK(bad == "HTTPS_PROXY: the user part has a malformed %-escape");
  // It is in nobody's way.
  CHECK(Way({{"HTTPS_PROXY", "socks5://one:1080"}, {"NO_PROXY", "corp"}}) == "none");
}

}  // namespace
}  // namespace muster::http
