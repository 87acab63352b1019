// Muster through the API server of its cluster: the service proxy, without exec or port-forward.
//
//   GET /api/v1/namespaces/muster-system/services/http:muster-api:api/proxy/v1/gangs
//   X-Muster-Token: a token of a service account, for Muster alone
//
// The API server checks who calls and takes their credentials off, so Muster does not learn who it
// is. Therefore a token for Muster's audience is asked for (TokenRequest, 10 minutes) and sent
// beside; nobody's own credentials ever leave for Muster. Who may take no token is answered what
// the operator made public.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "cli/reach/muster_caller.hpp"
#include "cluster/base/ids.hpp"
#include "kube/api/api_caller.hpp"

namespace muster::cli {

inline constexpr const char* kDefaultService = "muster-system/http:muster-api:api";

struct ClusterRoute {
  // Of the Service: its namespace, and "SCHEME:NAME:PORT" or what else the proxy takes.
  cluster::ObjectKey service;
  std::vector<cluster::ObjectKey> accounts;  // whose token is asked for, in this order
  bool needs_token = false;                  // nothing is asked without one
  std::string token;  // of --token-file, in place of the accounts'; empty: there is none
  std::string default_namespace = "default";
  std::chrono::milliseconds patience = kUsualPatience;
};

class ClusterCaller final : public MusterCaller {
 public:
  struct Ports {
    std::shared_ptr<kube::ApiCaller> api;
    std::function<std::chrono::steady_clock::time_point()> now;
  };

  ClusterCaller(Ports ports, ClusterRoute route)
      : ports_(std::move(ports)), route_(std::move(route)) {}

  cluster::Result<std::string> Get(const std::string& path) override;
  cluster::Result<std::string> Post(const std::string& path, const std::string& body,
                                    const std::string& content_type) override;
  std::string default_namespace() const override { return route_.default_namespace; }

 private:
  cluster::Result<std::string> Call(kube::ApiRequest request);
  // Takes another token when the last one is about to end. None: why_no_token_ says why.
  cluster::Status Renew();
  cluster::Result<std::string> TokenOf(const cluster::ObjectKey& account);

  const Ports ports_;
  const ClusterRoute route_;
  std::string token_;
  std::string why_no_token_;
  std::chrono::steady_clock::time_point renew_at_;
  bool asked_ = false;
};

// As the flags say. Nobody is called yet.
cluster::Result<std::unique_ptr<MusterCaller>> ReachThroughCluster(
    const Args& args, std::chrono::milliseconds patience);

}  // namespace muster::cli
