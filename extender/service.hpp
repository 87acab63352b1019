// Service: everything that `muster serve` runs, put together.
//
//   kube-scheduler ──▶ extender port ──▶ ExtenderHandlers ──▶ engine ◀──▶ EngineLoop ◀──▶ cluster
//   people, probes ──▶ API port ──▶ /healthz /readyz /metrics /v1/…
//
// Owned by the serve command or a test: Start, then ReloadPolicy… now and then, then Shutdown;
// these from one thread. Everything else happens on the service's own threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cluster/base/result.hpp"
#include "config/policies/policy_file.hpp"
#include "extender/live/cluster_access.hpp"
#include "extender/telemetry/log.hpp"
#include "http/messages/host_port.hpp"

namespace muster::extender {

struct ServiceOptions {
  // Empty: the defaults, and nothing is reloaded. See start_policy.hpp for what a reload leaves as
  // it was at the start.
  std::string policy_file;
  ClusterAccess access;      // of a real cluster; not given: an embedded one
  std::string cluster_file;  // manifests of the embedded cluster's nodes; empty: 16 × 8 GPUs
  // Each takes precedence over the policy file; in `tls` each field that is not empty.
  std::optional<http::HostPort> listen;
  std::optional<http::HostPort> api;
  config::TlsSettings tls;
  // What the embedded kube-scheduler trusts and presents when the extender port has TLS.
  std::string scheduler_ca_file;  // empty: the server's own certificate
  std::string scheduler_cert_file;
  std::string scheduler_key_file;
  // Shutdown gives held Bind calls this long to be answered by the engine.
  std::chrono::milliseconds drain_timeout{10'000};
  // A policy whose servers could not start is tried again after this: a Secret may come to a node
  // later than the ConfigMap that names it.
  std::chrono::milliseconds reload_retry{10'000};
  std::uint64_t seed = 1;  // of the embedded cluster
};

class Service {
 public:
  Service(ServiceOptions options, const Logger& log);
  ~Service();  // Shutdown()
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Loads policy and cluster, binds both ports; on an embedded cluster it is ready when it returns,
  // on a real one when all has been listed. Once only.
  cluster::Status Start();
  // Another replica leads now: this process has nothing left to do. Its state may be behind what
  // was written meanwhile, so it ends and is restarted.
  bool lost() const;
  std::uint16_t extender_port() const;
  std::uint16_t api_port() const;

  // Reads the policy file again; a bad one leaves the last good one in force.
  cluster::Status ReloadPolicy();
  // When the file has changed, or servers could not start at the last try. To be called now and
  // then, by the thread that calls ReloadPolicy.
  void ReloadPolicyIfChanged();
  // Tells what is wrong with the nodes' labels of the fabric, in the log and as a metric. To be
  // called now and then by the same thread; looks every ten seconds.
  void FollowFabric();

  // Not ready from now on. Held Bind calls are finished, or refused when the drain timeout is over;
  // then both ports close. Idempotent.
  void Shutdown();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace muster::extender
