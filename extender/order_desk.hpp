// OrderDesk: takes orders of operators: who asks and whether they may, what comes of it, and the
// record of it. See order_wire.hpp for the requests.
//
//   request ──▶ read ──▶ [ authorise ──▶ Consider ──▶ keep ──▶ Carry ──▶ log ] ──▶ answer
//                        one after the other, on a thread of its own
//
// Who may: whom caller_access.hpp lets update gangs/priority, gangs/cancel, queues/state or
// queues/reclaim of group muster.dev.
//
// Owned by the service, which stops it before what it uses. Any thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "cluster/mutex.hpp"
#include "cluster/result.hpp"
#include "engine/scheduler.hpp"
#include "extender/caller_access.hpp"
#include "extender/log.hpp"
#include "extender/order_wire.hpp"
#include "http/server.hpp"
#include "kube/step_thread.hpp"

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

  explicit OrderDesk(Ports ports);
  ~OrderDesk() { Stop(); }
  OrderDesk(const OrderDesk&) = delete;
  OrderDesk& operator=(const OrderDesk&) = delete;

  // Before server.Start().
  void Mount(http::Server& server);
  // What waits is refused. Idempotent.
  void Stop();

 private:
  // A caller that waits for an answer.
  struct Waiting {
    OrderRequest request;
    Caller caller;
    http::Done done;
  };

  void Take(const http::Request& request, const http::Done& done);
  // In their order, but two of one address in a row only where nobody else waits: who sends many
  // keeps nobody else's out.
  Waiting NextLocked() MUSTER_REQUIRES(mu_);
  cluster::Time Work();
  cluster::Result<engine::OrderEffect> Serve(Waiting& waiting);

  const Ports ports_;
  cluster::Mutex mu_;
  std::deque<Waiting> waiting_ MUSTER_GUARDED_BY(mu_);
  std::string last_peer_ MUSTER_GUARDED_BY(mu_);
  bool stopped_ MUSTER_GUARDED_BY(mu_) = false;
  std::unique_ptr<kube::StepThread> thread_;  // last: it uses all of the above
};

}  // namespace muster::extender
