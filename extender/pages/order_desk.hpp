// OrderDesk: takes orders of operators: who the caller is and whether they may, what comes of it,
// and the record of it. See order_wire.hpp for the requests.
//
//   request ──▶ read ──▶ authorise ──▶ [ Consider ──▶ keep ──▶ Carry ] ──▶ log ──▶ answer
//                                        one order after the other
//
// Who may: whom caller_access.hpp lets update gangs/priority, gangs/cancel, queues/state or
// queues/reclaim of group muster.dev.
//
// Owned by the service, which stops it before what it uses. Any thread; may wait for the API
// server.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "cluster/base/mutex.hpp"
#include "cluster/base/result.hpp"
#include "engine/scheduler.hpp"
#include "extender/pages/order_wire.hpp"
#include "extender/telemetry/log.hpp"
#include "extender/verbs/caller_access.hpp"
#include "http/server/server.hpp"

namespace muster::extender {

class OrderDesk {
 public:
  struct Ports {
    engine::Scheduler& scheduler;
    std::function<cluster::Time()> now;
    std::function<void()> told;  // the scheduler was
    // Why no orders are taken; empty: they are.
    std::function<std::string()> closed;
    // Keeps what stands over a restart.
    std::function<cluster::Status(const engine::StandingOrders&)> keep;
    // An order was carried out, or refused.
    std::function<void(const engine::Order&, bool ok)> ordered;
    const CallerAccess& access;
    const Logger& log;
  };

  explicit OrderDesk(Ports ports) : ports_(std::move(ports)) {}
  ~OrderDesk() = default;
  OrderDesk(const OrderDesk&) = delete;
  OrderDesk& operator=(const OrderDesk&) = delete;

  // Before server.Start().
  void Mount(http::Server& server);
  // Orders are refused from now on; one that is carried out is waited for. Idempotent.
  void Stop();

 private:
  http::Response Answer(const http::Request& request);
  cluster::Result<engine::OrderEffect> Serve(const OrderRequest& request);

  const Ports ports_;
  cluster::Mutex mu_;  // of one order at a time
  bool stopped_ MUSTER_GUARDED_BY(mu_) = false;
};

}  // namespace muster::extender
