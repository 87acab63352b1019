// What the tests of the whole service share: a service on free ports, calls to its API, manifests.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cluster/base/mutex.hpp"
#include "extender/service.hpp"
#include "extender/telemetry/log.hpp"
#include "http/client/client.hpp"
#include "tests/http/http_test_support.hpp"
#include "tests/http/tls_test_support.hpp"

namespace muster::extender::testing {

using http::testing::Eventually;
using http::testing::Sanitized;
using http::testing::TempFolder;
using http::testing::TestAuthority;
using http::testing::TlsCaller;

// Lines of a log, from any thread.
class LogLines {
 public:
  void Add(std::string_view line);
  std::string Text() const;
  bool Has(const std::string& part) const { return Text().find(part) != std::string::npos; }
  int Count(const std::string& part) const {
    const std::string text = Text();
    int count = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++count;
    return count;
  }

 private:
  mutable cluster::Mutex mu_;
  std::string text_ MUSTER_GUARDED_BY(mu_);
};

class TestService {
 public:
  // On free ports whatever `options` says.
  explicit TestService(ServiceOptions options = {});

  http::Reply Get(const std::string& path);
  http::Reply Post(const std::string& path, const std::string& body,
                   const std::string& content_type = "application/json");
  http::Reply Delete(const std::string& path);
  // Must succeed.
  void Submit(const std::string& yaml);
  // "Running", "Queued", …; empty when there is no such gang.
  std::string StateOf(const std::string& name, const std::string& ns = "default");
  // False when the state did not come in time.
  bool Reaches(const std::string& name, const std::string& state);

  LogLines lines;
  Logger log;
  Service service;

 private:
  std::unique_ptr<http::Client> client_;
};

// On a cluster whose API server listens there.
ServiceOptions OnCluster(const TempFolder& folder, std::uint16_t port);

// A PodGroup `name` of `pods` members with `gpus` GPUs each. `runs_for` empty: until deleted.
std::string GangYaml(const std::string& name, int pods, int gpus, const std::string& runs_for = "");
// `count` nodes of `gpus` GPUs as a NodePool.
std::string NodesYaml(const std::string& prefix, int count, int gpus);

// The text of member `key` in flat JSON, empty when it is not there.
std::string JsonText(const std::string& json, const std::string& key);

}  // namespace muster::extender::testing
