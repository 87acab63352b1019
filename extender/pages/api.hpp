// ApiHandlers: the second port. Health, metrics, and what people ask: why does my gang wait?
//
//   GET  /healthz /readyz /metrics
//   GET  /v1/gangs  /v1/gangs/{ns}/{name}  /v1/nodes  /v1/nodes/{name}/topology
//   GET  /v1/topology[?slots=GPUS]  /v1/queues  /v1/policy
//   (orders of operators: order_desk.hpp)
//   POST /v1/whatif                            what_if_page.hpp
//   on an embedded cluster also
//   POST   /v1/manifests[?name=FILE]           create objects, all of a request or none
//   GET    /v1/objects/{kind}                  nodes, pods, podgroups, jobs or events
//   DELETE /v1/objects/{kind}/{ns}/{name}      (nodes: /v1/objects/nodes/{name})
//
// Who may read a page of /v1: caller_access.hpp. The rights are list and get of gangs, nodes,
// queues, topology and policy in group muster.dev; who may list gangs of some namespaces alone sees
// these.
//
// Reads of the engine are consistent per page. Owned by serve, which outlives the server; any
// thread.
#pragma once

#include <cstddef>
#include <functional>
#include <semaphore>
#include <string>

#include "cluster/base/units.hpp"
#include "engine/scheduler.hpp"
#include "extender/embedded/embedded_cluster.hpp"
#include "extender/pages/what_if_page.hpp"
#include "extender/verbs/caller_access.hpp"
#include "http/server/server.hpp"

namespace muster::extender {

// Its message as JSON, with the status that its code stands for.
http::Response FailedAnswer(const cluster::Error& error);

class ApiHandlers {
 public:
  struct Ports {
    engine::Scheduler& scheduler;
    std::function<cluster::Time()> now;
    std::function<std::string()> not_ready;            // why; empty: ready
    std::function<std::string()> metrics;              // the page
    std::function<std::string()> policy;               // the policy in force, as YAML
    std::function<kube::GroupingSettings()> grouping;  // as it says
    const CallerAccess& access;
    EmbeddedCluster* cluster = nullptr;  // null: no objects to create, list or delete
  };

  explicit ApiHandlers(Ports ports)
      : ports_(std::move(ports)),
        what_if_({ports_.scheduler, ports_.now, ports_.grouping, ports_.access}) {}
  ~ApiHandlers() = default;
  ApiHandlers(const ApiHandlers&) = delete;
  ApiHandlers& operator=(const ApiHandlers&) = delete;

  // Before server.Start().
  void Mount(http::Server& server);

 private:
  void Guard(http::Server& server, const std::string& method, const std::string& path,
             http::Handler answer) const;
  void MountList(http::Server& server, const std::string& resource, http::Handler answer) const;
  http::Response Ready() const;
  http::Response Links(const http::Request& request) const;
  http::Response Gangs(const http::Request& request) const;
  http::Response Gang(const http::Request& request) const;
  http::Response Fabric(const http::Request& request) const;
  http::Response WhatIf(const http::Request& request);
  http::Response Create(const http::Request& request) const;
  http::Response List(const http::Request& request) const;
  http::Response Delete(const http::Request& request) const;

  static constexpr std::ptrdiff_t kRenderings = 2;

  const Ports ports_;
  WhatIfPage what_if_;
  mutable std::counting_semaphore<> renderings_{kRenderings};
};

}  // namespace muster::extender
